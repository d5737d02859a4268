"""Writes what is made from the rule files: ``dractl/lint/index.py`` and ``docs/rules.md``. ``--check`` says if they are
up to date."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "dractl" / "lint" / "rules"
INDEX = ROOT / "dractl" / "lint" / "index.py"
DOCS = ROOT / "docs" / "rules.md"

GROUPS = {
    "0": "What cannot be read or decoded",
    "1": "Claims and templates of claims",
    "2": "Device classes",
    "3": "Resource slices",
    "4": "Pods and workloads",
    "5": "Taint rules and the rest of the API",
    "6": "CEL",
    "7": "Accepted, but never satisfied",
    "8": "Releases and feature gates",
    "9": "Ignores and configuration",
}


def rows() -> list[tuple[str, str, str, tuple[str, ...], tuple[str, ...], bool, tuple[str, ...], tuple[str, ...]]]:
    """What the index holds of every rule file, without importing it."""
    found = []
    for path in sorted(RULES.glob("dra[0-9]*.py")):
        match = re.fullmatch(r"(dra\d{3})_(\w+)", path.stem)
        assert match, f"{path.name}: a rule file is called dra116_count_not_positive.py"
        constants = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id in ("SEVERITY", "SERVER", "KINDS", "DEVICES", "FIELDS", "FOR")
        }
        found.append(
            (
                match[1].upper(),
                match[2].replace("_", "-"),
                constants["SEVERITY"],
                constants.get("SERVER", ()),
                constants.get("KINDS", ()),
                constants.get("DEVICES", False),
                constants.get("FIELDS", ()),
                constants.get("FOR", ()),
            )
        )
    return found


def index() -> str:
    lines = [
        '"""The rules of lint: code, name, severity, violations that it reports, kinds that it looks at, whether it',
        "needs devices, fields one of which a claim or a class must have, and consumers one of which must be named.",
        "",
        "Made by tools/make_docs.py from the files in rules/; not to be edited.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "# ruff: noqa: E501",
        "INDEX: tuple[tuple[object, ...], ...] = (",
    ]
    # What a rule has by default is left out.
    lines += [f"    {_without_defaults(row)!r},".replace("'", '"') for row in rows()]
    return "\n".join([*lines, ")", ""]).replace("INDEX:", "# fmt: off\nINDEX:") + "# fmt: on\n"


def _without_defaults(row: tuple[object, ...]) -> tuple[object, ...]:
    end = len(row)
    while end > 5 and not row[end - 1]:
        end -= 1
    return row[:end]


def docs() -> str:
    from dractl.lint import registry

    text = [
        "# Rules of dractl lint",
        "",
        "Made by `tools/make_docs.py` from the rule files. `dractl rule CODE` prints one of them.",
        "A code is never given another meaning.",
    ]
    group = ""
    for rule in registry.rules().values():
        if rule.code[3] != group:
            group = rule.code[3]
            text += ["", f"## {GROUPS[group]}"]
        body = re.sub(r"^## ", "#### ", rule.documentation, flags=re.MULTILINE)
        text += ["", f"### {rule.code} {rule.name}", "", f"*{rule.severity}*: {body}"]
    return "\n".join(text) + "\n"


def main() -> int:
    sys.path.insert(0, str(ROOT))
    check = "--check" in sys.argv[1:]
    stale = []
    for path, make in ((INDEX, index), (DOCS, docs)):
        wanted = make()
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(path.relative_to(ROOT))
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(wanted, encoding="utf-8")
    if check:
        for name in stale:
            print(f"{name} is not up to date: run python tools/make_docs.py")
    return bool(check and stale)


if __name__ == "__main__":
    sys.exit(main())
