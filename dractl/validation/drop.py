"""Fields that the API server drops silently because their feature gate is off.

The stored object then means something else than the object that the user wrote. The fields are data
of :mod:`dractl.model.releases`; the module follows ``dropDisabledFields`` of kubernetes/kubernetes
``pkg/registry/resource/*/strategy.go`` at creation, when nothing is "in use" already.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from dractl.model.releases import SpecField, Target, fields_dropped_by
from dractl.objects import encode_json
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
"""The spec of each kind, with its path."""


class Dropped(Struct, frozen=True):
    """A field that the server drops because of a gate."""

    gate: str
    paths: tuple[Path, ...]
    """The paths (in the shape of v1) at which it is set."""


def drop(value: dict[str, Any], target: Target) -> tuple[dict[str, Any], list[Dropped]]:
    """Return a v1 document without the fields that the server drops, and these fields. The input is
    not modified.
    """
    lost: list[Dropped] = []
    if value.get("kind") not in _SPEC:
        return value, lost
    spec, prefix = _SPEC[value["kind"]]
    for field in _list_fields(value, spec, target):
        paths: list[Path] = []
        value = _remove_fields(value, prefix + _steps(field.path), (), paths)
        if paths:
            lost.append(
                Dropped(
                    next(gate for gate in field.gates if not target.enabled(gate)), tuple(paths)
                )
            )
    return value, lost


def _list_fields(value: Mapping[str, Any], spec: str, target: Target) -> list[SpecField]:
    """Return the fields that the server drops from a spec.

    A slice may have many devices, so only fields whose name occurs in its JSON are returned. For
    other objects, all fields are.
    """
    fields = fields_dropped_by(spec, target)
    if spec != "slice":
        return list(fields)
    encoded = encode_json(value)
    return [field for field in fields if _name_of(field.path) in encoded]


@cache
def _name_of(path: str) -> bytes:
    return f'"{_steps(path)[-1]}"'.encode()


@cache
def _steps(path: str) -> list[str]:
    return re.findall(r"\w+|\[\]|\{\}", path)


def _remove_fields(value: Any, steps: list[str], path: Path, removed: list[Path]) -> Any:
    """Return ``value`` without the fields at ``steps``; the same object if there are none."""
    step = steps[0]
    if type(value) is dict and step not in value and step != "{}":  # most fields are absent
        return value
    further = steps[1:]
    if not further:
        if type(value) is not dict or step not in value:
            return value
        if value[step]:  # null, false, 0, "" and empty lists mean the same as an absent field
            removed.append((*path, step))
        return {key: item for key, item in value.items() if key != step}
    changed: dict[str | int, Any] = {}
    for key in _keys(value, step):
        new = _remove_fields(value[key], further, (*path, key), removed)
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
