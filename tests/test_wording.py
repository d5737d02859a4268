"""Looks in messages and docs for the forms that docs/wording.md forbids, as far as a pattern can
find them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests import words

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "dractl").rglob("*.py"))
NOUNS = (
    "alternatives attributes claims classes columns containers copies counters devices documents errors files "
    "findings generations gpus groups kernels lines machines namespaces nics nodes objects pairs partitions pods "
    "pools replicas requests resources rules selectors shapes slices steps taints templates values warnings workloads"
)
# The scheduler's own sentence counts all nodes in the plural: 0/1 nodes are available.
ONE_OF_MANY = re.compile(rf"(?<![\d/.,-])(?<! of )\b1 ({'|'.join(NOUNS.split())})\b", re.IGNORECASE)
# German word order, and nouns in place of verbs; docs/wording.md has a better form of each.
FORBIDDEN = re.compile(
    r"\b(known are|published are|public are|possible are|allowed are|valid are|way back|is read as|leaves over|"
    r"fits on none of|said nothing (of|about)|together are no|can be had|as said|not enough of them)\b",
    re.IGNORECASE,
)


def forms(text: str) -> list[str]:
    """Return the forms in a text that a native speaker would not write."""
    return [match[0] for rule in (ONE_OF_MANY, FORBIDDEN) for match in rule.finditer(text)]


def literals(path: Path) -> list[str]:
    """Return the strings of a module, apart from docstrings and regular expressions."""
    nodes = words.nodes(words.parse(path))
    statements = {
        id(node.value)
        for node in nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in statements
    ]


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("announces 1 slices", ["1 slices"]),
        ("1 errors in 0 documents", ["1 errors"]),
        ("known are 1.31 to 1.38", ["known are"]),
        ("0/1 nodes are available: 11 devices, 1 device", []),
    ],
)
def test_patterns_find_their_forms(text: str, bad: list[str]) -> None:
    assert forms(text) == bad


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_have_no_such_form(page: Path) -> None:
    """The console blocks of pages are what dractl prints: tests/test_readme.py runs them."""
    lines = page.read_text(encoding="utf-8").splitlines()
    if page.name == "wording.md":  # its tables of pairs show the forms
        lines = [line for line in lines if not line.startswith("|")]
    assert not forms("\n".join(lines))


def test_messages_have_no_such_form() -> None:
    bad = {
        f"{path.relative_to(ROOT)}: {form}"
        for path in MODULES
        for text in literals(path)
        for form in forms(text)
    }
    assert not bad


def test_messages_for_mistakes_have_no_such_form() -> None:
    assert not forms((ROOT / "tests" / "cli" / "mistakes.txt").read_text(encoding="utf-8"))


def test_quoted_facts_have_no_such_form() -> None:
    data = ROOT / "dractl" / "facts" / "data"
    assert not {
        f"{path.name}: {form}"
        for path in data.glob("*.json")
        for form in forms(path.read_text(encoding="utf-8"))
    }
