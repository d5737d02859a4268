"""A configuration for another kind of NVIDIA device.

## What it does

Compares the `kind` of parameters for `gpu.nvidia.com` with the devices of the requests that they are for: GpuConfig is
for GPUs, MigDeviceConfig for MIG devices, VfioDeviceConfig for vfio devices.

## Why is this bad

The driver refuses to prepare the device ("cannot apply GpuConfig to device ..."), so the pod does not start; or, if the
configuration names no requests, does not apply it. From Kubernetes 1.37 on that is so for a configuration that names
all requests of the claim, too: the allocator leaves the names out.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: part
       exactly: {deviceClassName: mig.nvidia.com}
     config:
     - requests: [part]
       opaque:
         driver: gpu.nvidia.com
         parameters:
           apiVersion: resource.nvidia.com/v1beta1
-          kind: GpuConfig
+          kind: MigDeviceConfig
```

## Source

kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go prepareDevices (v25.3.0 to v0.4.1);
kubernetes staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go (v1.37.1)
"""

from dractl.facts.parameters import kind_of
from dractl.lint.configs import Configuration, configurations
from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import devices_after_selectors, devices_of_selectors

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("config",)
_DRIVER = "gpu.nvidia.com"


def check(run: Run) -> Found:
    for one in configurations(run):
        known = kind_of(one.driver, one.parameters)
        if known is not None:
            said = (_on_class if one.subject.claim is None else _on_claim)(run, one, *known)
            if said:
                yield Advice(
                    one.subject, (*one.path, "parameters", "kind"), said, confidence="likely"
                )


def _on_claim(run: Run, one: Configuration, kind: str, wanted: str) -> str | None:
    claim = one.subject.claim
    assert claim is not None
    sides = {
        request.reference: devices_after_selectors(run, request)
        for request in claim.targets(one.requests)
    }
    types = {
        name: set(side.types)
        for name, side in sides.items()
        if side and side.driver.name == _DRIVER
    }
    others = [name for name, found in types.items() if found and wanted not in found]
    # The allocator of 1.37 clears `requests` of a configuration that names all requests, and the driver passes
    # over one of another kind that names none.
    every = len(sides) == len(claim.targets([])) and run.target.has(
        "configuration-of-all-names-none"
    )
    if others and one.requests and not every:
        found = ", ".join(sorted(types[others[0]]))
        return f"gpu.nvidia.com refuses {kind} for request {others[0]}, whose devices are of type {found}"
    if others and len(others) == len(sides):
        found = ", ".join(sorted(set().union(*types.values())))
        return f"gpu.nvidia.com does not apply {kind} to devices of type {found}"
    return None


def _on_class(run: Run, one: Configuration, kind: str, wanted: str) -> str | None:
    known = devices_of_selectors(run.program(expression) for expression in one.subject.selectors)
    if known and known.driver.name == _DRIVER and known.types and wanted not in known.types:
        return f"gpu.nvidia.com refuses {kind} for devices of this class, which are of type {', '.join(known.types)}"
    return None
