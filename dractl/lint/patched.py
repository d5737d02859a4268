"""The parts that an object loses through a strategic merge patch of kustomize.

kustomize merges lists of maps by the merge keys of the OpenAPI schema (kyaml/openapi), and the
lists of resource.k8s.io have none (``+listType=atomic`` in k8s.io/api/resource/v1/types.go): a list
in the patch replaces the whole list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.inputs.patching import NeedsProgram, selects
from dractl.lint.model import Manifest, manifest
from dractl.manifests import Document, load_readable
from dractl.manifests.embedded import is_inline_patch
from dractl.manifests.kustomize import Kustomization, Kustomizations, is_kustomization
from dractl.objects import mapping, text
from dractl.validation.violation import Path

_LISTS: Mapping[str, Sequence[Path]] = {
    "ResourceClaim": [("spec", "devices", name) for name in ("requests", "constraints", "config")],
    "ResourceClaimTemplate": [
        ("spec", "spec", "devices", name) for name in ("requests", "constraints", "config")
    ],
    "DeviceClass": [("spec", "selectors"), ("spec", "config")],
}
_MAX_DEPTH = 32


class Loss(Struct, frozen=True):
    """A list of the object that the patch replaces, with the parts that the patch does not
    repeat.
    """

    path: Path
    lost: tuple[str, ...]
    """Fields of a request that is in both lists, ``gpu: exactly.selectors``, and whole entries,
    ``request gpu``.
    """
    operations: tuple[Mapping[str, Any], ...]
    """The JSON patch (RFC 6902) that makes only the changes of the patch."""


def find_losses(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Iterator[Loss]:
    """Yield the lists of an object from which a strategic merge patch drops something."""
    for path in _LISTS.get(text(base.get("kind")), ()):
        before, after = _list_in(base, path), _list_in(patch, path)
        if before is None or after is None or _is_meant(patch, path):
            continue
        lost = tuple(_list_losses(path, before, after))
        if lost:
            yield Loss(path, lost, tuple(_operations(path, before, after)))


def bases_of(
    patch: Document, subjects: Sequence[Manifest], kustomizations: Kustomizations
) -> list[Manifest]:
    """Return the objects that a patch of a kustomization changes, as they are written: objects
    among ``subjects``, else in files that the kustomization lists. A patch of Flux or Argo CD
    changes the objects that they deliver.
    """
    if is_inline_patch(patch) and not is_kustomization(patch.file):
        return _find_delivered_bases(patch, subjects)
    if is_kustomization(patch.file):
        holder = kustomizations.kustomization(kustomizations.folder(patch.file))
    else:
        naming = kustomizations.naming(patch.file)
        holder = naming if kustomizations.is_patch(patch.file) else None
    if holder is None:
        return []
    targets = _targets_of(patch, holder)
    loaded: dict[str, list[Manifest]] = {}
    for subject in subjects:
        if not subject.document.built:
            loaded.setdefault(os.path.abspath(subject.document.file), []).append(subject)
    return [
        subject
        for file in kustomizations.resources_below(holder.folder)
        for subject in (loaded[file] if file in loaded else _read(file))
        if _changes_object(patch, targets, subject)
    ]


def _find_delivered_bases(patch: Document, subjects: Sequence[Manifest]) -> list[Manifest]:
    """Return the written form of the delivered objects that a patch of an applier changes."""
    place = _place_of(patch)
    changed = {
        (subject.document.file, subject.document.index)
        for subject in subjects
        if any(_place_of(layer) == place for layer in subject.document.layers)
    }
    return [
        subject
        for subject in subjects
        if not subject.document.rendered
        and (subject.document.file, subject.document.index) in changed
    ]


def _place_of(patch: Document) -> tuple[str, int, Path, int] | None:
    """Return a key that distinguishes an inline patch from all others; None for a patch that is not
    inline.
    """
    home = patch.embedding
    return (patch.file, home.document.index, home.path, home.number) if home is not None else None


def _targets_of(patch: Document, holder: Kustomization) -> list[Mapping[str, Any] | None]:
    """Return the targets of this patch: one for each entry of the kustomization that has the
    patch.
    """
    if not is_kustomization(patch.file):
        file = os.path.abspath(patch.file)
        return [entry.target for entry in holder.patch_entries if entry.file == file]
    if patch.embedding is None:
        return []
    field, number = patch.embedding.path[:2]
    place = (str(field).casefold(), number)
    return [entry.target for entry in holder.patch_entries if entry.place == place]


def _changes_object(
    patch: Document, targets: Sequence[Mapping[str, Any] | None], subject: Manifest
) -> bool:
    """Return whether a patch changes an object: by a target, else by its own kind and name."""
    is_own = subject.kind == patch.kind and subject.name == (patch.name or "")
    return (is_own and (None in targets or not targets)) or any(
        _selects(target, subject) for target in targets if target is not None
    )


def _selects(target: Mapping[str, Any], subject: Manifest) -> bool:
    """Return whether a target selects an object; False for a target that only kustomize can
    evaluate.
    """
    try:
        return selects(target, subject.value)
    except NeedsProgram:
        return False


def _read(file: str) -> list[Manifest]:
    """Return the objects of DRA in a file beside the input."""
    return [
        manifest(item)
        for item in load_readable([file], digests=False).documents
        if isinstance(item.value, dict)
    ]


def _holders(value: Mapping[str, Any], path: Path) -> list[Mapping[str, Any]]:
    """Return the maps on the way to the list at a path."""
    holders = [value]
    for step in path[:-1]:
        holders.append(mapping(holders[-1].get(str(step))))
    return holders


def _list_in(value: Mapping[str, Any], path: Path) -> list[Any] | None:
    """Return the list at a path; None if there is none."""
    written = _holders(value, path)[-1].get(str(path[-1]))
    return written if isinstance(written, list) else None


def _is_meant(patch: Mapping[str, Any], path: Path) -> bool:
    """Return whether the patch says that it replaces or deletes the value at the path."""
    entries = map(mapping, _list_in(patch, path) or ())
    return any("$patch" in holder for holder in (*_holders(patch, path), *entries))


def _list_losses(path: Path, before: Sequence[Any], after: Sequence[Any]) -> Iterator[str]:
    kind = str(path[-1]).removesuffix("s")
    named = {text(mapping(entry).get("name")): mapping(entry) for entry in after}
    for number, entry in enumerate(before):
        name = text(mapping(entry).get("name"))
        if path[-1] == "requests" and name in named:
            yield from (
                f"{name}: {'.'.join(steps)}"
                for steps in _list_missing_fields(mapping(entry), named[name])
            )
        elif path[-1] == "requests":
            yield f"request {name or number}"
        elif entry not in after:
            yield f"{kind}[{number}]"


def _list_missing_fields(
    before: Mapping[str, Any], after: Mapping[str, Any], steps: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    """Yield the fields of one map that another lacks; a field below a missing one is not listed."""
    for key, value in before.items():
        if key not in after:
            yield (*steps, str(key))
        elif isinstance(value, dict) and isinstance(after[key], dict) and len(steps) < _MAX_DEPTH:
            yield from _list_missing_fields(value, after[key], (*steps, str(key)))


def _operations(
    path: Path, before: Sequence[Any], after: Sequence[Any]
) -> Iterator[Mapping[str, Any]]:
    positions = {text(mapping(entry).get("name")): at for at, entry in enumerate(before)}
    for entry in after:
        name = text(mapping(entry).get("name"))
        if path[-1] == "requests" and name in positions:
            number = positions[name]
            yield from _changes((*path, number), mapping(before[number]), mapping(entry))
        elif entry not in before:
            yield {"op": "add", "path": _pointer((*path, "-")), "value": entry}


def _changes(
    path: Path, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    for key, value in after.items():
        field_path = (*path, str(key))
        if key not in before:
            yield {"op": "add", "path": _pointer(field_path), "value": value}
        elif isinstance(value, dict) and isinstance(before[key], dict) and len(path) < _MAX_DEPTH:
            yield from _changes(field_path, before[key], value)
        elif value != before[key]:
            yield {"op": "replace", "path": _pointer(field_path), "value": value}


def _pointer(path: Path) -> str:
    """Return a JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
