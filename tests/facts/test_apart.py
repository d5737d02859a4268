"""What is known of the outside stands in the pack: no comparison with a version or a date, and no table of attributes,
stands in code."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

from dractl import facts

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(facts.__file__).parent.parent
VERSION = re.compile(r"v?\d{1,4}\.\d{1,3}(\.\d+)?\Z|\d{4}-\d\d-\d\d\Z")
MIN_TABLE_ROWS = 4
ATTRIBUTES = frozenset(
    row.name.rpartition("/")[2]
    for name in facts.names()
    for row in (*facts.driver(name).attributes, *facts.driver(name).capacities)
)


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("facts/"):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def texts(node: ast.AST) -> list[str]:
    """The strings in a literal: itself, or the items of a tuple, list or set."""
    items = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return [
        item.value
        for item in items
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]


def list_compared_texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                yield from (text for text in texts(side) if VERSION.match(text))


def list_compared_minors(tree: ast.Module) -> Iterator[int]:
    """Numbers of minor releases that a release is compared with."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            named = any("release" in ast.unparse(side) for side in sides)
            numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
            yield from (
                number
                for number in numbers
                if named and isinstance(number, int) and 30 < number < 60
            )


def tables(tree: ast.Module) -> Iterator[list[str]]:
    """Literals that only list attributes; a device is made of a map whose values are computed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            constant = all(isinstance(value, ast.Constant) for value in node.values)
            names = [
                text for key in node.keys if key is not None and constant for text in texts(key)
            ]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            names = texts(node)
        else:
            continue
        known = [name for name in names if name.rpartition("/")[2] in ATTRIBUTES]
        if len(known) >= MIN_TABLE_ROWS and len(known) == len(names):
            yield known


NUMBERED = {"cel/compiler.py", "cel/cost.py", "cel/declarations.py", "cel/evaluation.py"}
"""What cel-go and Kubernetes' CEL libraries of a release do, beside functions.json. Nothing is added here."""
TABLES = {
    "lint/rules/selectors/dra603_domain_is_an_attribute.py": {
        "model",
        "productName",
        "memory",
        "vendor",
    },
    "lint/rules/consumers/dra767_unequal_devices_in_pool.py": {
        "type",
        "model",
        "productName",
        "profile",
    },
}
"""Words of many drivers, by which a mistake is recognised: no driver's attributes."""


def test_no_version_and_no_date_is_compared_in_code() -> None:
    found = {name: set(list_compared_texts(tree)) for name, tree in trees()}
    assert not {name: texts for name, texts in found.items() if texts}
    assert {name for name, tree in trees() if any(list_compared_minors(tree))} <= NUMBERED


def test_no_table_of_attributes_stands_in_code() -> None:
    found = {name: {one for names in tables(tree) for one in names} for name, tree in trees()}
    new = {name: names - TABLES.get(name, set()) for name, names in found.items()}
    assert not {name: names for name, names in new.items() if names}
