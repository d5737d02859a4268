"""``dra.hygon.com``: Hygon HCUs, as dcgm lists them.

Source: HYGON-AI/k8s-hcu-dra-driver@643ba6d internal/driver/allocatable_device.go;
@5ad3464 internal/driver/device_enum.go.
"""

from typing import Any

from dractl.drivers.agent import Agent, make_shareable, steps

NAME = "dra.hygon.com"


_POLICIES = {
    "cores": steps("0", "1"),
    "memory": steps("0", "1Mi"),
    "slices": steps("1", "1", default="1", most="4"),
}


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    fixed = {"type": {"string": "hcu"}, "architecture": {"string": ""}}
    attributes = {**fixed, **device.get("attributes", {})}
    capacity = {"slices": {"value": "4"}, **device.get("capacity", {})}
    return make_shareable({**device, "attributes": attributes, "capacity": capacity}, _POLICIES)


PROFILE = Agent(NAME, shape=_shape)
