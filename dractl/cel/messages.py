"""cel-go's wording for the issues that cel-cpp's parser and checker report.

Format, columns and carets are the same in both; only the wording sometimes differs.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec.structs import replace

from dractl.cel.ast import Node
from dractl.cel.issues import Issue
from dractl.cel.places import bool_mismatch, issue_at, line_starts, may_be_bool, short_type
from dractl.cel.rewrite import FLATTEN
from dractl.cel.tokens import DEEPEST, Token, brackets, depth, operand_start, tokenize

_BLOCK = re.compile(r"^ERROR: <input>:(-?\d+):(-?\d+): ", re.MULTILINE)

_NO_IDENTIFIER = "argument is not an identifier"
_TEXTS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            (
                r"undefined field '.*' not found in struct"
                r" '(kubernetes\.(?:Quantity|Semver|URL|NamedFormat))'"
            ),
            r"unexpected failed resolution of '\1'",
        ),
        (r"undefined field '(.*)' not found in struct '.*'", r"undefined field '\1'"),
        (
            r"expression of type '(.*)' cannot be the operand of a select operation",
            r"type '\1' does not support field selection",
        ),
        (r"cannot be the range of a comprehension", "cannot be range of a comprehension"),
        (r"has\(\) argument must be a field selection", "invalid argument to has() macro"),
        (
            r"cel\.bind\(\) variable name must be a simple identifier",
            "cel.bind() variable names must be simple identifiers",
        ),
        (r"^(?:map|filter)\(\) variable name must be a simple identifier", _NO_IDENTIFIER),
        (
            r"^(?!opt)\w+\(\) (?:\w+ )?variable name must be a simple identifier",
            "argument must be a simple name",
        ),
        (
            r"no viable alternative at input '\.(true|false|null)'",
            r"mismatched input '\1' expecting IDENTIFIER",
        ),
        # the type of the accumulator that the macros map and filter add
        (r"(applied to '\(\w+, list\((.*)\), )list\(dyn\)\)'", r"\1list(\2))'"),
        (
            r"Invalid string literal: Illegal escape sequence: (?:Value of|Unicode value) .*",
            "invalid unicode code point",
        ),
        (
            r"Invalid (?:string|bytes) literal: Illegal escape sequence.*",
            "unable to unescape string",
        ),
        (r"invalid hex (u?int) literal", r"invalid \1 literal"),
        (r"\\u003[fF]", "?"),
        (f"'{FLATTEN}'", "'flatten'"),
    )
)
_NO_OVERLOAD = re.compile(r"found no matching overload for '(.+)' applied to '\((.*)\)'")
_UNDECLARED = re.compile(r"undeclared reference to '(.+)' \(in container ''\)")
# Messages that cel-cpp adds about an operand that is already at fault.
_CONSEQUENCES = (
    "expression of type '!error!' cannot be range of a comprehension",
    "type '!error!' does not support field selection",
)

_NO_FIELD_NAME = re.compile(
    r"Syntax error: mismatched input .* expecting \{IDENTIFIER, ESC_IDENTIFIER\}", re.DOTALL
)

_CHECKER_MESSAGE = re.compile(
    r"undeclared|found no matching overload|undefined field|type '|expected type|unexpected failed"
)
_UNREADABLE = "Syntax error: token recognition error at: '"

_OPTIONAL_MACROS = ("optMap", "optFlatMap")

TOO_DEEP = "too deeply nested to check"


def issues_of(
    error: str, text: str, functions: frozenset[str], root_of: Callable[[str], Node | None]
) -> tuple[Issue, ...]:
    """Return the issues in the text of an exception of cel_expr_python.

    ``functions`` are the names that the environment declares; ``root_of`` returns the tree of a
    sub-expression.
    """
    error = error.removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
    blocks = list(_BLOCK.finditer(error))
    if not blocks or "recursion limit" in error:
        return (
            (_depth_issue(text),)
            if "recursion limit" in error
            else (Issue(error.partition("\n")[0]),)
        )
    if not text:
        return (Issue(_reword(error[blocks[0].end() :].partition("\n |")[0].strip()), 0, 1, 0),)
    reporter = _Reporter(text, functions, root_of)
    reporter.failed.update(reporter.offset(block) for block in blocks if int(block[1]) > 0)
    reported = [
        reporter.issue(block, error[block.end() : following.start() if following else len(error)])
        for block, following in zip(blocks, [*blocks[1:], None], strict=True)
        if int(block[1]) > 0
    ]
    kept = [issue for issue in reported if issue and not issue.message.startswith(_CONSEQUENCES)]
    if kept and all(map(_CHECKER_MESSAGE.match, (issue.message for issue in kept))):
        kept += reporter.operand_types()
    kept += [
        replace(i, message="unsupported ident kind")
        for i in kept
        if _NO_FIELD_NAME.fullmatch(i.message)
    ]
    # Optional macros repeat their operand, so an issue in it is reported twice.
    if not any(macro in text for macro in _OPTIONAL_MACROS):
        kept = list(dict.fromkeys(kept))
    return tuple(sorted(kept, key=place)) or (_depth_issue(text),)


def place(issue: Issue) -> tuple[int, int]:
    """Return the sort key of issues."""
    return issue.line or 0, issue.column or 0


def _depth_issue(text: str) -> Issue:
    """Return the issue of an expression that is nested too deeply: cel-cpp stops at 32 levels and
    cel-go at 250, so between these the verdict is unknown.
    """
    return Issue(
        f"expression recursion limit exceeded: {DEEPEST}" if depth(text) >= DEEPEST else TOO_DEEP
    )


def _reword(message: str) -> str:
    message = short_type(message)
    for written, replacement in _TEXTS:
        message = written.sub(replacement, message)
    return message


class _Reporter:
    def __init__(
        self, text: str, functions: frozenset[str], root_of: Callable[[str], Node | None]
    ) -> None:
        self.text = text
        self.functions = functions
        self.root_of = lru_cache(None)(root_of)
        self.failed: set[int] = set()  # places that already have an issue
        self.starts = line_starts(text)
        self.tokens = tokenize(text)
        self.index = {token.start: i for i, token in enumerate(self.tokens)}

    def offset(self, block: re.Match[str]) -> int:
        line, column = int(block[1]), int(block[2])
        return min(self.starts[min(line, len(self.starts)) - 1] + column - 1, len(self.text))

    def issue(self, block: re.Match[str], body: str) -> Issue | None:
        """Return the issue, or None if upstream does not report it."""
        line, column = int(block[1]), int(block[2])
        offset = self.offset(block)
        message = _reword(body.partition("\n |")[0].rstrip("\n"))
        if message.startswith(_UNREADABLE):
            message = self.restore_escapes(message, offset)
        overload = _NO_OVERLOAD.fullmatch(message)
        if overload and self.namespace_function(offset) not in (None, overload[1]):
            return None  # the issue is about the namespace, not the function
        if overload and self.is_member_call(offset, overload[1]):
            return Issue(_member(overload), offset, line, column)
        if message.endswith("second variable must be different from the first variable"):
            variable = self.tokens[self.index[offset] + 2]
            return issue_at(f"duplicate variable name: {variable.text}", variable.start, self.text)
        undeclared = _UNDECLARED.fullmatch(message)
        if undeclared:
            return self.reference_issue(offset, undeclared[1], message)
        return Issue(message, offset, line, column)

    def restore_escapes(self, message: str, offset: int) -> str:
        """Restore characters that form no token to their form in the source, since cel-cpp escapes
        line ends and tabs.
        """
        part = message[len(_UNREADABLE) : -1]
        for escape, character in (("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t")):
            part = part.replace(escape, character)
        return f"{_UNREADABLE}{part}'" if self.text.startswith(part, offset) else message

    def operand_types(self) -> Iterator[Issue]:
        """Yield an issue for each operand of ``&&`` and ``||`` that is no bool.

        dractl does not let cel-cpp check them.
        """
        for i, token in enumerate(self.tokens):
            if token.kind == "operator" and token.text in ("&&", "||"):
                for step in (-1, 1):
                    last = self.operand_end(i, step)
                    start, end = (
                        self.tokens[min(i + step, last)].start,
                        self.tokens[max(i + step, last)].end,
                    )
                    root = self.root_of(self.text[start:end]) if last != i else None
                    if root and not may_be_bool(root.type):
                        yield issue_at(bool_mismatch(root.type), start + root.offset, self.text)

    def operand_end(self, operator: int, step: int) -> int:
        """Return the index of the outermost token of the left operand of ``&&`` or ``||`` if
        ``step`` is -1, of the right one if it is 1.
        """
        stops = (",", "?", ":", "||", self.tokens[operator].text)
        closing = brackets(self.text)
        i = operator + step
        while 0 <= i < len(self.tokens):
            token = self.tokens[i]
            if token.kind == "operator" and token.text in stops:
                break
            if token.kind == "operator" and (
                token.text[0] in "([{" or token.text in (")", "]", "}")
            ):
                other = self.index.get(closing.get(token.start, -1), i)
                if (other - i) * step <= 0:
                    break
                i = other
            i += step
        return i - step

    def token(self, index: int) -> Token | None:
        return self.tokens[index] if 0 <= index < len(self.tokens) else None

    def is_member_call(self, offset: int, function: str) -> bool:
        """Return True if the call whose ``(`` is at this offset has a target:
        ``target.function(``.
        """
        at = self.index.get(offset)
        if at is None or at < 2 or self.tokens[at].text != "(":
            return False
        called = self.tokens[at - 1].text
        # optMap and optFlatMap expand to calls of two members of their target
        return (called == function or called in _OPTIONAL_MACROS) and self.is_member(at)

    def is_member(self, at: int) -> bool:
        """Return True if an operand and a dot precede the name of the call whose ``(`` is token
        ``at``.
        """
        return at >= 3 and self.tokens[at - 2].text == "." and _ends_operand(self.tokens[at - 3])

    def namespace_function(self, offset: int) -> str | None:
        """Return the name of the function whose ``(`` is here, if it has a namespace, such as
        ``sets.contains``.
        """
        at = self.index.get(offset)
        if at is None or at < 3 or self.tokens[at].text != "(" or self.tokens[at - 2].text != ".":
            return None
        if at > 3 and self.tokens[at - 4].text in (".", ".?"):
            return None
        name = f"{self.tokens[at - 3].text}.{self.tokens[at - 1].text}"
        return name if name in self.functions else None

    def reference_issue(self, offset: int, name: str, message: str) -> Issue | None:
        at = self.index.get(offset)
        if at is None:
            return issue_at(message, offset, self.text)
        token = self.tokens[at]
        if token.text == "(":
            if self.namespace_function(offset):
                return None  # the issue is about the namespace, not the function
            if name != "has" and at and self.tokens[at - 1].text == "has" and self.token(at + 1):
                root = self.tokens[at + 1]  # for has(a.b.c), cel-cpp reports a.b.c
                return issue_at(
                    f"undeclared reference to '{root.text}' (in container '')",
                    root.start,
                    self.text,
                )
            return issue_at(self.call_mismatch(at, name) or message, offset, self.text)
        if token.text in (".", ".?"):  # for a.b.c, upstream names the first part
            first = at - 1
            while (
                first >= 2
                and self.tokens[first - 1].text in (".", ".?")
                and _ends_operand(self.tokens[first - 2])
            ):
                first -= 2
            root = self.tokens[first]
            whole = first > 0 and self.tokens[first - 1].text == "."
            name = f".{root.text}" if whole else root.text
            return issue_at(
                f"undeclared reference to '{name}' (in container '')", root.start, self.text
            )
        last = at
        while (dot := self.token(last + 1)) and dot.text == "." and self.token(last + 2):
            last += 2
        following = self.token(last + 1)
        if following and following.text == "{":  # the place of a message literal is its brace
            return issue_at(message, following.start, self.text)
        function = (
            self.namespace_function(following.start)
            if following and following.text == "("
            else None
        )
        if following and function:
            return issue_at(
                self.call_mismatch(last + 1, function) or message, following.start, self.text
            )
        return issue_at(message, offset, self.text)

    def call_mismatch(self, at: int, name: str) -> str | None:
        """Return the message for a function that exists, but not in this style of call or with this
        many arguments; None if the function does not exist, or if a type is unknown.
        """
        name = name.removeprefix(".")
        if name not in self.functions:
            return None
        end = brackets(self.text).get(self.tokens[at].start)
        if end is None:
            return None
        kinds: list[str | None] = []
        start = self.tokens[at].end
        position = at + 1
        while position < len(self.tokens) and self.tokens[position].start <= end:
            token = self.tokens[position]
            if token.kind == "operator" and token.text[0] in "([{":
                position = self.index.get(
                    brackets(self.text).get(token.start, end), len(self.tokens)
                )
            elif token.text in (",", ")"):
                if token.start > start and self.text[start : token.start].strip():
                    first = next(t for t in self.tokens if t.start >= start)
                    kinds.append(self.type_between(self.index[first.start], position - 1))
                start = token.end
            position += 1
        target: str | None = None
        if "." not in name and self.is_member(at):
            target = self.target(at - 2)
            if target is None:
                return None
        if None in kinds:
            return None
        operands = f"({', '.join(short_type(kind) for kind in kinds if kind)})"
        return (
            f"found no matching overload for '{name}' applied to"
            f" '{f'{target}.' if target else ''}{operands}'"
        )

    def target(self, dot: int) -> str | None:
        """Return the type of the operand before a dot; None if unknown."""
        kind = self.type_between(operand_start(self.text, dot - 1), dot - 1)
        return None if kind is None else short_type(kind)

    def type_between(self, first: int, last: int) -> str | None:
        """Return the type of the expression from one token to another; None if unknown."""
        root = self.root_of(self.text[self.tokens[first].start : self.tokens[last].end])
        if root is None and first < last:
            root = self.root_of(self.bind_macro_variables(first, last))
        if root:
            return root.type
        if operand_start(self.text, last) != first:
            return None
        token = self.tokens[last]
        if token.kind == "name":
            failed = self.tokens[last if first == last else last - 1].start in self.failed
        else:
            failed = brackets(self.text).get(token.start) in self.failed
        return "!error!" if failed else None

    def bind_macro_variables(self, first: int, last: int) -> str:
        """Return the expression from one token to another, with the variables of the macros around
        it replaced by ``dyn(0)``.
        """
        variables = {
            name.text
            for opening, name, comma in zip(
                self.tokens, self.tokens[1:], self.tokens[2:], strict=False
            )
            if opening.text == "(" and name.kind == "name" and comma.text == ","
            if opening.start < self.tokens[first].start < brackets(self.text).get(opening.start, 0)
        }
        text = ""
        for i in range(first, last + 1):
            token = self.tokens[i]
            free = (
                token.text in variables
                and token.kind == "name"
                and self.tokens[i - 1].text not in (".", ".?")
            )
            text += f"{'dyn(0)' if free else token.text} "
        return text


def _ends_operand(token: Token) -> bool:
    return token.kind != "operator" or token.text in (")", "]", "}")


def _member(overload: re.Match[str]) -> str:
    """Return the message of a member call: ``(string, int)`` becomes ``string.(int)``."""
    operands = overload[2]
    depth = 0
    for i, c in enumerate(operands):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            target, arguments = operands[:i], operands[i + 1 :].lstrip()
            break
    else:
        target, arguments = operands, ""
    return f"found no matching overload for '{overload[1]}' applied to '{target}.({arguments})'"


def sort_variable_issues(text: str) -> tuple[Issue, ...]:
    """Return the issues for variables of ``sortBy`` that are not names; cel-cpp accepts such
    variables.
    """
    tokens = tokenize(text)
    issues = []
    for dot, name, opening, first, second in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], tokens[4:], strict=False
    ):
        if (dot.text, name.text, opening.text) == (".", "sortBy", "("):
            if first.text == ")":
                continue
            if first.kind != "name" or first.text in ("true", "false", "null"):
                issues.append(issue_at(_NO_IDENTIFIER, first.start, text))
            elif second.text != ",":
                issues.append(issue_at(_NO_IDENTIFIER, second.start, text))
    return tuple(issues)


def backquote_issues(text: str) -> tuple[Issue, ...]:
    """Return the issues of field names in backquotes, which cel-go before 0.29 parses but rejects
    (Kubernetes up to 1.36).
    """
    tokens = tokenize(text)
    return tuple(
        issue_at("unsupported syntax: '`'", token.start, text)
        for before, token in pairwise(tokens)
        if token.kind == "quoted" and before.text in (".", ".?")
    )
