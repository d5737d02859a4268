"""Node selectors (pkg/apis/core/validation ValidateNodeSelector) and names of nodes."""

from collections.abc import Iterator

from dractl.validation.causes import forbidden, invalid, value_required
from dractl.validation.formats import label_key, label_value, subdomain, subdomain_errors
from dractl.validation.place import Place
from dractl.validation.violation import Violation

OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")

node_name = subdomain


def node_selector(rule: str, place: Place) -> Iterator[Violation]:
    terms = place.child("nodeSelectorTerms")
    if not terms.size:
        yield value_required(rule, terms, "must have at least one node selector term")
    for term in terms.items():
        for expression in term.child("matchExpressions").items():
            yield from _label_requirement(rule, expression)
        for field in term.child("matchFields").items():
            yield from _field_requirement(rule, field)


def _label_requirement(rule: str, place: Place) -> Iterator[Violation]:
    operator, values = place.child("operator"), place.child("values")
    match operator.text:
        case "In" | "NotIn":
            if not values.size:
                yield value_required(
                    rule, values, "must be specified when `operator` is 'In' or 'NotIn'"
                )
        case "Exists" | "DoesNotExist":
            if values.size:
                yield forbidden(
                    rule,
                    values,
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                )
        case "Gt" | "Lt":
            if values.size != 1:
                yield value_required(
                    rule, values, "must be specified single value when `operator` is 'Lt' or 'Gt'"
                )
        case _:
            yield invalid(
                rule, operator, "not a valid selector operator", operator.text, allowed=OPERATORS
            )
    yield from label_key(rule, place.child("key"))
    for value in values.items():
        yield from label_value(rule, value)


def _field_requirement(rule: str, place: Place) -> Iterator[Violation]:
    operator, values, key = place.child("operator"), place.child("values"), place.child("key")
    if operator.text in ("In", "NotIn"):
        if values.size != 1:
            detail = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            yield value_required(rule, values, detail)
    else:
        yield invalid(
            rule, operator, "not a valid selector operator", operator.text, allowed=("In", "NotIn")
        )
    if key.text != "metadata.name":
        yield invalid(
            rule, key, "not a valid field selector key", key.text, allowed=("metadata.name",)
        )
        return
    for value in values.items():
        for error in subdomain_errors(value.text):
            yield invalid(rule, value, error, value.text)
