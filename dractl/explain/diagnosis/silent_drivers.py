"""Drivers that publish nothing on nodes that they should serve, and the faults in their plug-ins as
the reasons.
"""

from collections.abc import Iterator, Sequence

from dractl.cluster.driver_workloads import DriverWorkloads, find_driver_workloads, is_equipped
from dractl.explain.context import Case
from dractl.explain.diagnosis.driver_plugins import list_publishing_nodes, plugin_state_of
from dractl.explain.diagnosis.nodes import NodeFindings
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.drivers import (
    PluginFault,
    PluginNotWanted,
    PluginPublishesNothing,
    PluginRuns,
    PluginState,
    PluginUnwanted,
)
from dractl.explain.reasons.nodes import NodeFilter
from dractl.explain.reasons.pools import NoSlicesForDriver, NoSlicesOnNode

MAX_NODES_SEEN = 64
"""Nodes on which the state of each driver's plug-in is examined."""


def find_plugin_faults(case: Case, findings: Sequence[NodeFindings]) -> Iterator[Cause]:
    """Yield the faults of drivers' plug-ins that explain why nodes have no devices."""
    drivers: dict[str, dict[str, None]] = {}
    for node in findings:
        if any(isinstance(cause, NodeFilter) for cause in node.causes):
            continue
        for cause in node.causes:
            if isinstance(cause, NoSlicesForDriver | NoSlicesOnNode) and cause.driver:
                names = drivers.setdefault(cause.driver, {})
                names.update(dict.fromkeys((node.name, *node.like)))
    for driver, nodes in drivers.items():
        publishing = list_publishing_nodes(case.scheduler.slices, driver)
        workloads = find_driver_workloads(case.state, driver, publishing)
        faults = _faults_on(case, workloads, list(nodes)[:MAX_NODES_SEEN])
        if faults:
            kind = PluginUnwanted if all(map(_has_label, faults)) else PluginFault
            yield kind(
                driver=driver,
                nodes=tuple(fault.node for fault in faults),
                plugins=_first_of_each_kind(faults),
            )


def _faults_on(
    case: Case, workloads: DriverWorkloads, nodes: Sequence[str]
) -> Sequence[PluginState]:
    """Return the faults of a driver's plug-ins on the nodes that have the hardware.

    A node has the hardware if a pod of the plug-in is there, or if the node's labels say so. If no
    node has it, a plug-in that runs nowhere is a fault on all nodes. A plug-in that runs is a fault
    where the labels say so, since many drivers run on every node.
    """
    if not workloads.are_known:
        return ()
    driver = workloads.driver
    labelled = {name for name in nodes if is_equipped(case.state.node(name), driver)}
    equipped = [name for name in nodes if workloads.pods_on(name) or name in labelled]
    runs_nowhere = not workloads.pods and all(
        daemon_set.desired_number_scheduled == 0 for daemon_set in workloads.daemon_sets
    )
    states = (
        plugin_state_of(case.state, workloads, name)
        for name in equipped or (nodes[:1] if runs_nowhere else ())
    )
    with_slices = {
        item.spec.node_name for item in case.scheduler.slices if item.spec.driver == driver
    }
    blamed = (
        PluginPublishesNothing(
            driver=driver, node=state.node, runs=state, has_slice=state.node in with_slices
        )
        if isinstance(state, PluginRuns) and state.node in labelled
        else state
        for state in states
    )
    faults = [state for state in blamed if state is not None and state.is_fault]
    return sorted(faults, key=lambda fault: fault.is_passing)


def _has_label(fault: PluginState) -> bool:
    return isinstance(fault, PluginNotWanted) and bool(fault.label)


def _first_of_each_kind(faults: Sequence[PluginState]) -> tuple[PluginState, ...]:
    """Return the first fault of each kind."""
    kinds: dict[type[PluginState], PluginState] = {}
    for fault in faults:
        kinds.setdefault(type(fault), fault)
    return tuple(kinds.values())
