"""``ascend.project-hami.io``: Huawei Ascend NPUs, as HAMi's driver lists them.

Source: Project-HAMi/ascend-dra-driver@dc1db52 cmd/ascend-dra-kubeletplugin/discovery.go
(enumerateDevices, buildLibvNPUDeviceCapacities), state.go (CreatePredefinedDeviceClasses),
pkg/consts/consts.go.
"""

from typing import Any

from dractl.drivers import reported
from dractl.drivers.agent import make_shareable, steps
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.topology.machine import Machine

NAME = "ascend.project-hami.io"


class _Ascend(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(item.driver == NAME for item in machine.reported)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        core = options.flag(NAME, "hamiVNPUCore")
        devices = [
            _device(device, options.node_name, core=core)
            for device in reported.devices(machine, NAME, self.catalogue)
        ]
        notices = (
            ()
            if devices
            else (f"{NAME}: only Huawei's library knows the devices; list them in a machine file",)
        )
        return Inventory(single_slice(devices), notices=notices)


PROFILE = _Ascend(NAME)


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
    capacity = {
        "memory": {"value": "32Gi"},
        **device.get("capacity", {}),
        "cores": {"value": "100"},
    }
    policies = {"memory": steps("1Mi", "1Mi"), "cores": steps("0", "1")}
    return make_shareable(
        {"name": device["name"], "attributes": kept, "capacity": capacity}, policies
    )
