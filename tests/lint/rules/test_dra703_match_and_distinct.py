"""DRA703 match-and-distinct."""

from __future__ import annotations

from tests.lint.written import claim, found, marked

MATCH, DISTINCT = "matchAttribute: a.example.com/numa", "distinctAttribute: a.example.com/root"


def test_both_in_one_constraint() -> None:
    # k8s.io/dynamic-resource-allocation/structured: `case constraint.MatchAttribute != nil` comes first
    (finding,) = found(claim("a gpu {count: 2}", f"constraints: [{{{MATCH}, {DISTINCT}}}]"), "DRA703")
    assert (finding.severity, marked(finding)) == ("error", "distinctAttribute")
    assert finding.message == "distinctAttribute is ignored beside matchAttribute"


def test_each_in_its_own() -> None:
    assert found(claim("a gpu {count: 2}", f"constraints: [{{{MATCH}}}, {{{DISTINCT}}}]"), "DRA703") == []
