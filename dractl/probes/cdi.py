"""Container Device Interface specifications: the files that DRA drivers write for the container
runtime.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import yaml

from dractl.objects import items, mapping, text
from dractl.probes.root import SysRoot
from dractl.resources import data_dir

CDI_FOLDERS = ("etc/cdi", "var/run/cdi", "run/cdi")
_MAX_NESTING = 32


def cdi_files(root: SysRoot, folder: str) -> list[str]:
    """Return the paths of a folder's specifications."""
    return [
        f"{folder}/{name}"
        for name in root.names(folder)
        if name.endswith((".json", ".yaml", ".yml"))
    ]


def cdi_fault(data: bytes | None) -> str | None:
    """Return the fault of a CDI specification (JSON or YAML); None if it is valid."""
    if data is None:
        return "cannot be read"
    try:
        text = data.decode("utf-8")
        # CDI files are written by programs and have neither aliases nor deep nesting; a file with
        # them may be a bomb.
        depth = 0
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > _MAX_NESTING or isinstance(event, yaml.AliasEvent):
                return "has YAML aliases or is nested too deeply"
        value: Any = yaml.load(text, Loader=yaml.CSafeLoader)
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, RecursionError) as error:
        return f"cannot be parsed: {str(error).splitlines()[0]}"
    schema = json.loads((data_dir("schemas") / "dractl" / "cdi.json").read_text(encoding="utf-8"))
    errors = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(value),
        key=lambda e: list(map(str, e.path)),
    )
    if errors:
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in errors[0].path).lstrip(
            "."
        )
        return f"{path or 'the specification'}: {errors[0].message:.160}"
    names = [device["name"] for device in value["devices"]]
    twice = next((name for name in names if names.count(name) > 1), None)
    return f"device {twice} is defined twice" if twice else None


def specification(root: SysRoot, path: str) -> Mapping[str, Any]:
    """Return a CDI specification; an empty one for any other file."""
    data = root.bytes(path)
    return (
        mapping(yaml.load(data, Loader=yaml.CSafeLoader))
        if data is not None and cdi_fault(data) is None
        else {}
    )


def device_names(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the device names of a specification in the form in which containers get them:
    ``vendor/class=name``.
    """
    for device in items(spec.get("devices")):
        yield f"{spec.get('kind')}={mapping(device).get('name')}"


def absent_paths(root: SysRoot, spec: Mapping[str, Any]) -> list[str]:
    """Return the device nodes and mounts of a CDI specification that the host does not have."""
    edits = [mapping(spec.get("containerEdits"))]
    edits += [
        mapping(mapping(device).get("containerEdits")) for device in items(spec.get("devices"))
    ]
    nodes = [mapping(node) for edit in edits for node in items(edit.get("deviceNodes"))]
    paths = [text(node.get("hostPath")) or text(node.get("path")) for node in nodes]
    paths += [
        text(mapping(mount).get("hostPath"))
        for edit in edits
        for mount in items(edit.get("mounts"))
    ]
    return [
        path
        for path in dict.fromkeys(paths)
        if path.startswith("/") and not root.exists(path.strip("/"))
    ]
