"""The attributes that claims and classes read decide which nodes look the same."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.cel import environment
from dractl.explain import Explainer, find_subjects
from dractl.model import Target
from dractl.scheduler.groups import attribute_names
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

DRIVER = "gpu.example.com"
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


def test_a_version_in_place_of_a_string_is_evaluated_by_itself() -> None:
    """An invalid version ends the attempt, even if no selector reads it (kubernetes
    staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go).
    """

    def revisions(on: str, *values: dict[str, str]) -> dict[str, Any]:
        made = slice_of(DRIVER, on, *(device(f"gpu-{n}") for n in range(len(values))))
        for item, value in zip(made["spec"]["devices"], values, strict=True):
            item["attributes"] = {"revision": value}
        return made

    def error_of(second: dict[str, str]) -> bool:
        state = state_of(
            device_class("gpu", f"device.driver == '{DRIVER}'"),
            claim("c", request("r", "gpu", 2)),
            node("a"),
            node("b"),
            revisions("a", {"string": "1"}, {"string": "x"}),
            revisions("b", {"string": "2"}, second),
        )
        (question,) = find_subjects(state, "claim/c", None)
        answer = Explainer(state, Features.for_release("1.37")).explain(question)
        return answer.verdict == "error"

    assert not error_of({"string": "y"})
    assert error_of({"version": "no version"})
