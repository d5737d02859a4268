"""Nodes that an option adds to a cluster, such as ``dgx-h100*4``."""

import os
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from dractl.capacity import what_if
from dractl.cluster.sources import from_objects
from dractl.cluster.state import ClusterState
from dractl.errors import UsageError
from dractl.machines import Description, describe
from dractl.machines.described import is_description
from dractl.machines.nodes import node_name, parse_groups
from dractl.objects import Slice
from dractl.views.base import View

_MAX_ADDED_DEVICES = 50_000
"""The maximum number of added devices, which take at most 500 MB; the 5,000 nodes of a large
cluster have fewer.
"""


class AddedNodes(Struct, frozen=True):
    """Nodes that an option adds."""

    option: str
    """The option that adds the nodes."""
    source: str
    """A file, or a described machine."""
    count: int
    """The number of times that the nodes of the source are added."""
    description: Description | None = None
    """The description of the machine; None for a file of objects or a snapshot."""

    def __str__(self) -> str:
        return f"{self.option} {self.source}" + (f"*{self.count}" if self.count > 1 else "")


def parse_added_nodes(option: str, values: Iterable[str]) -> list[AddedNodes]:
    """Return the nodes that the values of an option add.

    Raises UsageError for a source that is neither a file nor a known machine, and for an invalid
    number of nodes.
    """
    try:
        return [
            AddedNodes(option, group.machine, group.count, _describe(group.machine))
            for group in parse_groups(values)
        ]
    except UsageError as error:
        raise UsageError(error.message.replace("--hardware", option, 1), hint=error.hint) from None


def _describe(source: str) -> Description | None:
    is_of_objects = os.path.isfile(source) and not is_description(source)
    return None if is_of_objects else describe(source)


def add_nodes(
    state: ClusterState,
    additions: Sequence[AddedNodes],
    load_nodes: Callable[[AddedNodes], ClusterState],
) -> ClusterState:
    """Add nodes to the cluster; ``load_nodes`` loads the nodes of one addition.

    Raises UsageError for too many devices.
    """
    if additions and not (state.has("Node") or state.has("ResourceSlice")):
        state = state.merge(from_objects(()))  # the added nodes are the only nodes
    devices = 0
    for addition in additions:
        nodes = load_nodes(addition)
        slices = nodes.objects("ResourceSlice").values()
        per_copy = sum(1 for item in slices for _ in Slice(View(item).spec).devices)
        devices += addition.count * per_copy
        if devices > _MAX_ADDED_DEVICES:
            hint = f"at most {_MAX_ADDED_DEVICES:,} can be added; try fewer nodes"
            raise UsageError(f"{addition} makes {devices:,} devices", hint=hint)
        state = what_if.add_nodes(state, nodes, addition.count, node_name(addition.source))
    return state
