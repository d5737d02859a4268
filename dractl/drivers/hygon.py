"""``dra.hygon.com``: Hygon HCUs, as dcgm lists them.

Source: HYGON-AI/k8s-hcu-dra-driver@643ba6d internal/driver/allocatable_device.go;
@5ad3464 internal/driver/device_enum.go.
"""

from __future__ import annotations

from typing import Any

from dractl.drivers.agent import Agent, shared, steps
from dractl.drivers.profile import Attribute, Capacity, Catalogue

NAME = "dra.hygon.com"

CATALOGUE = Catalogue(
    title="Hygon HCUs",
    source="HYGON-AI/k8s-hcu-dra-driver@643ba6d internal/driver/allocatable_device.go",
    versions=("main",),
    released="main",
    attributes=(
        Attribute("type", "string", "always hcu", values=("hcu",)),
        Attribute("uuid", "string", "dcgm's device id"),
        Attribute("productName", "string", "dcgm's name of the device type"),
        Attribute("architecture", "string", "always empty", values=("",)),
        Attribute("brand", "string", "dcgm's name of the subsystem type"),
    ),
    capacities=(
        Capacity("cores", "compute units; a request takes all by default"),
        Capacity("memory", "memory in bytes; a request takes all by default"),
        Capacity("slices", "4 shares of the device; a request takes 1 by default"),
    ),
    notes=(
        "devices are named hcu-<PCI address>, and several claims can share one",
        "cards with virtual HCUs that another program made are not published",
    ),
)

_POLICIES = {
    "cores": steps("0", "1"),
    "memory": steps("0", "1Mi"),
    "slices": steps("1", "1", default="1", most="4"),
}


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    fixed = {"type": {"string": "hcu"}, "architecture": {"string": ""}}
    attributes = {**fixed, **device.get("attributes", {})}
    capacity = {"slices": {"value": "4"}, **device.get("capacity", {})}
    return shared({**device, "attributes": attributes, "capacity": capacity}, _POLICIES)


PROFILE = Agent(NAME, CATALOGUE, shape=_shape)
