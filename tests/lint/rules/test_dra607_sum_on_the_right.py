"""DRA607 sum-on-the-right."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import device_class, found

MEMORY = 'device.capacity["gpu.example.com"].memory'


@pytest.mark.parametrize(
    ("expression", "severity"),
    [
        # What upstream's evaluator gives in 1.34 and 1.37 on a device with memory 3:
        (f'{MEMORY} == quantity("1").add(quantity("2"))', "error"),  # no such overload
        (
            f'{MEMORY}.add(quantity("1")) == quantity("1").add(quantity("3"))',
            "error",
        ),  # no such overload
        (f'{MEMORY} in [quantity("1").add(quantity("2"))]', "warning"),  # false
        (f'quantity("1").add(quantity("2")) == {MEMORY}', None),  # true
        (f'{MEMORY}.isGreaterThan(quantity("1").add(quantity("1")))', None),  # true
        (f'{MEMORY}.compareTo(quantity("1").add(quantity("2"))) == 0', None),  # true
    ],
)
def test_a_sum_on_the_right_of_a_comparison(expression: str, severity: str | None) -> None:
    advice = found(device_class("c", f"'{expression}'"), "DRA607")
    assert [finding.severity for finding in advice] == ([severity] if severity else [])


def test_cost_estimates_are_distinguished() -> None:
    """1.37's estimate: unbounded with ``!=``, 7 with ``!(a == b)``."""
    report = lint(
        load(["-"], stdin=device_class("c", f"'{MEMORY} != quantity(\"4\")'").encode()),
        Target.of("1.37"),
    )
    (finding,) = (finding for finding in report.findings if finding.code == "DRA114")
    assert finding.help is not None
    assert finding.help.endswith("write !(a == b)")
    assert not found(device_class("c", f"'!({MEMORY} == quantity(\"4\"))'"), "DRA114")
