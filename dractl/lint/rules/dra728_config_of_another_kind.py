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

from collections.abc import Iterator
from typing import Any

from dractl.facts.parameters import kind_of
from dractl.lint.advice import Advice
from dractl.lint.model import Run
from dractl.lint.published import narrowed, of_selectors
from dractl.manifests.documents import Path
from dractl.objects import items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("config",)
_DRIVER = "gpu.nvidia.com"


def check(run: Run) -> Iterator[Advice]:
    for claim in run.claims:
        for path, names, kind, wanted in _configurations((*claim.path, "config"), claim.devices.get("config")):
            sides = {request.reference: narrowed(run, request) for request in claim.targets(names)}
            types = {name: set(side.types) for name, side in sides.items() if side and side.driver.name == _DRIVER}
            others = [name for name, found in types.items() if found and wanted not in found]
            # The allocator of 1.37 clears `requests` of a configuration that names all requests, and the driver passes
            # over one of another kind that names none.
            every = len(sides) == len(claim.targets([])) and run.target.has("configuration-of-all-names-none")
            if others and names and not every:
                said = f"gpu.nvidia.com refuses {kind} for request {others[0]}, whose devices are of type "
                yield Advice(claim.subject, path, said + ", ".join(sorted(types[others[0]])), confidence="likely")
            elif others and len(others) == len(sides):
                said = f"gpu.nvidia.com does not apply {kind} to devices of type "
                found = sorted(set().union(*types.values()))
                yield Advice(claim.subject, path, said + ", ".join(found), confidence="likely")
    for subject in run.of("DeviceClass"):
        known = of_selectors(run.program(expression) for expression in subject.selectors)
        for path, _, kind, wanted in _configurations(("spec", "config"), subject.spec.get("config")):
            if known and known.driver.name == _DRIVER and known.types and wanted not in known.types:
                said = f"gpu.nvidia.com refuses {kind} for devices of this class, which are of type "
                yield Advice(subject, path, said + ", ".join(known.types), confidence="likely")


def _configurations(path: Path, listed: Any) -> Iterator[tuple[Path, list[str], str, str]]:
    """The path of the kind, the names of the requests, the kind of each configuration for the driver, and the type of
    device that it is for."""
    for at, item in enumerate(items(listed)):
        own = mapping(mapping(item).get("opaque"))
        known = kind_of(text(own.get("driver")), mapping(own.get("parameters")))
        if known is not None:
            names = [text(name) for name in items(mapping(item).get("requests"))]
            yield (*path, at, "opaque", "parameters", "kind"), names, *known
