"""A claim by its name in a queued workload, which Kueue does not support.

## What it does

With `--for kueue`: finds pods with `resourceClaimName` in objects that Kueue queues, those with the
label `kueue.x-k8s.io/queue-name`.

## Why is this bad

Kueue counts the devices of templates for quotas, and refuses workloads with other claims
("KueueDRAIntegration feature does not support use of resource claims"): the job stays suspended.

## Example

```diff
 apiVersion: batch/v1
 kind: Job
 metadata:
   name: train
   labels: {kueue.x-k8s.io/queue-name: team}
 spec:
   suspend: true
   template:
     spec:
       restartPolicy: Never
-      resourceClaims: [{name: gpu, resourceClaimName: gpus}]
+      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
       containers:
       - name: main
         image: registry.example.com/train:1
         resources: {claims: [{name: gpu}]}
```

## Source

kubernetes-sigs/kueue pkg/controller/core/workload_controller.go handleDRA (ff69552)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping, text

SEVERITY = "warning"
KINDS = ("Pod template",)
FOR = ("kueue",)
_QUEUE = "kueue.x-k8s.io/queue-name"


def check(run: Run) -> Found:
    for pod in run.pods:
        if not text(mapping(mapping(pod.subject.value.get("metadata")).get("labels")).get(_QUEUE)):
            continue
        for path, entry in pod.claims:
            if text(entry.get("resourceClaimName")):
                yield Advice(
                    pod.subject,
                    (*path, "resourceClaimName"),
                    "Kueue does not support claims by name: it refuses this workload",
                    help="name a template (resourceClaimTemplateName)",
                )
