"""A request asks for 0 devices and gets 1.

## What it does

Finds `count: 0`.

## Why is this bad

The API server cannot tell 0 from an unset count and sets the default, 1.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
-      exactly: {deviceClassName: gpu.example.com, count: 0}
+      exactly: {deviceClassName: gpu.example.com, count: 1}
```

## Source

kubernetes/kubernetes pkg/apis/resource/v1/defaults.go
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("count",)


def check(run: Run) -> Found:
    for claim, request in run.requests:
        count = request.fields.get("count")
        if (
            isinstance(count, int)
            and not isinstance(count, bool)
            and count == 0
            and not request.takes_all
        ):
            yield Advice(
                claim.subject,
                (*request.path, "count"),
                "count: 0 is treated as 1",
                help="remove the request, or set the number of devices",
            )
