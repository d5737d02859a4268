"""Feature gates of drivers without which they refuse a way to share a device."""

from __future__ import annotations

# The strategies of sharing that NVIDIA's driver refuses unless its feature gate is on; both are off by default.
# kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go (v25.8.0 to v0.4.1)
_SHARING_GATES = {"TimeSlicing": "TimeSlicingSettings", "MPS": "MPSSupport"}


def sharing_gate(driver: str, strategy: str) -> str | None:
    """The feature gate without which a driver refuses a ``sharing.strategy``; None if it needs none."""
    return _SHARING_GATES.get(strategy) if driver == "gpu.nvidia.com" else None
