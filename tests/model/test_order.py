"""The order of names."""

from __future__ import annotations

from dractl.model.order import natural


def test_numbers_in_names_count() -> None:
    names = ["node-10", "node-2", "node-1", "a", "node", "10", "9"]
    assert sorted(names, key=natural) == ["a", "node", "node-1", "node-2", "node-10", "9", "10"]
