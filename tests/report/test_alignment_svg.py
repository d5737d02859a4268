"""Pictures of alignments: what a colour says, and that each device is drawn once."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from dractl.alignment import Alignment
from dractl.alignment.quality import Pair, compare_levels
from dractl.report.alignment import svg

GPUS = [f"gpu.nvidia.com/n/gpu-{number}" for number in range(8)]
SOCKETS = {"NODE": 12, "SYS": 16}
"""Levels of eight GPUs, four on each socket."""


def eight_gpus(best: dict[str, int] | None) -> Alignment:
    pairs = tuple(
        Pair(a, b, "NODE" if (row < 4) == (column < 4) else "SYS", "slices")
        for row, a in enumerate(GPUS)
        for column, b in enumerate(GPUS)
        if row < column
    )
    return Alignment(("gpu", "gpu"), pairs, SOCKETS, best)


def drawn(alignment: Alignment) -> ElementTree.Element:
    text = svg.render([("pod ml/a", alignment)]).replace(' xmlns="http://www.w3.org/2000/svg"', "")
    return ElementTree.fromstring(text)


def texts(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter("text")]


def test_devices_of_one_kind_are_drawn_once_with_a_cell_for_each_pair() -> None:
    picture = drawn(eight_gpus(SOCKETS))
    words = texts(picture)
    assert [word for word in words if word.startswith("gpu-")] == [f"gpu-{i}" for i in range(8)]
    assert (words.count("NODE"), words.count("SYS")) == (12, 16)
    cells = [(cell.get("x"), cell.get("y")) for cell in picture.iter("rect") if cell.get("x")]
    assert len(cells) == len(set(cells)) == 8 + 28


@pytest.mark.parametrize(
    ("best", "colours", "legend"),
    [
        (
            SOCKETS,
            {"NODE": "--good", "SYS": "--good"},
            ["as near as the best that the node can give"],
        ),
        (
            {"NODE": 20, "SYS": 8},
            {"NODE": "--good", "SYS": "--nvme"},
            ["as near as the best that the node can give", "some of them as near as the best"],
        ),
        ({"NV18": 28}, {"NODE": "--bad", "SYS": "--bad"}, ["farther than the best"]),
        (None, {"NODE": "--soft", "SYS": "--soft"}, ["not compared"]),
    ],
)
def test_a_colour_says_how_a_pair_compares_with_the_best(
    best: dict[str, int] | None, colours: dict[str, str], legend: list[str]
) -> None:
    """Eight GPUs across sockets are the best that such a node has: nothing is wrong with them."""
    picture = drawn(eight_gpus(best))
    seen = {
        (text.text, str(rect.get("stroke")))
        for group in picture.iter("g")
        for rect, text in zip(group.findall("rect"), group.findall("text"), strict=False)
        if text.text in colours
    }
    assert seen == {(level, f"var({colour})") for level, colour in colours.items()}
    assert texts(picture)[-len(legend) :] == legend


def test_pairs_of_two_kinds_are_lines_whose_patterns_are_explained() -> None:
    names = [f"dra.net/n/nic-{number}" for number in range(2)]
    pairs = (Pair(GPUS[0], names[0], "root", "slices"), Pair(GPUS[1], names[1], "SYS", "slices"))
    alignment = Alignment(("gpu", "nic"), pairs, {"root": 1, "SYS": 1}, {"root": 2})
    picture = drawn(alignment)
    lines = [line for line in picture.iter("line") if line.find("title") is not None]
    assert [line.get("stroke") for line in lines] == ["var(--good)", "var(--bad)"]
    assert texts(picture)[-4:] == [
        "as near as the best that the node can give",
        "farther than the best",
        "root",
        "SYS",
    ]


def test_unknown_levels_count_as_the_farthest() -> None:
    pairs = tuple(Pair(GPUS[0], gpu, None, "slices") for gpu in GPUS[1:3])
    alignment = Alignment(("gpu", "gpu"), pairs, {"NODE": 1, "unknown": 1}, {"NODE": 1, "SYS": 1})
    assert compare_levels(alignment) == {"NODE": 1}
