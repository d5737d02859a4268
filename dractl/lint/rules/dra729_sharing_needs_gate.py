"""GPU sharing, which NVIDIA's driver refuses by default.

## What it does

Finds parameters for `gpu.nvidia.com` with `sharing.strategy`: `TimeSlicing` needs the driver's
feature gate TimeSlicingSettings, `MPS` needs MPSSupport. Both are off by default in every release
since v25.8.0.

## Why is this bad

Without the gate the driver refuses to prepare the device ("is selected as the GPU sharing strategy,
but the ... feature gate is not enabled"), and the pod does not start.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: shared}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.nvidia.com}
     config:
     - opaque:
         driver: gpu.nvidia.com
         parameters:
           apiVersion: resource.nvidia.com/v1beta1
           kind: GpuConfig
-          sharing: {strategy: TimeSlicing}
```

## Source

kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1/validate.go,
pkg/featuregates/featuregates.go (v25.8.0 to v0.4.1)
"""

from dractl.facts.parameters import sharing_gate
from dractl.lint.configs import configurations
from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping, text

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("config",)


def check(run: Run) -> Found:
    for config in configurations(run):
        # Scripts of the driver's own tests install it with the gates that it needs.
        if "bats" in config.subject.document.file.split("/"):
            continue
        strategy = text(mapping(config.parameters.get("sharing")).get("strategy"))
        is_nvidia_api = text(config.parameters.get("apiVersion")).startswith("resource.nvidia.com/")
        gate = sharing_gate(config.driver, strategy) if is_nvidia_api else None
        if gate is not None and gate not in run.evidence.gates:
            yield Advice(
                config.subject,
                (*config.path, "parameters", "sharing", "strategy"),
                f"gpu.nvidia.com refuses {strategy} unless its feature gate {gate} is on; since "
                "v25.8.0 it is off by default",
                help=f"install the driver with featureGates.{gate}=true",
                confidence="possible",
            )
