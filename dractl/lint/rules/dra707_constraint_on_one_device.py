"""A constraint covers a single device.

## What it does

Adds up how many devices the requests of a constraint ask for.

## Why is this bad

A constraint compares devices with each other. With only one, there is nothing to compare; the
attribute merely has to exist.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
-      exactly: {deviceClassName: gpu.example.com}
+      exactly: {deviceClassName: gpu.example.com, count: 2}
     constraints:
     - {requests: [gpu], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

k8s.io/dynamic-resource-allocation/structured
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("constraints",)


def check(run: Run) -> Found:
    for claim, constraint in run.constraints:
        targets = claim.targets(constraint.requests)
        # DRA121 reports constraints that name a request which does not exist.
        if claim.binds_one(constraint) and len(targets) >= len(constraint.requests):
            name = targets[0].whole
            yield Advice(
                claim.subject,
                constraint.path,
                f"the constraint covers only one device, that of request {name}",
                help="add the other requests that it is meant for, or remove it",
                confidence="likely",
            )
