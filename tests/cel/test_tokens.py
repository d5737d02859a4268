"""Literals as the CEL grammar has them (google/cel-spec langdef.md, lexis)."""

from __future__ import annotations

import pytest

from dractl.cel.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("'a'", "a"),
        ('"a\'b"', "a'b"),
        ("'''a'b'''", "a'b"),
        ('"""a"""', "a"),
        ("r'a\\d'", "a\\d"),
        ('R"""a"""', "a"),
        ("'a\\n'", None),  # an escape
        ("1", None),
    ],
)
def test_the_content_of_a_string(text: str, content: str | None) -> None:
    (token,) = tokenize(text)
    assert token.content == content
