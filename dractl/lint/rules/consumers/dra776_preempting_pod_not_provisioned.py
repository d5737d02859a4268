"""A pod with claims that may preempt others, which Cluster Autoscaler does not support.

## What it does

With `--for cluster-autoscaler`: finds pods with claims whose PriorityClass has the
`preemptionPolicy` PreemptLowerPriority, which is the default. The class is in the input, or one of
Kubernetes' own.

## Why is this bad

While such a pod waits for a preemption, Cluster Autoscaler simulates it on its nominated node, but
without devices for its claims. It launches no node for the pod, and treats the devices that the pod
will get as free.

## Example

```diff
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
-  priorityClassName: system-cluster-critical
+  priorityClassName: never-preempting
   resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
   containers:
   - name: main
     image: registry.example.com/train:1
     resources: {claims: [{name: gpu}]}
```

## Source

kubernetes-sigs/cluster-autoscaler pkg/docs/dra_support.md (Limitations/caveats) and
kubernetes/autoscaler#7683; kubernetes/autoscaler cluster-autoscaler-1.36.1
cluster-autoscaler/core/static_autoscaler.go
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import text

SEVERITY = "warning"
KINDS = ("Pod template",)
FOR = ("cluster-autoscaler",)
_BUILT_IN = ("system-cluster-critical", "system-node-critical")
"""kubernetes/kubernetes pkg/apis/scheduling/v1/helpers.go: both classes preempt."""


def check(run: Run) -> Found:
    for pod in run.pods:
        name = text(pod.fields.get("priorityClassName"))
        policy = run.evidence.preemption_policies.get(name, "")
        if pod.claims and (name in _BUILT_IN or policy == "PreemptLowerPriority"):
            yield Advice(
                pod.subject,
                (*pod.path, "priorityClassName"),
                f"PriorityClass {name} lets this pod preempt others, which Cluster Autoscaler does"
                " not support for pods with claims",
                help="name a PriorityClass with preemptionPolicy: Never",
            )
