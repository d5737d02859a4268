"""The contents of a cluster and how many more fit, from many runs of the allocator and the scheduler.

from dractl.capacity import inventory, place, subject
inventory(state, features)                                        # every pool and device, its state, its holders
place(subject(state, "template/gpu-pair", "ml"), features)        # copies, until one stays pending
"""

from dractl.capacity.copies import Copies, subject
from dractl.capacity.inventory import DeviceRow, PoolRow, Stock, inventory
from dractl.capacity.packing import Most, most
from dractl.capacity.placing import Fit, NodeFit, left, place
from dractl.capacity.plugins import PluginRow, plugins
from dractl.capacity.problems import Problem, problems
from dractl.capacity.replicas import Choice, Together, together
from dractl.capacity.stranded import Stranded, stranded

__all__ = [
    "Choice",
    "Copies",
    "DeviceRow",
    "Fit",
    "Most",
    "NodeFit",
    "PluginRow",
    "PoolRow",
    "Problem",
    "Stock",
    "Stranded",
    "Together",
    "inventory",
    "left",
    "most",
    "place",
    "plugins",
    "problems",
    "stranded",
    "subject",
    "together",
]
