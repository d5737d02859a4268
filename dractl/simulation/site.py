"""A cluster of described machines. Some of their values depend on the site where the machines are
set up (:mod:`dractl.machines.site`); a condition on such a value is taken to hold.
"""

from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from dractl.cluster.snapshot_gaps import unknown_names
from dractl.cluster.state import ClusterState
from dractl.machines.site import assume_site_values, site_attributes_of
from dractl.model import Target
from dractl.objects import Raw, slice_of
from dractl.simulation.conditions import KINDS_WITH_SELECTORS, SelectorRewriter


class Assumption(Struct, frozen=True):
    """A cluster whose selectors have lost the conditions on values that the site decides."""

    state: ClusterState
    """The cluster with these selectors."""
    names: tuple[str, ...] = ()
    """The attributes that selectors read and that the site decides."""

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
    """Remove the conditions on values that the site decides from all selectors.

    ``drivers`` are the drivers whose devices are all on described machines. A driver that has
    published slices is not among them, since its devices show their real values.
    """
    names = frozenset[str]().union(*map(site_attributes_of, drivers))
    if not names:
        return Assumption(state)
    reader = SelectorRewriter(
        names, target, partial(assume_site_values, names=names, target=target)
    )
    changed = {
        kind: {key: reader.rewrite(value) for key, value in state.objects(kind).items()}
        for kind in KINDS_WITH_SELECTORS
        if state.has(kind)
    }
    if not reader.reads:
        return Assumption(state)
    return Assumption(state.with_kinds(changed), tuple(sorted(reader.reads)))


def restore_selectors(state: ClusterState, written: ClusterState) -> ClusterState:
    """Return the state with the selectors as they are in the objects of ``written``.

    Autoscalers judge a machine before it exists, so selectors count for them as people wrote them,
    without assumptions about the site.
    """
    restored = {
        kind: {
            key: written.objects(kind).get(key, value) for key, value in state.objects(kind).items()
        }
        for kind in KINDS_WITH_SELECTORS
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
