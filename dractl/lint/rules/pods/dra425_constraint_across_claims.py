"""Several claims of a pod have the same constraint, but constraints do not span claims.

## What it does

Finds two claims of a pod with `matchAttribute` on the same attribute, if one of the constraints
covers a single device: it can only be meant to align this device with those of the other claim.
Both claims must be part of the run.

## Why is this bad

A constraint holds within its claim. The devices of different claims are chosen independently, and
nothing reports that they are not aligned.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
-metadata: {name: gpu}
+metadata: {name: gpu-and-nic}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com}
-    constraints:
-    - {matchAttribute: resource.kubernetes.io/pcieRoot}
----
-apiVersion: resource.k8s.io/v1
-kind: ResourceClaim
-metadata: {name: nic}
-spec:
-  devices:
-    requests:
     - name: nic
       exactly: {deviceClassName: nic.example.com}
     constraints:
     - {matchAttribute: resource.kubernetes.io/pcieRoot}
 ---
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
   resourceClaims:
-  - {name: gpu, resourceClaimName: gpu}
-  - {name: nic, resourceClaimName: nic}
+  - {name: gpu, resourceClaimName: gpu-and-nic}
   containers:
   - name: main
     image: registry.example.com/train:1
     resources:
-      claims: [{name: gpu}, {name: nic}]
+      claims: [{name: gpu}]
```

## Source

k8s.io/api/resource/v1 DeviceClaim.constraints; k8s.io/dynamic-resource-allocation/structured
Allocate
"""

from dractl.lint.model import Advice, Claim, Found, PodSpec, Run
from dractl.lint.references import find_reference
from dractl.objects import Constraint, text

SEVERITY = "warning"
KINDS = ("Pod template",)
FIELDS = ("constraints",)


def check(run: Run) -> Found:
    for pod in run.pods:
        for attribute, constraints in _constraints(run, pod).items():
            entries = list(dict.fromkeys(position for position, _, _ in constraints))
            if len(entries) > 1 and any(
                claim.binds_one(constraint) for _, claim, constraint in constraints
            ):
                names = ", ".join(text(pod.claims[position][1].get("name")) for position in entries)
                yield Advice(
                    pod.subject,
                    (*pod.claims[entries[-1]][0], "name"),
                    f"claims {names} match {attribute} separately: their devices are not aligned "
                    "with each other",
                    help=(
                        "put the requests that belong together into one claim: constraints do "
                        "not span claims"
                    ),
                    confidence="likely",
                    related=tuple(
                        (
                            f"the constraint of {claim.subject.kind} {claim.subject.name}",
                            claim.subject,
                            constraint.path,
                        )
                        for _, claim, constraint in constraints
                    ),
                )


def _constraints(run: Run, pod: PodSpec) -> dict[str, list[tuple[int, Claim, Constraint]]]:
    """Return the constraints of the pod's claims by attribute, each with the position of its claim
    in the pod.
    """
    by_attribute: dict[str, list[tuple[int, Claim, Constraint]]] = {}
    for position, (_, entry) in enumerate(pod.claims):
        subject = find_reference(run, pod, entry)
        claim = subject.claim if subject else None
        for constraint in claim.constraints if claim else ():
            attribute = text(constraint.fields.get("matchAttribute"))
            if claim and attribute:
                by_attribute.setdefault(attribute, []).append((position, claim, constraint))
    return by_attribute
