"""DRA707 constraint-on-one-device."""

from __future__ import annotations

import pytest

from tests.lint.written import ROOT, claim, found

OF_GPU = ROOT.replace("[{", "[{requests: [gpu], ")


@pytest.mark.parametrize(
    ("requests", "constraint", "one"),
    [
        ("gpu a", ROOT, True),
        ("gpu a {count: 2}", ROOT, False),
        ("gpu a {allocationMode: All}", ROOT, False),
        ("gpu a\nnic b", ROOT, False),
        ("gpu a\nnic b", OF_GPU, True),
        ("gpu a {count: 2}\nnic b", OF_GPU, False),
    ],
)
def test_a_constraint_needs_two_devices(requests: str, constraint: str, one: bool) -> None:
    assert bool(found(claim(requests, constraint), "DRA707")) == one
