"""Filters the devices of a listing by node, driver, class, state, CEL expression or holder."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.allocation import Features
from dractl.capacity.device_plugins import PluginRow
from dractl.capacity.inventory import DeviceRow, Inventory
from dractl.cel import environment
from dractl.cluster.devices import Devices
from dractl.cluster.labels import LabelQuery
from dractl.cluster.state import ClusterState
from dractl.errors import InputError, UsageError
from dractl.lint.cel_hints import hint_for_program
from dractl.model import Target
from dractl.model.nearest import nearest

_MAX_NAMES = 8
"""The number of names in a hint."""


class DeviceFilter(Struct, frozen=True):
    """Conditions on devices. A device is kept if it meets all conditions that are set."""

    node: str | None = None
    """The node of the device."""
    drivers: tuple[str, ...] = ()
    """Drivers, one of which must publish the device; empty for all drivers."""
    device_class: str | None = None
    """A DeviceClass that matches the device."""
    states: frozenset[str] | None = None
    """States, one of which the device must have."""
    expression: str | None = None
    """A CEL expression that is true for the device."""
    namespace: str | None = None
    """The namespace of a claim that holds the device."""
    labels: LabelQuery | None = None
    """Labels of a pod that holds the device."""

    @property
    def concerns_holders(self) -> bool:
        """Return True if the conditions concern the holders of devices."""
        return self.namespace is not None or self.labels is not None

    @property
    def excludes_plugins(self) -> bool:
        """Return True if resources of device plugins cannot meet the conditions."""
        return bool(self.drivers or self.device_class or self.concerns_holders)

    def select_devices(
        self, state: ClusterState, features: Features, inventory: Inventory
    ) -> tuple[DeviceRow, ...]:
        """Return the devices that meet the conditions.

        Raises UsageError if the expression does not compile.
        """
        rows = [row for row in inventory.devices if self._keeps(state, row)]
        if self.expression is not None:
            rows = list(_match_expression(self.expression, state, features, rows))
        return tuple(rows)

    def select_plugins(self, rows: tuple[PluginRow, ...]) -> tuple[PluginRow, ...]:
        """Return the resources of device plugins that meet the conditions."""
        if self.excludes_plugins:
            return ()
        return tuple(row for row in rows if self.node in (None, row.node))

    def check_names(
        self, state: ClusterState, inventory: Inventory, plugin_rows: tuple[PluginRow, ...]
    ) -> None:
        """Raise InputError for a node, driver or class that the input does not have."""
        nodes = {name for _, name in state.objects("Node")}
        nodes |= {row.node for row in inventory.devices if row.node}
        nodes |= {row.node for row in plugin_rows}
        drivers = {pool.driver for pool in inventory.pools}
        drivers |= {row.id.driver for row in inventory.devices}
        classes = {name for _, name in state.objects("DeviceClass")}
        _check_name("node", "nodes", self.node, nodes)
        for driver in self.drivers:
            _check_name("driver", "drivers", driver, drivers)
        _check_name("class", "classes", self.device_class, classes)

    def _keeps(self, state: ClusterState, row: DeviceRow) -> bool:
        return (
            self.node in (None, row.node)
            and (not self.drivers or row.id.driver in self.drivers)
            and (self.device_class is None or self.device_class in row.classes)
            and (self.states is None or row.state in self.states)
            and (not self.concerns_holders or self._keeps_holder(state, row))
        )

    def _keeps_holder(self, state: ClusterState, row: DeviceRow) -> bool:
        """Return True if a claim of the namespace, and a pod with the labels, holds the device."""
        return any(
            self.namespace in (None, holder.claim.partition("/")[0])
            and (self.labels is None or self.labels.matches(_pod_labels(state, holder.pod)))
            for holder in row.holders
            if self.labels is None or holder.pod
        )


def _pod_labels(state: ClusterState, pod: str | None) -> Mapping[str, Any]:
    namespace, _, name = (pod or "").partition("/")
    return state.pod((namespace, name)).labels


def _check_name(option: str, plural: str, name: str | None, present: set[str]) -> None:
    if name is None or name in present:
        return
    near = nearest(name, sorted(present))
    names = ", ".join(sorted(present)[:_MAX_NAMES])
    names += " ..." if len(present) > _MAX_NAMES else ""
    listed = f"{plural}: {names}" if present else None
    hint = f"did you mean {near}?" if near else listed
    raise InputError(f"--{option} {name}: no such {option} in the input", hint=hint)


def _match_expression(
    expression: str, state: ClusterState, features: Features, rows: list[DeviceRow]
) -> Iterator[DeviceRow]:
    """Yield the rows of the devices for which a CEL expression is true. Raises UsageError if it
    does not compile.
    """
    gates = features.on if features.cel_on is None else features.cel_on
    target = Target(features.release, gates)
    program = environment(target, "stored").compile(expression)
    if not program.ok:
        why = program.issues[0].message if program.issues else program.error
        raise UsageError(f"--cel does not compile: {why}", hint=hint_for_program(program, target))
    index = Devices(state, state.slices)
    for row in rows:
        device = index.get(row.id)
        if device is not None and program.evaluate(row.id.driver, device) is True:
            yield row
