"""Violations with the wording of the API server
(k8s.io/apimachinery/pkg/util/validation/field/errors.go).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from dractl.model.nearest import nearest
from dractl.model.quantity import Quantity
from dractl.model.releases import Target
from dractl.validation.place import Place
from dractl.validation.violation import Violation

ITSELF: Final = object()
"""A marker for the value at the place."""


def invalid(
    rule: str,
    place: Place,
    detail: str,
    value: Any = ITSELF,
    *,
    offset: int | None = None,
    key: bool = False,
    allowed: Sequence[str] = (),
    field: str | None = None,
) -> Violation:
    """Return the violation for an invalid value; ``value`` is shown instead of the value at the
    place.

    ``field`` is the path that the server names, if it differs from the path of the place.
    """
    shown = place.value if value is ITSELF else value
    violation = _violation(
        rule,
        "FieldValueInvalid",
        place,
        f"Invalid value: {show(shown)}: {detail}",
        offset=offset,
        key=key,
        allowed=allowed,
        field=field,
    )
    return _suggest(violation, shown) if isinstance(shown, str) else violation


def value_required(
    rule: str, place: Place, detail: str = "", *, field: str | None = None
) -> Violation:
    message = f"Required value: {detail}" if detail else "Required value"
    return _violation(rule, "FieldValueRequired", place, message, field=field)


def forbidden(rule: str, place: Place, detail: str, *, field: str | None = None) -> Violation:
    return _violation(rule, "FieldValueForbidden", place, f"Forbidden: {detail}", field=field)


def duplicate(rule: str, place: Place, value: Any) -> Violation:
    return _violation(rule, "FieldValueDuplicate", place, f"Duplicate value: {show(value)}")


def not_supported(
    rule: str, place: Place, allowed: Sequence[str], *, key: str | None = None
) -> Violation:
    """Return the violation for a string that is not ``allowed``; with ``key``, the string is the
    key of the entry at the place.
    """
    text = place.text if key is None else key
    listed = ", ".join(f'"{name}"' for name in allowed)
    message = f"Unsupported value: {show(text)}: supported values: {listed}"
    violation = _violation(
        rule, "FieldValueNotSupported", place, message, key=key is not None, allowed=allowed
    )
    return _suggest(violation, text)


def not_found(
    rule: str, place: Place, value: str, detail: str = "", allowed: Sequence[str] = ()
) -> Violation:
    message = f"Not found: {show(value)}" + (f": {detail}" if detail else "")
    violation = _violation(rule, "FieldValueNotFound", place, message, allowed=allowed)
    return _suggest(violation, value)


def length_violation(rule: str, place: Place, limit: int, *, key: bool = False) -> Violation:
    return _violation(
        rule, "FieldValueTooLong", place, f"Too long: may not be more than {limit} bytes", key=key
    )


def count_violation(rule: str, place: Place, limit: int) -> Violation:
    message = f"Too many: {place.size}: must have at most {limit} items"
    return _violation(rule, "FieldValueTooMany", place, message)


def internal(rule: str, place: Place, detail: str) -> Violation:
    return _violation(rule, "InternalError", place, f"Internal error: {detail}")


class Declared(Violation, frozen=True):
    """A violation from 1.37's validation, which is generated from the tags of
    api/resource/v1*/types.go.

    The generated code runs alongside the handwritten validation, and continues after the latter has
    stopped. It spells paths in the version of the document. In releases without generated
    validation, handwritten validation reports the same error.
    """


def as_declared(place: Place, violations: Iterable[Violation]) -> Iterator[Declared]:
    """Yield the violations as violations from generated validation, for the field at ``place``."""
    for v in violations:
        yield Declared(
            v.rule,
            v.type,
            place.declared,
            v.path,
            v.message,
            v.key,
            v.offset,
            v.allowed,
            v.nearest,
            ratcheted=v.ratcheted,
        )


def as_ratcheted(violation: Violation) -> Violation:
    """Return the violation as an error that an update ignores if the field keeps its stored
    value.
    """
    return replace(violation, ratcheted=True)


def filter_declared(violations: Iterable[Violation], target: Target) -> Iterator[Violation]:
    """Yield the violations that a server still reports after handwritten validation has stopped.
    These are the violations from generated validation; up to 1.36 there are none.
    """
    if target.has("declared-where-stopped"):
        yield from (violation for violation in violations if isinstance(violation, Declared))


def _violation(
    rule: str,
    type_: str,
    place: Place,
    message: str,
    *,
    offset: int | None = None,
    key: bool = False,
    allowed: Sequence[str] = (),
    field: str | None = None,
) -> Violation:
    reported = place.field if field is None else field
    return Violation(rule, type_, reported, place.path, message, key, offset, tuple(allowed))


def _suggest(violation: Violation, text: str) -> Violation:
    """Add the allowed value that was probably meant by ``text``."""
    if not text or not violation.allowed:
        return violation
    return replace(violation, nearest=nearest(text, violation.allowed))


def show(value: Any) -> str:
    """Return a value as the server prints it, shortened if long."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_fallback)
    return text if len(text) <= 300 else f"{text[:240]}…{text[-40:]}"


def _json_fallback(value: object) -> str:
    return str(value) if isinstance(value, Quantity) else repr(value)
