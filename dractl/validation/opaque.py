"""Opaque driver configuration of claims and classes (validateDeviceConfiguration)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.model.releases import Target
from dractl.validation.causes import invalid, length_violation, value_required
from dractl.validation.formats import driver_name_as_declared
from dractl.validation.place import Place
from dractl.validation.scalars import number
from dractl.validation.violation import Violation

MAX_PARAMETERS = 10 * 1024


class OpaqueRules(Struct, frozen=True):
    """Ids of the rules about a configuration."""

    missing: str
    driver: str
    no_parameters: str
    too_long: str
    no_object: str


def configuration(rules: OpaqueRules, place: Place, target: Target) -> Iterator[Violation]:
    opaque = place.child("opaque")
    if not opaque.set:
        yield value_required(rules.missing, opaque)
        return
    yield from driver_name_as_declared(rules.driver, opaque.child("driver"), target)
    parameters = opaque.child("parameters")
    if not parameters.set:
        yield value_required(rules.no_parameters, parameters)
    else:
        limit = MAX_PARAMETERS if target.has("parameters-limit") else None
        yield from json_object((rules.too_long, rules.no_object), parameters, limit)


def json_object(rules: tuple[str, str], place: Place, limit: int | None) -> Iterator[Violation]:
    """Yield the violations of validateRawExtension: free-form JSON must be an object of at most
    ``limit`` bytes.

    ``rules`` has the ids for a value that is too long, and for a value that is not an object.
    """
    if limit is not None and json_length(place.value) > limit:
        yield length_violation(rules[0], place, limit)
    elif not isinstance(place.value, Mapping):
        yield invalid(rules[1], place, "must be a valid JSON object", "<value omitted>")


def json_length(value: Any) -> int:
    """Return the length in bytes of the value as compact JSON, as sigs.k8s.io/yaml writes it.

    Go writes ``<``, ``>``, ``&`` and two line separators as six bytes each. The function has an
    explicit stack, since parameters can be nested deeper than Python's calls.
    """
    total = 0
    stack: list[Any] = [value]
    while stack:
        match stack.pop():
            case Mapping() as mapping:
                total += (
                    1 + max(len(mapping), 1) + sum(_text_length(str(key)) + 1 for key in mapping)
                )
                stack.extend(mapping.values())
            case list() as items:
                total += 1 + max(len(items), 1)
                stack.extend(items)
            case str() as text:
                total += _text_length(text)
            case bool() | None as word:
                total += 5 if word is False else 4
            case int() | float() as figure:
                total += len(number(figure))
    return total


def _text_length(text: str) -> int:
    longer = sum(text.count(c) * 5 for c in "<>&") + sum(text.count(c) * 3 for c in "\u2028\u2029")
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) + longer
