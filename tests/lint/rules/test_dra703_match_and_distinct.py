"""DRA703 match-and-distinct."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found, marked

MATCH, DISTINCT = "matchAttribute: a.example.com/numa", "distinctAttribute: a.example.com/root"


def test_both_in_one_constraint() -> None:
    # k8s.io/dynamic-resource-allocation/structured: `case constraint.MatchAttribute != nil` comes first
    (finding,) = found(
        claim("a gpu {count: 2}", f"constraints: [{{{MATCH}, {DISTINCT}}}]"), "DRA703"
    )
    assert (finding.severity, marked(finding)) == ("error", "distinctAttribute")
    assert finding.message == "distinctAttribute is ignored beside matchAttribute"


def test_each_in_its_own() -> None:
    assert (
        found(claim("a gpu {count: 2}", f"constraints: [{{{MATCH}}}, {{{DISTINCT}}}]"), "DRA703")
        == []
    )


NAME = "gpu.example.com/model"


@pytest.mark.parametrize(
    ("requests", "matched", "opposed"),
    [
        ("gpu gpu.example.com {count: 2}", "", True),
        ("gpu gpu.example.com\nnic nic.example.com", "", True),
        ("gpu gpu.example.com\nnic nic.example.com", "requests: [gpu], ", False),
        ("gpu gpu.example.com", "", False),
        ("gpu gpu.example.com {allocationMode: All}", "", False),  # perhaps one
    ],
)
def test_unsatisfiable_pair_of_constraints_is_found(
    requests: str, matched: str, opposed: bool
) -> None:
    rest = f"constraints:\n- {{{matched}matchAttribute: {NAME}}}\n- {{distinctAttribute: {NAME}}}\n"
    findings = found(claim(requests, rest), "DRA703")
    assert [
        (finding.path.endswith(".distinctAttribute"), marked(finding)) for finding in findings
    ] == [(True, NAME)] * opposed
