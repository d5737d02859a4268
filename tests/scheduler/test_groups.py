"""The attributes that claims and classes read decide which nodes look the same."""

from __future__ import annotations

from typing import Any

from dractl.cel import environment
from dractl.model import Target
from dractl.scheduler.groups import attribute_names

compile_selector = environment(Target.of("1.37"), "stored").compile


def selecting(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


def test_selectors_and_constraints_read_only_the_attributes_in_them() -> None:
    spec = selecting('device.attributes["x.io"].model == "a"')
    constraint = {"constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}
    assert attribute_names(compile_selector, spec, constraint) == {"model", "pcieRoot"}


def test_a_selector_may_read_any_attribute() -> None:
    spec = selecting('device.attributes["x.io"].all(name, name != "a")')
    assert attribute_names(compile_selector, spec) is None
