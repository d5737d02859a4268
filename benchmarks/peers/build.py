"""Builds the programs that dractl is compared with, from the pinned Go modules of this folder."""

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
    """Build the programs and return them by name; none if Go is not installed."""
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
    """Write a schema for kubeconform of each kind, each into its own file; return its option."""
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
    """Return the schema of a kind with everything that it refers to."""
    definitions: dict[str, Any] = {}

    def inline(value: Any, inside: str) -> Any:
        if isinstance(value, list):
            return [inline(item, inside) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: inline(item, inside) for key, item in value.items() if key != "$ref"}
        if "$ref" in value:
            target, _, name = value["$ref"].partition("#/$defs/")
            key = f"{target or inside}.{name}"
            if key not in definitions:
                definitions[key] = {}
                definitions[key].update(
                    inline(files[target or inside]["$defs"][name], target or inside)
                )
            made["$ref"] = f"#/$defs/{key}"
        return made

    root = inline({"$ref": f"#/$defs/{kind}"}, file)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": definitions}
