"""Mixtures of faults: each is named, nothing else is, and the first fix makes the pod fit.

``DRACTL_FUZZ`` sets how many are tried, ``DRACTL_SEED`` which.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import apply
from dractl.explain.answer import FITS
from dractl.explain.ask import find_subjects
from dractl.explain.explain import Explainer
from dractl.explain.obstacles import recreate_subject
from tests.explain.cluster import state_of
from tests.explain.mixtures import FAULTS, Fault, make_cluster, make_mixture

if TYPE_CHECKING:
    from dractl.cluster.state import ClusterState
    from dractl.explain.answer import Explanation, Fix, Obstacle
    from dractl.explain.ask import Question

FEATURES = Features.for_release("1.37")
NUMBER = int(os.environ.get("DRACTL_FUZZ", "20"))
SEED = os.environ.get("DRACTL_SEED", "1")


def ask(state: ClusterState) -> tuple[Question, Explanation]:
    (question,) = find_subjects(state, "pod/train", "ml")
    return question, Explainer(state, FEATURES).explain(question)


def is_named_by(obstacle: Obstacle, fault: Fault) -> bool:
    words = f"{obstacle.object} {obstacle.want} {obstacle.have}"
    return any(kind == obstacle.kind and text in words for kind, text in fault.obstacles)


def cures(state: ClusterState, question: Question, fix: Fix) -> bool:
    after = apply(state, fix.tried or fix.changes)
    trial = recreate_subject(after, state, question)
    recreated = trial.state.replace("Pod", question.key, trial.question.value)
    return Explainer(recreated, FEATURES).explain(trial.question).verdict in FITS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_alone_is_the_only_obstacle(fault: Fault) -> None:
    mixture = make_cluster(f"{SEED}/{fault.name}", by_template=fault.group == "quota" or None)
    assert ask(state_of(*mixture.objects))[1].verdict in FITS
    fault.make(mixture)
    check([fault], state_of(*mixture.objects))


def test_holders_of_two_drivers_end_together() -> None:
    mixture = make_cluster(SEED)
    faults = [f for f in FAULTS if f.name in ("GPUs in use", "ports in use")]
    for fault in faults:
        fault.make(mixture)
    check(faults, state_of(*mixture.objects))


def test_a_count_of_held_devices_ends_with_the_holder_of_another_driver() -> None:
    mixture = make_cluster(SEED)
    faults = [f for f in FAULTS if f.name in ("GPUs in use", "halves in use", "five GPUs")]
    for fault in faults:
        fault.make(mixture)
    check(faults, state_of(*mixture.objects))


@pytest.mark.parametrize("number", range(NUMBER))
def test_each_fault_of_a_mixture_is_named_and_cured(number: int) -> None:
    mixture = make_mixture(f"{SEED}/{number}", 2 + number % 4)
    check(mixture.faults, state_of(*mixture.objects))


def check(faults: list[Fault], state: ClusterState) -> None:
    question, answer = ask(state)
    named = [obstacle.want for obstacle in answer.obstacles]
    lacking = [f.name for f in faults if not any(is_named_by(o, f) for o in answer.obstacles)]
    extra = [o.want for o in answer.obstacles if not any(is_named_by(o, f) for f in faults)]
    assert (lacking, extra) == ([], []), (named, answer.headline)
    if not any(fault.by_hand for fault in faults):
        assert answer.fixes, (named, answer.notes)
        assert cures(state, question, answer.fixes[0]), answer.fixes[0].title
