"""A configuration for another kind of NVIDIA device.

## What it does

Compares the `kind` of parameters for `gpu.nvidia.com` with the devices of the requests that they
are for: GpuConfig is for GPUs, MigDeviceConfig for MIG devices, VfioDeviceConfig for vfio devices.

## Why is this bad

The driver refuses to prepare the device ("cannot apply GpuConfig to device ..."), so the pod does
not start; if the configuration names no requests, the driver ignores it instead. From Kubernetes
1.37 on, it also ignores a configuration that names all requests of the claim, since the allocator
removes the names.

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

kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go prepareDevices (v25.3.0
to v0.4.1); kubernetes
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go
(v1.37.1)
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
    for config in configurations(run):
        kind_and_type = kind_of(config.driver, config.parameters)
        if kind_and_type is not None:
            message = (_on_class if config.subject.claim is None else _on_claim)(
                run, config, *kind_and_type
            )
            if message:
                yield Advice(
                    config.subject,
                    (*config.path, "parameters", "kind"),
                    message,
                    confidence="likely",
                )


def _on_claim(run: Run, config: Configuration, kind: str, wanted: str) -> str | None:
    claim = config.subject.claim
    assert claim is not None
    sides = {
        request.reference: devices_after_selectors(run, request)
        for request in claim.targets(config.requests)
    }
    types = {
        name: set(side.types)
        for name, side in sides.items()
        if side and side.driver.name == _DRIVER
    }
    others = [name for name, type_names in types.items() if type_names and wanted not in type_names]
    # The allocator of 1.37 clears `requests` of a configuration that names all requests, and the
    # driver skips a configuration of another kind that names none.
    every = len(sides) == len(claim.targets([])) and run.target.has(
        "configuration-of-all-names-none"
    )
    if others and config.requests and not every:
        type_names = ", ".join(sorted(types[others[0]]))
        return (
            f"gpu.nvidia.com refuses {kind} for request {others[0]}, whose devices are of type "
            f"{type_names}"
        )
    if others and len(others) == len(sides):
        type_names = ", ".join(sorted(set().union(*types.values())))
        return f"gpu.nvidia.com does not apply {kind} to devices of type {type_names}"
    return None


def _on_class(run: Run, config: Configuration, kind: str, wanted: str) -> str | None:
    profile = devices_of_selectors(
        run.program(expression) for expression in config.subject.selectors
    )
    if profile and profile.driver.name == _DRIVER and profile.types and wanted not in profile.types:
        return (
            f"gpu.nvidia.com refuses {kind} for devices of this class, which are of type "
            f"{', '.join(profile.types)}"
        )
    return None
