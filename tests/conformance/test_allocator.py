"""The allocator against recorded verdicts of upstream's: its own suite, random cases, and shapes that take it long.

By default every 20th case; all of them under the marker ``conformance``.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import ModuleType

RELEASES = ("1.34", "1.35", "1.36", "1.37")
VARIANTS = ("stable", "incubating", "experimental")
EVERY = [pytest.param(20, id="sample"), pytest.param(1, id="all", marks=pytest.mark.conformance)]

Case = dict[str, Any]


def _load(name: str) -> ModuleType:
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


replay = _load("replay_allocator")
fuzz = _load("fuzz_allocator")


def lines(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def differences(cases: Sequence[tuple[Case, Case]], answers: Sequence[Case]) -> list[str]:
    """One line for each case whose answer differs from what upstream said, in any word or device."""
    return [
        f"{case['name']}: {fuzz.difference(want, got)}: wants {want['verdict']} {want.get('error')}, "
        f"got {got['verdict']} {got.get('error')}"
        for (case, want), got in zip(cases, answers, strict=True)
        if fuzz.difference(want, got) is not None
    ]


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("release", RELEASES)
def test_random_cases(
    release: str, every: int, shared: Path, record_property: Callable[[str, object], None]
) -> None:
    rows = list(lines(shared / "conformance" / "allocator-random" / f"{release}.jsonl"))[::every]
    assert rows
    cases = [(row, row["expected"]) for row in rows]
    assert differences(cases, [replay.answer(row, release, "") for row in rows]) == []
    record_property("cases", len(rows))


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("variant", VARIANTS)
def test_suite_of_upstream(
    variant: str, every: int, shared: Path, record_property: Callable[[str, object], None]
) -> None:
    folder = shared / "conformance" / "allocator"
    recorded = {
        row["name"]: row
        for row in lines(folder / "released-1.37.jsonl")
        if row["channel"] == variant
    }
    rows = list(lines(folder / f"{variant}.jsonl"))[::every]
    assert rows
    cases = [(row, recorded[row["name"]]) for row in rows]
    assert differences(cases, [replay.answer(row, "1.37", variant) for row in rows]) == []
    record_property("cases", len(rows))


def test_long_searches_end_with_the_truth(
    shared: Path, record_property: Callable[[str, object], None]
) -> None:
    """Shapes that upstream walks through in all combinations: a proof, or the first solution, after little work."""
    rows = list(lines(shared / "conformance" / "allocator-slow.jsonl"))
    assert rows
    answers = [replay.answer(row, "1.37", "") for row in rows]
    assert differences([(row, row["answer"]) for row in rows], answers) == []
    assert {
        row["name"]: got["work"]
        for row, got in zip(rows, answers, strict=True)
        if got["work"] > 2000
    } == {}
    record_property("cases", len(rows))


@pytest.mark.oracle
@pytest.mark.parametrize("release", RELEASES)
def test_new_random_cases(release: str) -> None:
    program = fuzz.oracle_program(release)
    if not program.exists():
        pytest.skip(f"no {program.name}: upstream's allocator is not built here")
    counts = fuzz.run(release, range(300), show=0, save=None)
    assert {name: n for name, n in counts.items() if name.startswith("DIFFERENT")} == {}
    assert counts["allocated"] > (30 if WHOLE else 0)


def test_replay_answers_every_line() -> None:
    """A line that cannot be answered is an answer too, in its place."""
    good: Case = {
        "name": "b",
        "node": {"metadata": {"name": "n"}},
        "claims": [],
        "classes": [],
        "slices": [],
    }
    text = (
        json.dumps([{"name": "a"}, good]) + "\n" + json.dumps({**good, "name": "c", "unknown": 1})
    )
    answers = [replay.answer(case, "1.37", "") for case in replay.cases(text)]
    assert [(a["name"], a["verdict"]) for a in answers] == [
        ("a", "bad-input"),
        ("b", "allocated"),
        ("c", "allocated"),
    ]
