"""Compiles the source of an expression to a :class:`Program`, in upstream's order
(dynamic-resource-allocation/cel/compile.go).
"""

import re

from dractl.cel import checks
from dractl.cel.ast import Checked, Node
from dractl.cel.cost import estimate
from dractl.cel.declarations import Declarations
from dractl.cel.decode import decode
from dractl.cel.issues import Issue
from dractl.cel.native import function_names, make
from dractl.cel.places import render
from dractl.cel.program import Admission, Program
from dractl.cel.rewrite import drop_double_parentheses, rewrite_for_cel_cpp
from dractl.cel.tokens import DEEPEST, depth
from dractl.cel.values import COST_LIMIT, MAX_LENGTH, CelError

# Go strings cannot contain surrogates, since Go's JSON decoder replaces them
_SURROGATES = "[\ud800-\udfff]"

_MAX_CHECKED_LENGTH = 16 * MAX_LENGTH


class Rejected(Exception):
    """An expression that does not compile."""

    def __init__(self, error: str, issues: tuple[Issue, ...], internal: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.issues = issues
        self.internal = internal


def compile_program(text: str, declarations: Declarations) -> Program:
    """Return the program of an expression. Never raises: errors are in the program."""
    if not text.isascii():
        text = re.sub(_SURROGATES, "\N{REPLACEMENT CHARACTER}", text)
    too_long = len(text.encode()) > MAX_LENGTH
    try:
        if len(text) > _MAX_CHECKED_LENGTH:
            message = f"not checked: {len(text)} characters, where {MAX_LENGTH} bytes are allowed"
            raise Rejected(message, (Issue(message),))
        checked = _check(text, declarations)
        _finish(checked, declarations)
    except Rejected as rejected:
        return Program(
            text,
            declarations,
            "tooLong" if too_long else "invalid",
            issues=rejected.issues,
            error=rejected.error,
            error_type="InternalError" if rejected.internal else "RuleInvalid",
        )
    max_cost = estimate(checked, declarations)
    admission: Admission = "tooComplex" if max_cost > COST_LIMIT else "ok"
    if too_long:
        admission = "tooLong"
    return Program(
        text,
        declarations,
        admission,
        output_type=checked.root.type,
        max_cost=max_cost,
        checked=checked,
    )


def _check(text: str, declarations: Declarations) -> Checked:
    source, tests = rewrite_for_cel_cpp(text, declarations.shared, declarations.lists)
    try:
        serialized = _serialize_tree(source, declarations)
    except RuntimeError as error:
        # Most selectors compile, and the patterns of this module take 2 ms to compile
        from dractl.cel.messages import issues_of, place

        quoted = _backquote_issues(text, declarations)
        if "Syntax error" not in str(error):
            _reject(quoted, text)
            _check_sorts(text, declarations)
        functions = function_names(declarations)
        issues = issues_of(str(error), text, functions, lambda part: _root_of(part, declarations))
        issues = tuple(sorted((*issues, *quoted), key=place))
        raise Rejected(f"compilation failed: {render(issues, text)}", issues) from None
    _reject(_backquote_issues(text, declarations), text)
    _check_sorts(text, declarations)
    checked = decode(serialized, text, tests)
    nodes = tuple(checked.walk())
    _reject(checks.operand_types(nodes, text) + checks.literals(nodes, text), text)
    _reject(checks.validators(nodes, text), text)
    return checked


def _backquote_issues(text: str, declarations: Declarations) -> tuple[Issue, ...]:
    if declarations.release >= 37 or "`" not in text:
        return ()
    from dractl.cel.messages import backquote_issues  # only for expressions with backquotes

    return backquote_issues(text)


def _check_sorts(text: str, declarations: Declarations) -> None:
    if declarations.lists and "sortBy" in text:
        from dractl.cel.messages import sort_variable_issues  # only for expressions with sortBy

        _reject(sort_variable_issues(text), text)


def _reject(issues: tuple[Issue, ...], text: str) -> None:
    if issues:
        raise Rejected(f"compilation failed: {render(issues, text)}", issues)


def _finish(checked: Checked, declarations: Declarations) -> None:
    kind = checked.root.type
    if kind not in declarations.outputs:
        message = f"must evaluate to {declarations.wanted}, not {kind}"
        raise Rejected(message, (Issue(message),))
    try:
        checks.fold(checked.root, declarations.release)
    except CelError as error:
        message = f"program instantiation failed: {error}"
        raise Rejected(message, (Issue(message),), internal=True) from None


def _serialize_tree(source: str, declarations: Declarations) -> bytes:
    """Return the serialized tree. Raises RuntimeError, the only exception of the binding, for every
    error.
    """
    try:
        return bytes(make(declarations).compile(source).serialize())
    except RuntimeError as error:
        if "recursion limit" not in str(error) or depth(source) >= DEEPEST:
            raise
        shallow = drop_double_parentheses(source)
        if shallow == source:
            raise
        return bytes(make(declarations).compile(shallow).serialize())


def _root_of(text: str, declarations: Declarations) -> Node | None:
    """Return the tree of an expression compiled on its own; None if it does not compile."""
    try:
        return decode(_serialize_tree(text, declarations), text).root
    except RuntimeError:
        return None
