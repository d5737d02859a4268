"""Traces an evaluation, sub-expression by sub-expression, for explanations."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.ast import Call, Checked, Comprehension, Ident, Node, Select
from dractl.cel.declarations import Declarations
from dractl.cel.device import DeviceLike, View
from dractl.cel.evaluation import Frame, Run, build, frame
from dractl.cel.functions.time import duration_text, timestamp_text
from dractl.cel.numbers import format_double
from dractl.cel.spans import Spans
from dractl.cel.values import CelError, Halted
from dractl.model import Quantity, Version
from dractl.model.go import quote

# Number of sub-evaluations that one trace keeps; further rounds of a loop are dropped
_MAX_TRACES = 2000


class Trace(Struct):
    """The result of one sub-expression."""

    text: str
    """``source[start:end]`` (code points)."""
    start: int
    end: int
    function: str = ""
    """The operator, function or macro (``_&&_``, ``startsWith``, ``exists``, ``has``); "" for
    literals, variables and selections.
    """
    value: Any = None
    """A value of :mod:`dractl.cel.values`; None if ``error`` is set."""
    error: str | None = None
    children: list[Trace] = []
    """The evaluated parts, in order, without those that ``&&`` or ``?:`` skipped; the body of a
    loop occurs once for each element.
    """

    @property
    def shown(self) -> str:
        """The value as CEL would write it."""
        return self.error if self.error is not None else show(self.value)


def trace(checked: Checked, declarations: Declarations, driver: str, device: DeviceLike) -> Trace:
    """Evaluate once and keep all intermediate results. The root has the value of the whole
    expression, before conversion to bool.
    """
    view = View(driver, device)
    spans = Spans(checked)
    root = Trace(checked.source, 0, len(checked.source))
    stack = [root]
    kept = 0

    def observe(node: Node, run: Run) -> Run:
        if _is_hidden(node, spans):
            return run
        start, end = spans.span(node)
        text = checked.source[start:end]
        function = _function(node, spans)

        def run_and_keep(f: Frame) -> Any:
            nonlocal kept
            kept += 1
            here = Trace(text, start, end, function)
            if kept <= _MAX_TRACES:
                stack[-1].children.append(here)
            stack.append(here)
            try:
                here.value = run(f)
            except (CelError, Halted) as error:
                here.error = str(error)
                raise
            finally:
                stack.pop()
            return here.value

        return run_and_keep

    fault = view.fault(declarations.list_values)
    if fault is not None:
        root.error = fault
        return root
    try:
        build(checked.root, declarations.release, observe)(frame(view))
    except (CelError, Halted) as error:
        root.error = str(error)
    return root.children[0] if root.children else root


def _function(node: Node, spans: Spans) -> str:
    if isinstance(node, Select):
        return "has" if node.test else ""
    if isinstance(node, Call) and not spans.is_generated(node):
        return node.function
    return spans.callee_name(node) if isinstance(node, (Call, Comprehension)) else ""


def _is_hidden(node: Node, spans: Spans) -> bool:
    """Return True for nodes that a macro added."""
    match node:
        case Ident(name=name):
            return name.startswith("@") or name == "device"
        case Call(function=function):
            # The root of optMap is shown, since it represents the macro.
            return function != "_?_:_" and spans.is_generated(node)
        case Comprehension():
            if node.binds:
                return spans.callee_name(node) not in ("bind", "sortBy")
            return _is_hidden(node.range, spans)
    return False


def show(value: Any) -> str:
    """Return a value as CEL writes it: ``"Hopper"``, ``[1, 2]``, ``quantity("80Gi")``."""
    if value is None:
        return "null"
    match value:
        case bool():
            return "true" if value else "false"
        case v.Uint():
            return f"{int(value)}u"
        case int() | float():
            return format_double(value) if isinstance(value, float) else str(value)
        case str():
            return quote(value)
        case bytes():
            return "b" + quote(value.decode("utf-8", "backslashreplace"))
        case list():
            return "[" + ", ".join(map(show, value)) + "]"
        case dict():
            shown = (f"{show(key)}: {show(value[v.encode_key(key)])}" for key in v.keys(value))
            return "{" + ", ".join(shown) + "}"
        case v.Optional():
            return f"optional.of({show(value.value)})" if value.present else "optional.none()"
        case Quantity():
            return f'quantity("{value}")'
        case Version():
            return f'semver("{value.text}")'
        case v.TypeValue():
            return value.name
        case v.Duration():
            return f'duration("{duration_text(value.nanoseconds)}")'
        case v.Timestamp():
            return f'timestamp("{timestamp_text(value)}")'
        case v.IP():
            return f'ip("{value.address}")'
        case v.CIDR():
            return f'cidr("{value.address}/{value.length}")'
        case v.URL():
            return f"url({quote(value.text)})"
        case v.NamedFormat():
            return f"format.{value.name}"
    return str(value)
