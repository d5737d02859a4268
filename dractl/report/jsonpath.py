"""kubectl's JSONPath templates: text with ``{expressions}``, ``{range}`` and ``{end}``.

The grammar is defined by k8s.io/client-go/util/jsonpath; a field that is missing prints nothing, as
in ``kubectl get -o jsonpath=``.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeVar

from msgspec import Struct

from dractl.errors import UsageError

T = TypeVar("T")

MAX_LENGTH = 10_000  # characters of a template
_HINT = (
    'write fields as {.devices[*].device}, conditions as {.devices[?(@.state=="free")].device},'
    ' lists as {range .devices[*]}{.node}{"\\n"}{end}'
)
_NAME = re.compile(r"(?:\\.|[^\s\\.\[\](){}'\",:|@$=<>!?*])+")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SLICE = re.compile(r"(-?\d+)?(?::(-?\d+)?)?(?::(-?\d+)?)?")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": eq,
    "!=": ne,
    "<=": le,
    ">=": ge,
    "<": lt,
    ">": gt,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Text(Struct, frozen=True):
    """Characters that are printed as they are."""

    text: str


class Names(Struct, frozen=True):
    """Fields of an object; ``None`` stands for all fields, or all entries of a list."""

    names: tuple[str, ...] | None


class Slices(Struct, frozen=True):
    """A selection of entries of a list by their positions."""

    slices: tuple[slice, ...]


class Descent(Struct, frozen=True):
    """A value and everything below it."""


class Filter(Struct, frozen=True):
    """The entries of a list that meet a condition."""

    left: "Path"
    operator: str
    """The operator; empty if it is enough that ``left`` exists."""
    right: Any = None
    """A path, or a literal."""


class Path(Struct, frozen=True):
    """Steps from the root, or from the current value."""

    steps: tuple[Names | Slices | Descent | Filter, ...]
    from_root: bool = False


class Loop(Struct, frozen=True):
    """Parts of a template that are printed for each value of a path."""

    path: Path
    parts: "tuple[Part, ...]"


Part = Text | Path | Loop


def parse_template(template: str) -> tuple[Part, ...]:
    """Parse a template. Raises UsageError with the place of a mistake."""
    return _Parser(template).parse()


def parse_path(text: str) -> Path:
    """Parse a path with or without braces, as ``-o custom-columns=`` takes it.

    Raises UsageError.
    """
    inner = text.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    if inner and inner[0] not in ".[$@":
        inner = f".{inner}"
    parts = _Parser(f"{{{inner}}}").parse()
    if len(parts) != 1 or not isinstance(parts[0], Path):
        raise UsageError(f"{text!r} is no JSONPath", hint=_HINT)
    return parts[0]


def render(parts: Iterable[Part], value: Any) -> str:
    """Print a parsed template for a document."""
    return "".join(_render(parts, value, value))


def _render(parts: Iterable[Part], current: Any, root: Any) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text):
                yield text
            case Path():
                yield " ".join(map(format_value, find(part, current, root)))
            case Loop(path, body):
                for value in find(path, current, root):
                    yield from _render(body, value, root)


def format_value(value: Any) -> str:
    """Format a value as kubectl does: text and numbers as they are, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def find(path: Path, current: Any, root: Any) -> list[Any]:
    """Return the values at a path; none if a field is missing."""
    values = [root if path.from_root else current]
    for step in path.steps:
        values = [found for value in values for found in _take(step, value, root)]
    return values


def _take(step: Names | Slices | Descent | Filter, value: Any, root: Any) -> Iterator[Any]:
    match step:
        case Descent():
            yield from _descend(value)
        case Names(None):
            if isinstance(value, dict | list):
                yield from value.values() if isinstance(value, dict) else value
        case Names(names) if isinstance(value, dict):
            yield from (value[name] for name in names or () if name in value)
        case Slices(slices) if isinstance(value, list):
            yield from (entry for each in slices for entry in value[each])
        case Filter() if isinstance(value, list):
            yield from (entry for entry in value if _meets(step, entry, root))


def _descend(value: Any) -> Iterator[Any]:
    yield value
    children = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for child in children:
            yield from _descend(child)


def _meets(condition: Filter, entry: Any, root: Any) -> bool:
    left = find(condition.left, entry, root)
    if not condition.operator:
        return bool(left)
    right = condition.right
    rights = find(right, entry, root) if isinstance(right, Path) else [right]
    compare = _OPERATORS[condition.operator]
    try:
        return bool(left and rights) and compare(left[0], rights[0])
    except TypeError:  # a number cannot be compared with a text
        return False


class _Parser:
    """A reader of one template, from left to right."""

    def __init__(self, template: str) -> None:
        if len(template) > MAX_LENGTH:
            raise UsageError(
                f"the JSONPath has {len(template):,} characters; it may have {MAX_LENGTH:,}"
            )
        self.template, self.at = template, 0

    def parse(self) -> tuple[Part, ...]:
        parts, is_ended = self._parts()
        if is_ended:
            raise self._error("{end} without {range}")
        if not any(isinstance(part, Path | Loop) for part in parts):
            raise self._error("no {expression}")
        return parts

    def _error(self, problem: str) -> UsageError:
        place = f" at character {self.at + 1}" if self.at < len(self.template) else ""
        return UsageError(f"jsonpath {self.template!r}: {problem}{place}", hint=_HINT)

    def _parts(self) -> tuple[tuple[Part, ...], bool]:
        """Return the parts up to the next ``{end}`` or up to the end of the template, and whether
        ``{end}`` was found.
        """
        parts: list[Part] = []
        while self.at < len(self.template):
            start = self.template.find("{", self.at)
            stop = len(self.template) if start < 0 else start
            if stop > self.at:
                parts.append(Text(self.template[self.at : stop]))
            if start < 0:
                self.at = stop
                break
            self.at = start + 1
            if self._skip_word("end"):
                self._close()
                return tuple(parts), True
            parts += self._expressions()
        return tuple(parts), False

    def _expressions(self) -> Iterator[Part]:
        """Yield the expressions in one pair of braces."""
        if self._skip_word("range"):
            path = self._path()
            self._close()
            body, is_ended = self._parts()
            if not is_ended:
                raise self._error("{range} without {end}")
            yield Loop(path, body)
            return
        self._skip_space()
        if self._peek() == "}":
            raise self._error("empty {}")
        while self._peek() != "}":
            string = _STRING.match(self.template, self.at)
            yield Text(self._unquote(string)) if string else self._path()
            self._skip_space()
        self.at += 1

    def _path(self) -> Path:
        self._skip_space()
        begin = self.at
        from_root = self._peek() == "$"
        if self._peek() in ("$", "@"):
            self.at += 1
        steps: list[Names | Slices | Descent | Filter] = []
        while self._peek() in (".", "["):
            steps += self._step()
        if self.at == begin:
            raise self._error(f"unexpected {self._peek() or 'end'!r}")
        return Path(tuple(steps), from_root)

    def _step(self) -> Iterator[Names | Slices | Descent | Filter]:
        if self._peek() == "[":
            yield self._bracket()
            return
        self.at += 1
        if self._peek() == ".":
            self.at += 1
            yield Descent()
            if self._peek() == "[":
                return
        if self._peek() == "*":
            self.at += 1
            yield Names(None)
        elif name := _NAME.match(self.template, self.at):
            self.at = name.end()
            yield Names((re.sub(r"\\(.)", r"\1", name[0]),))
        elif self._peek() not in ("}", "[", " ", ")", ""):  # {.} is the value itself
            raise self._error(f"unexpected {self._peek()!r}")

    def _bracket(self) -> Names | Slices | Filter:
        self.at += 1
        self._skip_space()
        step: Names | Slices | Filter
        if self._peek() == "*":
            self.at += 1
            step = Names(None)
        elif self._peek() == "?":
            step = self._filter()
        elif self._peek() in ("'", '"'):
            step = Names(tuple(self._list(self._string)))
        else:
            step = Slices(tuple(self._list(self._slice)))
        self._skip_space()
        self._expect("]")
        return step

    def _list(self, read: Callable[[], T]) -> Iterator[T]:
        """Yield values between commas."""
        yield read()
        self._skip_space()
        while self._peek() == ",":
            self.at += 1
            self._skip_space()
            yield read()
            self._skip_space()

    def _slice(self) -> slice:
        match = _SLICE.match(self.template, self.at)
        if match is None or not match[0]:
            raise self._error("a number, '*', 'name' or ?(condition) is missing after [")
        self.at = match.end()
        start, stop, step = (None if group is None else int(group) for group in match.groups())
        if step is not None and step <= 0:
            raise self._error("the step of a slice is not positive")
        if ":" in match[0]:
            return slice(start, stop, step)
        return slice(start, (start or 0) + 1 or None)

    def _filter(self) -> Filter:
        self.at += 1
        self._expect("(")
        left = self._path()
        self._skip_space()
        operator = next(
            (each for each in _OPERATORS if self.template.startswith(each, self.at)), ""
        )
        self.at += len(operator)
        right = self._operand() if operator else None
        self._skip_space()
        self._expect(")")
        return Filter(left, operator, right)

    def _operand(self) -> Any:
        """Return a literal, or a path."""
        self._skip_space()
        if self._peek() in ("'", '"'):
            return self._string()
        if number := _NUMBER.match(self.template, self.at):
            self.at = number.end()
            return float(number[0]) if "." in number[0] else int(number[0])
        for word, value in (("true", True), ("false", False)):
            if self._skip_word(word):
                return value
        return self._path()

    def _string(self) -> str:
        match = _STRING.match(self.template, self.at)
        if match is None:
            raise self._error("a name in quotes is missing, or its closing quote")
        return self._unquote(match)

    def _unquote(self, match: re.Match[str]) -> str:
        self.at = match.end()
        return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), match[0][1:-1])

    def _peek(self) -> str:
        return self.template[self.at : self.at + 1]

    def _skip_space(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _skip_word(self, word: str) -> bool:
        match = re.compile(rf"\s*{word}\b").match(self.template, self.at)
        if match is not None:
            self.at = match.end()
        return match is not None

    def _expect(self, character: str) -> None:
        if self._peek() != character:
            raise self._error(f"{character!r} is missing")
        self.at += 1

    def _close(self) -> None:
        self._skip_space()
        self._expect("}")


def first_names(path: Path) -> Sequence[str]:
    """Return the fields that a path reads first; none if it does not begin with fields."""
    step = path.steps[0] if path.steps else None
    return (step.names or ()) if isinstance(step, Names) else ()
