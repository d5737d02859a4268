"""A claim with devices of several drivers, one of which refuses to prepare it.

## What it does

Finds claims whose requests are for devices of several drivers, if one of them looks for all devices
of the claim among its own. It is reported up to the version of that driver that fixes it. The
version comes from `--driver-version`, or from the driver's image in the input.

## Why is this bad

The claim is allocated and the pod gets its node. There the driver fails with a device that is not
its own, again and again, and the pod does not start.

## Example

With `--driver-version gpu.amd.com=0.1`:

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpu}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.amd.com}
-    - name: cpu
-      exactly: {deviceClassName: dra.cpu}
```

## Source

ROCm/k8s-gpu-dra-driver cmd/gpu-kubeletplugin/state.go (2622427), issue 45
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import devices_of_request, driver_of_run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True


def check(run: Run) -> Found:
    for claim in run.claims:
        drivers = {
            profile.driver.name: (profile.driver, request)
            for request in claim.alternatives
            if (profile := devices_of_request(run, request)) is not None
        }
        for name, (known_driver, request) in drivers.items() if len(drivers) > 1 else ():
            version = driver_of_run(run, known_driver).newest
            limit = known_driver.fact.limit("foreign-devices", version)
            if limit is None:
                continue
            others = [other for other in drivers if other != name]
            mended = f", or update it to {limit.removed}" if limit.removed else ""
            yield Advice(
                claim.subject,
                (*request.path, "deviceClassName"),
                f"{name} {version} refuses to prepare a claim that also has devices of"
                f" {' and '.join(others)}: they are not allocatable for it",
                help=f"write a claim of its own for each driver{mended}",
                confidence="likely",
            )
