"""DRA425 constraint-across-claims."""

from __future__ import annotations

import pytest

from tests.lint.written import ONE, ROOT, claim, documents, found, pod, template

NIC = claim("nic nic.example.com", ROOT, "nic")
PAIR = claim("gpu gpu.example.com\nnic nic.example.com", ROOT, "pair")


def test_a_constraint_does_not_reach_the_other_claims_of_a_pod() -> None:
    text = documents(ONE, NIC, pod("a=gpu", "b=nic"))
    (advice,) = found(text, "DRA425")
    assert (advice.object.kind, advice.path) == ("Pod", "spec.resourceClaims[1].name")
    assert [item.message for item in advice.related] == [
        "the constraint of ResourceClaim gpu",
        "the constraint of ResourceClaim nic",
    ]
    workload = documents(template(ONE), template(NIC), pod("a:gpu", "b:nic", kind="Deployment"))
    assert found(workload, "DRA425")


@pytest.mark.parametrize(
    "text",
    [
        documents(
            PAIR, pod("a=pair", "b=pair")
        ),  # each of them is aligned in itself, which is a purpose
        documents(ONE, NIC.replace("pcieRoot", "numaNode"), pod("a=gpu", "b=nic")),
        documents(ONE, NIC, pod("a=gpu")),
        documents(ONE, claim("nic nic.example.com", "", "nic"), pod("a=gpu", "b=nic")),
        documents(ONE, NIC, pod("a=gpu", "b=elsewhere")),
    ],
)
def test_claims_without_alignment_needs_are_left_alone(text: str) -> None:
    assert not found(text, "DRA425")
