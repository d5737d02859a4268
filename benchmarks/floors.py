"""Runs the steps that any Python program needs for the same answer: a floor for its time.

    python benchmarks/floors.py STEP PATH

Each step includes the steps before it. For a folder of manifests: ``start`` imports the modules
that lint imports, ``read`` lists and reads the files, ``yaml`` parses them, and ``look`` calls one
empty function for each value; ``libyaml`` parses with PyYAML's parser in C instead. For a dump:
``explain`` imports the modules of explain, ``text`` reads the dump, and ``json`` parses it in C.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from dractl.lint import registry
from dractl.manifests import plainyaml
from dractl.manifests.content import Content
from dractl.manifests.files import contents, list_files


def look(value: Any) -> None:
    """Visit a value and everything inside it, with one call for each."""
    if type(value) is dict:
        value = value.values()
    elif type(value) is not list:
        return
    for inner in value:
        look(inner)


def lint(step: str, folder: str) -> None:
    import_module("dractl.cli.commands.lint")
    import_module("dractl.cel.compiler")
    registry.checks()
    if step == "start":
        return
    texts = [
        item.data.decode()
        for item in contents(list_files([folder], ()))
        if isinstance(item, Content)
    ]
    if step == "read":
        return
    if step == "libyaml":
        import yaml

        for text in texts:
            yaml.load(text, yaml.CSafeLoader)
        return
    values = [plainyaml.read(text) for text in texts]
    assert plainyaml.UNKNOWN not in values
    if step == "look":
        for value in values:
            look(value)


def explain(step: str, file: str) -> None:
    import_module("dractl.cli.commands.explain")
    if step == "explain":
        return
    text = Path(file).read_text(encoding="utf-8")
    if step == "json":
        import msgspec

        msgspec.json.decode(text)


if __name__ == "__main__":
    gc.disable()
    (lint if Path(sys.argv[2]).is_dir() else explain)(*sys.argv[1:])
