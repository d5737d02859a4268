"""Writes what is made from the rule files and the drivers' catalogues: ``dractl/lint/index.py``, ``docs/rules.md`` and
``dractl/lint/catalogues.py``. ``--check`` says if they are up to date."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "dractl" / "lint" / "rules"
INDEX = ROOT / "dractl" / "lint" / "index.py"
DOCS = ROOT / "docs" / "rules.md"
CATALOGUES = ROOT / "dractl" / "lint" / "catalogues.py"
ANYBODYS = "gpu.example.com"  # the example driver's, but also the name that everybody makes up

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


def rows() -> list[tuple[str, str, str, tuple[str, ...], tuple[str, ...], bool, tuple[str, ...]]]:
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
            and node.targets[0].id in ("SEVERITY", "SERVER", "KINDS", "DEVICES", "FIELDS")
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
            )
        )
    return found


def index() -> str:
    lines = [
        '"""The rules of lint: code, name, severity, violations that it reports, kinds that it looks at, whether it',
        "needs devices, and fields one of which a claim or a class must have.",
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
    lines += [f"    {row if row[-1] else row[:-1] if row[-2] else row[:-2]!r},".replace("'", '"') for row in rows()]
    return "\n".join([*lines, ")", ""]).replace("INDEX:", "# fmt: off\nINDEX:") + "# fmt: on\n"


def catalogues() -> str:
    """The names by domain and kind, so that lint need not import the drivers."""
    from dractl.drivers import find, names

    published: dict[str, dict[str, set[str]]] = {
        driver: {"attributes": set(), "capacity": set()} for driver in names() if driver != ANYBODYS
    }
    for driver in names():
        catalogue = find(driver).catalogue
        for kind, rows_ in (("attributes", catalogue.attributes), ("capacity", catalogue.capacities)):
            for row in rows_:
                domain, _, name = row.name.rpartition("/")
                series = re.fullmatch(r"([A-Za-z]+)(\d+) to \1(\d+)", name)
                every = [f"{series[1]}{n}" for n in range(int(series[2]), int(series[3]) + 1)] if series else [name]
                if (domain or driver) in published:
                    published[domain or driver][kind].update(every)
    lines = [
        '"""What known drivers publish in any of their versions: names by domain, attributes apart from capacities.',
        "",
        "Made by tools/make_docs.py from the catalogues of dractl/drivers; not to be edited.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "# ruff: noqa: E501",
        "# fmt: off",
        "PUBLISHED: dict[str, dict[str, tuple[str, ...]]] = {",
    ]
    for driver, kinds in published.items():
        shown = {kind: tuple(sorted(found)) for kind, found in kinds.items()}
        lines.append(f"    {driver!r}: {shown!r},".replace("'", '"'))
    return "\n".join([*lines, "}", "# fmt: on", ""])


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
    for path, make in ((INDEX, index), (CATALOGUES, catalogues), (DOCS, docs)):
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
