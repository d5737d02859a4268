"""The first fix of a mixture of faults, pasted on a control plane that has the mixture: the pod gets a node.

``DRACTL_FUZZ`` sets how many mixtures are tried, ``DRACTL_SEED`` which.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.explain.mixtures import make_mixture
from tests.live.plane import Plane, oracle, until
from tests.live.situations import Situation, after, fixes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Raw = Mapping[str, Any]

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
NUMBER = int(os.environ.get("DRACTL_FUZZ", "10"))
SEED = os.environ.get("DRACTL_SEED", "1")
SUBJECT = ("ml", "train")


@pytest.fixture(scope="module")
def plane() -> Iterator[Plane]:
    module = oracle()
    if module is None:
        pytest.skip("no conformance data, or the cluster program is not built")
    with Plane(module) as running:
        yield running


def find_subject(plane: Plane) -> Raw:
    pods = plane.pods()
    return next(p for p in pods if (p["metadata"]["namespace"], p["metadata"]["name"]) == SUBJECT)


@pytest.mark.parametrize("number", range(NUMBER))
def test_the_first_fix_of_a_mixture(plane: Plane, number: int) -> None:
    mixture = make_mixture(f"live/{SEED}/{number}", 2 + number % 4, stored=True)
    faults = [fault.name for fault in mixture.faults]
    plane.load(mixture.objects)
    gated = "gate" in faults  # the scheduler says nothing of such a pod
    assert gated or until(lambda: plane.tried(find_subject(plane)), 20)
    assert "nodeName" not in find_subject(plane)["spec"], faults
    _, offered = fixes(plane, Situation("", *SUBJECT, Path()))
    assert offered, faults
    outcome = after(plane, "pod", *SUBJECT, offered[0])
    print(number, outcome.state, faults, outcome.title, sep=" | ")
    assert outcome.state == "scheduled", f"{faults}{outcome.script}{outcome.detail}"
    assert outcome.unsaid == (), f"{outcome.script}ends pods that it does not name"
