"""Fields that the API server drops silently because their feature gate is off.

The stored object then has another meaning than the one that was written. The fields are data of
:mod:`dractl.model.releases`; this follows ``dropDisabledFields`` of kubernetes/kubernetes
``pkg/registry/resource/*/strategy.go`` at creation, when nothing is "in use" already.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from msgspec import Struct

from dractl.model.releases import Target, dropped_fields
from dractl.validation.violation import Path

_SPEC = {
    "ResourceClaim": ("claim", ["spec"]),
    "ResourceClaimTemplate": ("claim", ["spec", "spec"]),
    "DeviceClass": ("class", ["spec"]),
    "ResourceSlice": ("slice", ["spec"]),
    "ResourcePoolStatusRequest": ("pool-status", ["spec"]),
    "PodGroup": ("pod-group", ["spec"]),
    "Workload": ("workload", ["spec"]),
}
"""Kind to the spec it holds and where."""


class Dropped(Struct, frozen=True):
    """Field that the server drops because of a gate, and the paths (in the shape of v1) where it is
    set.
    """

    gate: str
    paths: tuple[Path, ...]


def drop(value: dict[str, Any], target: Target) -> tuple[dict[str, Any], list[Dropped]]:
    """Return a v1 document without the fields that the server drops, and these fields. The input is
    not modified.
    """
    lost: list[Dropped] = []
    if value.get("kind") not in _SPEC:
        return value, lost
    spec, prefix = _SPEC[value["kind"]]
    for field in dropped_fields(spec, target):
        found: list[Path] = []
        value = _without(value, prefix + _steps(field.path), (), found)
        if found:
            lost.append(
                Dropped(
                    next(gate for gate in field.gates if not target.enabled(gate)), tuple(found)
                )
            )
    return value, lost


@cache
def _steps(path: str) -> list[str]:
    return re.findall(r"\w+|\[\]|\{\}", path)


def _without(value: Any, steps: list[str], path: Path, found: list[Path]) -> Any:
    """Return ``value`` without the fields at ``steps``; the same object if there are none."""
    step, rest = steps[0], steps[1:]
    if not rest:
        if type(value) is not dict or step not in value:
            return value
        if value[step]:  # null, false, 0, "" and empty lists mean the same when they are gone
            found.append((*path, step))
        return {key: item for key, item in value.items() if key != step}
    changed: dict[str | int, Any] = {}
    for key in _keys(value, step):
        new = _without(value[key], rest, (*path, key), found)
        if new is not value[key]:
            changed[key] = new
    if not changed:
        return value
    if type(value) is list:
        return [changed.get(index, item) for index, item in enumerate(value)]
    return {**value, **changed}


def _keys(value: Any, step: str) -> Iterable[str | int]:
    if type(value) is list:
        return range(len(value)) if step == "[]" else ()
    if type(value) is not dict:
        return ()
    if step == "{}":
        return value
    return (step,) if step in value else ()
