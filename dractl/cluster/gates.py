"""The feature gates of a cluster, as its objects and its scheduler's words show them.

An API server drops the fields of a gate that is off when an object is created or updated, unless
the stored object has them already (dropDisabledFields in kubernetes
pkg/registry/resource/*/strategy.go). So a stored object with such a field proves that the gate is
on, or was on when the object was written. A manifest proves nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

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
"""The parts of each kind, by the names that the table of fields has for them."""
_DISABLED = re.compile(r"the (?P<gate>DRA\w+) feature is disabled")
"""k8s.io/dynamic-resource-allocation structured/internal/*/allocator_*.go."""


class GateEvidence(Struct, frozen=True):
    """An object that proves a feature gate to be on."""

    gate: str
    object: str
    """``Kind/[namespace/]name``."""
    field: str
    """The last part of the path of the field."""

    def sentence(self, release: str) -> str:
        """Return what the object shows."""
        return (
            f"feature gate {self.gate}, off by default in Kubernetes {release}, is on here:"
            f" {self.object} has {self.field} (--feature-gates {self.gate}=false says otherwise)"
        )


class ShownGates(Struct, frozen=True):
    """The feature gates that a cluster shows to differ from the defaults of its release."""

    evidence: Mapping[str, GateEvidence]
    """An object for each gate that is off by default and on here."""
    disabled: frozenset[str]
    """Gates that kube-scheduler says are off: its words count for more than objects."""

    def override(self, options: Mapping[str, bool]) -> dict[str, bool]:
        """Return the gates that differ from the defaults; ``options`` count for more than all else.

        With a gate those are on that it needs: no component starts without them.
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
    evidence: dict[str, GateEvidence] = {}
    for kind in _SPECS:
        for raw in state.objects(kind).values():
            view = View(raw)
            if not view.uid and not view.metadata.get("resourceVersion"):
                continue
            for field in _fields_of(raw, kind, release, known | evidence.keys()):
                name = field.path.rpartition(".")[2].removesuffix("[]").removesuffix("{}")
                for gate in field.gates:
                    if gate not in known:
                        evidence.setdefault(gate, GateEvidence(gate, describe(raw), name))
    return evidence


def find_gates_in(objects: Iterable[Raw], release: str) -> frozenset[str]:
    """Return the gates whose fields the objects use."""
    return frozenset(
        gate
        for raw in objects
        for field in _fields_of(raw, str(raw.get("kind")), release, frozenset())
        for gate in field.gates
    )


def _find_disabled_gates(state: ClusterState) -> frozenset[str]:
    """Return the gates that kube-scheduler says are off, in its newest words about each pod."""
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


def _fields_of(raw: Raw, kind: str, release: str, known: frozenset[str]) -> Iterator[SpecField]:
    """Yield the fields of gates that an object has, but for those of gates that are ``known``."""
    parts = _SPECS.get(kind, ())
    rows = [row for row in FIELDS if row.gates and not known.issuperset(row.gates)]
    rows = [
        row
        for row in rows
        if has_field(row, release)
        and is_dropped_without_gates(row, release)
        and all(stage(gate, release) for gate in row.gates)
    ]
    if not rows or not parts:
        return
    value = to_v1(raw)
    for spec, path in parts:
        part: object = value
        for key in path:
            part = part.get(key) if isinstance(part, Mapping) else None
        for row in rows:
            if row.spec == spec and _is_set(part, row.path.split(".")):
                yield row


def _is_set(value: object, path: list[str]) -> bool:
    """Return True if a field has a value; ``[]`` in a path stands for every item, ``{}`` for every
    value of a map.
    """
    if not path:
        return value not in (None, False, "", [], {})
    key, *remaining = path
    name = key.removesuffix("[]").removesuffix("{}")
    child = value.get(name) if isinstance(value, Mapping) else None
    if key.endswith("[]"):
        children = child if isinstance(child, list) else []
        return any(_is_set(entry, remaining) for entry in children)
    if key.endswith("{}"):
        entries = child.values() if isinstance(child, Mapping) else ()
        return any(_is_set(entry, remaining) for entry in entries)
    return _is_set(child, remaining)
