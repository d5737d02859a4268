"""Substitutes variables in objects as Flux does after it has built a Kustomization.

The language is defined by fluxcd/pkg envsubst (parse/parse.go, funcs.go), a fork of drone/envsubst:
``${APP}``, ``${APP:=default}``, ``${APP^^}``, ``${APP/a/b}``; ``$${APP}`` becomes ``${APP}``, and
``$APP`` is no variable. Flux substitutes in the YAML of an object (kustomize/kustomize_varsub.go),
so a value without quotes there may become a number.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from typing import Any

from msgspec import Struct

from dractl.inputs.trees import NotRenderable
from dractl.manifests import Document, read_text
from dractl.manifests.documents import Path, Spot

_NAME = re.compile(r"\w+")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_OPERATOR = re.compile(r":[-=?+]|=|//|/#|/%|/|##|#|%%|%|,,|,|\^\^|\^|:")
_DEFAULTS = frozenset({":-", ":=", ":?", ":+", "="})
_PLAIN = re.compile(r"[\w$./][\w$./{}()+=^,%-]*(?::[-=?+\d][^\s#]*)?\Z")
"""Scalars that go-yaml writes without quotes."""
_PATTERNS = frozenset({"#", "##", "%", "%%"})
_MAX_DEPTH = 32
MAX_VALUE = 4096
"""The maximum number of characters of a value from whose ends a pattern can be removed."""
MAX_CHARACTERS = 4 * 1024 * 1024
"""The maximum number of characters of the values in one object; an API server accepts requests of 3
MiB.
"""
_SWITCH = "kustomize.toolkit.fluxcd.io/substitute"


class Variables(Struct, frozen=True):
    """The variables of a Flux Kustomization."""

    values: Mapping[str, str | None]
    """Values by name; None for a value that is secret."""
    is_complete: bool = True
    """False if some variables come from an object that the repository does not have."""
    spots: Mapping[str, Spot] = {}
    """The places where people write the values, by name."""

    @property
    def documents(self) -> Sequence[Document]:
        """The documents that people write the values in."""
        return list({id(spot.document): spot.document for spot in self.spots.values()}.values())


class Piece(Struct, frozen=True):
    """A variable in a text, and the part of the substituted text that stands for it."""

    name: str
    """The name of the variable."""
    start: int
    """The offset of the variable in the text as it is written."""
    end: int
    """The offset of the end of the variable in that text."""
    made: tuple[int, int]
    """The offsets of the part in the substituted text: of its start and of its end."""


class SubstitutedText(Struct, frozen=True):
    """A text after substitution."""

    text: str
    """The text."""
    pieces: Sequence[Piece]
    """The variables in the text, in their order, without nested ones."""
    undefined: Mapping[str, int]
    """The offsets, in the text as it is written, of the variables that nothing defines."""


class Substitution(Struct, frozen=True):
    """An object after substitution."""

    value: dict[str, Any]
    """The object."""
    undefined: frozenset[str]
    """Variables that are not defined anywhere; they stay unchanged in the object."""


class Use(Struct, frozen=True):
    """A place in an object that uses a variable which nothing defines."""

    name: str
    """The name of the variable."""
    path: Path
    """The path of the text with the variable."""
    offset: int | None
    """The offset of the variable in the text; None if the text is a key."""


def substitute_object(value: dict[str, Any], variables: Variables) -> Substitution:
    """Substitute the variables in an object, unless it opts out.

    Raises NotRenderable for an object that Flux refuses.
    """
    # Flux does nothing at all without variables (kustomize_varsub.go SubstituteVariables).
    if not variables.values or _opts_out(value):
        return Substitution(value, frozenset())
    wrong = next((name for name in variables.values if not _VARIABLE.match(name)), None)
    if wrong is not None:
        raise NotRenderable(f"{wrong!r} is no name of a variable")
    undefined: set[str] = set()
    allowance = _Allowance()

    def fill(text: str) -> str:
        made = substitute(text, variables, allowance)
        undefined.update(made.undefined)
        return made.text

    made = _walk(value, fill)
    return Substitution(made, frozenset(undefined))


class _Allowance:
    """The remaining size to which the values of one object may grow."""

    def __init__(self) -> None:
        self._remaining = MAX_CHARACTERS

    def spend(self, text: str) -> None:
        """Raise NotRenderable if another value would make the object too large."""
        self._remaining -= len(text)
        if self._remaining < 0:
            raise NotRenderable("its values make an object larger than an API server takes")


def _opts_out(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    maps = (fields.get("labels"), fields.get("annotations"))
    return any(isinstance(item, dict) and item.get(_SWITCH) == "disabled" for item in maps)


def _walk(value: Any, fill: Callable[[str], str]) -> Any:
    """Return a value with ``fill`` applied to the keys and strings that have a dollar sign."""
    if isinstance(value, dict):
        return {
            fill(name) if "$" in name else name: _walk(item, fill) for name, item in value.items()
        }
    if isinstance(value, list):
        return [_walk(item, fill) for item in value]
    if not isinstance(value, str) or "$" not in value:
        return value
    text = fill(value)
    return text if text == value or not _PLAIN.match(value) else _resolve(text)


def _resolve(text: str) -> Any:
    """Return the YAML value of a scalar without quotes: a string, a number, a boolean."""
    items = read_text("", f"v: {text}\n")
    first = items[0] if len(items) == 1 else None
    return first.value["v"] if isinstance(first, Document) else text


def list_undefined(value: Any, variables: Variables, path: Path = ()) -> Iterator[Use]:
    """Yield the uses, in an object as it is written, of variables that nothing defines."""
    if isinstance(value, dict):
        for name, item in value.items():
            for variable in substitute(str(name), variables).undefined:
                yield Use(variable, (*path, name), None)
            yield from list_undefined(item, variables, (*path, name))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from list_undefined(item, variables, (*path, number))
    elif isinstance(value, str):
        for variable, offset in substitute(value, variables).undefined.items():
            yield Use(variable, path, offset)


def substitute(
    text: str, variables: Variables, allowance: _Allowance | None = None
) -> SubstitutedText:
    """Substitute the variables in a text. The texts of one object share an ``allowance``.

    Raises NotRenderable for a text that is not in the language.
    """
    if "$" not in text:
        return SubstitutedText(text, (), {})
    reader = _Reader(text, variables, allowance or _Allowance())
    made = reader.read_all()
    return SubstitutedText(made, reader.pieces, reader.undefined)


class _Reader:
    """Reads a text from left to right, and substitutes variables."""

    def __init__(self, text: str, variables: Variables, allowance: _Allowance) -> None:
        self._allowance = allowance
        self._text = text
        self._place = 0
        self._variables = variables
        self.undefined: dict[str, int] = {}
        self.pieces: list[Piece] = []

    def read_all(self) -> str:
        """Return the whole text after substitution."""
        made = ""
        while self._place < len(self._text):
            made += self._read_literal()
            if self._text.startswith("${", self._place):
                start = self._place
                value = self._read_variable(0)
                name = _NAME.search(self._text, start)
                if name is not None:
                    made_at = (len(made), len(made) + len(value))
                    self.pieces.append(Piece(name[0], start, self._place, made_at))
                made += value
        return made

    def _read_literal(self) -> str:
        """Return the text up to the next variable; two dollar signs become one."""
        parts: list[str] = []
        while self._place < len(self._text) and not self._text.startswith("${", self._place):
            width = 2 if self._text.startswith("$$", self._place) else 1
            parts.append(self._text[self._place])
            self._place += width
        return "".join(parts)

    def _read_variable(self, depth: int) -> str:
        """Return the value of the variable that begins here; if it is unknown, return the
        variable's text.
        """
        start = self._place
        if depth > _MAX_DEPTH:
            raise self._refuse(start, "more levels than can be followed")
        self._place += 2
        if self._text.startswith("#", self._place):
            self._place += 1
            name = self._read_name(start)
            self._close(start)
            return self._apply(start, name, "length", [])
        name = self._read_name(start)
        match = _OPERATOR.match(self._text, self._place)
        if match is None:
            self._close(start)
            return self._apply(start, name, "", [])
        self._place = match.end()
        arguments = self._read_arguments(start, match[0], depth)
        self._close(start)
        return self._apply(start, name, match[0], arguments)

    def _read_name(self, start: int) -> str:
        match = _NAME.match(self._text, self._place)
        if match is None:
            raise self._refuse(start, "no name of a variable")
        self._place = match.end()
        return match[0]

    def _close(self, start: int) -> None:
        if not self._text.startswith("}", self._place):
            raise self._refuse(start, "a closing brace is missing")
        self._place += 1

    def _read_arguments(self, start: int, operator: str, depth: int) -> list[str]:
        """Return the words after an operator, up to the closing brace."""
        if operator in _DEFAULTS:
            parts: list[str] = []
            while self._place < len(self._text) and self._text[self._place] != "}":
                parts.append(self._read_word("}", depth))
            return ["".join(parts)] if parts else []
        if operator in (",", ",,", "^", "^^"):
            return []
        separator = operator[0] if operator[0] in "/:" else ""
        escapes = separator == "/"
        arguments = [self._read_word(f"{separator}}}", depth, escapes=escapes)]
        if separator and self._text.startswith(separator, self._place):
            self._place += 1
            if not self._text.startswith("}", self._place):
                arguments.append(self._read_word("}", depth, escapes=escapes))
        elif escapes or (separator and not arguments[0]):
            raise self._refuse(start, "bad substitution")
        return arguments

    def _read_word(self, ends: str, depth: int, *, escapes: bool = False) -> str:
        """Return the value of a nested variable, or the text up to one of ``ends`` or to a
        variable.
        """
        if self._text.startswith("${", self._place):
            return self._read_variable(depth + 1)
        parts: list[str] = []
        while (
            self._place < len(self._text)
            and self._text[self._place] not in ends
            and not self._text.startswith("${", self._place)
        ):
            is_escape = escapes and self._text.startswith(("\\/", "\\\\"), self._place)
            self._place += is_escape
            parts.append(self._text[self._place])
            self._place += 1
        return "".join(parts)

    def _apply(self, start: int, name: str, operator: str, arguments: Sequence[str]) -> str:
        values = self._variables.values
        value = values.get(name)
        if value is not None:
            if len(value) > MAX_VALUE and operator in _PATTERNS:
                raise self._refuse(start, "the value is too large for a pattern")
            made = _FUNCTIONS[operator](value, arguments)
            self._allowance.spend(made)
            return made
        if name not in values and self._variables.is_complete:
            if operator in _DEFAULTS:
                return _FUNCTIONS[operator]("", arguments)
            self.undefined.setdefault(name, start)
        return self._text[start : self._place]

    def _refuse(self, start: int, why: str) -> NotRenderable:
        piece = self._text[start : start + 40].partition("\n")[0]
        return NotRenderable(f"Flux cannot substitute {piece!r}: {why}")


def _default(value: str, arguments: Sequence[str]) -> str:
    return value or "".join(arguments)


def _slice(value: str, arguments: Sequence[str]) -> str:
    """Return a part of a value (funcs.go toSubstr); if an argument is no number, return the whole
    value.
    """
    if not all(map(_NUMBER.match, arguments)):
        return value
    start, *lengths = map(int, arguments)
    start = max(len(value) + start, 0) if start < 0 else start
    if not lengths:
        return value[start:]
    return value[start : start + lengths[0] if lengths[0] >= 0 else lengths[0]]


def _replace_prefix(value: str, arguments: Sequence[str]) -> str:
    before, *after = arguments
    return after[0] + value.removeprefix(before) if after and value.startswith(before) else value


def _replace_suffix(value: str, arguments: Sequence[str]) -> str:
    before, *after = arguments
    return value.removesuffix(before) + after[0] if after and value.endswith(before) else value


def _replace(limit: int) -> Callable[[str, Sequence[str]], str]:
    def replace(value: str, arguments: Sequence[str]) -> str:
        before, *after = arguments
        return value.replace(before, after[0] if after else "", limit)

    return replace


def _trim(*, is_suffix: bool, is_longest: bool) -> Callable[[str, Sequence[str]], str]:
    """Return the function that removes the match of a pattern from one end of a value."""

    def trim(value: str, arguments: Sequence[str]) -> str:
        pattern = _compile("".join(arguments))
        lengths = range(1, len(value) + 1)
        for length in reversed(lengths) if is_longest else lengths:
            part = value[-length:] if is_suffix else value[:length]
            if pattern.match(part):
                return value[:-length] if is_suffix else value[length:]
        return value

    return trim


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


_FUNCTIONS: Mapping[str, Callable[[str, Sequence[str]], str]] = {
    "": _default,
    **dict.fromkeys(_DEFAULTS, _default),
    "length": lambda value, _: str(len(value.encode("utf-8", "surrogateescape"))),
    ",": lambda value, _: value[:1].lower() + value[1:],
    ",,": lambda value, _: value.lower(),
    "^": lambda value, _: value[:1].upper() + value[1:],
    "^^": lambda value, _: value.upper(),
    ":": _slice,
    "#": _trim(is_suffix=False, is_longest=False),
    "##": _trim(is_suffix=False, is_longest=True),
    "%": _trim(is_suffix=True, is_longest=False),
    "%%": _trim(is_suffix=True, is_longest=True),
    "/": _replace(1),
    "//": _replace(-1),
    "/#": _replace_prefix,
    "/%": _replace_suffix,
}
"""fluxcd/pkg envsubst/template.go lookupFunc, which treats ``:+`` and ``:?`` as defaults, too."""
