"""How many copies get devices that no device plugin has handed out.

kube-scheduler counts the extended resource and the slices apart (pkg/scheduler/framework/plugins/noderesources/fit.go,
plugins/dynamicresources/dynamicresources.go), so it may allocate a device that a container has already.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity.inventory import inventory
from dractl.capacity.placing import Fit, NodeFit
from dractl.capacity.plugins import HandedOut


def without(found: Fit, handed: Sequence[HandedOut], features: Features) -> Fit:
    """At most so many of the copies that fit get devices that nobody has, however the devices that were handed out lie:
    on each node the free devices less those, divided by what a copy takes."""
    taken = {(node.name, device.partition("/")[0]) for node in found.nodes for device in node.devices}
    handed = tuple(one for one in handed if (one.node, one.driver) in taken)
    if not handed:
        return found
    free: Counter[tuple[str | None, str]] = Counter()
    for row in inventory(found.subject.state, features).devices:
        free[row.node, row.id.driver] += row.state in ("free", "shared")
    nodes = tuple(_bounded(node, [one for one in handed if one.node == node.name], free) for node in found.nodes)
    fits = sum(node.fits for node in nodes)
    return replace(found, fits=fits, nodes=nodes, handed_out=handed, trusting=found)


def _bounded(node: NodeFit, handed: Sequence[HandedOut], free: Mapping[tuple[str | None, str], int]) -> NodeFit:
    fits = node.fits
    for one in handed:
        left = max(0, free[node.name, one.driver] - one.used)
        each = sum(device.startswith(f"{one.driver}/") for device in node.devices) // node.fits
        fits = min(fits, left // each if each else node.fits * bool(left))  # none each: copies share devices
    return node if fits == node.fits else replace(node, fits=fits, devices=())
