"""Random selectors, compared with upstream's own compiler and evaluator where its program has been built."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from dractl.model.releases import COMPARED
from tests.cel.test_agreement import EXPRESSIONS
from tests.conformance import replay_cel

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.oracle

DEVICES: list[dict[str, Any]] = [
    {
        "driver": "d.example.com",
        "attributes": {
            "a": {"int": 1},
            "b": {"string": "gpu-1"},
            "c": {"version": "1.0.0"},
            "other.io/a": {"bool": True},
            "other.io/b": {"string": "x"},
        },
        "capacity": {"m": {"value": "1500m"}, "n": {"value": "1Gi"}},
        "allowMultipleAllocations": True,
    },
    {"driver": "other.io"},
]


def oracle(release: str) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(
        os.environ.get("DRACTL_ORACLE_DIR") or Path(cache, "dractl-oracle"), f"cel-{release}"
    )
    if not path.exists():
        pytest.skip(f"no {path.name}")
    return path


def query_oracle(program: Path, cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "".join(json.dumps(case) + "\n" for case in cases)
    done = subprocess.run(
        [program], input=text, capture_output=True, text=True, check=True, timeout=120
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("release", COMPARED)
@settings(
    max_examples=20, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(texts=st.lists(EXPRESSIONS, min_size=50, max_size=100, unique=True))
def test_same_verdicts(release: str, texts: list[str]) -> None:
    cases = [{"id": str(i), "expression": text, "devices": DEVICES} for i, text in enumerate(texts)]
    different = [
        case["expression"]
        for case, want in zip(cases, query_oracle(oracle(release), cases), strict=True)
        if verdict(replay_cel.answer(case, release, {})) != verdict(want)
    ]
    # cel-cpp infers the types of a few nested optionals and empty lists in another way.
    assert len(different) <= 1, different


def verdict(answer: dict[str, Any]) -> tuple[Any, ...]:
    values = [result.get("value") for result in answer.get("results") or ()]
    return (answer["admission"], answer.get("outputType"), answer.get("maxCost"), values)
