"""Opaque driver configuration of claims and classes (validateDeviceConfiguration)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dractl.validation.causes import invalid, required, too_long
from dractl.validation.formats import driver_name, subdomain_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dractl.model.releases import Target
    from dractl.validation.place import Place
    from dractl.validation.violation import Violation

MAX_PARAMETERS = 10 * 1024


class OpaqueRules(NamedTuple):
    """The ids of the rules about a configuration."""

    missing: str
    driver: str
    no_parameters: str
    too_long: str
    no_object: str


def configuration(rules: OpaqueRules, place: Place, target: Target) -> Iterator[Violation]:
    opaque = place.child("opaque")
    if not opaque.set:
        yield required(rules.missing, opaque)
        return
    driver = opaque.child("driver")
    wrong = list(driver_name(rules.driver, driver, target))
    yield from wrong
    if target.at_least("1.37") and driver.text and not wrong:
        # The generated rule does not lower the case first, which makes ASCII of some letters.
        for error in subdomain_errors(driver.text, caseless=True):
            yield invalid(rules.driver, driver, error)
    parameters = opaque.child("parameters")
    if not parameters.set:
        yield required(rules.no_parameters, parameters)
    elif target.at_least("1.32") and json_length(parameters.value) > MAX_PARAMETERS:
        yield too_long(rules.too_long, parameters, MAX_PARAMETERS)
    elif not isinstance(parameters.value, Mapping):
        yield invalid(rules.no_object, parameters, "must be a valid JSON object", "<value omitted>")


def json_length(value: Any) -> int:
    """How many bytes the value has as the compact JSON that sigs.k8s.io/yaml makes of a document.

    Go writes ``<``, ``>``, ``&`` and two line separators as six bytes each.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    longer = sum(text.count(c) * 5 for c in "<>&") + sum(text.count(c) * 3 for c in "\u2028\u2029")
    return len(text.encode("utf-8", "replace")) + longer
