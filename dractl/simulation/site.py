"""A cluster of described machines, judged under the assumption that conditions on values which
these machines cannot know hold.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from dractl.cel import environment
from dractl.cluster.snapshot_gaps import unknown_names
from dractl.cluster.state import ClusterState
from dractl.machines.site import assume_site_values, list_site_reads, site_attributes_of
from dractl.model import Target
from dractl.objects import Raw, slice_of

_KINDS_WITH_SELECTORS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")


class Assumption(Struct, frozen=True):
    """A cluster whose selectors lack the conditions on values that depend on the site."""

    state: ClusterState
    """The cluster with these selectors."""
    names: tuple[str, ...] = ()
    """The attributes that selectors read and that described machines cannot know."""

    @property
    def note(self) -> str:
        """A note about the assumptions; empty if there are none."""
        if not self.names:
            return ""
        return (
            f"a described machine cannot know {', '.join(self.names)}, which its site decides:"
            " judged as if the conditions on it held"
        )


def assume(state: ClusterState, drivers: frozenset[str], target: Target) -> Assumption:
    """Remove conditions on values that depend on the site from selectors.

    ``drivers`` are the drivers all of whose devices are on described machines: published devices
    have such values.
    """
    names = frozenset[str]().union(*map(site_attributes_of, drivers))
    if not names:
        return Assumption(state)
    reader = _SelectorReader(names, target)
    changed = {
        kind: {key: reader.rewrite(value) for key, value in state.objects(kind).items()}
        for kind in _KINDS_WITH_SELECTORS
        if state.has(kind)
    }
    if not reader.reads:
        return Assumption(state)
    return Assumption(state.with_kinds(changed), tuple(sorted(reader.reads)))


def restore_selectors(state: ClusterState, written: ClusterState) -> ClusterState:
    """Return the state with the selectors as they are in the objects of ``written``.

    An autoscaler judges before there is a machine, so for it nothing is assumed about the site.
    """
    restored = {
        kind: {
            key: written.objects(kind).get(key, value) for key, value in state.objects(kind).items()
        }
        for kind in _KINDS_WITH_SELECTORS
        if state.has(kind)
    }
    return state.with_kinds(restored)


def drivers_on_described_machines(slices: Iterable[Raw]) -> frozenset[str]:
    """Return the drivers whose slices all belong to described machines."""
    drivers: dict[str, bool] = {}
    for item in slices:
        driver = slice_of(item).driver
        names = unknown_names([item]).get(driver, frozenset())
        is_described = bool(names) and not names.isdisjoint(site_attributes_of(driver))
        drivers[driver] = drivers.get(driver, True) and is_described
    return frozenset(driver for driver, is_described in drivers.items() if is_described)


class _SelectorReader:
    """Rewrites the selectors of objects, and collects the names that they read."""

    def __init__(self, names: frozenset[str], target: Target) -> None:
        self.reads: set[str] = set()
        self._names = names
        self._target = target
        self._texts: dict[str, str] = {}

    def rewrite(self, value: Any) -> Any:
        """Return a value with its selectors rewritten; the same value if none changes."""
        if isinstance(value, Mapping):
            entries = {name: self._rewrite_entry(name, entry) for name, entry in value.items()}
            return entries if any(entries[name] is not value[name] for name in value) else value
        if isinstance(value, list):
            rows = [self.rewrite(row) for row in value]
            return rows if any(a is not b for a, b in zip(rows, value, strict=True)) else value
        return value

    def _rewrite_entry(self, name: str, entry: Any) -> Any:
        expression = entry.get("expression") if name == "cel" and isinstance(entry, Mapping) else 0
        if not isinstance(expression, str):
            return self.rewrite(entry)
        text = self._texts.get(expression)
        if text is None:
            text = self._texts[expression] = self._assume(expression)
        return entry if text == expression else {**entry, "expression": text}

    def _assume(self, expression: str) -> str:
        program = environment(self._target, "stored").compile(expression)
        reads = self._names.intersection(list_site_reads(program))
        if not reads:
            return expression
        self.reads |= reads
        return assume_site_values(expression, reads, self._target)
