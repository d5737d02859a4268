"""Hints for expressions that do not compile."""

import re
from collections.abc import Sequence

from dractl.cel import Issue, Program, environment
from dractl.cel.issues import Operands
from dractl.cel.tokens import Token, operand_start, tokenize
from dractl.errors import UsageError
from dractl.model import Target
from dractl.model.nearest import nearest
from dractl.model.releases import RELEASES
from dractl.program import program_name

_QUANTITY = "kubernetes.Quantity"
_DEVICE = ("driver", "attributes", "capacity", "allowMultipleAllocations")
# These gates extend the language of selectors
_GATES = ("DRAConsumableCapacity", "DRAListTypeAttributes")
_WORDS = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "like": "contains(...), startsWith(...) or matches(...)",
}
_SYMBOLS = {"&": "&&", "|": "||", "<>": "!=", "=~": "matches(...)", "=>": ">=", "=<": "<="}
_CONSTANTS = {
    "True": "true",
    "False": "false",
    "TRUE": "true",
    "FALSE": "false",
    "None": "null",
    "nil": "null",
}
"""Operators and constants of other languages."""
_FUNCTIONS = (
    *(
        "contains",
        "startsWith",
        "endsWith",
        "matches",
        "find",
        "findAll",
        "lowerAscii",
        "upperAscii",
        "split",
        "trim",
    ),
    *(
        "size",
        "all",
        "exists",
        "exists_one",
        "filter",
        "map",
        "semver",
        "isSemver",
        "quantity",
        "isQuantity",
    ),
    *(
        "compareTo",
        "isGreaterThan",
        "isLessThan",
        "isInteger",
        "asInteger",
        "asApproximateFloat",
        "add",
        "sub",
        "sign",
    ),
    *(
        "major",
        "minor",
        "patch",
        "includes",
        "indexOf",
        "join",
        "replace",
        "substring",
        "bind",
        "orValue",
        "hasValue",
    ),
)
_UNIT = re.compile(r"[kKMGTPE]i?|m")
_Span = tuple[int, int]
_FILE = re.compile(r"[\w./-]+\.(cel|txt|ya?ml|json)")


def hint_for_program(program: Program, target: Target) -> str | None:
    """Return a hint for an expression that an API server of ``target`` rejects; None if there is
    none, or if the expression compiles.
    """
    if program.admission == "tooComplex":
        return hint_for_cost(program.text, target)
    return hint_for_issues(program.text, program.issues, target) if program.issues else None


def hint_for_issues(written: str, issues: Sequence[Issue], target: Target) -> str | None:
    """Return a hint for one of the issues; None if none has one."""
    if any(issue.is_assignment for issue in issues):
        return "use == to compare values"
    return (
        _hint_for_syntax(written, issues)
        or _hint_for_types(written, issues)
        or _hint_for_names(written, issues, target)
    )


def _hint_for_syntax(written: str, issues: Sequence[Issue]) -> str | None:
    tokens = tokenize(written)
    ended = any(
        "'<EOF>'" in issue.message and "expecting <EOF>" not in issue.message for issue in issues
    )
    if not tokens:
        return "the expression is empty"
    if ended and tokens[-1].text in _OPERATORS:
        return f"the expression ends after {tokens[-1].text}: an operand is missing"
    if ended:
        return "the expression ends too early: close its brackets and quotes"
    if not any("yntax error" in issue.message for issue in issues):
        return None
    for at, (token, next_token) in enumerate(zip(tokens, [*tokens[1:], None], strict=True)):
        if (
            token.kind == "name"
            and token.text.lower() in _WORDS
            and (next_token is None or next_token.text not in (".", ":"))
        ):
            return f"write {_WORDS[token.text.lower()]} instead of {token.text}"
        pair = (
            token.text + next_token.text
            if next_token is not None and token.end == next_token.start
            else ""
        )
        symbol = pair if pair in _SYMBOLS else token.text
        if token.kind == "operator" and symbol in _SYMBOLS:
            return f"write {_SYMBOLS[symbol]} instead of {symbol}"
        if next_token is not None and token.text == "in" and next_token.text == "(":
            return "write a list in brackets: in [...]"
        if (
            next_token is not None
            and token.kind == "number"
            and token.end == next_token.start
            and _UNIT.fullmatch(next_token.text)
        ):
            return _hint_for_unit(written, tokens, at)
    return None


def _hint_for_unit(written: str, tokens: Sequence[Token], at: int) -> str:
    """Return the comparison for an amount with a unit, such as 10Gi, with the user's operand."""
    amount = f'quantity("{tokens[at].text}{tokens[at + 1].text}")'
    if at > 1 and (operator := tokens[at - 1].text) in ("==", "!=", "<", "<=", ">", ">="):
        left = written[tokens[operand_start(written, at - 2)].start : tokens[at - 2].end]
        return f"write {left}.compareTo({amount}) {operator} 0"
    return f"write {amount}, and compare it with compareTo"


_OPERATORS = (
    "&&",
    "||",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    ".",
    "in",
    ",",
    "?",
    ":",
)


def rewrite(written: str, issues: Sequence[Issue]) -> tuple[tuple[int, int, str], ...]:
    """Return the parts of an expression that the hint replaces: start, end and the new text."""
    tokens = tokenize(written)
    if any(issue.is_assignment for issue in issues):
        assignments = [token for token in tokens if token.kind == "operator" and token.text == "="]
        return ((*assignments[0].span, "=="),) if len(assignments) == 1 else ()
    if any("yntax error" in issue.message for issue in issues):
        words = (
            (token, _WORDS.get(token.text.lower(), "")) for token in tokens if token.kind == "name"
        )
        return tuple((*token.span, text) for token, text in words if text and "(" not in text)
    for issue in issues:
        operands, sides = issue.operands, _sides(written, issue.offset)
        if operands and sides and _QUANTITY in (operands.left, operands.right):
            other = operands.right if operands.left == _QUANTITY else operands.left
            start, end = sides[0][0], sides[1][1]
            text = _compare_quantities(written, sides, operands)
            # For a number, the unit is unknown, so there is no replacement.
            return ((start, end, text),) if other in (_QUANTITY, "string") else ()
    names: dict[str | None, str | None] = {
        issue.undeclared: nearest(issue.undeclared, ("device",))
        for issue in issues
        if issue.undeclared
    }
    names |= {
        issue.undefined: nearest(issue.undefined, _DEVICE) for issue in issues if issue.undefined
    }
    return tuple((*token.span, near) for token in tokens if (near := names.get(token.text)))


def _hint_for_types(written: str, issues: Sequence[Issue]) -> str | None:
    for issue in issues:
        operands = issue.operands
        if operands is None:
            continue
        for side in (operands.left, operands.right):
            if side.startswith("map("):
                return _name_one(side)
        if _QUANTITY in (operands.left, operands.right):
            return _hint_for_quantities(written, issue.offset, operands)
        break
    output = next((issue.output for issue in issues if issue.output), "")
    return _name_one(output) if output.startswith("map(") else None


def _hint_for_quantities(written: str, offset: int | None, operands: Operands) -> str:
    """Return the comparison as it has to be written, with the user's own operands."""
    sides = _sides(written, offset)
    if sides is None:
        amount = "b" if operands.left == operands.right else 'quantity("10Gi")'
        return f"compare quantities with compareTo: a.compareTo({amount}) {operands.operator} 0"
    return f"compare quantities with compareTo: {_compare_quantities(written, sides, operands)}"


def _compare_quantities(written: str, sides: tuple[_Span, _Span], operands: Operands) -> str:
    left, right = (written[start:end] for start, end in sides)
    if operands.left != _QUANTITY:
        left = f"quantity({left})" if left[:1] in ('"', "'") else f'quantity("{left}")'
    if operands.right != _QUANTITY:
        right = f"quantity({right})" if right[:1] in ('"', "'") else f'quantity("{right}")'
    return f"{left}.compareTo({right}) {operands.operator} 0"


def _sides(written: str, offset: int | None) -> tuple[_Span, _Span] | None:
    """Return the ranges of the two operands of the operator at ``offset``; None if an operand is
    missing.
    """
    tokens = tokenize(written)
    at = next((i for i, token in enumerate(tokens) if token.start == offset), None)
    if not at or at + 1 >= len(tokens):
        return None
    left = (tokens[operand_start(written, at - 1)].start, tokens[at - 1].end)
    level, last = 0, at
    for i in range(at + 1, len(tokens)):
        text = tokens[i].text if tokens[i].kind == "operator" else ""
        level += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if level < 0 or (level == 0 and text in ("&&", "||", "?", ":", ",")):
            break
        last = i
    return left, (tokens[at + 1].start, tokens[last].end)


def _hint_for_names(written: str, issues: Sequence[Issue], target: Target) -> str | None:
    undeclared = next(
        (issue.undeclared for issue in issues if issue.undeclared or issue.undefined), None
    )
    if undeclared in _DEVICE:
        return f"write device.{undeclared}"
    enabling = _release_that_accepts(written, target)
    if enabling is None and undeclared is None and any(issue.undefined for issue in issues):
        near = next(
            (near for issue in issues if (near := nearest(issue.undefined or "", _DEVICE))), None
        )
        if near:
            return f"did you mean {near}?"
        return (
            f"a device has {', '.join(_DEVICE[:3])}; an attribute reads "
            'device.attributes["DOMAIN"].NAME'
        )
    if enabling is not None or not undeclared:
        return enabling
    if _FILE.fullmatch(written):
        return f"for an expression in a file: {program_name()} cel - < {written}"
    if f"{undeclared}(" in written:
        near = nearest(undeclared, _FUNCTIONS)
        return f"did you mean {near}?" if near else None
    if undeclared in _CONSTANTS:
        return f"write {_CONSTANTS[undeclared]}"
    if nearest(undeclared, ("device",)):
        return "did you mean device?"
    whole = _join_name(tokenize(written), undeclared)
    domain, slash, name = whole.partition("/")
    if slash and name:
        return f'write device.attributes["{domain}"].{name}'
    return f'put strings in quotes: "{whole}"; the only variable is device'


def _join_name(tokens: Sequence[Token], first: str) -> str:
    """Return the name at ``first`` with everything that dots, dashes and slashes join to it:
    ``gpu.nvidia.com/type``.
    """
    start = next((i for i, token in enumerate(tokens) if token.text == first), None)
    if start is None:
        return first
    parts = [tokens[start]]
    for token in tokens[start + 1 :]:
        if token.start != parts[-1].end or not (
            token.kind in ("name", "number") or token.text in (".", "-", "/")
        ):
            break
        parts.append(token)
    return "".join(token.text for token in parts).rstrip(".-/")


def hint_for_cost(written: object, target: Target) -> str:
    """Return a hint for an expression whose estimated cost exceeds the limit."""
    if isinstance(written, str) and "!=" in written:
        with_equal = environment(target, "new").compile(written.replace("!=", "=="))
        if with_equal.admission == "ok":
            return "the estimate for != between quantities is unbounded: write !(a == b)"
    return (
        "the estimate assumes lists and strings of maximum length: avoid loops (all, exists) "
        "inside loops"
    )


def _name_one(kind: str) -> str:
    field, name = ("capacity", "memory") if _QUANTITY in kind else ("attributes", "model")
    return (
        f"this is the map of all {field} in a domain: name one, as in "
        f'device.{field}["gpu.example.com"].{name}'
    )


def _release_that_accepts(written: str, target: Target) -> str | None:
    """Return a sentence with the gate or the release that accepts the expression; None if no known
    release accepts it.
    """

    def compiles(release: str, **gates: bool) -> bool:
        try:
            return environment(target.of(release, gates), "new").compile(written).ok
        except UsageError:
            return False  # the release does not have the gate

    for release in RELEASES[RELEASES.index(target.release) :]:
        if release != target.release and compiles(release):
            return f"Kubernetes {release} and later accept it"
        for gate in _GATES:
            if compiles(release, **{gate: True}):
                return f"Kubernetes {release} accepts it if the feature gate {gate} is on"
    return None
