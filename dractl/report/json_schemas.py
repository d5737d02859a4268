"""The JSON Schemas that ship with dractl: of its reports, of its configuration and of API kinds."""

import json
from pathlib import Path
from typing import Any

from dractl.model.releases import NEWEST
from dractl.resources import data_dir

_INTERNAL = frozenset({"cdi"})  # schemas of files that dractl only reads


def names(release: str = NEWEST) -> list[str]:
    """Return the names of everything that has a schema: reports, the configuration, and the API
    kinds of a release.
    """
    return [*_reports(), *_kinds(release)]


def text(name: str, release: str = NEWEST) -> str:
    """Return the schema of one of :func:`names`, with everything that it refers to. Raises KeyError
    for another name.
    """
    reports = _reports()
    return (
        reports[name].read_text(encoding="utf-8")
        if name in reports
        else _schema_of_kind(name, _kinds(release)[name])
    )


def _reports() -> dict[str, Path]:
    files = sorted((data_dir("schemas") / "dractl").glob("*.json"))
    return {
        name: file for file in files if (name := file.stem.removesuffix("-v1")) not in _INTERNAL
    }


def _kinds(release: str) -> dict[str, Path]:
    """Return the file of each kind; if several versions have the kind, the file of the newest."""
    files_by_kind: dict[str, Path] = {}
    for file in sorted((data_dir("schemas") / release).glob("*.json"), key=_maturity):
        for alternative in json.loads(file.read_text(encoding="utf-8")).get("oneOf", ()):
            files_by_kind.setdefault(alternative["$ref"].rpartition("/")[2], file)
    return dict(sorted(files_by_kind.items()))


def _maturity(file: Path) -> tuple[int, str]:
    version = file.stem.rpartition("-")[2]
    return ("alpha" in version) * 2 + ("beta" in version), file.stem


def _schema_of_kind(kind: str, file: Path) -> str:
    """Return the schema of a kind, with the files that it refers to."""
    parts = {
        path.name: json.loads(path.read_text(encoding="utf-8"))
        for path in file.parent.glob("*.json")
    }
    needed, seen = [file.name], {file.name}
    while needed:
        for other in _files_in(parts[needed.pop()]) - seen:
            seen.add(other)
            needed.append(other)
    whole: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{kind} ({file.stem}, Kubernetes {file.parent.name})",
        "$ref": f"{file.name}#/$defs/{kind}",
        "$defs": {name: {"$id": name, "$defs": parts[name]["$defs"]} for name in sorted(seen)},
    }
    return json.dumps(whole, indent=1, ensure_ascii=False)


def _files_in(value: Any) -> set[str]:
    """Return the files that references in a schema name."""
    if isinstance(value, dict):
        named = {value["$ref"].partition("#")[0]} if isinstance(value.get("$ref"), str) else set()
        return {name for name in named if name}.union(*map(_files_in, value.values()))
    return set().union(*map(_files_in, value)) if isinstance(value, list) else set()
