"""Reasons: every code that explain can give has a page, and every page says what to do."""

from __future__ import annotations

import re

import pytest

from dractl.explain.reasons.registry import REASONS

CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)+|tainted|mixed")


@pytest.mark.parametrize("code", sorted(REASONS))
def test_page_has_meaning_commands_and_fix(code: str) -> None:
    page = REASONS[code]
    assert CODE.fullmatch(code)
    for text in (page.title, page.means, page.see, page.fix):
        assert len(text) > 10
        assert "  " not in text
    assert "kubectl" in page.see or "dractl" in page.see or "issue" in page.see
