"""Tables on terminals that are narrower than they are."""

from __future__ import annotations

import pytest

from dractl.report.canvas import Canvas
from dractl.report.table import table

HEAD = ("MACHINE", "SERVES", "first", "second", "third")
ROWS = (("a100", "2/3", "fits", "selector-false", "fits"), ("h100", "3/3", "fits", "fits", "fits"))


def blocks(width: int) -> list[list[list[str]]]:
    text = table(HEAD, ROWS, Canvas(width=width), repeated=2)
    return [[line.split() for line in block.splitlines()] for block in text.split("\n\n")]


@pytest.mark.parametrize("width", [10, 32, 40, 60])
def test_each_block_repeats_the_first_columns(width: int) -> None:
    """Every cell is printed once, and whole, unless one column alone is wider than the terminal."""
    parts = blocks(width)
    for number, expected in enumerate((HEAD, *ROWS)):
        lines = [part[number] for part in parts]
        if width > 10:
            assert all(line[:2] == list(expected[:2]) for line in lines)
            assert [cell for line in lines for cell in line[2:]] == list(expected[2:])
    assert len(parts) == {10: 3, 32: 3, 40: 2, 60: 1}[width]


def test_table_without_repeated_columns_is_cut() -> None:
    lines = table(HEAD, ROWS, Canvas(width=30)).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert all(len(line) <= 30 for line in lines)


@pytest.mark.parametrize("width", [8, 14, 40])
def test_limited_cells_are_wrapped_and_lose_nothing(width: int) -> None:
    rows = [("a", "NVIDIA H100 80GB HBM3", "1"), ("b", "-", "2")]
    text = table(("NODE", "MODEL", "DEVICES"), rows, Canvas(width=80), limits={1: width})
    head, *lines = text.splitlines()
    start, end = head.index("MODEL"), head.index("DEVICES")
    assert " ".join(" ".join(line[start:end] for line in lines[:-1]).split()) == rows[0][1]
    assert [line[end:] for line in lines if line[end:]] == ["1", "2"]
    assert len(lines) == {8: 5, 14: 3, 40: 2}[width]


def test_a_name_longer_than_its_column_goes_on_in_the_next_line() -> None:
    text = table(["NODE", "HELD BY"], [["n1", "ml/" + "a" * 20]], Canvas(width=18), limits={1: 12})
    assert text == f"NODE  HELD BY\nn1    ml/{'a' * 9}\n      {'a' * 11}\n"
