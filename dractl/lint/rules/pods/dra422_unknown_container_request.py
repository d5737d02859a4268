"""A container names a request that the claim does not have.

## What it does

If the claim or template of a pod is part of the run, compares the `request` of `resources.claims`
with its requests.

## Why is this bad

The pod is accepted and scheduled, and its container starts without devices of the claim: the
kubelet passes on only what the driver prepared for this request, or for no request in particular.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: one-gpu}
 spec:
   spec:
     devices:
       requests:
       - name: gpu
         exactly: {deviceClassName: gpu.example.com}
 ---
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
   resourceClaims:
   - {name: gpu, resourceClaimTemplateName: one-gpu}
   containers:
   - name: main
     image: registry.example.com/train:1
     resources:
-      claims: [{name: gpu, request: gpus}]
+      claims: [{name: gpu, request: gpu}]
```

## Source

kubernetes/kubernetes pkg/kubelet/cm/dra/claiminfo.go (cdiDevicesAsList)
"""

from collections.abc import Sequence

from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.references import find_reference
from dractl.model.nearest import nearest
from dractl.objects import Request, text

SEVERITY = "error"
KINDS = ("Pod template",)


def check(run: Run) -> Found:
    for pod in run.pods:
        claims = {text(claim.get("name")): claim for _, claim in pod.claims}
        for path, item in pod.uses:
            wanted = text(item.get("request"))
            claim = claims.get(text(item.get("name")))
            target = find_reference(run, pod, claim) if wanted and claim else None
            if target is None or target.claim is None:
                continue
            requests = target.claim.alternatives
            names = list(dict.fromkeys(request.parent or request.name for request in requests))
            if wanted not in names:
                meant = _guess_request(wanted, requests, names)
                yield Advice(
                    pod.subject,
                    (*path, "request"),
                    f"{target.kind} {target.name} has no request {wanted}",
                    help=f"its requests are {', '.join(names)}" if names else "it has no requests",
                    fix=Replacement((*path, "request"), meant) if meant else None,
                    related=((f"{target.kind} {target.name}", target, target.claim.path),),
                )


def _guess_request(name: str, requests: Sequence[Request], names: Sequence[str]) -> str | None:
    """Return the request that was probably meant: the parent of an alternative, or the nearest
    name.
    """
    parents = [request.parent for request in requests if request.parent and request.name == name]
    if len(parents) == 1:
        return parents[0]
    return names[0] if len(names) == 1 else nearest(name, names)
