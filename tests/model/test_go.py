"""Texts as Go prints them: the expectations are what strconv.Quote of Go 1.26 prints."""

from __future__ import annotations

import pytest

from dractl.model.go import quote


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1f\x7f", r'"\x00\x1f\x7f"'),
        ("\x80\x9f", r'"\u0080\u009f"'),
        ("é 漢 😀", '"é 漢 😀"'),
        ("\u202e\ufeff\uffff", r'"\u202e\ufeff\uffff"'),
        ("\U000e0001\U0010ffff", r'"\U000e0001\U0010ffff"'),
    ],
)
def test_quoted(text: str, expected: str) -> None:
    assert quote(text) == expected
