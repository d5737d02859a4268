"""What claims and classes read of devices, and whether a known bug concerns them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dractl.cel import environment
from dractl.model import Target
from dractl.scheduler import known_bugs
from dractl.scheduler.groups import names_read

compiled = environment(Target.of("1.37"), "stored").compile


def selecting(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


def test_names_of_selectors_and_of_constraints() -> None:
    constraint = {"constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}
    assert names_read(compiled, selecting('device.attributes["x.io"].model == "a"'), constraint) == {
        "model",
        "pcieRoot",
    }


def test_a_selector_may_read_any_attribute() -> None:
    assert names_read(compiled, selecting('device.attributes["x.io"].all(name, name != "a")')) is None


@pytest.mark.parametrize(("selector", "applies"), [(None, True), (object(), False)])
def test_rules_without_a_selector(selector: object, applies: bool) -> None:
    rules = [SimpleNamespace(spec=SimpleNamespace(device_selector=selector))]
    scheduler: Any = SimpleNamespace(state=SimpleNamespace(taint_rules=rules), slices=())
    bug: Any = SimpleNamespace(name="rules-without-selector")
    assert known_bugs._applies(scheduler, bug, ()) is applies
