"""Traces an evaluation, sub-expression by sub-expression, for explanations."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.ast import Call, Checked, Comprehension, Ident, Node, Select
from dractl.cel.closures import Frame, Run
from dractl.cel.declarations import Declarations
from dractl.cel.device import View
from dractl.cel.evaluation import build, frame
from dractl.cel.functions.time import duration_text, timestamp_text
from dractl.cel.numbers import format_double
from dractl.cel.spans import Spans
from dractl.cel.values import CelError, Halted
from dractl.model import Quantity, Version
from dractl.model.go import quote

MAX_TRACES = 2000
"""Number of sub-evaluations that one trace keeps; further rounds of a loop are dropped."""


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
    """The evaluated parts, in order. Parts that ``&&`` or ``?:`` skipped are left out, and the body
    of a loop occurs once for each element.
    """

    @property
    def shown(self) -> str:
        """The value as CEL would write it."""
        return self.error if self.error is not None else show(self.value)


class _Full(Exception):
    """The trace has no room for further sub-evaluations of loops."""


class Tracer:
    """Traces the evaluations of one expression."""

    def __init__(self, checked: Checked, declarations: Declarations, most: int) -> None:
        self._source = checked.source
        self._lists = declarations.list_values
        self._spans = Spans(checked)
        self._most = most  # sub-evaluations that one trace keeps
        self._stack: list[Trace] = []
        self._kept = 0
        self._loops = 0  # loops that are being evaluated
        self._run = build(checked.root, declarations.release, self)

    def trace(self, view: View) -> Trace:
        """Evaluate once and keep all intermediate results. The root has the value of the whole
        expression, before conversion to bool.
        """
        root = Trace(self._source, 0, len(self._source))
        fault = view.fault(self._lists)
        if fault is not None:
            root.error = fault
            return root
        self._stack, self._kept, self._loops = [root], 0, 0
        try:
            self._run(frame(view))
        except (CelError, Halted) as error:
            root.error = str(error)
        return root.children[0] if root.children else root

    def observe(self, node: Node, run: Run) -> Run:
        if _is_hidden(node, self._spans):
            return run
        start, end = self._spans.span(node)
        text = self._source[start:end]
        function = _function(node, self._spans)

        def run_and_keep(f: Frame) -> Any:
            if self._loops and self._kept >= self._most:
                raise _Full
            self._kept += 1
            here = Trace(text, start, end, function)
            self._stack[-1].children.append(here)
            self._stack.append(here)
            try:
                here.value = run(f)
            except (CelError, Halted) as error:
                here.error = str(error)
                raise
            except _Full:
                # The trace is incomplete; observe_loop evaluates the loop again without traces
                self._stack[-2].children.pop()
                raise
            finally:
                self._stack.pop()
            return here.value

        return run_and_keep

    def observe_loop(self, run: Run, plain: Run) -> Run:
        def run_until_full(f: Frame) -> Any:
            cost = f[1]
            self._loops += 1
            try:
                return run(f)
            except _Full:
                f[1] = cost
                return plain(f)
            finally:
                self._loops -= 1

        return run_until_full


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
