"""The table of what releases do differently: every row is asked for, and every name that is asked for is a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dractl
from dractl.model import Target
from dractl.model.releases import CHANGES, RELEASES, has_change


def asked() -> set[str]:
    text = "".join(
        path.read_text(encoding="utf-8") for path in Path(dractl.__file__).parent.rglob("*.py")
    )
    return set(re.findall(r'(?:target|features|self)\.has\(\s*"([a-z0-9.-]+)"\s*\)', text))


def test_every_change_is_asked_for_and_known() -> None:
    assert asked() == set(CHANGES)


@pytest.mark.parametrize(("name", "change"), CHANGES.items())
def test_a_change_begins_and_ends_with_a_known_release(name: str, change: object) -> None:
    row = CHANGES[name]
    assert row.since in RELEASES
    assert row.until is None or (row.until in RELEASES and row.until > row.since)
    assert has_change(row.since, name)
    assert row.until is None or not has_change(row.until, name)


def test_a_change_of_1_35() -> None:
    assert not Target.of("1.34").has("counter-limits")
    assert Target.of("1.37").has("counter-limits")
