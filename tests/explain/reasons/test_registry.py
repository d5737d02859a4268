"""Reasons: every code that explain can give has a page, and every page says what to do."""

from __future__ import annotations

import re

import pytest

from dractl.explain.reasons.registry import REASONS

CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)+|tainted|mixed")


@pytest.mark.parametrize("code", sorted(REASONS))
def test_a_page_says_what_it_means_how_to_see_it_and_what_to_do(code: str) -> None:
    page = REASONS[code]
    assert CODE.fullmatch(code)
    for text in (page.title, page.means, page.see, page.fix):
        assert len(text) > 10
        assert "  " not in text
    assert "kubectl" in page.see or "dractl" in page.see or "issue" in page.see
