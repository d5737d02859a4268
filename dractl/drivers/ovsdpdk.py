"""``ovsdpdk.k8snetworkplumbingwg.io``: ports of OVS-DPDK bridges, as an OvsDpdkResourcePolicy names the bridges.

Source: k8snetworkplumbingwg/dra-driver-ovsdpdk@fa2d316 pkg/devicestate/devicestate.go (bridgeToDevice).
"""

from __future__ import annotations

from typing import Any

from dractl.drivers.agent import Agent, shared, steps
from dractl.drivers.profile import Attribute, Capacity, Catalogue, device_class

NAME = "ovsdpdk.k8snetworkplumbingwg.io"
_PORTS = "32768"  # consts.DefaultBridgeCapacity

CATALOGUE = Catalogue(
    title="ports of OVS-DPDK bridges",
    source="k8snetworkplumbingwg/dra-driver-ovsdpdk@fa2d316 pkg/devicestate/devicestate.go",
    versions=("main",),
    released="main",
    attributes=(
        Attribute(f"{NAME}/bridgeName", "string", "the bridge"),
        Attribute(f"{NAME}/mtu", "int", "MTU", when="where the policy gives it"),
    ),
    capacities=(Capacity(f"{NAME}/ports", f"{_PORTS} ports; a request takes 1 by default"),),
    notes=(
        "a device is a bridge of an OvsDpdkResourcePolicy, has its name, and is shared by several claims",
        "needs Kubernetes 1.36",
    ),
)


def _shape(device: dict[str, Any]) -> dict[str, Any]:
    attributes = {f"{NAME}/bridgeName": {"string": device["name"]}, **device.get("attributes", {})}
    capacity = {f"{NAME}/ports": {"value": _PORTS}, **device.get("capacity", {})}
    policy = {f"{NAME}/ports": steps("1", "1", default="1", most=None)}
    return shared({**device, "attributes": attributes, "capacity": capacity}, policy)


PROFILE = Agent(NAME, CATALOGUE, (device_class("ovsdpdk", f'device.driver == "{NAME}"'),), _shape)
