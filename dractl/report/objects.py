"""Kubernetes objects as a YAML stream or a JSON List."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from dractl.manifests.resolve import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def to_json(objects: Iterable[Mapping[str, Any]]) -> str:
    """One ``v1`` List, as ``kubectl get -o json`` prints it."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}, indent=2, ensure_ascii=False)


def to_yaml(objects: Sequence[Mapping[str, Any]], comments: Mapping[str, Sequence[str]] | None = None) -> str:
    """A stream of documents; ``comments`` are lines above the object of that name."""
    parts = []
    for item in objects:
        lines = (comments or {}).get(item.get("metadata", {}).get("name", ""), ())
        above = "".join(f"# {_printable(line)}\n" for line in lines)
        body = yaml.dump(item, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1000)
        parts.append(f"---\n{above}{body}")
    return "".join(parts)


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)


@cache
def _dumper() -> Any:
    """A dumper that quotes strings that the API server would read as another type.

    PyYAML writes ``1e50`` and ``n`` without quotes, which sigs.k8s.io/yaml reads as a number and a boolean.
    """
    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    def text(dumper: Any, value: str) -> Any:
        style = None if isinstance(plain(value), str) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
