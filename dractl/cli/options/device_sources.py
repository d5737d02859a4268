"""Loading of the devices of ``--devices``, ``--hardware`` and ``--add``: published devices, and
devices that drivers would publish.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from dractl.capacity.added_nodes import AddedNodes
from dractl.cli import terminal
from dractl.cli.options.machine_input import read_node
from dractl.cluster import ClusterState, described_nodes, sources
from dractl.cluster.described_nodes import DescribedNode
from dractl.machines.described import is_description
from dractl.machines.nodes import node_name
from dractl.model import Target
from dractl.model.driver_choice import DriverChoice
from dractl.objects import Raw
from dractl.simulation import site


def load_published(names: Iterable[str]) -> dict[str, ClusterState | None]:
    """Load the ResourceSlices and DeviceClasses of sources, by source; None for a machine, whose
    slices depend on the release.
    """
    return {source: _load_published(source) for source in names}


def _load_published(source: str) -> ClusterState | None:
    if source == "cluster":
        from dractl.cluster import live

        return live.read(live.Login()).state
    published = sources.read_published(source) if source != "local" else None
    for row in published.coverage.unrendered if published is not None else ():
        terminal.notice(f"{row.resource}: {row.reason}")
    return published


def render_snapshot(source: str, target: Target) -> ClusterState:
    """Render the slices that drivers would publish for this machine (``local``) or for the machine
    of a snapshot.
    """
    machine = read_node(None, None if source == "local" else Path(source))
    name = machine.host.name or os.environ.get("NODE_NAME") or "node-1"
    return described_nodes.render_node(
        DescribedNode(name, machine), f"--devices {source}", target, DriverChoice(), terminal.notice
    )


def render_machine(
    spec: str,
    target: Target,
    choice: DriverChoice,
    notify: Callable[[str], None] = terminal.notice,
    annotate: Callable[[str], None] = terminal.add_aside,
) -> ClusterState:
    """Render the slices that drivers would publish for a machine of ``--hardware``.

    Its node has the name of the machine. ``notify`` gets notices about the drivers, ``annotate``
    notes on the machine.
    """
    described = described_nodes.describe_node(spec, choice, notify)
    for note in described.machine.notes:
        annotate(f"{spec}: {note.message}")
    return described_nodes.render_node(described, f"--hardware {spec}", target, choice, notify)


def parse_node(source: str) -> DescribedNode:
    """Describe a node from a snapshot, which has the node's name, or from a line of
    ``--hardware``.
    """
    if os.path.isfile(source) and not is_description(source):
        snapshot = read_node(None, Path(source))
        return DescribedNode((snapshot.host.name or node_name(source)).lower(), snapshot)
    return described_nodes.describe_node(source, DriverChoice(), terminal.notice)


def assume_site_values(state: ClusterState, slices: Iterable[Raw], target: Target) -> ClusterState:
    """Leave out the conditions of selectors on values that the site of a described machine decides.

    The selectors are tried on ``slices``. A note names the assumptions.
    """
    assumption = site.assume(state, site.drivers_on_described_machines(slices), target)
    if assumption.note:
        terminal.add_aside(assumption.note)
    return assumption.state


def load_added_nodes(addition: AddedNodes, target: Target, choice: DriverChoice) -> ClusterState:
    """Load the nodes of one addition: the nodes of a file, or a described node.

    Raises InputError.
    """
    source, description = addition.source, addition.description
    if description is None:
        state = _load_published(source) or render_snapshot(source, target)
        return sources.filter_drivers(state, choice.drivers)
    settings = described_nodes.driver_settings(source, description.machine, choice, terminal.notice)
    return described_nodes.render_added_node(description, str(addition), target, choice, settings)
