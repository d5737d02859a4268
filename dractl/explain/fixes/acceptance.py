"""Whether the API server would accept a fix: its validation rules of the release, with CEL's cost limit, run over every
object that the fix creates or changes.

Faults that an object already has are not held against a change of it: the server compares with the old object, too
(ratcheting), and a cluster's objects were accepted once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.changes import Create, Patch, apply, parse_target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from dractl.cluster.changes import Change
    from dractl.cluster.state import ClusterState
    from dractl.model import Target

    Raw = Mapping[str, Any]


def refusal(state: ClusterState, changes: Iterable[Change], target: Target) -> str | None:
    """What the API server of ``target`` says against ``changes`` of ``state``, applied in their order; None where it
    accepts them. Raises PatchError where one does not apply."""
    for change in changes:
        after = apply(state, (change,))
        match change:
            case Patch(name):
                before, value = state.get(*parse_target(name)), after.get(*parse_target(name))
            case Create(created):
                before, value = None, created
            case _:
                before = value = None
        faults = _faults(after, value, target) - _faults(state, before, target)
        if faults:
            return min(faults)[-1]
        state = after
    return None


def _faults(state: ClusterState, value: Raw | None, target: Target) -> set[tuple[str, str, str]]:
    """Rule, field and sentence of everything that the server refuses about an object."""
    if value is None:
        return set()
    from dractl.validation import validate

    namespaces = {
        name: {k: v for k, v in labels.items() if isinstance(v, str)}
        for (_, name), namespace in state.all("Namespace").items()
        if isinstance(labels := (namespace.get("metadata") or {}).get("labels") or {}, dict)
    }
    found = validate(_as_sent(value), target, namespaces=namespaces)
    return {(v.rule, v.field or "", f"{v.field}: {v.message}") for v in found if v.type is not None}


def _as_sent(value: Raw) -> dict[str, Any]:
    """An object without its status, which is not part of what a change sends."""
    return {k: v for k, v in value.items() if k != "status"}
