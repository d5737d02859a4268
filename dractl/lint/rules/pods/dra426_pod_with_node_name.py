"""A pod that uses claims names its node, so no scheduler allocates them.

## What it does

Finds `nodeName` in the specification of a pod with `resourceClaims`. Pods with a status are
skipped, since the scheduler has set the field there.

## Why is this bad

kube-scheduler allocates claims, and `nodeName` bypasses it. The kubelet waits for a claim that is
allocated and reserved for the pod, which never happens unless another pod got the claim allocated
before.

## Example

```diff
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
-  nodeName: node-1
+  nodeSelector: {kubernetes.io/hostname: node-1}
   resourceClaims:
   - {name: gpu, resourceClaimTemplateName: one-gpu}
   containers:
   - name: main
     image: registry.example.com/train:1
     resources:
       claims: [{name: gpu}]
```

## Source

kubernetes/website content/en/docs/concepts/scheduling-eviction/dynamic-resource-allocation.md
("Pre-scheduled Pods"); kubernetes/kubernetes pkg/kubelet/cm/dra/manager.go (PrepareResources)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import text

SEVERITY = "warning"
KINDS = ("Pod template",)


def check(run: Run) -> Found:
    for pod in run.pods:
        node = text(pod.fields.get("nodeName"))
        if node and pod.claims and "status" not in pod.subject.value:
            yield Advice(
                pod.subject,
                (*pod.path, "nodeName"),
                "nodeName bypasses the scheduler, and only the scheduler allocates the pod's "
                "claims",
                help=f"select the node instead: nodeSelector: {{kubernetes.io/hostname: {node}}}",
            )
