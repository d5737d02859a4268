"""Writes dractl/cel/environments/functions.json from upstream's compiler environments.

The input is one folder a release with ``env-new.yaml`` and ``env-stored.yaml`` (every overload of
cel-go and of the Kubernetes libraries, in the form that
``cel_expr_python.cel.NewEnvConfigFromYaml`` takes). All environments declare the same overloads,
except for the few in ``CONDITIONAL``. So one table is enough, and this script fails if that is no
longer true.

    python tools/make_cel_environments.py FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import yaml

TARGET = Path(__file__).resolve().parents[1] / "dractl" / "cel" / "environments" / "functions.json"

# Overloads that dractl/cel/environment.py declares by release, mode and gate.
CONDITIONAL = {"int64_to_duration", "dra_includes_dyn_dyn", "list_includes_dyn_dyn"}

# These are declared with operands of any type. Upstream reports each operand that is not a bool at
# its own place, while cel-cpp only reports that no overload matches; so dractl/cel/checks.py checks
# the operands.
LOGIC = {"_&&_", "_||_"}


def flow(kind: dict[str, Any]) -> str:
    """Write a type as YAML in flow style."""
    parts = [f"type_name: {kind['type_name']}"]
    if kind.get("is_type_param"):
        parts.append("is_type_param: true")
    if kind.get("params"):
        parts.append(f"params: [{', '.join(map(flow, kind['params']))}]")
    return "{" + ", ".join(parts) + "}"


def signature(kind: dict[str, Any]) -> str:
    """Write a type as ``cel.Type`` reads it: ``map<string,list<string>>``."""
    params = ",".join(map(signature, kind.get("params", ())))
    return kind["type_name"] + (f"<{params}>" if params else "")


def read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read overloads by (function, overload id)."""
    config = yaml.safe_load(path.read_text())
    return {(f["name"], o["id"]): o for f in config["functions"] for o in f["overloads"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    environments = {
        p.relative_to(p.parents[1]): read(p)
        for p in sorted(parser.parse_args().folder.glob("1.*/env-*.yaml"))
    }
    union = {key: overload for rows in environments.values() for key, overload in rows.items()}
    for name, rows in environments.items():
        missing = {key for key in union.keys() - rows.keys() if key[1] not in CONDITIONAL}
        changed = {key for key in rows if rows[key] != union[key]}
        if missing or changed:
            raise SystemExit(
                f"{name}: overloads differ from the other environments: {missing | changed}"
            )
    functions: dict[str, list[dict[str, Any]]] = {}
    # Upstream's order is kept, since the first overload that accepts a free type binds it.
    for (function, _), overload in sorted(union.items(), key=lambda item: item[0][0]):
        functions.setdefault(function, []).append(overload)
    generic: list[str] = []
    plain: list[list[Any]] = []
    for function, overloads in functions.items():
        text = json.dumps(overloads)
        if "is_type_param" in text or "optional_type" in text:  # cel.Type knows neither
            generic += [f"- name: {json.dumps(function)}", "  overloads:"]
            for o in overloads:
                target = f"target: {flow(o['target'])}, " if "target" in o else ""
                arguments = ", ".join(map(flow, o["args"]))
                generic.append(
                    "  - "
                    f"{{id: {o['id']}, {target}args: [{arguments}], return: {flow(o['return'])}}}"
                )
        else:
            for o in overloads:
                operands = [o["target"], *o["args"]] if "target" in o else o["args"]
                if function in LOGIC:
                    operands = [{"type_name": "dyn"}] * 2
                plain.append(
                    [
                        function,
                        o["id"],
                        "target" in o,
                        [*map(signature, operands)],
                        signature(o["return"]),
                    ]
                )
    rows = ",\n  ".join(map(json.dumps, plain))
    lines = ",\n  ".join(map(json.dumps, generic))
    TARGET.write_text(f'{{\n "plain": [\n  {rows}\n ],\n "generic": [\n  {lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
