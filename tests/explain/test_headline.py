"""A headline becomes text once, of its parts."""

from __future__ import annotations

from dractl.reasons.between import DriverAbsent, OldTemplate
from dractl.reasons.headline import Headline, Told
from dractl.reasons.phrases import Names
from dractl.reasons.scheduling import NoConsumer

UNUSED = NoConsumer(claim="ml/gpus")
WHY = "no pod uses claim ml/gpus"


def test_an_underlying_cause_comes_first() -> None:
    old = OldTemplate(claim="ml/gpus", template="ml/one")
    text = Headline("fits on none of 2 nodes", (Told(UNUSED, ": "),), underlying=old).text(Names())
    assert text.startswith("claim ml/gpus was made from an earlier version")
    assert f"; fits on none of 2 nodes: {WHY}" in text


def test_after_a_question_a_new_sentence_begins() -> None:
    absent = DriverAbsent(driver="gpu.example.com", nodes=("b",), label="gpu=yes", like=("a",))
    text = Headline("fits on none of 2 nodes", (Told(UNUSED, ": "),), underlying=absent).text(Names())
    assert f"? Fits on none of 2 nodes: {WHY}" in text


def test_what_it_depends_on_stands_before_all() -> None:
    text = Headline("3 free", before="based on what may be read: ").text(Names())
    assert text == "based on what may be read: 3 free"
