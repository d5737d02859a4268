"""A claim for which Karpenter launches no instance type.

## What it does

With `--for karpenter`: judges each claim, each template, and the claims of each pod together, as
Karpenter's allocator does on the devices that its AWS provider declares for an instance type. It
finds those that no instance type serves, unless DRA761 or DRA762 says why.

## Why is this bad

No node comes, and the pod stays pending. Karpenter knows only whole GPUs and EFA interfaces,
compares only the attributes that its provider declares, and tries devices in every order for at
most five seconds.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: gpus}
 spec:
   spec:
     devices:
       requests:
       - name: gpu
-        exactly: {deviceClassName: mig.nvidia.com}
+        exactly: {deviceClassName: gpu.nvidia.com}
```

## Source

kubernetes-sigs/karpenter v1.15.0 pkg/scheduling/dynamicresources (allocator.go, request.go,
constraint.go) with the tables of aws/karpenter-provider-aws v1.15.1 pkg/providers/nvidiadra and
efadra
"""

from collections.abc import Iterator

from dractl.facts.consumers import consumers
from dractl.lint.model import Advice, Claim, Found, PodSpec, Run
from dractl.lint.provisioning import explain_refusal, is_served
from dractl.lint.references import find_reference

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "Pod template")
FOR = ("karpenter",)


def check(run: Run) -> Found:
    for claim in run.claims:
        reason = None if _has_other_finding(run, claim) else explain_refusal(run, [claim])
        if reason is not None:
            yield Advice(
                claim.subject,
                (*claim.path, "requests"),
                f"Karpenter launches no node for this claim: {reason}",
                confidence="likely",
            )
    for pod in run.pods:
        claims = list(_claims_of(run, pod))
        if len(claims) < 2 or not all(is_served(run, [claim]) for claim in claims):
            continue
        reason = explain_refusal(run, claims)
        if reason is not None:
            yield Advice(
                pod.subject,
                (*pod.path, "resourceClaims"),
                f"Karpenter launches no node for the claims of this pod together: {reason}",
                confidence="likely",
            )


def _has_other_finding(run: Run, claim: Claim) -> bool:
    """Return True if DRA761 or DRA762 explains why Karpenter launches no node."""
    drivers = consumers()["karpenter"].drivers
    accepted = {
        name for driver in drivers.values() for name in (*driver.selectors, *driver.constraints)
    }
    if any(constraint.fields.get("distinctAttribute") for constraint in claim.constraints):
        return True
    return any(
        lookup.kind == "attributes"
        and lookup.name is not None
        and not lookup.tested
        and lookup.full_name not in accepted
        for request in claim.alternatives
        for selector in request.selectors
        for lookup in run.program(selector).lookups
    )


def _claims_of(run: Run, pod: PodSpec) -> Iterator[Claim]:
    """Yield the claims that a pod names and the input has; nothing if it lacks one of them."""
    subjects = [find_reference(run, pod, entry) for _, entry in pod.claims]
    claims = [subject.claim for subject in subjects if subject is not None and subject.claim]
    if len(claims) == len(subjects):
        yield from claims
