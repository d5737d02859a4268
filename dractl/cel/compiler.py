"""Compiles the source of an expression to a :class:`Program`, in upstream's order
(dynamic-resource-allocation/cel/compile.go)."""

import re

from dractl.cel import checks
from dractl.cel.ast import Checked, Node
from dractl.cel.cost import estimate
from dractl.cel.declarations import Declarations
from dractl.cel.decode import decode
from dractl.cel.issues import Issue
from dractl.cel.messages import issues_of, place, quoted_names, sort_variables
from dractl.cel.native import function_names, make
from dractl.cel.places import render
from dractl.cel.program import Admission, Program
from dractl.cel.rewrite import rewritten, unnested
from dractl.cel.tokens import DEEPEST, depth
from dractl.cel.values import COST_LIMIT, MAX_LENGTH, CelError

_SURROGATES = "[\ud800-\udfff]"  # Go strings cannot contain them: its JSON decoder replaces them

_HOPELESS = 16 * MAX_LENGTH


class Rejected(Exception):
    """An expression that does not compile."""

    def __init__(self, error: str, issues: tuple[Issue, ...], internal: bool = False) -> None:
        super().__init__(error)
        self.error = error
        self.issues = issues
        self.internal = internal


def compile_program(text: str, declarations: Declarations) -> Program:
    """The program of an expression. Never raises: errors are in the program."""
    if not text.isascii():
        text = re.sub(_SURROGATES, "\N{REPLACEMENT CHARACTER}", text)
    too_long = len(text.encode()) > MAX_LENGTH
    try:
        if len(text) > _HOPELESS:
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
    admission: Admission = (
        "tooLong" if too_long else "tooComplex" if max_cost > COST_LIMIT else "ok"
    )
    return Program(
        text,
        declarations,
        admission,
        output_type=checked.root.type,
        max_cost=max_cost,
        checked=checked,
    )


def _check(text: str, declarations: Declarations) -> Checked:
    source, tests = rewritten(text, declarations.shared, declarations.lists)
    try:
        serialized = _compiled(source, declarations)
    except RuntimeError as error:
        quoted = _quoted_names(text, declarations)
        if "Syntax error" not in str(error):
            _reject(quoted, text)
            _check_sorts(text, declarations)
        functions = function_names(declarations)
        issues = issues_of(str(error), text, functions, lambda part: _root_of(part, declarations))
        issues = tuple(sorted((*issues, *quoted), key=place))
        raise Rejected(f"compilation failed: {render(issues, text)}", issues) from None
    _reject(_quoted_names(text, declarations), text)
    _check_sorts(text, declarations)
    checked = decode(serialized, text, tests)
    nodes = tuple(checked.walk())
    _reject(checks.operand_types(nodes, text) + checks.literals(nodes, text), text)
    _reject(checks.validators(nodes, text), text)
    return checked


def _quoted_names(text: str, declarations: Declarations) -> tuple[Issue, ...]:
    if declarations.release >= 37 or "`" not in text:
        return ()
    return quoted_names(text)


def _check_sorts(text: str, declarations: Declarations) -> None:
    if declarations.lists and "sortBy" in text:
        _reject(sort_variables(text), text)


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


def _compiled(source: str, declarations: Declarations) -> bytes:
    """The serialized tree. Raises RuntimeError, the only exception of the binding, for every error."""
    try:
        return bytes(make(declarations).compile(source).serialize())
    except RuntimeError as error:
        if "recursion limit" not in str(error) or depth(source) >= DEEPEST:
            raise
        shallow = unnested(source)
        if shallow == source:
            raise
        return bytes(make(declarations).compile(shallow).serialize())


def _root_of(text: str, declarations: Declarations) -> Node | None:
    """The tree of an expression compiled on its own; None if it does not compile."""
    try:
        return decode(_compiled(text, declarations), text).root
    except RuntimeError:
        return None
