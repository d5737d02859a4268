"""The feature gates of a cluster, as its objects and its scheduler's messages show them.

When an object is created or updated, an API server drops the fields of a gate that is off, unless
the stored object has them already (dropDisabledFields in kubernetes
pkg/registry/resource/*/strategy.go). So a stored object with such a field proves that the gate is
on, or was on when the object was written. A manifest proves nothing.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct, field

from dractl.cluster.state import ClusterState, describe
from dractl.model import to_v1
from dractl.model.releases import (
    DEPENDENCIES,
    FIELDS,
    SpecField,
    has_field,
    is_dropped_without_gates,
    stage,
)
from dractl.objects import Raw
from dractl.views import Event, Pod, View

_SPECS = {
    "ResourceClaim": (("claim", ("spec",)), ("claim-status", ("status",))),
    "ResourceClaimTemplate": (("claim", ("spec", "spec")),),
    "DeviceClass": (("class", ("spec",)),),
    "ResourceSlice": (("slice", ("spec",)),),
}
"""The parts of each kind: the name of a part in the table of fields, and its path in the object."""
_DISABLED = re.compile(r"the (?P<gate>DRA\w+) feature is disabled")
"""The allocator's error for a request that needs a gate (k8s.io/dynamic-resource-allocation
structured/internal/*/allocator_*.go).
"""


TAINT_RULES = "DRADeviceTaintRules"
_EVICTION = "EvictionInProgress"
"""The condition that the eviction controller writes into the status of each DeviceTaintRule. It
reads no rule while the gate is off (kubernetes pkg/controller/devicetainteviction).
"""


class GateEvidence(Struct, frozen=True):
    """An object which proves that a feature gate is on."""

    gate: str
    object: str
    """``Kind/[namespace/]name``."""
    field: str
    """The last part of the field's path, or the condition that a component with the gate writes."""

    def sentence(self, release: str) -> str:
        """Return the fact that the object shows."""
        return (
            f"feature gate {self.gate}, off by default in Kubernetes {release}, is on here:"
            f" {self.object} has {self.field} (to override: --feature-gates {self.gate}=false)"
        )


class ShownGates(Struct, frozen=True):
    """The feature gates of a cluster that differ from the defaults of its release, as the input
    shows them.
    """

    evidence: Mapping[str, GateEvidence]
    """An object as evidence for each gate that is off by default and on in the cluster."""
    disabled: frozenset[str]
    """Gates that are off according to kube-scheduler, whose messages take precedence over
    objects.
    """

    def override(self, options: Mapping[str, bool]) -> dict[str, bool]:
        """Return the gates that differ from the defaults; ``options`` take precedence over
        everything else.

        A gate that is on turns on the gates that it depends on, since no component starts without
        them.
        """
        gates: dict[str, bool] = {}
        for gate in self.evidence:
            needed = (gate, *DEPENDENCIES.get(gate, ()))
            if all(options.get(name, name not in self.disabled) for name in needed):
                gates |= dict.fromkeys(needed, True)
        return {**gates, **dict.fromkeys(self.disabled, False), **options}


def find_shown_gates(state: ClusterState, release: str, enabled: frozenset[str]) -> ShownGates:
    """Return the gates that differ in a cluster from those ``enabled`` by default."""
    stages = {gate: stage(gate, release) for gate in _find_disabled_gates(state)}
    disabled = frozenset(gate for gate, reached in stages.items() if reached and not reached.locked)
    return ShownGates(_find_evidence(state, release, enabled), disabled)


def _find_evidence(
    state: ClusterState, release: str, known: frozenset[str]
) -> Mapping[str, GateEvidence]:
    """Return an object for each gate that is on in a cluster and not among the ``known``."""
    evidence = _find_handled_rule(state, release, known)
    for kind in _SPECS:
        trees = _make_trees(kind, release, known)
        stored = [raw for raw in state.objects(kind).values() if _is_stored(raw)] if trees else []
        if not _find_fields(stored, trees):  # one pass is enough for most clusters
            continue
        for raw in stored:
            for row in _find_fields([raw], trees):
                name = row.path.rpartition(".")[2].removesuffix("[]").removesuffix("{}")
                for gate in row.gates:
                    if gate not in known and gate not in evidence:
                        evidence[gate] = GateEvidence(gate, describe(raw), name)
    return evidence


def _find_handled_rule(
    state: ClusterState, release: str, known: frozenset[str]
) -> dict[str, GateEvidence]:
    """Return as evidence a DeviceTaintRule whose status the eviction controller has written.

    A rule without a status proves nothing: the API server stores rules while the gate is off, too.
    """
    if TAINT_RULES in known or stage(TAINT_RULES, release) is None:
        return {}
    for raw in state.objects("DeviceTaintRule").values():
        if _EVICTION in View(raw).conditions:
            proof = GateEvidence(TAINT_RULES, describe(raw), f"condition {_EVICTION}")
            return {TAINT_RULES: proof}
    return {}


def _is_stored(raw: Raw) -> bool:
    metadata = raw.get("metadata") or {}
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def find_gates_in(objects: Iterable[Raw], release: str) -> frozenset[str]:
    """Return the gates whose fields the objects use."""
    trees = {kind: _make_trees(kind, release, frozenset()) for kind in _SPECS}
    return frozenset(
        gate
        for raw in objects
        for row in _find_fields([raw], trees.get(str(raw.get("kind")), ()))
        for gate in row.gates
    )


def _find_disabled_gates(state: ClusterState) -> frozenset[str]:
    """Return the gates that are off according to kube-scheduler's newest message about each pod."""
    messages = [
        _newest_words(pod, state.events_of(pod.key))
        for pod in state.pods.values()
        if pod.is_pending
    ]
    return frozenset(match["gate"] for text in messages for match in _DISABLED.finditer(text))


def _newest_words(pod: Pod, events: Iterable[Event]) -> str:
    condition = pod.condition("PodScheduled")
    failures = [event for event in events if event.reason == "FailedScheduling"]
    newest = max(failures, key=lambda event: event.last_seen, default=None)
    return newest.message if newest is not None and newest.message else condition.message


class _Branch(Struct):
    """A key of a tree of paths, with the branches below it."""

    rows: list[SpecField] = field(default_factory=list)
    """The fields whose path ends at this branch."""
    children: dict[str, "_Branch"] = field(default_factory=dict)
    is_list: bool = False
    is_map: bool = False


class _Tree(Struct, frozen=True):
    """The paths of the fields of a part of an object."""

    path: tuple[str, ...]
    """The keys from the object to the part."""
    root: _Branch


def _make_trees(kind: str, release: str, known: frozenset[str]) -> tuple[_Tree, ...]:
    """Return the fields of a kind that an API server of a release drops without their gates, except
    the fields of ``known`` gates.
    """
    trees = []
    for spec, path in _SPECS[kind]:
        root = _Branch()
        for row in FIELDS:
            if (
                row.spec == spec
                and row.gates
                and not known.issuperset(row.gates)
                and has_field(row, release)
                and is_dropped_without_gates(row, release)
                and all(stage(gate, release) for gate in row.gates)
            ):
                _add_path(root, row)
        if root.children:
            trees.append(_Tree(path, root))
    return tuple(trees)


def _add_path(root: _Branch, row: SpecField) -> None:
    branch = root
    for key in row.path.split("."):
        name = key.removesuffix("[]").removesuffix("{}")
        branch = branch.children.setdefault(name, _Branch())
        branch.is_list |= key.endswith("[]")
        branch.is_map |= key.endswith("{}")
    branch.rows.append(row)


def _find_fields(objects: Sequence[Raw], trees: tuple[_Tree, ...]) -> list[SpecField]:
    """Return the fields of the trees that at least one of the objects has."""
    rows: list[SpecField] = []
    values: list[Any] = [to_v1(raw) for raw in objects] if trees else []
    for tree in trees:
        parts = values
        for key in tree.path:
            parts = [part.get(key) for part in parts if isinstance(part, dict)]
        parts = [part for part in parts if isinstance(part, dict)]
        if parts:
            _collect(parts, tree.root, rows)
    return rows


def _collect(values: Sequence[Mapping[str, Any]], branch: _Branch, rows: list[SpecField]) -> None:
    """Add the fields below a branch that any of the mappings has.

    All mappings at one path are read together, since a cluster can have a million attributes.
    """
    names = set[str]().union(*values)
    for name, child in branch.children.items():
        contents = [part for value in values if (part := value.get(name))] if name in names else []
        if contents:
            rows += child.rows
        if contents and child.children and not _lacks_fields(contents, child):
            _collect(_list_mappings(contents, child), child, rows)


def _lacks_fields(contents: Sequence[Any], branch: _Branch) -> bool:
    """Return True if no value in maps has a field of the branch; False if that is uncertain.

    A cluster may have a million attributes, of which few are lists. Comparing one set of the keys
    of all values is faster than searching each value.
    """
    if not branch.is_map:
        return False
    try:
        names = set(chain.from_iterable(chain.from_iterable(map(dict.values, contents))))
    except TypeError:  # some value is not a map
        return False
    return names.isdisjoint(branch.children)


def _list_mappings(contents: Iterable[Any], branch: _Branch) -> list[Mapping[str, Any]]:
    """Return the mappings among the values of a key, or among the entries of these values."""
    entries = contents
    if branch.is_list:
        entries = chain.from_iterable(each for each in contents if isinstance(each, list))
    elif branch.is_map:
        entries = chain.from_iterable(each.values() for each in contents if isinstance(each, dict))
    return [entry for entry in entries if isinstance(entry, dict)]
