"""The decision of an evaluation: the smallest part of an expression that explains the result, with
the values that the part read.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dractl.cel.lookups import Lookup
from dractl.cel.tracing import Trace, show
from dractl.cel.values import Optional

MAX_TRACES = 200
"""The number of sub-evaluations in which a decision is searched. Further rounds of a loop are
evaluated only for the loop's result.
"""


class ReadValue(Struct, frozen=True):
    """A part of the device that was read: ``device.driver``, or an attribute or capacity by
    ``domain/name``.
    """

    name: str
    value: str | None
    """The value as CEL writes it (``"Hopper"``, ``quantity("80Gi")``); None if the device has no
    such entry.
    """


class Decision(Struct, frozen=True):
    """The part that makes an expression true, false or an error on one device.

    It is the first false operand of ``a && b``, the first true operand of ``a || b``, the operation
    that failed, or the whole expression if every part contributes.
    """

    text: str
    """The deciding part, from ``start`` to ``end`` (code points)."""
    start: int
    end: int
    result: bool | None
    """True or False; None if the evaluation fails."""
    error: str | None
    """Upstream's text of the failure."""
    seen: tuple[ReadValue, ...]


def decision(trace: Trace, lookups: Iterable[Lookup]) -> Decision:
    """Return the decision of a traced evaluation; ``lookups`` are the lookups of its expression."""
    part = _decisive_part(trace)
    result = part.value if isinstance(part.value, bool) and part.error is None else None
    return Decision(
        part.text, part.start, part.end, result, part.error, _values_read(part, lookups)
    )


def _decisive_part(trace: Trace) -> Trace:
    if trace.error is not None:
        cause = next((child for child in trace.children if child.error == trace.error), None)
        return trace if cause is None else _decisive_part(cause)
    if trace.function == "bind" and trace.children:
        return _decisive_part(trace.children[-1])
    if trace.function == "_&&_" and trace.value is False:
        return _decisive_operand(trace, False)
    if trace.function == "_||_" and trace.value is True:
        return _decisive_operand(trace, True)
    if trace.function == "_?_:_" and len(trace.children) > 1:
        return _decisive_part(trace.children[-1]) if trace.children[-1].children else trace
    return trace


def _decisive_operand(trace: Trace, value: bool) -> Trace:
    """Return the operand that decides; upstream absorbs the errors of all other operands."""
    cause = next(
        (child for child in trace.children if child.error is None and child.value is value), None
    )
    return trace if cause is None else _decisive_part(cause)


def _values_read(trace: Trace, lookups: Iterable[Lookup]) -> tuple[ReadValue, ...]:
    named = {entry.span: entry for entry in lookups if entry.name is not None}
    values: dict[str, ReadValue] = {}
    for part in _walk(trace):
        lookup = named.get((part.start, part.end))
        if lookup is not None:
            name = lookup.full_name
            if not lookup.tested or part.value is False:
                values.setdefault(
                    name, ReadValue(name, None if lookup.tested else _format_value(part))
                )
        elif (
            "".join(part.text.split()) in ("device.driver", "device.allowMultipleAllocations")
            and not part.error
        ):
            name = "".join(part.text.split())
            values.setdefault(name, ReadValue(name, part.shown))
    return tuple(values.values())


def _walk(trace: Trace) -> Iterator[Trace]:
    yield trace
    for child in trace.children:
        yield from _walk(child)


def _format_value(part: Trace) -> str | None:
    value = part.value
    if part.error is not None or (isinstance(value, Optional) and not value.present):
        return None
    return show(value.value if isinstance(value, Optional) else value)
