"""What drivers refuse that is right by its schema: a way to share a device without its feature gate, parameters for
another type of device."""

from collections.abc import Mapping
from typing import Any

# The strategies of sharing that NVIDIA's driver refuses unless its feature gate is on; both are off by default.
# kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go (v25.8.0 to v0.4.1)
_SHARING_GATES = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}


def sharing_gate(driver: str, strategy: str) -> str | None:
    """The feature gate without which a driver refuses a ``sharing.strategy``; None if it needs none."""
    return _SHARING_GATES.get(strategy) if driver == "gpu.nvidia.com" else None


# The type of device that a kind of parameters is for; the driver refuses it for others ("cannot apply GpuConfig to
# device ..."). kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go prepareDevices (v25.3.0 to
# v0.4.1; VfioDeviceConfig since v25.12)
_KINDS = {"GpuConfig": "gpu", "MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}


def kind_of(driver: str, parameters: Mapping[str, Any]) -> tuple[str, str] | None:
    """The kind of parameters and the type of device that it is for; None where a driver has one kind for all."""
    kind, version = parameters.get("kind"), parameters.get("apiVersion")
    own = driver == "gpu.nvidia.com" and isinstance(version, str) and version.startswith("resource.nvidia.com/")
    return (kind, _KINDS[kind]) if own and isinstance(kind, str) and kind in _KINDS else None


def kind_for(type_: str) -> str | None:
    """The kind of parameters that is for a type of device."""
    return next((kind for kind, one in _KINDS.items() if one == type_), None)
