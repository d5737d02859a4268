"""Reasons: every code that explain can give has a page, and every page says what to do."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import dractl
from dractl.explain.reasons import REASONS

CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)+|tainted|mixed")


def given() -> set[str]:
    """The codes that are given to ``Reason`` anywhere in the package."""
    found = set()
    for path in Path(dractl.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Reason"
                and node.args
            ):
                found |= {c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant)}
    return found


def test_no_reason_is_without_a_page() -> None:
    codes = given()
    assert {"device-in-use", "claim-missing"} & codes
    assert codes <= set(REASONS)


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_page_says_what_it_means_how_to_see_it_and_what_to_do(code: str) -> None:
    page = REASONS[code]
    assert CODE.fullmatch(code)
    for text in (page.title, page.means, page.see, page.mend):
        assert len(text) > 10
        assert "  " not in text
    assert "kubectl" in page.see or "dractl" in page.see or "issue" in page.see
