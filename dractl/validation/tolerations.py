"""Device taints, and the tolerations of requests (validateDeviceTaint,
validateDeviceToleration).
"""

from collections.abc import Iterator

from msgspec import Struct

from dractl.model.releases import Target
from dractl.validation.causes import as_declared, invalid, not_supported, value_required
from dractl.validation.formats import label_key, label_value
from dractl.validation.place import Place
from dractl.validation.violation import Violation

OPERATORS = ("Equal", "Exists")


class TaintRules(Struct, frozen=True):
    """Ids of the rules about a taint."""

    key: str
    value: str
    effect: str


def effects(target: Target) -> tuple[str, ...]:
    """Return the effects that a taint can have."""
    return (
        ("NoExecute", "NoSchedule", "None")
        if target.has("effect-none")
        else ("NoExecute", "NoSchedule")
    )


def taint(rules: TaintRules, place: Place, target: Target) -> Iterator[Violation]:
    yield from label_key(rules.key, place.child("key"))
    if place.child("value").text:
        yield from label_value(rules.value, place.child("value"))
    effect = place.child("effect")
    if not effect.text:
        yield from as_declared(effect, [value_required(rules.effect, effect)])
    elif effect.text not in effects(target):
        yield from as_declared(effect, [not_supported(rules.effect, effect, effects(target))])


def toleration(rule: str, place: Place, target: Target) -> Iterator[Violation]:
    if place.child("key").text:
        yield from as_declared(place.child("key"), label_key(rule, place.child("key")))
    operator, value, effect = place.child("operator"), place.child("value"), place.child("effect")
    match operator.text:
        case "Exists":
            if value.text:
                yield invalid(rule, value, "must be empty for operator `Exists`")
        case "Equal":
            yield from label_value(rule, value)
        case "":
            yield value_required(rule, operator)
        case _:
            yield from as_declared(operator, [not_supported(rule, operator, OPERATORS)])
    if effect.text and effect.text not in effects(target):
        yield from as_declared(effect, [not_supported(rule, effect, effects(target))])
