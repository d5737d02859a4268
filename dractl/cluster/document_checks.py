"""Checks of documents that become objects of a cluster."""

from collections.abc import Iterator, Mapping
from typing import Final

from dractl.cluster.shell import is_safe_name
from dractl.errors import InputError
from dractl.manifests import Document
from dractl.model.paths import list_at
from dractl.model.reader import Path
from dractl.objects import Raw, items, mapping, slice_of
from dractl.program import program_name
from dractl.validation.claims import MAX_CONSTRAINTS
from dractl.validation.violation import dot_path
from dractl.views import View

_CONSTRAINT_PATHS: Final[Mapping[str, Path]] = {
    "ResourceClaim": ("spec", "devices", "constraints"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "constraints"),
}


def no_name_error(document: Document) -> InputError:
    """Return the error for an object whose name is missing or is no string."""
    name = View(document.value).metadata.get("name")
    place = document.locate(("metadata", "name"))
    problem, hint = f"this {document.kind} has no metadata.name", None
    if name not in (None, ""):
        kind = {bool: "a boolean", int: "a number", float: "a number"}.get(type(name), "no text")
        problem = f"metadata.name of this {document.kind} is {kind}, not a string"
        hint = "put it in quotes: without them YAML does not read n, no, off and 1 as strings"
    return InputError(problem, place=f"{place.file}:{place.line}:{place.column}", hint=hint)


def check_document(document: Document, safe_names: set[str]) -> None:
    """Raise InputError if no API server would accept the object of a document.

    Only names and the number of constraints are checked. Names that have passed are added to
    ``safe_names``.
    """
    unsafe = _find_unsafe_name(document.value, safe_names)
    if unsafe is not None:
        raise _unsafe_name_error(document, *unsafe)
    _check_constraints(document)


def _find_unsafe_name(value: Raw, safe_names: set[str]) -> tuple[Path, str] | None:
    """Return path and text of the first name with characters that no API server accepts.

    A dump can come from anywhere, and names end up on terminals, in logs of CI and in commands to
    paste.
    """
    for path, name in _iter_names(value, safe_names):
        if isinstance(name, str) and name and name not in safe_names:
            if not is_safe_name(name):
                return path, name
            safe_names.add(name)
    return None


def _iter_names(value: Raw, safe_names: set[str]) -> Iterator[tuple[Path, object]]:
    """Yield the names of an object, each with its path. Names of devices are left out if they are
    in ``safe_names``, since the devices of most nodes have the same names.
    """
    resource_slice = slice_of(value) if value.get("kind") == "ResourceSlice" else None
    devices = items(resource_slice.spec.get("devices")) if resource_slice is not None else []
    for index, device in enumerate(devices):
        name = device.get("name") if isinstance(device, dict) else None
        if isinstance(name, str) and name not in safe_names:
            yield ("spec", "devices", index, "name"), name
    metadata = mapping(value.get("metadata"))
    for key in ("name", "generateName", "namespace"):
        if key in metadata:
            yield ("metadata", key), metadata[key]
    if resource_slice is not None:
        yield ("spec", "driver"), resource_slice.driver
        yield ("spec", "nodeName"), resource_slice.node
        yield ("spec", "pool", "name"), resource_slice.pool


def _unsafe_name_error(document: Document, path: Path, name: str) -> InputError:
    place = document.locate(path)
    holds = "holds control characters" if not name.isprintable() else f"is {name!r}"
    return InputError(
        f"{dot_path(path)} of this {document.kind} {holds}; no API server takes such a name",
        place=f"{place.file}:{place.line}:{place.column}",
        hint=f"{program_name()} lint says what is allowed in a name",
    )


def _check_constraints(document: Document) -> None:
    """Raise InputError if an API server would refuse the number of a claim's constraints.

    The number is bounded because each constraint is compared on every device of every node.
    """
    path = _CONSTRAINT_PATHS.get(str(document.value.get("kind")))
    if path is None:
        return
    constraints = list_at(document.value, *path)
    if len(constraints) <= MAX_CONSTRAINTS:
        return
    place = document.locate(path)
    raise InputError(
        f"{dot_path(path)} of this {document.kind} has {len(constraints):,} items; an API server"
        f" takes at most {MAX_CONSTRAINTS}",
        place=f"{place.file}:{place.line}:{place.column}",
    )
