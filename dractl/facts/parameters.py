"""Parameters that drivers refuse although their schema allows them: sharing a device without the
feature gate for it, or parameters for another type of device.
"""

from collections.abc import Mapping
from typing import Any

from dractl.facts.drivers import driver, names


def sharing_gate(name: str, strategy: str) -> str | None:
    """Return the feature gate, off by default, without which a driver refuses a
    ``sharing.strategy``; None if the strategy needs no gate.

    kubernetes-sigs/dra-driver-nvidia-gpu pkg/featuregates/featuregates.go (v25.8.0 to v0.4.1)
    """
    return _table(name, "sharingGates").get(strategy)


def kind_of(name: str, parameters: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the kind of parameters, and the type of device that it is for; the driver refuses the
    kind for other types ("cannot apply GpuConfig to device ..."). Return None if a driver has one
    kind for all types.

    kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go prepareDevices
    (v25.3.0 to v0.4.1; VfioDeviceConfig since v25.12)
    """
    kind, version = parameters.get("kind"), parameters.get("apiVersion")
    types_by_kind = _table(name, "parametersFor")
    is_nvidias = isinstance(version, str) and version.startswith("resource.nvidia.com/")
    return (
        (kind, types_by_kind[kind])
        if is_nvidias and isinstance(kind, str) and kind in types_by_kind
        else None
    )


def kind_for(name: str, type_: str) -> str | None:
    """Return the kind of parameters for a type of device; None if the facts have none."""
    return next(
        (
            kind
            for kind, device_type in _table(name, "parametersFor").items()
            if device_type == type_
        ),
        None,
    )


def _table(name: str, table: str) -> Mapping[str, str]:
    return driver(name).table(table) if name in names() else {}
