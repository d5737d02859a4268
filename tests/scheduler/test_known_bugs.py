"""Known bugs of a release concern a pod only if the cluster has what they are about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dractl.scheduler import known_bugs


@pytest.mark.parametrize(("selector", "concerns"), [(None, True), (object(), False)])
def test_the_bug_of_rules_without_a_selector_concerns_only_these(
    selector: object, concerns: bool
) -> None:
    rules = [SimpleNamespace(spec=SimpleNamespace(device_selector=selector))]
    scheduler: Any = SimpleNamespace(state=SimpleNamespace(taint_rules=rules), slices=())
    bug: Any = SimpleNamespace(name="rules-without-selector")
    assert known_bugs._concerns(scheduler, bug, ()) is concerns
