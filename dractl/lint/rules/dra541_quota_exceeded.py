"""Claims exceed a quota.

## What it does

If a ResourceQuota is part of the run, counts what the claims of its namespace ask for: claims, and
devices of each class. Pods and workloads with a template count once per replica.

## Why is this bad

The API server rejects the claim that is created last. If it is made from a template, only the
events of the pod show that, and the pod stays pending.

## Example

```diff
 apiVersion: v1
 kind: ResourceQuota
 metadata: {name: compute}
 spec:
   hard:
-    gpu.example.com.deviceclass.resource.k8s.io/devices: "4"
+    gpu.example.com.deviceclass.resource.k8s.io/devices: "8"
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com, count: 8}
```

## Source

kubernetes/kubernetes pkg/quota/v1/evaluator/core/resource_claims.go
"""

from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from dractl.lint.model import Advice, Claim, Found, Manifest, PodSpec, Run
from dractl.lint.references import find_reference, namespace_of
from dractl.lint.relevance import PER_CLASS
from dractl.objects import items, mapping, number, quantity, text
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("ResourceQuota",)
CLAIMS = "count/resourceclaims.resource.k8s.io"
MAX_ALLOCATION_RESULTS = 32
"""The charge for a request of all devices: AllocationResultsMaxSize of the API."""


class Usage(Struct, frozen=True):
    """The amounts that one object is charged against the quotas of its namespace. ``path`` is the
    place of a finding.
    """

    subject: Manifest
    path: Path
    used: dict[str, int]


def check(run: Run) -> Found:
    charges = list(_charges(run))
    for quota in run.of("ResourceQuota"):
        if quota.spec.get("scopes") or quota.spec.get("scopeSelector"):
            continue  # quotas with scopes do not count claims
        namespace_charges = [
            charge for charge in charges if namespace_of(charge.subject) == namespace_of(quota)
        ]
        for key, written in mapping(quota.spec.get("hard")).items():
            hard = quantity(written)
            totals = list(accumulate(charge.used.get(key, 0) for charge in namespace_charges))
            if hard is None or not totals or totals[-1] <= hard.value():
                continue
            first = next(
                charge
                for charge, total in zip(namespace_charges, totals, strict=True)
                if total > hard.value()
            )
            noun = (
                f"devices of class {key.removesuffix(PER_CLASS)}"
                if key.endswith(PER_CLASS)
                else "claims"
            )
            yield Advice(
                first.subject,
                first.path,
                f"this exceeds quota {quota.name}: the manifests ask for {totals[-1]} {noun}, "
                f"its limit is {written}",
                help=f"raise {key} in the quota, or ask for less",
                confidence="likely",
                related=((f"quota {quota.name}", quota, ("spec", "hard", key)),),
            )


def _charges(run: Run) -> Iterator[Usage]:
    """Yield the charge for each claim, and for each workload whose template makes claims."""
    for claim in run.claims:
        if claim.subject.kind == "ResourceClaim":
            yield Usage(claim.subject, (*claim.path, "requests"), _usage(claim))
    owners = {
        (text(mapping(owner).get("kind")), text(mapping(owner).get("name")), namespace_of(subject))
        for subject in run.subjects
        for owner in items(mapping(subject.value.get("metadata")).get("ownerReferences"))
    }
    for pod in run.pods:
        subject = pod.subject
        # A dump of a cluster also has the pods and claims of a workload, which are counted
        # separately.
        has_owner = "ownerReferences" in mapping(subject.value.get("metadata"))
        if has_owner or (subject.kind, subject.name, namespace_of(subject)) in owners:
            continue
        for path, entry in pod.claims:
            template = find_reference(run, pod, entry)
            if entry.get("resourceClaimTemplateName"):
                usage = _usage(template.claim) if template and template.claim else {CLAIMS: 1}
                yield Usage(
                    subject, path, {key: amount * _replicas(pod) for key, amount in usage.items()}
                )


def _usage(claim: Claim) -> dict[str, int]:
    """Return the charges for a claim; a request with alternatives is charged the most devices of
    each class (claimEvaluator.Usage).
    """
    used = {CLAIMS: 1}
    for group in claim.requests:
        most: dict[str, int] = {}
        for request in group:
            key = request.device_class + PER_CLASS
            most[key] = max(most.get(key, 0), request.amount or MAX_ALLOCATION_RESULTS)
        for key, amount in most.items():
            used[key] = used.get(key, 0) + amount
    return used


def _replicas(pod: PodSpec) -> int:
    """Return how many pods a workload has at once; 1 if its spec does not specify it."""
    spec = pod.subject.spec
    field = "parallelism" if pod.subject.kind == "Job" else "replicas"
    return number(spec[field]) if field in spec else 1
