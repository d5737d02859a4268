"""``net.example.com``: the example driver of Kubernetes with its profile net, whose NICs exist on
no machine.

Source: kubernetes-sigs/dra-example-driver v0.4.0, internal/profiles/net/net.go,
cmd/dra-example-kubeletplugin/main.go.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.topology.machine import Machine

NAME = "net.example.com"


_BANDWIDTH = {
    "value": "100G",
    "requestPolicy": {"default": "1G", "validRange": {"min": "100M", "max": "100G", "step": "1M"}},
}
_CAPACITY = {
    "vfs": {"value": "100", "requestPolicy": {"default": "1", "validValues": ["1"]}},
    "ingressBandwidth": _BANDWIDTH,
    "egressBandwidth": _BANDWIDTH,
}


class _Net(Known, frozen=True):
    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        return Inventory(
            single_slice(map(_device, range(options.number(NAME, "numDevices", 8, 512))))
        )


PROFILE = _Net(NAME)


def _device(number: int) -> dict[str, Any]:
    facts = {"index": number, "model": "LATEST-NET-MODEL", "driverVersion": {"version": "1.0.0"}}
    return {
        "name": f"nic-{number}",
        "attributes": to_attributes(facts),
        "capacity": _CAPACITY,
        "allowMultipleAllocations": True,
    }
