"""GPU sharing, which NVIDIA's driver refuses by default.

## What it does

Finds parameters for `gpu.nvidia.com` with `sharing.strategy`: `TimeSlicing` needs the driver's feature gate
TimeSlicingSettings, `MPS` needs MPSSupport. Both are off by default in every release since v25.8.0.

## Why is this bad

Without the gate the driver refuses to prepare the device ("is selected as the GPU sharing strategy, but the ... feature
gate is not enabled"), and the pod does not start.

## Example

```yaml
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
          sharing: {strategy: TimeSlicing}
```

## Use instead

```yaml
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
```

## Source

kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1/validate.go, pkg/featuregates/featuregates.go
(v25.8.0 to v0.4.1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.lint.advice import Advice
from dractl.objects import items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run
    from dractl.manifests.documents import Path

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("config",)
_GATES = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}


def check(run: Run) -> Iterator[Advice]:
    configured = [(claim.subject, (*claim.path, "config"), claim.devices.get("config")) for claim in run.claims]
    configured += [(subject, ("spec", "config"), subject.spec.get("config")) for subject in run.of("DeviceClass")]
    for subject, path, listed in configured:
        for place, strategy in _strategies(path, listed):
            gate = _GATES[strategy]
            yield Advice(
                subject,
                place,
                f"gpu.nvidia.com refuses {strategy} unless its feature gate {gate} is on; since v25.8.0 it is off by "
                "default",
                help=f"install the driver with featureGates.{gate}=true",
                confidence="possible",
            )


def _strategies(path: Path, listed: Any) -> Iterator[tuple[Path, str]]:
    for at, item in enumerate(items(listed)):
        opaque = mapping(mapping(item).get("opaque"))
        parameters = mapping(opaque.get("parameters"))
        strategy = text(mapping(parameters.get("sharing")).get("strategy"))
        own = text(parameters.get("apiVersion")).startswith("resource.nvidia.com/")
        if text(opaque.get("driver")) == "gpu.nvidia.com" and own and strategy in _GATES:
            yield (*path, at, "opaque", "parameters", "sharing", "strategy"), strategy
