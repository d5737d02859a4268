"""``ovsdpdk.k8snetworkplumbingwg.io``: ports of the OVS-DPDK bridges that an OvsDpdkResourcePolicy
names.

Source: k8snetworkplumbingwg/dra-driver-ovsdpdk@fa2d316 pkg/devicestate/devicestate.go
(bridgeToDevice).
"""

from typing import Any

from dractl.drivers.agent import Agent, make_shareable, steps

NAME = "ovsdpdk.k8snetworkplumbingwg.io"
_PORTS = "32768"  # consts.DefaultBridgeCapacity


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    attributes = {f"{NAME}/bridgeName": {"string": device["name"]}, **device.get("attributes", {})}
    capacity = {f"{NAME}/ports": {"value": _PORTS}, **device.get("capacity", {})}
    policy = {f"{NAME}/ports": steps("1", "1", default="1", most=None)}
    return make_shareable({**device, "attributes": attributes, "capacity": capacity}, policy)


PROFILE = Agent(NAME, shape=_shape)
