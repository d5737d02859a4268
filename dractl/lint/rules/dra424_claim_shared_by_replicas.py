"""All pods of a workload share one claim.

## What it does

Finds workloads of several pods (DaemonSets, Jobs with parallelism, Deployments, StatefulSets and
ReplicaSets with replicas, JobSets, LeaderWorkerSets, Ray clusters) whose pods name a claim
(`resourceClaimName`) instead of a template.

## Why is this bad

A claim is allocated once, mostly on one node: pods that do not fit there stay pending. A template
gives each pod its own claim.

## Example

```diff
 apiVersion: apps/v1
 kind: DaemonSet
 metadata: {name: train}
 spec:
   selector: {matchLabels: {app: train}}
   template:
     metadata: {labels: {app: train}}
     spec:
       resourceClaims:
-      - {name: gpu, resourceClaimName: shared-gpu}
+      - {name: gpu, resourceClaimTemplateName: one-gpu}
       containers:
       - name: main
         image: registry.example.com/train:1
         resources:
           claims: [{name: gpu}]
```

## Source

k8s.io/api/core/v1 PodResourceClaim
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.references import requests_of
from dractl.objects import number, text

SEVERITY = "info"
KINDS = ("DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet", "Pod template")
_FOREIGN = (
    "JobSet",
    "LeaderWorkerSet",
    "RayCluster",
    "RayJob",
    "RayService",
    "MPIJob",
    "PyTorchJob",
)


def check(run: Run) -> Found:
    for subject in run.subjects:
        kind = subject.kind or subject.document.kind or ""
        if kind != "DaemonSet" and (
            kind not in (*KINDS, *_FOREIGN) or not _is_replicated(subject, kind)
        ):
            continue
        for pod in subject.pods:
            for path, claim in pod.claims:
                name = text(claim.get("resourceClaimName"))
                # Claims of IMEX channels exist to be shared.
                if name and not any(
                    "imex" in request.device_class for request in requests_of(run, pod, claim)
                ):
                    yield Advice(
                        subject,
                        (*path, "resourceClaimName"),
                        f"all pods of the {kind} share the claim {name}, which is allocated once",
                        help=(
                            "name a template (resourceClaimTemplateName) to give each pod its "
                            "own devices"
                        ),
                        severity="warning" if kind == "DaemonSet" else "info",
                        confidence="likely" if kind == "DaemonSet" else "possible",
                    )


def _is_replicated(subject: Manifest, kind: str) -> bool:
    if kind == "Job":
        return number(subject.spec.get("parallelism")) > 1
    return number(subject.spec.get("replicas")) > 1 or kind in _FOREIGN
