"""Attributes and capacities whose values a snapshot of a machine lacks, and selectors that read
them.

Only the driver's library on the node knows these values. A selector that reads one is undecided.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dractl.cel import Program, environment
from dractl.cluster.state import ClusterState
from dractl.errors import InputError
from dractl.model import Target
from dractl.objects import Claim, Slice, selectors_of
from dractl.program import program_name
from dractl.views.base import View

_UNKNOWN_ANNOTATION = "dractl/unknown"
"""The annotation with the names of values that a snapshot lacks; only slices in memory have it."""


def annotate_unknown(item: dict[str, Any], unknown: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """Return an object annotated with the names of attributes and capacities whose values are
    unknown for its driver's devices.
    """
    view = View(item)
    names = unknown.get(Slice(view.spec).driver) if view.kind == "ResourceSlice" else None
    if not names:
        return item
    annotations = {_UNKNOWN_ANNOTATION: ",".join(sorted(names))}
    return {**item, "metadata": {**view.metadata, "annotations": annotations}}


def unknown_names(slices: Iterable[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Collect the attributes and capacities, by driver, that devices have, but whose values a
    snapshot lacks.
    """
    names_by_driver: dict[str, frozenset[str]] = {}
    for item in slices:
        view = View(item)
        names = view.annotations.get(_UNKNOWN_ANNOTATION)
        if isinstance(names, str) and names:
            driver = Slice(view.spec).driver
            present = names_by_driver.get(driver, frozenset())
            names_by_driver[driver] = present | frozenset(names.split(","))
    return names_by_driver


def has_unknown_values(state: ClusterState) -> bool:
    """Return True if the slices of some device lack values that the device has."""
    slices = state.objects("ResourceSlice")
    return state.cache.from_sources(
        "has-unknown-values", (slices,), lambda _: bool(unknown_names(slices.values()))
    )


def snapshot_gap_error(program: Program, names: Iterable[str]) -> InputError | None:
    """Return the error for an expression that reads one of the names, or None."""
    unknown_reads = sorted({lookup.full_name for lookup in program.lookups} & set(names))
    if not unknown_reads:
        return None
    return InputError(
        f"unknown: the snapshot lacks {', '.join(unknown_reads)}, which a selector reads:"
        f" {program.text}",
        hint=(
            f"take it on the node, where the driver's library answers: {program_name()} discover"
            " --save FILE"
        ),
    )


def refuse_undecided(state: ClusterState, target: Target) -> None:
    """Raise InputError if a selector in the input reads a value that a snapshot lacks."""
    names = frozenset[str]().union(*unknown_names(state.objects("ResourceSlice").values()).values())
    for kind in ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass") if names else ():
        for value in state.objects(kind).values():
            for text in _selectors(value, kind):
                error = snapshot_gap_error(environment(target, "stored").compile(text), names)
                if error is not None:
                    raise error


def _selectors(value: Mapping[str, Any], kind: str) -> list[str]:
    """Return the selectors of a claim, a template or a class."""
    if kind == "DeviceClass":
        return [item.text for item in selectors_of(value)]
    prefix = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    requests = Claim.of(None, value, prefix).alternatives
    return [item.text for request in requests for item in request.selectors]
