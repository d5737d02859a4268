"""CEL expressions: the selectors of claims, classes and (up to 1.34) taint rules, and derived
attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.validation.causes import forbidden, internal, invalid, length_violation, value_required
from dractl.validation.formats import length
from dractl.validation.lists import check_list

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.cel import Program
    from dractl.model.releases import Target
    from dractl.validation.place import Place
    from dractl.validation.violation import Violation

MAX_SELECTORS = 32
MAX_EXPRESSION = 10 * 1024
MAX_COST = 1_000_000


class SelectorRules(Struct, frozen=True):
    """Ids of the rules about a list of selectors."""

    too_many: str
    no_cel: str
    too_long: str
    compile: str
    cost: str


def selectors(rules: SelectorRules, places: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of validateSelectorSlice."""

    def check(place: Place) -> Iterator[Violation]:
        cel = place.child("cel")
        if not cel.set:
            yield value_required(rules.no_cel, cel)
        else:
            yield from selector(rules, cel.child("expression"), target)

    yield from check_list(rules.too_many, places, MAX_SELECTORS, check, target)


def selector(rules: SelectorRules, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of an expression that selects devices; its type has to be bool."""
    if length(place.text) > MAX_EXPRESSION:
        yield length_violation(rules.too_long, place, MAX_EXPRESSION)
        return
    from dractl.cel import environment

    program = environment(target, "new").compile(place.text)
    if program.admission == "invalid":
        yield _error(rules.compile, place, program)
    elif program.admission == "tooComplex":
        yield forbidden(rules.cost, place, "too complex, exceeds cost limit")


def _error(rule: str, place: Place, program: Program) -> Violation:
    """Return one violation for all issues of an expression, placed at the first of them."""
    if program.error_type == "InternalError":
        return internal(rule, place, program.error or "")
    offset = program.issues[0].offset if program.issues else None
    violation = invalid(rule, place, program.error or "", place.text, offset=offset)
    return replace(violation, issues=program.issues)


def check_derived_attribute(
    rules: tuple[str, str], place: Place, target: Target, costs: list[int]
) -> Iterator[Violation]:
    """Yield the violations of an expression that derives an attribute, and add its cost to
    ``costs``.

    ``rules`` has the ids for errors in the expression, and for its cost.
    """
    if length(place.text) > MAX_EXPRESSION:
        yield length_violation(rules[0], place, MAX_EXPRESSION)
        return
    from dractl.cel import attribute_environment

    program = attribute_environment(target).compile(place.text)
    if program.admission == "invalid":
        yield _error(rules[0], place, program)
    elif program.admission != "unchecked":
        costs.append(program.max_cost or 0)
        if program.admission == "tooComplex":
            yield forbidden(rules[1], place, "too complex, exceeds cost limit")
