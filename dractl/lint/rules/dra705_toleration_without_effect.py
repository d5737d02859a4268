"""A toleration does not do what it seems to do.

## What it does

Finds `tolerationSeconds` with an effect other than `NoExecute`, the operator `Equal` without a key,
tolerations without an effect, and more than 16 tolerations.

## Why is this bad

The API server accepts them all. The seconds are ignored. Without a key, `Equal` tolerates taints of
any key with the same value. A toleration without an effect lets a pod onto a device with a
`NoExecute` taint, and then the pod is evicted: only a toleration with the effect `NoExecute`
prevents that.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.example.com
         tolerations:
         - key: gpu.example.com/hot
           operator: Exists
-          effect: NoSchedule
+          effect: NoExecute
           tolerationSeconds: 60
```

## Source

k8s.io/api/resource/v1 DeviceToleration;
k8s.io/dynamic-resource-allocation/resourceclaim/devicetoleration.go; kubernetes/kubernetes
pkg/controller/devicetainteviction of 1.33 to 1.37
"""

from collections.abc import Mapping
from typing import Any

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("tolerations",)
MAX_TOLERATIONS = 16


def check(run: Run) -> Found:
    for claim, request in run.requests:
        path, tolerations = (*request.path, "tolerations"), request.tolerations
        if len(tolerations) > MAX_TOLERATIONS:
            message = (
                f"{len(tolerations)} tolerations: the API documents at most {MAX_TOLERATIONS}, "
                "unchecked so far"
            )
            yield Advice(claim.subject, path, message, severity="info")
        unkept = next(
            (at for at, item in enumerate(tolerations) if _is_unkept(item, tolerations)), None
        )
        if unkept is not None:
            yield Advice(
                claim.subject,
                (*path, unkept),
                "without an effect it lets the pod onto devices with a NoExecute taint, but "
                "does not keep it there",
                help=(
                    "to keep the pod on such devices, add the same toleration with effect: "
                    "NoExecute"
                ),
                severity="info",
                confidence="possible",
            )
        for at, toleration in enumerate(tolerations):
            effect = toleration.get("effect")
            if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
                yield Advice(
                    claim.subject,
                    (*path, at, "tolerationSeconds"),
                    "tolerationSeconds only applies to the effect NoExecute, not to "
                    f"{effect or 'every effect'}",
                    help="set effect: NoExecute, or remove the seconds",
                )
            if not toleration.get("key") and toleration.get("operator") in (None, "", "Equal"):
                yield Advice(
                    claim.subject,
                    (*path, at),
                    "a toleration without a key compares values only: it tolerates any key with "
                    "that value",
                    help="name the key, or use operator: Exists to tolerate every taint",
                )


def _is_unkept(toleration: Mapping[str, Any], tolerations: list[Mapping[str, Any]]) -> bool:
    """Return True for a toleration without an effect if no toleration with the effect NoExecute
    covers it.
    """
    if toleration.get("effect") or toleration.get("tolerationSeconds") is not None:
        return False
    return not any(
        item.get("effect") == "NoExecute" and _covers(item, toleration) for item in tolerations
    )


def _covers(item: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if ``item`` tolerates, for its effect, everything that ``other`` tolerates."""
    if item.get("key") and item.get("key") != other.get("key"):
        return False
    if item.get("operator") == "Exists":
        return True
    return other.get("operator") != "Exists" and item.get("value") == other.get("value")
