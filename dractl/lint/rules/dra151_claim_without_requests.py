"""A claim asks for no device.

## What it does

Finds claims and templates whose `devices.requests` is missing or empty.

## Why is this bad

The API server accepts the claim, and the scheduler allocates it without devices: the pod runs and
sees none.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
-    requests: []
+    requests:
+    - name: gpu
+      exactly: {deviceClassName: gpu.example.com}
```

## Source

kubernetes/kubernetes pkg/apis/resource/validation/validation.go (validateDeviceClaim): requests may
be empty
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import items

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True


def check(run: Run) -> Found:
    for claim in run.claims:
        spec = claim.subject.document.at(claim.path[:-1])
        only_devices = spec is None or (isinstance(spec, dict) and set(spec) <= {"devices"})
        if only_devices and not items(claim.devices.get("requests")):
            yield Advice(
                claim.subject,
                (*claim.path, "requests"),
                "the claim asks for no device: it is allocated without any",
                help="add a request: {name: gpu, exactly: {deviceClassName: ...}}",
                key=True,
            )
