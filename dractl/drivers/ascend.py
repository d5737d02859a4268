"""``ascend.project-hami.io``: Huawei Ascend NPUs, as HAMi's driver lists them.

Source: Project-HAMi/ascend-dra-driver@dc1db52 cmd/ascend-dra-kubeletplugin/discovery.go (enumerateDevices,
buildLibvNPUDeviceCapacities), state.go (CreatePredefinedDeviceClasses), pkg/consts/consts.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers import reported
from dractl.drivers.agent import shared, steps
from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    Setting,
    one_slice,
    version_index,
)

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

NAME = "ascend.project-hami.io"
_MODES = "with device templates, the default"

CATALOGUE = Catalogue(
    title="Huawei Ascend NPUs (HAMi)",
    source="Project-HAMi/ascend-dra-driver@dc1db52 cmd/ascend-dra-kubeletplugin/discovery.go",
    versions=("main",),
    released="main",
    attributes=(
        Attribute("type", "string", "NPU; HAMivNPUCore with that gate", values=("NPU", "HAMivNPUCore")),
        Attribute("index", "int", "logical id"),
        Attribute("physicalID", "int", "physical id"),
        Attribute("uuid", "string", "<node>-<logical id>"),
        Attribute("model", "string", "device type, such as 910B3"),
        Attribute("productName", "string", "device type, such as 910B3"),
        Attribute("brand", "string", "always Huawei", values=("Huawei",)),
        Attribute("cores", "int", "AI cores", when=_MODES),
        Attribute("memory", "int", "memory in GB", when=_MODES),
    ),
    capacities=(
        Capacity("cores", "100 percent; a request takes all by default", when="with the gate HAMivNPUCore"),
        Capacity("memory", "memory in bytes; a request takes all by default", when="with the gate HAMivNPUCore"),
    ),
    settings=(Setting("hamiVNPUCore", "false, true", "the feature gate HAMivNPUCore: claims share NPUs by capacity"),),
    notes=(
        "devices are named npu-<logical id>-0; earlier the driver was called npu.project-hami.io",
        "the driver makes a DeviceClass npu-<model>.project-hami.io for each model, and one for each template",
        "the selectors of its classes do not check device.driver",
        "with the gate, memory is 32Gi where it cannot be read",
    ),
)


class _Ascend(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(item.driver == NAME for item in machine.reported)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        """None: the driver makes its classes itself, for the models that it finds."""
        return ()

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        core = options.flag(NAME, "hamiVNPUCore")
        devices = [
            _device(device, options.node_name, core=core) for device in reported.devices(machine, NAME, CATALOGUE)
        ]
        said = () if devices else (f"{NAME}: only Huawei's library knows the devices; list them in a machine file",)
        return Inventory(one_slice(devices), notices=said)


PROFILE = _Ascend()


def _device(device: dict[str, Any], node: str, *, core: bool) -> dict[str, Any]:
    given = device.get("attributes", {})
    index = given.get("index", {}).get("int")
    attributes = {
        **given,
        "brand": {"string": "Huawei"},
        "type": {"string": "HAMivNPUCore" if core else "NPU"},
        **({"uuid": {"string": f"{node}-{index}"}} if index is not None else {}),
    }
    if not core:
        return {"name": device["name"], "attributes": attributes}
    kept = {name: value for name, value in attributes.items() if name not in ("cores", "memory")}
    capacity = {"memory": {"value": "32Gi"}, **device.get("capacity", {}), "cores": {"value": "100"}}
    policies = {"memory": steps("1Mi", "1Mi"), "cores": steps("0", "1")}
    return shared({"name": device["name"], "attributes": kept, "capacity": capacity}, policies)
