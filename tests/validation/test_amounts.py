"""Request policies with amounts that two releases read and print differently (k8s.io/apimachinery)."""

from __future__ import annotations

import pytest

from dractl.model import Target
from dractl.validation import validate
from tests.validation.rule_table import device, published


def messages(release: str, capacity: str, **policy: object) -> list[str | None]:
    shared = device(
        allowMultipleAllocations=True, capacity={"c": {"value": capacity, "requestPolicy": policy}}
    )
    target = Target.of(release, {"DRAFractionalCapacityRange": False} if release > "1.36" else {})
    return [v.message for v in validate(published(shared), target) if v.type]


@pytest.mark.parametrize(("release", "shown"), [("1.37", "1"), ("1.38", "1e21")])
def test_a_power_of_ten_beyond_exa_is_printed_from_1_38_on(release: str, shown: str) -> None:
    found = messages(release, "1000E", default="2000E", validValues=["2000E"])
    assert (
        f'Invalid value: "{2 if shown == "1" else "2e21"}": option is larger than capacity value: {shown}'
        in found
    )


@pytest.mark.parametrize(("release", "duplicates"), [("1.37", 0), ("1.38", 1)])
def test_options_beyond_int64_are_one_integer_from_1_38_on(release: str, duplicates: int) -> None:
    """validation.go quantityKeyInt: Value() of 2^63 and 2^63+1 is MinInt64 and the next one, then MaxInt64 twice."""
    options = ["9223372036854775808", "9223372036854775809"]
    found = messages(release, "100E", default=options[0], validValues=options)
    assert [m.startswith("Duplicate value") for m in found if m] == [True] * duplicates
