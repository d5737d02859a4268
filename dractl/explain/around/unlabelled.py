"""Labels that a subject needs of a node of which only some labels are known: what must be true of the others.

A described machine has the labels that its hardware or its instance type determines. Whether its node has another one,
such as a zone or a team's own, nobody can say; so a selector on it is assumed to match, and the assumption is part of
the answer.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.allocation.nodes import label_matches
from dractl.cluster.state import at, map_at
from dractl.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ResourceSlice
from dractl.objects import Raw
from dractl.scheduler.snapshot import REQUIRED, node_selector

Labels = Mapping[str, str]


class Needed(Struct, frozen=True):
    """A label that the node must have, with ``value`` None one that it must not have. ``text`` is the requirement as a
    label selector, ``by`` who makes it."""

    key: str
    value: str | None
    text: str
    by: str


def of_pod(pod: Raw, labels: Labels) -> tuple[Needed, ...]:
    """What a pod's node selector and required node affinity need beyond known labels. Nothing is assumed of an affinity
    that no such node can meet."""
    selector = map_at(pod, "spec", "nodeSelector")
    wanted = [NodeSelectorRequirement(key, "In", (str(value),)) for key, value in selector.items()]
    found = _needed([each for each in wanted if each.key not in labels], "nodeSelector") or ()
    affinity = at(pod, "spec", "affinity", "nodeAffinity", REQUIRED)
    if isinstance(affinity, dict):
        found += of_selector(node_selector(affinity), with_needed(labels, found), "node affinity") or ()
    return found


def of_slices(slices: Iterable[ResourceSlice], labels: Labels) -> dict[tuple[Needed, ...], None]:
    """What the node selectors of slices and devices need beyond known labels, each once."""
    found: dict[tuple[Needed, ...], None] = {}
    for item in slices:
        by = f"pool {item.spec.driver}/{item.spec.pool.name}"
        for selector in (item.spec.node_selector, *(device.node_selector for device in item.spec.devices)):
            needed = of_selector(selector, labels, by) if selector is not None else None
            if needed:
                found[needed] = None
    return found


def of_selector(selector: NodeSelector, labels: Labels, by: str) -> tuple[Needed, ...] | None:
    """What the first term that the node can meet needs; None if it can meet none."""
    return next((n for t in selector.node_selector_terms if (n := _of_term(t, labels, by)) is not None), None)


def _of_term(term: NodeSelectorTerm, labels: Labels, by: str) -> tuple[Needed, ...] | None:
    if not term.match_expressions:
        return None  # matches nothing, or names nodes
    known = [each for each in term.match_expressions if each.key in labels]
    if not all(label_matches(each, labels) for each in known):
        return None
    return _needed([each for each in term.match_expressions if each.key not in labels], by)


def _needed(wanted: Sequence[NodeSelectorRequirement], by: str) -> tuple[Needed, ...] | None:
    """A value for each key that meets all requirements on it; None if there is none for one of them."""
    found = []
    for key in dict.fromkeys(each.key for each in wanted):
        of_key = [each for each in wanted if each.key == key]
        values = [value for value in _candidates(of_key) if _meets(of_key, key, value)]
        if not values:
            return None
        found.append(Needed(key, values[0], ",".join(map(_text, of_key)), by))
    return tuple(found)


def _candidates(wanted: Iterable[NodeSelectorRequirement]) -> tuple[str | None, ...]:
    """Values to try: those that are named, the neighbours of bounds, none, and one that nobody names."""
    named = [value for each in wanted if each.operator == "In" for value in each.values]
    bounds = [value for each in wanted if each.operator in ("Gt", "Lt") for value in each.values]
    beside = [str(int(bound) + step) for bound in bounds if bound.lstrip("-").isdecimal() for step in (1, -1)]
    return (*named, None, *beside, "assumed")


def _meets(wanted: Iterable[NodeSelectorRequirement], key: str, value: str | None) -> bool:
    labels = {} if value is None else {key: value}
    return all(label_matches(each, labels) for each in wanted)


def _text(requirement: NodeSelectorRequirement) -> str:
    """``team=ml``, ``zone in (a,b)``, ``!spot``: as ``kubectl get nodes -l`` takes it."""
    key, values = requirement.key, ",".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return f"{key}{'>' if requirement.operator == 'Gt' else '<'}{values}"


def with_needed(labels: Labels, needed: Iterable[Needed]) -> dict[str, str]:
    """The labels of a node that has what is needed."""
    return {**labels, **{each.key: each.value for each in needed if each.value is not None}}
