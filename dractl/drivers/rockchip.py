"""``dra.rockchip.com``: NPU, GPU and video blocks of Rockchip SoCs.

Source: gclawes/rockchip-dra-driver@3aac1c8 cmd/kubeletplugin/devices.go, pkg/consts/consts.go.
"""

from typing import Any

from dractl.drivers.agent import Agent

NAME = "dra.rockchip.com"


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    """Return the device with one share for each claim; with a single share, the range has no
    step.
    """
    capacity = device.get("capacity", {})
    if "shares" not in capacity:
        return {**device, "allowMultipleAllocations": True}
    whole = capacity["shares"]["value"]
    valid = {"min": "1", "max": whole, **({"step": "1"} if whole != "1" else {})}
    shares = {"value": whole, "requestPolicy": {"default": "1", "validRange": valid}}
    return {**device, "allowMultipleAllocations": True, "capacity": {**capacity, "shares": shares}}


PROFILE = Agent(NAME, shape=_shape)
