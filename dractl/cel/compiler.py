"""From the text of an expression to a :class:`Program`, in upstream's order (dynamic-resource-allocation/cel/compile.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cel.ast import Checked, decode
from dractl.cel.messages import issues_of, render
from dractl.cel.program import Issue, Program

if TYPE_CHECKING:
    from dractl.cel.environment import Declarations

MAX_LENGTH = 10240
"""Bytes; resourceapi.CELSelectorExpressionMaxLength."""


class Rejected(Exception):
    """An expression that does not compile."""

    def __init__(self, error: str, issues: tuple[Issue, ...], internal: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.issues = issues
        self.internal = internal


def compile_program(text: str, declarations: Declarations, native: Any) -> Program:
    """Never raises: what is wrong is in the program."""
    too_long = len(text.encode("utf-8", "replace")) > MAX_LENGTH
    try:
        checked = _check(text, native)
    except Rejected as rejected:
        return Program(
            text,
            declarations,
            "tooLong" if too_long else "invalid",
            issues=rejected.issues,
            error=rejected.error,
            error_type="InternalError" if rejected.internal else "RuleInvalid",
        )
    return Program(
        text,
        declarations,
        "tooLong" if too_long else "ok",
        output_type=checked.root.type,
        max_cost=0,
        checked=checked,
    )


def _check(text: str, native: Any) -> Checked:
    """Parse and check; raises Rejected."""
    try:
        serialized = native.compile(text).serialize()
    except Exception as error:  # the binding raises RuntimeError for every fault of the expression
        issues = issues_of(str(error), text)
        raise Rejected(f"compilation failed: {render(issues, text)}", issues) from None
    return decode(serialized, text)
