"""Kubernetes objects as a YAML stream or a JSON List."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dractl.manifests.dumping import dump


def to_json(objects: Iterable[Mapping[str, Any]]) -> str:
    """Return one ``v1`` List, as ``kubectl get -o json`` prints it."""
    return json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2, ensure_ascii=False
    )


def to_yaml(
    objects: Sequence[Mapping[str, Any]], comments: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return a stream of documents; ``comments`` are lines above the object of that name."""
    parts = []
    for item in objects:
        lines = (comments or {}).get(item.get("metadata", {}).get("name", ""), ())
        above = "".join(f"# {_printable(line)}\n" for line in lines)
        body = dump(item)
        parts.append(f"---\n{above}{body}")
    return "".join(parts)


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)
