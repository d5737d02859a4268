"""A DaemonSet whose pods share a claim.

## What it does

With `--for cluster-autoscaler`: finds DaemonSets whose pods share one ResourceClaim that is not for
admin access only.

## Why is this bad

Cluster Autoscaler assumes that every new node runs a pod of the DaemonSet, but a claim can only be
reserved for a limited number of pods, and its devices are on one node: the simulation of new nodes
goes wrong.

## Example

```diff
 apiVersion: apps/v1
 kind: DaemonSet
 metadata: {name: monitor}
 spec:
   selector: {matchLabels: {app: monitor}}
   template:
     metadata: {labels: {app: monitor}}
     spec:
-      resourceClaims: [{name: gpu, resourceClaimName: gpus}]
+      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
       containers:
       - name: main
         image: registry.example.com/monitor:1
         resources: {claims: [{name: gpu}]}
```

## Source

kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md (Limitations) (55c37cd)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.references import requests_of
from dractl.objects import text

SEVERITY = "warning"
KINDS = ("DaemonSet",)
FOR = ("cluster-autoscaler",)


def check(run: Run) -> Found:
    for pod in run.pods:
        for path, entry in pod.claims if pod.subject.kind == "DaemonSet" else ():
            name = text(entry.get("resourceClaimName"))
            requests = requests_of(run, pod, entry)
            admin = bool(requests) and all(
                request.fields.get("adminAccess") is True for request in requests
            )
            if name and not admin:
                yield Advice(
                    pod.subject,
                    (*path, "resourceClaimName"),
                    "Cluster Autoscaler advises against DaemonSets that share a claim, such as "
                    f"{name}",
                    help="name a template, or ask for adminAccess in all requests",
                )
