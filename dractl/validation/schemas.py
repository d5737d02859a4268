"""API types of one release, read from ``schemas/<release>/`` on demand.

``tools/make_schemas.py`` makes the files and describes their content; a claim needs two of them, 17
kB together.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dractl.model.releases import like, versions_no_longer_served
from dractl.resources import data_dir
from dractl.validation.scalars import (
    ANYTHING,
    BOOL,
    INT32,
    INT32_OR_STRING,
    INT64,
    MICRO_TIME,
    QUANTITY,
    STRING,
    TIME,
    string,
)
from dractl.validation.shapes import List, Map, Record, Shape

_BASIC: dict[str, Shape] = {
    "FieldsV1": ANYTHING,
    "IntOrString": INT32_OR_STRING,
    "MicroTime": MICRO_TIME,
    "Quantity": QUANTITY,
    "RawExtension": ANYTHING,
    "Time": TIME,
    "int32": INT32,
    "int64": INT64,
}
"""The definitions of meta-v1 that are not structs, by name."""


class Schemas:
    """Types of one release. Files are read, and types built, when a document first needs them."""

    def __init__(self, paths: Mapping[str, Path], gone: frozenset[str]) -> None:
        self._paths = paths
        self._known = frozenset(paths) - gone
        self._files: dict[str, dict[str, Any]] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._kinds: dict[str, tuple[str, ...]] = {}
        self._tops: dict[tuple[str, str], Record | None] = {}

    def kind(self, api_version: str, kind: str) -> Record | None:
        """Return the type of a top-level kind; None if this release has no such kind in that group
        and version.
        """
        key = (api_version, kind)
        if key not in self._tops:
            file = _file(api_version)
            shape = self._shape(file, kind) if kind in self.kinds(file) else None
            self._tops[key] = shape if isinstance(shape, Record) else None
        return self._tops[key]

    def versions(self, kind: str) -> tuple[str, ...]:
        """Return every apiVersion of the release that has the kind, newest first."""
        files = [file for file in self._known if kind in self.kinds(file)]
        return tuple(_api_version(file) for file in sorted(files, key=_age))

    def kinds_of(self, api_version: str) -> tuple[str, ...]:
        """Return the top-level kinds of an apiVersion such as ``resource.k8s.io/v1``."""
        return self.kinds(_file(api_version))

    def files(self, group: str) -> tuple[str, ...]:
        """Return the files of a group, one per version."""
        return tuple(
            sorted((file for file in self._known if file.rpartition("-")[0] == group), key=_age)
        )

    def kinds(self, file: str) -> tuple[str, ...]:
        """Return the top-level kinds of a file such as ``resource.k8s.io-v1``; empty if there is no
        such file.
        """
        if file not in self._kinds:
            choices = self._read(file).get("oneOf", ())
            self._kinds[file] = tuple(choice["$ref"].rpartition("/")[2] for choice in choices)
        return self._kinds[file]

    def _read(self, file: str) -> dict[str, Any]:
        if file not in self._known:
            return {}
        if file not in self._files:
            self._files[file] = json.loads(self._paths[file].read_bytes())
        return self._files[file]

    def _shape(self, file: str, name: str) -> Shape:
        if file == "meta-v1" and name in _BASIC:
            return _BASIC[name]
        key = (file, name)
        if key not in self._shapes:
            schema = self._read(file)["$defs"][name]
            fields = schema["properties"]
            version = file.rpartition("-")[2]
            self._shapes[key] = Record(
                f"{version}.{name}", fields, lambda field: self._compile(file, fields[field])
            )
        return self._shapes[key]

    def _compile(self, file: str, schema: dict[str, Any]) -> Shape:
        """Return the type of a field."""
        if "$ref" in schema:
            file_of_reference, _, name = schema["$ref"].partition("#/$defs/")
            return self._shape(file_of_reference.removesuffix(".json") or file, name)
        if "const" in schema:
            return STRING
        kind = schema["type"][0]
        if kind == "array":
            return List(self._compile(file, schema["items"]))
        if kind == "object":
            item = self._compile(file, schema["additionalProperties"])
            return Map(
                item, schema.get("x-go-type") or f"map[{schema.get('x-go-key', 'string')}]{item.go}"
            )
        if kind == "boolean":
            return BOOL
        return string(schema["x-go-type"]) if "x-go-type" in schema else STRING


@cache
def schemas_of(release: str) -> Schemas:
    """Return the types of a release: ``schemas_of("1.36")``."""
    return Schemas(paths_of(release), frozenset(map(_file, versions_no_longer_served(release))))


def paths_of(release: str) -> dict[str, Path]:
    """Return the paths of the files of a release, by name. A preview has only the files that differ
    from those of the release that it is based on (:func:`dractl.model.releases.like`).
    """
    return {
        path.stem: path
        for name in (like(release), release)
        for path in (data_dir("schemas") / name).glob("*.json")
    }


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """Return the descriptions of fields by API group and ``Type.field``, as the newest release that
    is out has them (tools/make_schemas.py).
    """
    loaded: dict[str, dict[str, str]] = json.loads(
        (data_dir("schemas") / "descriptions.json").read_bytes()
    )
    return loaded


def _file(api_version: str) -> str:
    """Return the file of an apiVersion: ``resource.k8s.io-v1`` for ``resource.k8s.io/v1``,
    ``core-v1`` for ``v1``.
    """
    group, _, version = api_version.rpartition("/")
    return f"{group or 'core'}-{version}"


def _api_version(file: str) -> str:
    group, _, version = file.rpartition("-")
    return version if group == "core" else f"{group}/{version}"


def _age(file: str) -> tuple[int, str]:
    """Return a key that sorts v1 before v1beta2 before v1beta1 before v1alpha3, as
    Kubernetes does.
    """
    version = file.rpartition("-")[2]
    stage = 1 if "beta" in version else 2
    if version[1:].isdigit():
        stage = 0
    return stage, "".join(chr(0x10FFFF - ord(c)) for c in version)
