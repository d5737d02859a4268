"""The rows about a release that was not out when they were read."""

from __future__ import annotations

from dractl.facts.known import breakages
from dractl.facts.kubernetes import kubernetes

LANDED = ("140256", "141946", "142218", "142202")
"""In CHANGELOG-1.38.md, v1.38.0-alpha.1 and alpha.2."""


def test_only_unlanded_changes_are_called_proposed_or_planned() -> None:
    rows = [(row.what, row.source) for row in kubernetes().coming]
    rows += [(row.what, row.source) for row in breakages()]
    rows += [(row.what, row.source) for row in kubernetes().changes.values()]
    landed = [what for what, source in rows if any(number in source for number in LANDED)]
    assert len(landed) >= len(LANDED)
    assert not [what for what in landed if "(proposed)" in what or "(planned)" in what]
    assert not [row.what for row in kubernetes().coming if row.landed and "planned" in row.what]


def test_drivers_can_opt_out_of_the_check_of_names() -> None:
    """CHANGELOG-1.38.md, kubernetes#142218"""
    texts = [row.what for row in kubernetes().coming if "142218" in row.source]
    texts += [row.what for row in breakages() if "142218" in row.source]
    assert len(texts) == 2
    assert all("unless the driver opts out" in text for text in texts)


def test_every_row_of_a_proposal_names_its_source_and_date() -> None:
    facts = kubernetes()
    rows = (*facts.gates.values(), *facts.fields)
    proposals = [row for row in rows if row.proposal]
    assert {row.proposal for row in proposals} == {"KEP-5690", "KEP-5941", "KEP-6406"}
    assert all(row.source and row.read for row in proposals)
    assert all(gate.source and gate.read for gate in facts.retired.values())
    removed = [gate for gate in facts.gates.values() if gate.removed]
    assert all(gate.source and gate.read for gate in removed)
