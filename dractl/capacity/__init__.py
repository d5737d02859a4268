"""The devices of a cluster, and the number of further copies that fit.

from dractl.capacity import find_subject, place_copies, take_inventory
take_inventory(state, features)                               # every pool and device
subject = find_subject(state, "template/gpu-pair", "ml")
place_copies(subject, features)                               # until one stays pending
"""

from typing import TYPE_CHECKING

from dractl.exports import import_on_use

if TYPE_CHECKING:
    from dractl.capacity.copies import Copies, find_subject
    from dractl.capacity.device_plugins import PluginRow, list_device_plugins
    from dractl.capacity.inventory import DeviceRow, Inventory, PoolRow, take_inventory
    from dractl.capacity.packing import MaxCopies, max_copies
    from dractl.capacity.placing import Fit, NodeFit, list_remaining_resources, place_copies
    from dractl.capacity.problems import Problem, find_problems
    from dractl.capacity.replicas import AlternativeFit, Placement, place_replicas
    from dractl.capacity.stranded_devices import StrandedDevices, find_stranded_devices

__all__ = [
    "AlternativeFit",
    "Copies",
    "DeviceRow",
    "Fit",
    "Inventory",
    "MaxCopies",
    "NodeFit",
    "Placement",
    "PluginRow",
    "PoolRow",
    "Problem",
    "StrandedDevices",
    "find_problems",
    "find_stranded_devices",
    "find_subject",
    "list_device_plugins",
    "list_remaining_resources",
    "max_copies",
    "place_copies",
    "place_replicas",
    "take_inventory",
]

__getattr__ = import_on_use(
    __name__,
    {
        "AlternativeFit": "replicas",
        "Copies": "copies",
        "DeviceRow": "inventory",
        "Fit": "placing",
        "Inventory": "inventory",
        "MaxCopies": "packing",
        "NodeFit": "placing",
        "Placement": "replicas",
        "PluginRow": "device_plugins",
        "PoolRow": "inventory",
        "Problem": "problems",
        "StrandedDevices": "stranded_devices",
        "find_problems": "problems",
        "find_stranded_devices": "stranded_devices",
        "find_subject": "copies",
        "list_device_plugins": "device_plugins",
        "list_remaining_resources": "placing",
        "max_copies": "packing",
        "place_copies": "placing",
        "place_replicas": "replicas",
        "take_inventory": "inventory",
    },
)
