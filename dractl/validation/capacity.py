"""Request policies of consumable capacities (validateRequestPolicy)."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from dractl.model.quantity import Quantity, SaturatingQuantity
from dractl.model.releases import Target
from dractl.validation.causes import count_violation, duplicate, forbidden, invalid, value_required
from dractl.validation.place import Place
from dractl.validation.violation import Violation

MAX_VALID_VALUES = 10
MAX_INT64 = (1 << 63) - 1


def request_policy(place: Place, *, shareable: bool, target: Target) -> Iterator[Violation]:
    """Yield the violations in the policy of the capacity at ``place``; ``shareable`` is True if the
    device allows multiple allocations.
    """
    policy = place.child("requestPolicy")
    if not policy.set:
        return
    if not shareable:
        yield forbidden("RS-22", policy, "allowMultipleAllocations must be true")
        return
    capacity = _amount(place.child("value"), target)
    values, valid_range, default = (
        policy.child(name) for name in ("validValues", "validRange", "default")
    )
    if values.size and valid_range.set:
        detail = (
            'exactly one policy can be specified, cannot specify "validValues" and "validRange" at'
            " the same time"
        )
        yield forbidden("RS-23", policy, detail)
    elif values.size:
        if default.set:
            yield from _valid_values(values, _amount(default, target), capacity, target)
        else:
            yield value_required("RS-24", default, "required when validValues is defined")
    elif valid_range.set:
        if default.set:
            yield from _valid_range(valid_range, _amount(default, target), capacity, target)
        else:
            yield value_required("RS-24", default, "required when validRange is defined")


def _amount(place: Place, target: Target) -> Quantity:
    """Return the quantity at a place, with the arithmetic of the release's server."""
    saturates = target.has("saturating-quantities")
    return SaturatingQuantity.of(place.quantity) if saturates else place.quantity


def _valid_values(
    places: Place, default: Quantity, capacity: Quantity, target: Target
) -> Iterator[Violation]:
    options = [(item, _amount(item, target)) for item in places.items()]
    for (_, before), (item, option) in pairwise(options):
        if before > option:
            yield invalid("RS-25", item, "values must be sorted in ascending order", option)
    found_default = False
    too_many_options = len(options) > MAX_VALID_VALUES
    if too_many_options:
        yield count_violation("RS-26", places, MAX_VALID_VALUES)
    if not (too_many_options and target.has("first-error-hides-the-rest")):
        found_default = any(option == default for _, option in options)
        for item, option in options:
            if option > capacity:
                yield invalid(
                    "RS-27", item, f"option is larger than capacity value: {capacity}", option
                )
        seen = set()
        for item, option in options:
            key = _key(option, target)
            if key in seen:
                yield duplicate("RS-26", item, option)
            seen.add(key)
    if not found_default:
        yield invalid(
            "RS-28", places, "default value is not valid according to the requestPolicy", default
        )


def _key(option: Quantity, target: Target) -> object:
    """Return a key that is equal for options that the server treats as equal: the integer value, or
    the decimal string (``1`` is not ``1.0``).
    """
    if not (target.has("fractional-ranges") and target.enabled("DRAFractionalCapacityRange")):
        return option.value()
    unscaled, exponent = option.go_parts()
    return option.exact() if exponent >= 0 else (unscaled, exponent)


def _valid_range(
    place: Place, default: Quantity, capacity: Quantity, target: Target
) -> Iterator[Violation]:
    minimum = place.child("min")
    if not minimum.set:
        yield value_required("RS-29", minimum, "required when validRange is defined")
        return
    low = _amount(minimum, target)
    if low > capacity:
        yield invalid("RS-29", minimum, f"min is larger than capacity value: {capacity}", low)
    since_37 = target.has("range-fields")
    if default < low:
        at = place.child("default") if since_37 else minimum
        yield invalid("RS-29", at, f"default is less than min: {low}", default)
    maximum = place.child("max")
    if maximum.set:
        high = _amount(maximum, target)
        if low > high:
            yield invalid("RS-29", maximum, f"min is larger than max: {high}", low)
        if high > capacity:
            yield invalid("RS-29", maximum, f"max is larger than capacity value: {capacity}", high)
        if default > high:
            at = place.child("default") if since_37 else maximum
            yield invalid("RS-29", at, f"default is more than max: {high}", default)
    if since_37:
        yield from _steps(place, default, capacity, target)
    elif place.child("step").set:
        yield from _steps_before_37(place, default, capacity)


def _bounds(place: Place, default: Quantity, target: Target) -> list[tuple[Place, Quantity]]:
    """Return the default, and min, max and step if they are set."""
    bounds = [
        (place.child(name), _amount(place.child(name), target))
        for name in ("min", "max", "step")
        if place.child(name).set
    ]
    return [(place.child("default"), default), *bounds]


def _steps(
    place: Place, default: Quantity, capacity: Quantity, target: Target
) -> Iterator[Violation]:
    """Yield the violations of 1.37, where fractions are compared in thousandths, and values that
    overflow int64 are reported first.
    """
    bounds = _bounds(place, default, target)
    in_milli = target.enabled("DRAFractionalCapacityRange") and not all(
        bound.is_integer() for _, bound in bounds
    )
    if in_milli:
        lost = [(at, bound) for at, bound in bounds if bound != Quantity(bound.milli_value(), -3)]
        for at, bound in lost:
            yield invalid("RS-30", at, "value cannot be represented as a milli value", bound)
        if lost:
            return
    if not place.child("step").set:
        return
    low, step = (_amount(place.child(name), target) for name in ("min", "step"))
    if step.sign() <= 0:
        yield invalid("RS-30", place.child("step"), "must be greater than zero", step)
        return
    yield from _first_step(place.child("step"), low, step, capacity)
    if not in_milli:
        unsafe = [
            (at, bound) for at, bound in bounds if bound.sign() < 0 or bound > Quantity(MAX_INT64)
        ]
        for at, bound in unsafe:
            too_small = bound.sign() < 0
            detail = (
                "must be greater than or equal to 0"
                if too_small
                else f"must not be larger than {MAX_INT64}"
            )
            yield invalid("RS-30", at, detail, bound)
        if unsafe:
            return
    values = [bound for at, bound in bounds if at.step in ("default", "max")]
    yield from _multiples(place.child("step"), values, low, step, in_milli=in_milli)


def _steps_before_37(place: Place, default: Quantity, capacity: Quantity) -> Iterator[Violation]:
    low, step = place.child("min").quantity, place.child("step").quantity
    if step.value() == 0:
        # The server divides by the value, panics and closes the connection; this is the message of
        # 1.37.
        yield invalid("RS-30", place.child("step"), "must be greater than zero", step)
        return
    yield from _first_step(place.child("step"), low, step, capacity)
    maximum = place.child("max")
    values = [default, *([maximum.quantity] if maximum.set else [])]
    yield from _multiples(place.child("step"), values, low, step, in_milli=False)


def _first_step(
    place: Place, low: Quantity, step: Quantity, capacity: Quantity
) -> Iterator[Violation]:
    if low + step > capacity:
        yield invalid(
            "RS-30", place, f"one step {low + step} is larger than capacity value: {capacity}", step
        )


def _multiples(
    place: Place, values: Iterable[Quantity], low: Quantity, step: Quantity, *, in_milli: bool
) -> Iterator[Violation]:
    for value in values:
        numbers = [q.milli_value() if in_milli else q.value() for q in (value, low, step)]
        # Int64 wraps around
        difference = (numbers[0] - numbers[1] + (1 << 63)) % (1 << 64) - (1 << 63)
        if difference % numbers[2] != 0:
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            yield invalid("RS-30", place, detail, value)
