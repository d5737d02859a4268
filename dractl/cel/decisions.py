"""The part that decided an evaluation: the smallest one that explains the result, and the values it saw."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dractl.cel.lookups import Lookup
from dractl.cel.tracing import Trace, show
from dractl.cel.values import Optional


class Seen(Struct, frozen=True):
    """A part of the device that was read: ``device.driver``, or an attribute or capacity by ``domain/name``.

    ``value`` is written as in CEL (``"Hopper"``, ``quantity("80Gi")``); None where the device has no such entry.
    """

    name: str
    value: str | None


class Decision(Struct, frozen=True):
    """Why an expression is true, false or an error on one device.

    ``text`` is the deciding part, from ``start`` to ``end`` (code points). ``result`` is true, false, or None if
    ``error`` has upstream's text. The deciding part is the first false operand of ``a && b``, the first true operand of
    ``a || b``, the operation that failed, or the whole if all parts count.
    """

    text: str
    start: int
    end: int
    result: bool | None
    error: str | None
    seen: tuple[Seen, ...]


def decision(trace: Trace, lookups: Iterable[Lookup]) -> Decision:
    """The decision of a traced evaluation; ``lookups`` are those of its expression."""
    part = _deciding(trace)
    result = part.value if isinstance(part.value, bool) and part.error is None else None
    return Decision(part.text, part.start, part.end, result, part.error, _seen(part, lookups))


def _deciding(trace: Trace) -> Trace:
    if trace.error is not None:
        cause = next((child for child in trace.children if child.error == trace.error), None)
        return trace if cause is None else _deciding(cause)
    if trace.function == "bind" and trace.children:
        return _deciding(trace.children[-1])
    if trace.function == "_&&_" and trace.value is False:
        return _first(trace, False)
    if trace.function == "_||_" and trace.value is True:
        return _first(trace, True)
    if trace.function == "_?_:_" and len(trace.children) > 1:
        return _deciding(trace.children[-1]) if trace.children[-1].children else trace
    return trace


def _first(trace: Trace, value: bool) -> Trace:
    """The deciding operand: upstream absorbs the errors of all others."""
    cause = next(
        (child for child in trace.children if child.error is None and child.value is value), None
    )
    return trace if cause is None else _deciding(cause)


def _seen(trace: Trace, lookups: Iterable[Lookup]) -> tuple[Seen, ...]:
    named = {found.span: found for found in lookups if found.name is not None}
    found: dict[str, Seen] = {}
    for part in _walk(trace):
        lookup = named.get((part.start, part.end))
        if lookup is not None:
            name = lookup.full_name
            if not lookup.tested or part.value is False:
                found.setdefault(name, Seen(name, None if lookup.tested else _shown(part)))
        elif (
            "".join(part.text.split()) in ("device.driver", "device.allowMultipleAllocations")
            and not part.error
        ):
            name = "".join(part.text.split())
            found.setdefault(name, Seen(name, part.shown))
    return tuple(found.values())


def _walk(trace: Trace) -> Iterator[Trace]:
    yield trace
    for child in trace.children:
        yield from _walk(child)


def _shown(part: Trace) -> str | None:
    value = part.value
    if part.error is not None or (isinstance(value, Optional) and not value.present):
        return None
    return show(value.value if isinstance(value, Optional) else value)
