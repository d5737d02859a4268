"""DRA708 unreachable-subrequest."""

from __future__ import annotations

import pytest

from tests.lint.written import API, ROOT, device_class, documents, found


def alternatives(*fields: str, rest: str = "") -> str:
    text = f"{API}kind: ResourceClaim\nmetadata: {{name: gpus}}\nspec:\n  devices:\n    requests:\n    - name: gpu\n"
    listed = ", ".join(f"{{name: a{n}, {field}}}" for n, field in enumerate(fields))
    return text + f"      firstAvailable: [{listed}]\n" + (f"    {rest}\n" if rest else "")


SELECTED = "deviceClassName: gpu, selectors: [{cel: {expression: 'device.driver == \"d\"'}}]"


@pytest.mark.parametrize(
    ("earlier", "later", "unreachable"),
    [
        ("deviceClassName: gpu", "deviceClassName: gpu, count: 2", True),
        ("deviceClassName: gpu", SELECTED, True),  # whatever it selects, the earlier one matches
        ("deviceClassName: gpu, count: 2", "deviceClassName: gpu", False),
        (SELECTED, "deviceClassName: gpu", False),
        ("deviceClassName: gpu", "deviceClassName: other", False),
        ("deviceClassName: gpu, allocationMode: All", "deviceClassName: gpu", False),
        ("deviceClassName: gpu", "deviceClassName: gpu, tolerations: [{operator: Exists}]", False),
    ],
)
def test_alternative_behind_an_always_fitting_one_is_found(
    earlier: str, later: str, unreachable: bool
) -> None:
    assert bool(found(alternatives(earlier, later), "DRA708")) == unreachable


def test_a_constraint_may_fit_the_later_one_only() -> None:
    assert (
        found(alternatives("deviceClassName: gpu", "deviceClassName: gpu", rest=ROOT), "DRA708")
        == []
    )


DRIVER = "device.driver == 'd'"
MODEL = "device.attributes['d'].model == 'h100'"
CLASSES = (
    device_class("any", f'"{DRIVER}"'),
    device_class("l4", f'"{DRIVER}"'),
    device_class("h100", f'"{MODEL} && {DRIVER}"'),
    device_class("wide", '"true"'),
)


@pytest.mark.parametrize(
    ("earlier", "later", "unreachable"),
    [
        ("any", "l4", True),
        ("any", "h100", True),
        ("h100", "any", False),
        ("wide", "l4", False),
        ("any", "else", False),
    ],
)
def test_class_without_further_requirements_hides_later_alternatives(
    earlier: str, later: str, unreachable: bool
) -> None:
    text = documents(
        *CLASSES, alternatives(f"deviceClassName: {earlier}", f"deviceClassName: {later}")
    )
    assert bool(found(text, "DRA708")) == unreachable
