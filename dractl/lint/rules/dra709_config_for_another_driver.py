"""A configuration names a different driver than that of the devices.

## What it does

If the classes of the run say `device.driver == "..."`, compares that with `opaque.driver` of a
claim's configurations.

## Why is this bad

A driver gets only the configurations that name it. No driver gets this one, and the devices are
prepared without it.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel: {expression: device.driver == "gpu.example.com"}
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com}
     config:
     - opaque:
-        driver: gpu.exmaple.com
+        driver: gpu.example.com
         parameters: {apiVersion: gpu.example.com/v1, kind: GpuConfig}
```

## Source

k8s.io/dynamic-resource-allocation/resourceclaim ConfigForResult
"""

from dractl.lint.configs import configurations_of
from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("config",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for config in configurations_of(claim.subject):
            targets = claim.targets(config.requests)
            drivers = {run.driver_of_class(request.device_class) for request in targets}
            if config.driver and targets and None not in drivers and config.driver not in drivers:
                names = ", ".join(sorted(filter(None, drivers)))
                yield Advice(
                    claim.subject,
                    (*config.path, "driver"),
                    f"this configuration is for {config.driver}, but the request's devices "
                    f"belong to {names}",
                    help=f"write driver: {names}" if len(drivers) == 1 else None,
                    confidence="likely",
                )
