"""The effects of a change on running pods: taints of devices, a node that is drained, a driver that
stops.

This package models the device taint eviction controller, the eviction API, and the kubelet with its
drivers. The simulation then creates the pods that owners recreate, and the scheduler places them.
"""

from dractl.impact.drain import find_drain_impact
from dractl.impact.drivers import find_driver, find_driver_impact
from dractl.impact.nodes import find_cordon_impact, find_node
from dractl.impact.reboot import find_reboot_impact
from dractl.impact.result import DeviceChange, DeviceState, Effect, Impact, PendingPod, PodImpact
from dractl.impact.summary import describe_hits
from dractl.impact.taint_change import TaintObjects, select_taint_objects
from dractl.impact.taints import find_taint_impact

__all__ = [
    "DeviceChange",
    "DeviceState",
    "Effect",
    "Impact",
    "PendingPod",
    "PodImpact",
    "TaintObjects",
    "describe_hits",
    "find_cordon_impact",
    "find_drain_impact",
    "find_driver",
    "find_driver_impact",
    "find_node",
    "find_reboot_impact",
    "find_taint_impact",
    "select_taint_objects",
]
