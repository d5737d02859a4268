"""Checks of documents that become objects of a cluster."""

from collections.abc import Iterator, Mapping
from typing import Final

from dractl.cluster.shell import is_safe_name
from dractl.errors import InputError
from dractl.manifests import Document
from dractl.model.paths import at, list_at, map_at
from dractl.model.reader import Path
from dractl.objects import Raw
from dractl.program import program_name
from dractl.validation.claims import MAX_CONSTRAINTS
from dractl.validation.violation import dotted

_SLICE_NAME_PATHS: Final[tuple[Path, ...]] = (
    ("spec", "driver"),
    ("spec", "nodeName"),
    ("spec", "pool", "name"),
)
_CONSTRAINT_PATHS: Final[Mapping[str, Path]] = {
    "ResourceClaim": ("spec", "devices", "constraints"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "constraints"),
}


def no_name_error(document: Document) -> InputError:
    """Return the error for an object whose name is missing or is no string."""
    name = at(document.value, "metadata", "name")
    place = document.locate(("metadata", "name"))
    problem, hint = f"this {document.kind} has no metadata.name", None
    if name not in (None, ""):
        kind = {bool: "a boolean", int: "a number", float: "a number"}.get(type(name), "no text")
        problem = f"metadata.name of this {document.kind} is {kind}, not a string"
        hint = "put it in quotes: without them YAML does not read n, no, off and 1 as strings"
    return InputError(problem, place=f"{place.file}:{place.line}:{place.column}", hint=hint)


def check_document(document: Document, safe_names: set[str]) -> None:
    """Raise InputError if no API server would hold the object of a document.

    Only names and the number of constraints are checked. Names that have passed are added to
    ``safe_names``.
    """
    path = _unsafe_name_path(document.value, safe_names)
    if path is not None:
        raise _unsafe_name_error(document, path)
    path = _excess_constraints_path(document.value)
    if path is not None:
        raise _excess_constraints_error(document, path)


def _unsafe_name_path(value: Raw, safe_names: set[str]) -> Path | None:
    """Return the path of the first name with characters that no API server accepts.

    A dump can come from anywhere, and names end up on terminals, in logs of CI and in commands to
    paste.
    """
    for path, name in _iter_names(value):
        if isinstance(name, str) and name and name not in safe_names:
            if not is_safe_name(name):
                return path
            safe_names.add(name)
    return None


def _iter_names(value: Raw) -> Iterator[tuple[Path, object]]:
    is_slice = value.get("kind") == "ResourceSlice"
    for index, device in enumerate(list_at(value, "spec", "devices") if is_slice else ()):
        if isinstance(device, dict):
            yield ("spec", "devices", index, "name"), device.get("name")
    metadata = map_at(value, "metadata")
    for key in ("name", "generateName", "namespace"):
        yield ("metadata", key), metadata.get(key)
    for path in _SLICE_NAME_PATHS if is_slice else ():
        yield path, at(value, *path)


def _unsafe_name_error(document: Document, path: Path) -> InputError:
    place = document.locate(path)
    name = at(document.value, *path)
    holds = "holds control characters" if not name.isprintable() else f"is {name!r}"
    return InputError(
        f"{dotted(path)} of this {document.kind} {holds}; no API server takes such a name",
        place=f"{place.file}:{place.line}:{place.column}",
        hint=f"{program_name()} lint says what is allowed in a name",
    )


def _excess_constraints_path(value: Raw) -> Path | None:
    """Return the path of a claim's constraints if an API server would refuse their number.

    Each constraint is compared on every device of every node.
    """
    path = _CONSTRAINT_PATHS.get(str(value.get("kind")))
    constraints = at(value, *path) if path is not None else None
    return path if isinstance(constraints, list) and len(constraints) > MAX_CONSTRAINTS else None


def _excess_constraints_error(document: Document, path: Path) -> InputError:
    place = document.locate(path)
    number = len(at(document.value, *path))
    return InputError(
        f"{dotted(path)} of this {document.kind} has {number:,} items; an API server takes at most"
        f" {MAX_CONSTRAINTS}",
        place=f"{place.file}:{place.line}:{place.column}",
    )
