"""DRA720 constraint-never-holds."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found, marked


def claim_with_constraint(attribute: str, requests: str) -> str:
    return claim(requests, f"constraints: [{{matchAttribute: {attribute}}}]")


BOTH = "gpu gpu.nvidia.com\nnic dranet"


@pytest.mark.parametrize(
    ("attribute", "requests", "message"),
    [
        (
            "gpu.nvidia.com/memory",
            "gpu gpu.nvidia.com {count: 2}",
            "is a capacity of gpu.nvidia.com",
        ),
        (
            "gpu.nvidia.com/parentUUID",
            BOTH,
            "only devices of type mig have it, not those of type gpu",
        ),
        (
            "gpu.nvidia.com/uuid",
            "gpu gpu.nvidia.com {count: 2}",
            "no two devices have the same gpu.nvidia.com/uuid",
        ),
        (
            "gpu.nvidia.com/productName",
            BOTH,
            "no device for request nic has gpu.nvidia.com/productName: dra.net does",
        ),
    ],
)
def test_unsatisfiable_constraints_are_found(attribute: str, requests: str, message: str) -> None:
    (finding,) = found(claim_with_constraint(attribute, requests), "DRA720")
    assert (finding.severity, finding.confidence, marked(finding)) == (
        "warning",
        "likely",
        attribute,
    )
    assert message in finding.message


def test_attributes_of_both_drivers_are_named() -> None:
    (finding,) = found(claim_with_constraint("gpu.nvidia.com/parentUUID", BOTH), "DRA720")
    assert "resource.kubernetes.io/pcieRoot" in (finding.help or "")


@pytest.mark.parametrize(
    ("attribute", "requests"),
    [
        ("resource.kubernetes.io/pcieRoot", BOTH),
        ("gpu.nvidia.com/uuid", "gpu gpu.nvidia.com"),  # one device is equal to itself
        ("gpu.nvidia.com/parentUUID", "mig mig.nvidia.com {count: 2}"),
        ("resource.kubernetes.io/pciBusID", "mig mig.nvidia.com {count: 2}"),  # that of their GPU
        ("gpu.nvidia.com/uuid", "gpu mine {count: 2}"),
    ],
)
def test_satisfiable_constraints_are_fine(attribute: str, requests: str) -> None:
    assert found(claim_with_constraint(attribute, requests), "DRA720") == []


def test_distinct_identities_are_no_mistake() -> None:
    text = claim(
        "gpu gpu.nvidia.com {count: 2}", "constraints: [{distinctAttribute: gpu.nvidia.com/uuid}]"
    )
    assert found(text, "DRA720") == []
