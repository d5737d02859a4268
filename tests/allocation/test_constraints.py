"""The trackers of constraints, device by device."""

from __future__ import annotations

from typing import cast

import pytest

from dractl.allocation.constraints import _Match
from dractl.allocation.problem import Constraint, Value
from dractl.allocation.survey import RequestSurvey
from dractl.model.names import RequestRef


def sets(*values: str) -> tuple[Value, ...]:
    return tuple(
        cast("Value", frozenset(("string", letter) for letter in value)) for value in values
    )


@pytest.mark.parametrize(
    ("values", "third"), [(("ab", "bc", "ca"), False), (("ab", "bc", "b"), True)]
)
def test_all_lists_of_a_match_have_one_value_in_common(
    values: tuple[str, ...], third: bool
) -> None:
    """matchAttribute of lists: KEP-5942; two by two is not enough."""
    match = _Match(Constraint("match", True, (sets(*values),)))
    assert (match.add(0, 0), match.add(0, 1), match.add(0, 2)) == (True, True, third)


def test_single_values_of_a_match_are_equal() -> None:
    values = cast("tuple[Value, ...]", (("string", "a"), ("string", "a"), ("string", "b")))
    match = _Match(Constraint("match", False, (values,)))
    assert (match.add(0, 0), match.add(0, 1), match.add(0, 2)) == (True, True, False)
    match.remove(0)
    match.remove(0)
    assert match.add(0, 2)


@pytest.mark.parametrize(("mode", "enough"), [("All", False), ("ExactCount", True)])
def test_all_devices_are_one_at_least(mode: str, enough: bool) -> None:
    survey = RequestSurvey(RequestRef("ml/c", "r"), 0, "gpu", mode, 0, (), (), ())
    assert survey.enough is enough
