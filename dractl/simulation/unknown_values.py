"""Bounds on a verdict that depends on values of described machines which no source shows.

Two clusters are derived from the input. In the first, no condition on such a value remains: a
subject that does not fit there fits for no value. In the second, no device without the value meets
a condition on it: a subject that fits there fits for every value. For any other subject, the
verdict is unknown.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from dractl.cel import Program, environment
from dractl.cluster.snapshot_gaps import unknown_names
from dractl.cluster.state import ClusterState
from dractl.machines.site import assume_site_values, site_attributes_of
from dractl.model import Target
from dractl.objects import Raw, slice_of
from dractl.scheduler.claims import PodClaim
from dractl.simulation.conditions import KINDS_WITH_SELECTORS, SelectorRewriter, list_reads
from dractl.views import View

_CONSTRAINTS = ("matchAttribute", "distinctAttribute")


def list_unknown_values(state: ClusterState) -> Mapping[str, frozenset[str]]:
    """Return the names of values that no source shows, by node, without values that the site
    decides.
    """
    slices = state.objects("ResourceSlice")
    return state.cache.from_sources(
        "unknown-values", (slices,), lambda _: _names_by_node(slices.values())
    )


def _names_by_node(slices: Iterable[Raw]) -> Mapping[str, frozenset[str]]:
    names: dict[str, frozenset[str]] = {}
    for item in slices:
        for driver, unknown in unknown_names([item]).items():
            node = slice_of(item).node or ""
            names[node] = names.get(node, frozenset()) | (unknown - site_attributes_of(driver))
    return {node: unknown for node, unknown in names.items() if unknown}


class ConditionRemover(SelectorRewriter):
    """Removes each condition on certain names from selectors and constraints.

    A request for all devices (mode All) that loses a condition becomes a request for one device:
    otherwise it would ask for more devices than before. ``classes`` are the DeviceClasses.
    """

    def __init__(self, names: frozenset[str], target: Target, classes: Iterable[Raw]) -> None:
        super().__init__(names, target, partial(assume_site_values, names=names, target=target))
        self._classes: frozenset[str] = frozenset()
        changed = (value for value in classes if self.rewrite(value) is not value)
        self._classes = frozenset(View(value).name for value in changed)
        self.reads.clear()

    def rewrite(self, value: Any) -> Any:
        rewritten = super().rewrite(value)
        if not isinstance(rewritten, Mapping):
            return rewritten
        is_selective = rewritten is not value or value.get("deviceClassName") in self._classes
        if is_selective and rewritten.get("allocationMode") == "All":
            rewritten = {**rewritten, "allocationMode": "ExactCount", "count": 1}
        constraints = rewritten.get("constraints")
        if not isinstance(constraints, list):
            return rewritten
        kept = [item for item in constraints if not self._reads_of_constraint(item)]
        return rewritten if len(kept) == len(constraints) else {**rewritten, "constraints": kept}

    def _reads_of_constraint(self, constraint: Any) -> frozenset[str]:
        fields = constraint if isinstance(constraint, Mapping) else {}
        reads = self._names.intersection(fields.get(name) or "" for name in _CONSTRAINTS)
        self.reads |= reads
        return reads


def list_conditions(
    claims: Iterable[PodClaim], state: ClusterState, names: frozenset[str], target: Target
) -> frozenset[str]:
    """Return the names on which unallocated claims, or their classes, have conditions."""
    remover = ConditionRemover(names, target, ())
    classes: dict[str, None] = {}
    for item in claims:
        if item.value is None or item.claim is None or item.allocated:
            continue
        remover.rewrite(item.value)
        for request in item.claim.spec.devices.requests:
            options = request.first_available or (request.exactly,)
            classes |= {each.device_class_name: None for each in options if each is not None}
    for name in classes:
        remover.rewrite(state.get("DeviceClass", ("", name)))
    return frozenset(remover.reads)


def make_absence_rewriter(names: frozenset[str], target: Target) -> SelectorRewriter:
    """Return a rewriter that makes a selector false if it tests whether a device has one of the
    names. The test would prove nothing, since no source shows these values.
    """
    env = environment(target, "stored")
    return SelectorRewriter(
        names, target, lambda text: "false" if _asks_for(env.compile(text), names) else text
    )


def make_guard_rewriter(names: frozenset[str], target: Target) -> SelectorRewriter:
    """Return a rewriter that makes each selector on a name false for devices without the value.

    No device meets a request for all devices (mode All) with such a selector: it is unknown which
    of the devices without a value belong to the request.
    """
    env = environment(target, "stored")

    def guard(text: str) -> str:
        program = env.compile(text)
        if _asks_for(program, names):
            return "false"
        reads = sorted(list_reads(program, names))
        tests = [
            f'"{name}" in device.attributes["{domain}"]'
            for domain, _, name in (read.rpartition("/") for read in reads)
        ]
        return " && ".join((*tests, f"({text})"))

    return _GuardRewriter(names, target, guard)


class _GuardRewriter(SelectorRewriter):
    def rewrite(self, value: Any) -> Any:
        rewritten = super().rewrite(value)
        if rewritten is value or not isinstance(value, Mapping):
            return rewritten
        if value.get("allocationMode") != "All":
            return rewritten
        return {**rewritten, "selectors": [{"cel": {"expression": "false"}}]}


def _asks_for(program: Program, names: frozenset[str]) -> bool:
    """Return True if a program tests whether a device has one of the names."""
    return any(
        lookup.full_name in names and (lookup.tested or lookup.optional)
        for lookup in program.lookups
    )


def rewrite_conditions(state: ClusterState, rewriter: SelectorRewriter) -> ClusterState:
    """Return the cluster with the selectors and constraints of its objects rewritten."""
    return state.with_kinds(
        {
            kind: {key: rewriter.rewrite(value) for key, value in state.objects(kind).items()}
            for kind in KINDS_WITH_SELECTORS
            if state.has(kind)
        }
    )
