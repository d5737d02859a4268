"""Consumable capacity: the amount that a share of a device consumes of each capacity.

k8s.io/dynamic-resource-allocation/structured/internal/*/consumable_capacity.go. Up to 1.36 a range
is computed in whole numbers. From 1.37 on it is computed in thousandths if
DRAFractionalCapacityRange is on and the numbers of the range allow thousandths.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from dractl.model import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from dractl.model.go import int64
from dractl.model.names import strip_domain
from dractl.model.quantity import Quantity, SaturatingQuantity

_MAX_INT64 = (1 << 63) - 1
_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"
_DIVIDED_BY_ZERO = "runtime error: integer divide by zero"
"""Go's message for a step that wraps to zero, such as 2^64: kube-scheduler panics."""


class CapacityFault(ValueError):
    """A request that aborts the attempt (from 1.37 on); the text is upstream's."""


class Unfit(Struct, frozen=True):
    """The device can never serve the request: it lacks a capacity, or its policy does not allow the
    amount.
    """

    code: Literal["capacity-missing", "capacity-policy"]
    capacity: str
    want: Quantity | None = None


class Arithmetic(Struct, frozen=True):
    """The way in which a release calculates with amounts of capacity."""

    milli: bool
    """True if thousandths are used where that is possible."""
    strict: bool
    """True if a number too large for int64 is a fault."""
    saturates: bool = False
    """True if quantities are calculated and printed as in Kubernetes 1.38."""

    def convert(self, quantity: Quantity) -> Quantity:
        """Return the quantity in the form in which the release calculates with it and prints it."""
        return SaturatingQuantity.of(quantity) if self.saturates else quantity


def consumption(
    requests: Mapping[str, Quantity] | None,
    capacity: Mapping[str, DeviceCapacity],
    arithmetic: Arithmetic,
    driver: str | None = None,
) -> dict[str, Quantity] | Unfit:
    """Return a share's consumption of every capacity of a device, even if less is left. With
    ``driver``, names of capacities may have the driver as their domain.

    Raises CapacityFault if the scheduler aborts the attempt.
    """
    spelled = {strip_domain(driver, name): name for name in capacity}
    wanted: dict[str, Quantity] = {}
    for name in sorted(requests or {}):
        name_in_slice = spelled.get(strip_domain(driver, name))
        if name_in_slice is None:
            return Unfit("capacity-missing", name)
        if name_in_slice in wanted:  # a fault from 1.38 on; upstream's text is not known
            raise CapacityFault(
                f'capacity "{strip_domain(driver, name)}" is requested with and without the'
                " driver's domain"
            )
        wanted[name_in_slice] = (requests or {})[name]
    consumed: dict[str, Quantity] = {}
    for name in sorted(capacity):
        try:
            consumed[name] = _consumption_of(wanted.get(name), capacity[name], arithmetic)
        except CapacityFault as fault:
            raise CapacityFault(f'capacity "{name}": {fault}') from None
        if arithmetic.strict and consumed[name].sign() < 0:
            raise CapacityFault(f'capacity "{name}": capacity value is negative')
    for name, amount in consumed.items():
        if _violates(amount, capacity[name].request_policy, arithmetic):
            return Unfit("capacity-policy", name, amount)
    return {name: arithmetic.convert(amount) for name, amount in consumed.items()}


def nano(quantity: Quantity) -> int:
    """Return a quantity as an integer of billionths, the finest unit of the API."""
    unscaled, exponent = quantity.exact()
    shift = exponent + 9
    return unscaled * int(10**shift) if shift >= 0 else -(-unscaled // int(10**-shift))


def _consumption_of(
    requested: Quantity | None, capacity: DeviceCapacity, arithmetic: Arithmetic
) -> Quantity:
    policy = capacity.request_policy
    if requested is None:
        return (
            policy.default if policy is not None and policy.default is not None else capacity.value
        )
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_up(requested, policy.valid_range, arithmetic)
    for value in policy.valid_values:
        if requested <= value:
            return value
    return requested


def _round_up(
    requested: Quantity, bounds: CapacityRequestPolicyRange, arithmetic: Arithmetic
) -> Quantity:
    assert bounds.min is not None
    if requested < bounds.min:
        return bounds.min
    if bounds.step is None:
        return requested
    if _uses_milli(bounds, arithmetic):
        return _round_up_milli(requested, bounds.min, bounds.step)
    if arithmetic.strict and requested > Quantity(_MAX_INT64):
        raise CapacityFault(f"{_NOT_REPRESENTABLE}: request {requested} exceeds MaxInt64")
    least, step = (arithmetic.convert(bound).value() for bound in (bounds.min, bounds.step))
    times = _steps(arithmetic.convert(requested).value() - least, step)
    if arithmetic.strict and least >= 0 and times > (_MAX_INT64 - least) // step:
        raise CapacityFault(
            f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes"
            " MaxInt64"
        )
    return Quantity(
        int64(least + int64(step * times)),
        0,
        bounds.step.format if arithmetic.strict else "BinarySI",
    )


def _round_up_milli(requested: Quantity, least: Quantity, step: Quantity) -> Quantity:
    wanted = _exact_milli(requested)
    if wanted is None:
        raise CapacityFault(
            f"{_NOT_REPRESENTABLE}: request {requested} is not a representable milli value"
        )
    low, stride = least.milli_value(), step.milli_value()
    times = _steps(wanted - low, stride)
    if times > (_MAX_INT64 - low) // stride:
        raise CapacityFault(
            f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes the"
            " milli-value range"
        )
    value = low + stride * times
    return (
        Quantity(value // 1000, 0, step.format)
        if value % 1000 == 0
        else Quantity(value, -3, step.format)
    )


def _steps(distance: int, step: int) -> int:
    """Count the steps in a distance. Division truncates as in Go, and a remainder adds one step."""
    if step == 0:
        raise CapacityFault(_DIVIDED_BY_ZERO)
    distance = int64(distance)
    times = abs(distance) // abs(step) * (1 if (distance >= 0) == (step > 0) else -1)
    return times + (distance % step != 0)


def _violates(
    amount: Quantity, policy: CapacityRequestPolicy | None, arithmetic: Arithmetic
) -> bool:
    if policy is None:
        return False
    if (
        policy.default is not None
        and amount == policy.default
        and amount.format == policy.default.format
    ):
        return False
    if policy.valid_range is not None:
        return _is_outside(amount, policy.valid_range, arithmetic)
    return bool(policy.valid_values) and amount not in policy.valid_values


def _is_outside(
    amount: Quantity, bounds: CapacityRequestPolicyRange, arithmetic: Arithmetic
) -> bool:
    if bounds.max is not None and amount > bounds.max:
        return True
    if bounds.step is None or bounds.min is None:
        return False
    if _uses_milli(bounds, arithmetic):
        milli = _exact_milli(amount)
        return milli is None or (milli - bounds.min.milli_value()) % bounds.step.milli_value() != 0
    value, least, step = (
        arithmetic.convert(quantity).value() for quantity in (amount, bounds.min, bounds.step)
    )
    if step == 0:
        raise CapacityFault(_DIVIDED_BY_ZERO)
    return int64(value - least) % step != 0


def _uses_milli(bounds: CapacityRequestPolicyRange, arithmetic: Arithmetic) -> bool:
    if not arithmetic.milli:
        return False
    if any(
        _exact_milli(quantity) is None
        for quantity in (bounds.min, bounds.max, bounds.step)
        if quantity is not None
    ):
        return False
    return bounds.step is None or bounds.step.milli_value() >= 1


def _exact_milli(quantity: Quantity) -> int | None:
    milli = quantity.milli_value()
    return milli if Quantity(milli, -3) == quantity else None
