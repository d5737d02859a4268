"""A pattern is compiled when it is used first, and behaves as ``re.compile``'s from then on."""

from __future__ import annotations

import copy
import re

import pytest

from dractl.patterns import pattern


def test_a_pattern_has_the_methods_of_a_compiled_one() -> None:
    word = pattern(r"(?P<first>[a-z])\w*", re.IGNORECASE)
    match = word.fullmatch("Apple")
    assert match is not None
    assert match["first"] == "A"
    assert word.sub("x", "one two") == "x x"
    assert word.pattern == r"(?P<first>[a-z])\w*"
    assert copy.deepcopy(word).search("7a") is not None


def test_nothing_is_compiled_before_it_is_used() -> None:
    wrong = pattern("(")
    with pytest.raises(re.error):
        wrong.match("")
