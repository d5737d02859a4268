"""Selectors and nodes with unknown labels."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dractl.allocation.nodes import matches_some_term
from dractl.explain.fleet.machines import (
    RequiredLabel,
    add_labels,
    labels_for_pod,
    labels_for_selector,
)
from dractl.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dractl.views import Pod

KNOWN = {"arch": "amd64", "type": "p5.48xlarge", "cpus": "192"}


def selector(*terms: tuple[tuple[str, str, tuple[str, ...]], ...]) -> NodeSelector:
    return NodeSelector(
        tuple(
            NodeSelectorTerm(tuple(NodeSelectorRequirement(*each) for each in term))
            for term in terms
        )
    )


def needs(*terms: tuple[tuple[str, str, tuple[str, ...]], ...]) -> dict[str, str | None] | None:
    found = labels_for_selector(selector(*terms), KNOWN, "test")
    return None if found is None else {each.key: each.value for each in found}


def test_known_labels_decide() -> None:
    assert needs((("arch", "In", ("amd64",)),)) == {}
    assert needs((("arch", "In", ("arm64",)),)) is None
    assert needs((("cpus", "Gt", ("100",)), ("type", "Exists", ()))) == {}
    assert needs((("type", "DoesNotExist", ()),)) is None


def test_the_first_possible_term_counts() -> None:
    assert needs(
        (("arch", "In", ("arm64",)), ("zone", "In", ("a",))), (("zone", "In", ("b", "c")),)
    ) == {"zone": "b"}


@pytest.mark.parametrize(
    ("requirements", "value"),
    [
        ((("zone", "In", ("a", "b")), ("zone", "NotIn", ("a",))), "b"),
        ((("zone", "Exists", ()), ("zone", "NotIn", ("a",))), "assumed"),
        ((("zone", "NotIn", ("a",)),), None),
        ((("rack", "Gt", ("7",)), ("rack", "Lt", ("9",))), "8"),
    ],
)
def test_the_assumed_value_meets_every_requirement(requirements: Any, value: str | None) -> None:
    key = requirements[0][0]
    assert needs(requirements) == {key: value}


def test_contradictory_requirements_have_no_labels() -> None:
    assert needs((("zone", "In", ("a",)), ("zone", "In", ("b",)))) is None
    assert needs((("zone", "Exists", ()), ("zone", "DoesNotExist", ()))) is None


def test_random_selectors_match_the_suitable_node() -> None:
    """The scheduler's own matching is the judge; a selector without an answer matches none of many nodes."""
    dice = random.Random(7)
    keys, values = ("arch", "type", "zone", "team"), ("amd64", "p5.48xlarge", "a", "b")
    answers = 0
    for _ in range(400):
        terms = [
            tuple(
                (
                    dice.choice(keys),
                    operator := dice.choice(("In", "NotIn", "Exists", "DoesNotExist")),
                    tuple(dice.sample(values, dice.randint(1, 2)))
                    if operator in ("In", "NotIn")
                    else (),
                )
                for _ in range(dice.randint(1, 3))
            )
            for _ in range(dice.randint(1, 2))
        ]
        wanted = selector(*terms)
        found = labels_for_selector(wanted, KNOWN, "test")
        if found is not None:
            answers += 1
            assert matches_some_term(wanted, "node", add_labels(KNOWN, found))
            continue
        for zone in (None, *values, "other"):
            for team in (None, *values, "other"):
                others = {
                    key: value
                    for key, value in (("zone", zone), ("team", team))
                    if value is not None
                }
                assert not matches_some_term(wanted, "node", {**KNOWN, **others})
    assert 0 < answers < 400


def test_the_pods_selector_and_affinity_agree() -> None:
    """A node has one value of a label: the affinity is judged with what the node selector needs."""
    terms = [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
        {
            "matchExpressions": [
                {"key": "zone", "operator": "In", "values": ["a"]},
                {"key": "spot", "operator": "Exists"},
            ]
        },
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    pod = {
        "spec": {
            "nodeSelector": {"zone": "a", "arch": "amd64"},
            "affinity": {"nodeAffinity": required},
        }
    }
    assert labels_for_pod(Pod(pod), KNOWN) == (
        RequiredLabel("zone", "a", "zone=a", "nodeSelector"),
        RequiredLabel("spot", "assumed", "spot", "node affinity"),
    )
