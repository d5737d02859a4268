"""Builds the programs that dractl is measured beside, from the pinned Go modules of this folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parent.parent / "schemas" / "1.37"
PACKAGES = {"kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform", "allocator": "."}


def build(folder: Path) -> dict[str, Path]:
    """The programs by name, built into a folder; none without Go."""
    if shutil.which("go") is None:
        return {}
    made = {}
    for name, package in PACKAGES.items():
        path = folder / name
        command = ["go", "build", "-trimpath", "-mod=readonly", "-o", str(path), package]
        subprocess.run(command, cwd=HERE / name, check=True, env={**os.environ, "GOFLAGS": ""})
        made[name] = path
    return made


def schemas(folder: Path) -> str:
    """Schemas for kubeconform of every kind that dractl has one of, each in a file of its own; returns its option."""
    files = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    folder.mkdir(parents=True, exist_ok=True)
    for file, content in files.items():
        group, _, version = file.removesuffix(".json").rpartition("-")
        suffix = f"-{version}" if group == "core" else f"-{group.split('.')[0]}-{version}"
        for kind in (entry["$ref"].rpartition("/")[2] for entry in content.get("oneOf", ())):
            (folder / f"{kind.lower()}{suffix}.json").write_text(
                json.dumps(_bundle(files, file, kind))
            )
    return f"{folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"


def _bundle(files: dict[str, Any], file: str, kind: str) -> dict[str, Any]:
    """The schema of a kind with everything that it refers to."""
    definitions: dict[str, Any] = {}

    def moved(value: Any, inside: str) -> Any:
        if isinstance(value, list):
            return [moved(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: moved(item, inside) for key, item in value.items() if key != "$ref"}
        if "$ref" in value:
            there, _, name = value["$ref"].partition("#/$defs/")
            key = f"{there or inside}.{name}"
            if key not in definitions:
                definitions[key] = {}
                definitions[key].update(
                    moved(files[there or inside]["$defs"][name], there or inside)
                )
            made["$ref"] = f"#/$defs/{key}"
        return made

    root = moved({"$ref": f"#/$defs/{kind}"}, file)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": definitions}
