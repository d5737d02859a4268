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
ANYBODYS = ".example.com"  # names that everybody makes up, also those of the example driver

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


def catalogues() -> str:
    """The catalogues as plain data, so that lint need not import the drivers."""
    from dractl.drivers import Options, find, names
    from dractl.drivers.hardware.products import products
    from dractl.model import Target

    lines = [
        '"""What known drivers publish: versions, attributes and capacities by full name, and their device classes.',
        "",
        "Made by tools/make_docs.py from the catalogues of dractl/drivers; not to be edited. A row has the fields of",
        "dractl.lint.published.Row; what is empty at its end is left out.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "# ruff: noqa: E501",
        "# fmt: off",
        "Rows = tuple[tuple[object, ...], ...]",
        "DRIVERS: dict[str, tuple[tuple[str, ...], str, Rows, Rows, bool, str, dict[str, tuple[str, ...]]]] = {",
    ]
    classes: dict[str, tuple[str, ...]] = {}
    for driver in names():
        if driver.endswith(ANYBODYS):
            continue
        catalogue = find(driver).catalogue
        lines += [f"    {driver!r}: (", f"        {catalogue.versions!r}, {catalogue.released!r},", "        ("]
        for row in catalogue.attributes:
            cells = (row.type, row.since, row.removed, row.when, row.devices, row.values, row.list_with is not None)
            lines.append(f"            {_row(driver, row.name, *cells)!r},")
        lines += ["        ),", "        ("]
        for capacity in catalogue.capacities:
            cells = ("quantity", capacity.since, capacity.removed, capacity.when, capacity.devices)
            lines.append(f"            {_row(driver, capacity.name, *cells)!r},")
        lines += [f"        ), {catalogue.complete!r}, {catalogue.extension!r}, {dict(catalogue.tags)!r},", "    ),"]
        for item in find(driver).device_classes(Options(node_name="node", target=Target.of())):
            selectors = item["spec"]["selectors"]
            classes[item["metadata"]["name"]] = tuple(selector["cel"]["expression"] for selector in selectors)
    lines += ["}", "", "CLASSES: dict[str, tuple[str, ...]] = {"]
    lines += [f"    {name!r}: {expressions!r}," for name, expressions in classes.items()]
    lines += ["}", "", "# What those selectors leave: the driver, and the values of its attribute `type`."]
    lines += ["CLASS_DEVICES: dict[str, tuple[str | None, tuple[str, ...]]] = {"]
    lines += [f"    {name!r}: {_devices(expressions)!r}," for name, expressions in classes.items()]
    drivers = {"nvidia": "gpu.nvidia.com", "amd": "gpu.amd.com"}
    known: dict[str, set[str]] = {driver: set() for driver in drivers.values()}
    for product in products().values():
        if product.kind in drivers and "name" in product.facts:
            known[drivers[product.kind]].add(product.facts["name"])
    lines += ["}", "", "PRODUCTS: dict[str, tuple[str, ...]] = {"]
    lines += [f"    {driver!r}: {tuple(sorted(found))!r}," for driver, found in known.items()]
    return "\n".join([*lines, "}", "# fmt: on", ""])


def _devices(expressions: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The driver that selectors of a class name, and the values of its attribute ``type`` that they leave."""
    from dractl.cel import reading

    programs = [reading(expression) for expression in expressions]
    driver = next((program.driver for program in programs if program.driver), None)
    types = {
        str(literal.value)
        for program in programs
        for found in program.comparisons
        if found.required and found.operator in ("==", "in")
        if found.lookup and found.lookup.full_name == f"{driver}/type"
        for literal in found.literals
    }
    return driver, tuple(sorted(types))


def _row(driver: str, name: str, *cells: object) -> tuple[object, ...]:
    row = (name if "/" in name else f"{driver}/{name}", *cells)
    while not row[-1]:
        row = row[:-1]
    return row


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
