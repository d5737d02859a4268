"""DRA710 all-under-a-constraint."""

from __future__ import annotations

import pytest

from tests.lint.written import ROOT, claim, found


@pytest.mark.parametrize(
    ("requests", "constraint", "reported"),
    [
        ("gpu a {allocationMode: All}", ROOT, True),
        ("gpu a {allocationMode: All}", "", False),
        (
            "gpu a {allocationMode: All}\nnic b {count: 2}",
            ROOT.replace("[{", "[{requests: [nic], "),
            False,
        ),
        ("gpu a {count: 2}", ROOT, False),
    ],
)
def test_all_devices_of_a_node_must_then_agree(
    requests: str, constraint: str, reported: bool
) -> None:
    assert bool(found(claim(requests, constraint), "DRA710")) == reported
