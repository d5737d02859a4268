"""Values inside of values, by their paths."""

from __future__ import annotations

import pytest

from dractl.model.paths import remove_at

VALUE = {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 4}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("d",), {"a": VALUE["a"]}),
        (("a", 0, "b"), {"a": [{"c": 2}, {"b": 3}], "d": 4}),
        (("a", 1), {"a": [{"b": 1, "c": 2}], "d": 4}),
        (("a", 2, "b"), VALUE),
        (("a", "b"), VALUE),
        (("d", "e"), VALUE),
    ],
)
def test_the_part_at_a_path_is_removed(path: tuple[str | int, ...], expected: object) -> None:
    before = repr(VALUE)
    assert remove_at(VALUE, path) == expected
    assert repr(VALUE) == before
