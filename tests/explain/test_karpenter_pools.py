"""Pods and NodePools beside what Karpenter's own provisioner makes of them.

``tests/oracles/karpenter`` runs Provisioner.Schedule of sigs.k8s.io/karpenter v1.15.0 (pkg/controllers/provisioning) on the objects of
``tests/data/karpenter-pools.json``, with an API server and a cloud that only remember. The recorded answers are compared
everywhere; the program is asked again where it is built.
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.explain.answer import ExpectedNode
from dractl.explain.expected_nodes import find_expected_nodes
from dractl.model import ResourceClaim, decode
from dractl.views import Pod
from tests.explain.cluster import state_of
from tests.explain.karpenter_pools import Situation, ask_karpenter, oracle_program, situations

KINDS = ("pods", "claims", "classes", "nodePools", "nodeClaims", "nodes")


def expected_nodes(situation: Situation) -> list[ExpectedNode]:
    """The nodes that dractl expects to come."""
    state = state_of(*(item for kind in KINDS for item in situation.get(kind, ())))
    (asked,) = situation["pods"]
    claims = [decode(value) for value in situation["claims"]]
    decoded = [item for item in claims if isinstance(item, ResourceClaim)]
    answers = find_expected_nodes(state, Pod(asked, ("ml", "train")), decoded)
    assert answers
    return [answer for answer in answers if answer.verdict == "comes"]


def summary(situation: Situation) -> dict[str, Any]:
    """dractl's answer in the program's form."""
    coming = expected_nodes(situation)
    names = [item["metadata"]["name"] for item in situation.get("nodeClaims", ())]
    existing = [name for name in names if any(f" {name} " in item.reason for item in coming)]
    launched = [
        {"pool": item.pool, "types": sorted(item.machines)} for item in coming if not existing
    ]
    return {"nodeClaims": launched, "existing": existing}


@pytest.mark.parametrize("situation", situations(), ids=lambda item: item["id"])
def test_nodes_come_as_karpenter_launches_them(situation: Situation) -> None:
    assert summary(situation) == situation["answer"], situation["about"]


@pytest.mark.oracle
def test_the_recorded_answers_are_those_of_the_program(
    record_property: pytest.RecordProperty,
) -> None:
    program = oracle_program()
    if not program.exists():
        pytest.skip(f"no {program.name}: see tests/oracles/README.md")
    asked = situations()
    record_property("cases", len(asked))
    assert ask_karpenter(program, asked) == [item["answer"] for item in asked]
