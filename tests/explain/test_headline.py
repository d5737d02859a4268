"""A headline becomes text once, of its parts."""

from __future__ import annotations

import pytest

from dractl.explain.reasons.cross_object import DriverAbsent, OldTemplate
from dractl.explain.reasons.headline import Clauses, Headline, HeadlineCause
from dractl.explain.reasons.limits import GateOff
from dractl.explain.reasons.phrases import Names
from dractl.explain.reasons.scheduling import NoConsumer
from dractl.report.explain import opening as explain_opening

UNUSED = NoConsumer(claim="ml/gpus")
WHY = "no pod uses claim ml/gpus"


def test_an_underlying_cause_comes_first() -> None:
    old = OldTemplate(claim="ml/gpus", template="ml/one")
    text = Headline(
        "does not fit on any of the 2 nodes", (HeadlineCause(UNUSED, ": "),), root_cause=old
    ).text(Names())
    assert text.startswith("claim ml/gpus was made from an earlier version")
    assert f"; does not fit on any of the 2 nodes: {WHY}" in text


def test_after_a_question_a_new_sentence_begins() -> None:
    absent = DriverAbsent(driver="gpu.example.com", nodes=("b",), label="gpu=yes", like=("a",))
    text = Headline(
        "does not fit on any of the 2 nodes", (HeadlineCause(UNUSED, ": "),), root_cause=absent
    ).text(Names())
    assert f"? Does not fit on any of the 2 nodes: {WHY}" in text


def test_the_prefix_stands_before_everything_else() -> None:
    text = Headline("3 free", prefix="based on what you can read: ").text(Names())
    assert text == "based on what you can read: 3 free"


def test_a_screen_shows_the_root_cause_before_its_effects() -> None:
    absent = DriverAbsent(driver="gpu.example.com", nodes=("b",), label="gpu=yes", like=("a",))
    told = Headline(
        "does not fit on any of the 2 nodes", (HeadlineCause(UNUSED, ": "),), root_cause=absent
    ).clauses(Names())
    lines = explain_opening.split_clauses(told)
    assert lines[0] == "gpu.example.com publishes nothing on b, which has gpu=yes like a"
    assert lines[-1].startswith(f"does not fit on any of the 2 nodes: {WHY}")


@pytest.mark.parametrize("name", ["a", "device-" * 4, "device-" * 8, "device-" * 12])
def test_a_long_sentence_is_parted_between_its_clauses(name: str) -> None:
    lead, cause = (
        "does not fit on any of the 12 nodes: nearest is gpu-a",
        NoConsumer(claim=f"ml/{name}"),
    )
    first, *others = explain_opening.split_clauses(
        Headline(lead, (HeadlineCause(cause, ": "),)).clauses(Names())
    )
    assert len(first) <= 77
    assert others
    told = " ".join((first, *others)).replace("because ", "").replace("so it ", "")
    assert sorted(told.replace(":", "").split()) == sorted(
        f"{lead} {cause.full_sentence(Names())}".replace(":", "").split()
    )


def test_a_sentence_is_not_parted_after_the_name_of_a_request() -> None:
    """The words are kube-scheduler's: dynamic-resource-allocation/structured (v1.36.2)."""
    words = (
        "claim ml/nic, request nic: has capacity requests, but the DRAConsumableCapacity feature is"
        " disabled"
    )
    lead = "the scheduler's attempt ends in an error"
    told = Headline(lead, (HeadlineCause(GateOff(upstream=words), ": "),)).clauses(Names())
    assert explain_opening.split_clauses(told) == [*words.replace(", but", "|but").split("|"), lead]


def test_words_of_another_scheduler_stay_behind_their_colon() -> None:
    words = '"pod group is not ready, 1 Pending, 1 minAvailable; Pending: 1 Unschedulable"'
    says = "Volcano schedules the pod (spec.schedulerName is volcano), and says"
    told = Clauses("", "", f"{says}: {words}; kube-scheduler would place it on gpu-1")
    first, second = explain_opening.split_clauses(told)
    assert first == f"{says}:"
    assert second.startswith(words)
