"""The scheduler takes an alternative without alignment although aligned devices are free.

## What it does

Finds constraints on several requests that name an alternative of the second or a later request, if
this request has a later alternative that the constraint does not name.

## Why is this bad

The scheduler tries all alternatives of the later request before it tries other devices for the
earlier one. If the first device of the earlier request has no aligned partner, the later request
gets its alternative without alignment, and other devices that are aligned stay free. Only the name
of the alternative in the claim's status shows it.

## How to fix

Give alternatives only to the first request, and let the constraint name its first alternative and
the other requests as a whole. The scheduler then tries all devices of the first alternative with
aligned partners before it tries the second.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: pair}
 spec:
   devices:
     requests:
     - name: gpu
       firstAvailable:
       - {name: aligned, deviceClassName: gpu.example.com}
       - {name: anywhere, deviceClassName: gpu.example.com}
     - name: nic
-      firstAvailable:
-      - {name: aligned, deviceClassName: nic.example.com}
-      - {name: anywhere, deviceClassName: nic.example.com}
+      exactly: {deviceClassName: nic.example.com}
     constraints:
-    - {requests: [gpu/aligned, nic/aligned], matchAttribute: resource.kubernetes.io/pcieRoot}
+    - {requests: [gpu/aligned, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

k8s.io/dynamic-resource-allocation/structured (allocateOne), and what kube-scheduler 1.37 allocated
"""

from collections.abc import Sequence, Set as AbstractSet

from dractl.lint.model import Advice, Found, Run
from dractl.objects import Request

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("firstAvailable",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for constraint in claim.constraints:
            if constraint.kind != "matchAttribute":
                continue
            bound = {request.path for request in claim.targets(constraint.requests)}
            groups = [g for g in claim.requests if any(request.path in bound for request in g)]
            for group in groups[1:]:
                if (free := _find_unbound_alternative(group, bound)) is None:
                    continue
                first, whole = groups[0][0].whole, group[0].whole
                yield Advice(
                    claim.subject,
                    free.path,
                    f"request {whole} gets {free.name} without alignment, before the scheduler "
                    f"tries other devices for request {first}",
                    help=f"give alternatives to request {first} alone, and name {whole} as a whole"
                    " in the constraint",
                    related=(("the constraint", claim.subject, constraint.path),),
                )


def _find_unbound_alternative(
    group: Sequence[Request], bound: AbstractSet[object]
) -> Request | None:
    """Return the first alternative that the constraint does not name and that follows a named
    one.
    """
    is_bound = [request.path in bound for request in group]
    start = is_bound.index(True)
    return next(
        (
            request
            for request, named in zip(group[start:], is_bound[start:], strict=True)
            if not named
        ),
        None,
    )
