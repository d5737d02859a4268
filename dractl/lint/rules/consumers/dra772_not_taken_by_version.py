"""A field that this version of a consumer of claims does not take.

## What it does

With `--for kueue=0.17` or `--for cluster-autoscaler=1.35`, finds fields that only later versions,
or only the main branch, accept. For Kueue these are selectors, constraints, configurations and
`adminAccess` in templates; for Cluster Autoscaler they are `adminAccess` and slices with
`sharedCounters`. If you give no version, the newest release counts.

## Why is this bad

Kueue refuses the workload, and the job stays suspended. Cluster Autoscaler simulates new nodes
without the field: it launches too many nodes, or none.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: monitor}
 spec:
   spec:
     devices:
       requests:
       - name: gpu
-        exactly: {deviceClassName: gpu.example.com, allocationMode: All, adminAccess: true}
+        exactly: {deviceClassName: gpu.example.com, count: 8}
```

## Source

kubernetes-sigs/kueue pkg/dra/claims.go from v0.15.0 to main; kubernetes/autoscaler
cluster-autoscaler/docs/dra_support.md
(the pack of facts, consumers.json)
"""

from collections.abc import Iterator

from dractl.facts.consumers import consumers
from dractl.lint.model import Advice, Claim, Found, Manifest, Run
from dractl.manifests.documents import Path

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
FOR = ("kueue", "cluster-autoscaler")
_KINDS = {
    "kueue": ("ResourceClaimTemplate",),
    "cluster-autoscaler": ("ResourceClaim", "ResourceClaimTemplate"),
}


def check(run: Run) -> Found:
    for name in sorted(run.consumers & {*FOR}):
        for claim in run.claims:
            if claim.subject.kind in _KINDS[name]:
                for feature, path in _features(claim):
                    yield from _advise_unsupported(run, name, feature, claim.subject, path)
        for subject in run.of("ResourceSlice"):
            if subject.spec.get("sharedCounters"):
                yield from _advise_unsupported(
                    run, name, "sharedCounters", subject, ("spec", "sharedCounters")
                )


def _features(claim: Claim) -> Iterator[tuple[str, Path]]:
    for feature in ("constraints", "config"):
        if claim.devices.get(feature):
            yield feature, (*claim.path, feature)
    for request in claim.alternatives:
        if request.selectors:
            yield "selectors", (*request.path, "selectors")
        if request.fields.get("adminAccess") is True:
            yield "adminAccess", (*request.path, "adminAccess")


def _advise_unsupported(run: Run, name: str, feature: str, subject: Manifest, path: Path) -> Found:
    consumer, stated = consumers()[name], run.versions.get(name)
    support, first = consumer.support_in(stated), consumer.first(feature)
    if first is None or feature in support.accepts:
        return
    judged = f"{consumer.title} {stated or support.since}"
    since = (
        f"the main branch does, as seen on {first.seen}"
        if first.seen
        else f"{first.since} is the first release that does"
    )
    yield Advice(
        subject,
        path,
        f"{judged} does not take {feature}: {since}",
        help=f"known to {consumer.versions[-1].since}, read on {consumer.read}",
        key=True,
    )
