"""Makes ``schemas/dractl/machine-v1.json``, the JSON Schema of a snapshot.

It is made from the values of a Machine.

    .venv/bin/python tools/make_machine_schema.py [--check]

The same values read and write snapshots (``dractl/topology/wire.py``), so they have all facts that
a schema can express.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
import types
import typing
from itertools import pairwise
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import fields as fields_of

from dractl.drivers.publication import Published
from dractl.topology import wire
from dractl.topology.complexes import Complex
from dractl.topology.levels import Affinity
from dractl.topology.machine import SCHEMA, Machine

FILE = Path(__file__).resolve().parent.parent / "schemas" / "dractl" / "machine-v1.json"
SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field's type; Structs go into ``definitions``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        (inner,) = (argument for argument in arguments if argument is not types.NoneType)
        inner_schema = schema(inner, definitions)
        return (
            {**inner_schema, "type": [inner_schema["type"], "null"]}
            if "type" in inner_schema
            else {"anyOf": [inner_schema, {"type": "null"}]}
        )
    if origin is tuple:
        return {"type": "array", "items": schema(arguments[0], definitions)}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if isinstance(hint, type) and issubclass(hint, Struct):
        define(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    return {"type": SCALARS[hint]}


def define(cls: Any, definitions: dict[str, Any]) -> None:
    """Add a Struct to the definitions; fields without a default are required."""
    if cls.__name__ in definitions:
        return
    definitions[cls.__name__] = {}
    hints = typing.get_type_hints(cls)
    texts = field_texts(cls)
    fields = fields_of(cls)
    # None is not written, so a field that can be None is not required.
    needed = [
        wire.key(f.name)
        for f in fields
        if f.required and typing.get_origin(hints[f.name]) is not types.UnionType
    ]
    definitions[cls.__name__] = {
        "description": " ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        "type": "object",
        "properties": {
            wire.key(f.name): {**texts.get(f.name, {}), **schema(hints[f.name], definitions)}
            for f in fields
        },
        "required": needed,
        "additionalProperties": False,
    }


def field_texts(cls: Any) -> dict[str, dict[str, str]]:
    """Return the description of each field: the string below it in the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(tree, ast.ClassDef)
    texts = {}
    for field, below in pairwise(tree.body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            texts[field.target.id] = {"description": " ".join(str(below.value.value).split())}
    return texts


def make() -> str:
    definitions: dict[str, Any] = {}
    define(Machine, definitions)
    for derived in (Affinity, Complex, Published):
        define(derived, definitions)
    machine = definitions.pop("Machine")
    machine["properties"] = {
        "schema": {"const": SCHEMA},
        **machine["properties"],
        "affinity": {"type": "array", "items": {"$ref": "#/$defs/Affinity"}},
        "complexes": {"type": "array", "items": {"$ref": "#/$defs/Complex"}},
        "publishedDevices": {"type": "array", "items": {"$ref": "#/$defs/Published"}},
    }
    machine["required"] = [
        "schema",
        "host",
        "numaNodes",
        "pciDevices",
        "gpus",
        "links",
        "affinity",
        "notes",
    ]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return (
        json.dumps({**head, **machine, "$defs": definitions}, indent=1, ensure_ascii=False) + "\n"
    )


def main() -> int:
    text = make()
    if FILE.exists() and FILE.read_text() == text:
        return 0
    print(FILE.name)
    if "--check" in sys.argv[1:]:
        return 1
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
