"""Known bugs of a release concern a pod only if the cluster has what they are about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from dractl.allocation import Bug, Features
from dractl.scheduler import known_bugs


@pytest.mark.parametrize(("selector", "concerns"), [(None, True), (object(), False)])
def test_the_bug_of_rules_without_a_selector_concerns_only_these(
    selector: object, concerns: bool
) -> None:
    rules = [SimpleNamespace(spec=SimpleNamespace(device_selector=selector))]
    scheduler: Any = SimpleNamespace(state=SimpleNamespace(taint_rules=rules), slices=())
    bug: Any = SimpleNamespace(name="rules-without-selector")
    assert known_bugs._concerns(scheduler, bug, ()) is concerns


BUGS = [Bug(name, "1.34", "1.35", ("stable",), "") for name in ("a", "b", "c")]


@pytest.mark.parametrize(
    ("needed", "decisive"), [({"b"}, "b"), ({"a"}, "a"), ({"b", "c"}, "b"), ({"a", "b", "c"}, "a")]
)
def test_bugs_are_switched_off_one_by_one(needed: set[str], decisive: str) -> None:
    """A bug that decides alone is named, else the first of those that must go together."""

    def attempt_without(bugs_off: frozenset[str]) -> Any:
        return SimpleNamespace(fits=needed <= bugs_off)

    assert known_bugs._decide(BUGS, attempt_without).name == decisive


def test_the_first_release_without_a_bug_may_be_a_patch() -> None:
    bug = Bug("a", "1.35", "1.36", ("stable",), "", fixed=("1.35.6", "1.36.2"))
    assert known_bugs._first_release_without(bug, "1.35") == "1.35.6"
    assert known_bugs._first_release_without(bug, "1.36") == "1.36.2"
    later = Bug("a", "1.34", "1.36", ("stable",), "")
    assert known_bugs._first_release_without(later, "1.35") == "1.37"


def test_disabled_bug_leaves_the_others() -> None:
    features = Features.for_release("1.34", {"DRAConsumableCapacity": True})
    behaviour = features.behaviour
    assert behaviour is not None
    name = min(behaviour.bugs)
    without = replace(features, bugs_off=frozenset({name})).behaviour
    assert without is not None
    assert without.bugs == behaviour.bugs - {name}
