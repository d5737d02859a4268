"""Random claims, judged for every instance type, beside what Karpenter's own allocator makes of them.

The program is ``$DRACTL_SHARED/oracle/karpenter`` (Karpenter 1.15.0), built into ``$DRACTL_ORACLE_DIR``. It is asked for each type
alone, and once for all of them together, as Karpenter asks for a NodePool that allows them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.autoscaler import Judgement, find_shared_refusal, judge
from dractl.facts.autoscalers import device_tables
from dractl.model import DeviceClass, ResourceClaim, decode
from tests.autoscaler.random_claims import random_questions

if TYPE_CHECKING:
    from collections.abc import Mapping

SEEDS = [int(text) for text in os.environ.get("DRACTL_SEED", "1,2,3").split(",")]
CLAIMS = 72
"""Three of each kind."""
TABLES = device_tables()["karpenter"]
SLOW = 0.5
"""Seconds of search from which the time limit of five seconds depends on how busy the machine is."""


def oracle_program(name: str) -> Path:
    """The place of a program; skips the test where it is not built."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(os.environ.get("DRACTL_ORACLE_DIR") or Path(cache, "dractl-oracle"), name)
    if not path.exists():
        pytest.skip(f"no {path.name}: Karpenter's code is not built here")
    return path


def answer_questions(program: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def judge_types(question: dict[str, Any]) -> Mapping[str, Judgement]:
    claims = [decode(value) for value in question["claims"]]
    classes = [decode(value) for value in question["classes"]]
    known = {item.metadata.name: item for item in classes if isinstance(item, DeviceClass)}
    decoded = [item for item in claims if isinstance(item, ResourceClaim)]
    return {name: judge(decoded, known, name, TABLES) for name in TABLES.types}


def is_quick(question: dict[str, Any]) -> bool:
    return all(item.seconds <= SLOW for item in judge_types(question).values())


def find_differences(question: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """A line for each type whose verdict differs, and one if those that remain together do."""
    judgements = judge_types(question)
    serving = sorted(name for name, item in judgements.items() if item.verdict == "serves")
    lines = [
        f"{question['id']} {name}: Karpenter {answer['types'][name]}, dractl {item.reason}"
        for name, item in judgements.items()
        if (name in serving) != (answer["types"][name] == "serves")
    ]
    remaining = serving if find_shared_refusal(judgements.values()) is None else []
    if remaining != sorted(answer["together"].get("types") or ()):
        lines.append(f"{question['id']} together: {answer['together']}, dractl {remaining}")
    return lines


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_random_claims(seed: int, record_property: pytest.RecordProperty) -> None:
    program = oracle_program("karpenter")
    questions = [item for item in random_questions(seed, CLAIMS) if is_quick(item)]
    assert len(questions) >= 60
    answers = answer_questions(program, questions)
    record_property("cases", sum(len(answer["types"]) for answer in answers))
    assert [
        line
        for question, answer in zip(questions, answers, strict=True)
        for line in find_differences(question, answer)
    ] == []
    verdicts = {verdict for answer in answers for verdict in answer["types"].values()}
    assert {"serves", "never"} < verdicts
