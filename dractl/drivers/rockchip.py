"""``dra.rockchip.com``: NPU, GPU and video blocks of Rockchip SoCs.

Source: gclawes/rockchip-dra-driver@3aac1c8 cmd/kubeletplugin/devices.go, pkg/consts/consts.go.
"""

from __future__ import annotations

from typing import Any

from dractl.drivers.agent import Agent
from dractl.drivers.profile import Attribute, Capacity, Catalogue, Taint

NAME = "dra.rockchip.com"

CATALOGUE = Catalogue(
    title="accelerators of Rockchip SoCs",
    source="gclawes/rockchip-dra-driver@3aac1c8 cmd/kubeletplugin/devices.go",
    versions=("main",),
    released="main",
    attributes=(
        Attribute("type", "string", "kind of block: npu, gpu, vpu or newer ones"),
        Attribute("vendor", "string", "rockchip or arm", values=("rockchip", "arm")),
        Attribute("model", "string", "model of the block"),
        Attribute("kmd", "string", "kernel driver: rocket, panthor, rkvdec, hantro-vpu or newer ones"),
        Attribute("deviceNode", "string", "device node"),
        Attribute("deviceGid", "int", "group of the device node", when="where it is known"),
        Attribute("soc", "string", "the SoC", when="where it is known"),
        Attribute("coreCount", "int", "cores of an NPU", when="of NPUs"),
        Attribute("shaderCores", "int", "shader cores of a GPU", when="of GPUs"),
        Attribute("function", "string", "what a video block does: decode or encode", when="of video blocks"),
        Attribute("block", "string", "name of a video block, such as rkvdec or hantro-av1", when="of video blocks"),
    ),
    capacities=(Capacity("shares", "how many claims can hold the device at once"),),
    taints=(
        Taint(
            "dra.rockchip.com/unhealthy",
            ("NoExecute",),
            "the device lost its kernel driver or its device node",
            value="node-missing or not-discovered",
        ),
    ),
    notes=("several claims can share a device; each takes one share by default",),
)


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    """A share for each claim; the range has no step with a single share."""
    capacity = device.get("capacity", {})
    if "shares" not in capacity:
        return {**device, "allowMultipleAllocations": True}
    whole = capacity["shares"]["value"]
    valid = {"min": "1", "max": whole, **({"step": "1"} if whole != "1" else {})}
    shares = {"value": whole, "requestPolicy": {"default": "1", "validRange": valid}}
    return {**device, "allowMultipleAllocations": True, "capacity": {**capacity, "shares": shares}}


PROFILE = Agent(NAME, CATALOGUE, shape=_shape)
