"""Declarations of a subcommand's options, and a reader of plain command lines.

A subcommand is a function whose parameters are ``Annotated[type, Option(...)]`` or ``Annotated[type, Argument(...)]``.
typer makes the help, the completions and every usage error from them (:mod:`dractl.cli.app`), but importing it takes
four times as long as starting Python. So :func:`read` reads usual command lines, and leaves the rest to typer.
tests/cli/test_options.py checks that both read the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Option:
    """An option: its names (``--quiet``, ``-q``; a switch may be ``--render/--no-render``), and its help.

    ``count`` makes an ``int`` of how often it is given; ``min`` and ``max`` bound a number.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        count: bool = False,
        min: int | None = None,
        max: int | None = None,
    ) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar
        self.count = count
        self.min = min
        self.max = max


class Argument:
    """A positional argument, or with a list type all of them, and its help."""

    def __init__(self, *, metavar: str, help: str, show_default: bool = True) -> None:
        self.metavar = metavar
        self.help = help
        self.show_default = show_default


class Parameter(NamedTuple):
    """A parameter of a subcommand: its name and type, whether it accepts several words, and whether it is required."""

    name: str
    type: Any
    several: bool
    required: bool
    declared: Option | Argument


class Exit(Exception):
    """Ends the run with an exit code; everything has been reported."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


_DIGITS = 10  # of a number that people mean


class _Unusual(Exception):
    """A command line that is left to typer."""


def parameters(command: Callable[..., object]) -> Iterator[Parameter]:
    """The parameters of a subcommand, in order."""
    hints = get_type_hints(command, include_extras=True)
    del hints["return"]
    required = len(hints) - len(getattr(command, "__defaults__", None) or ())
    for index, (name, hint) in enumerate(hints.items()):
        kind, declared = get_args(hint)
        members = get_args(kind)
        if type(None) in members:
            (kind,) = (member for member in members if member is not type(None))
        several = get_origin(kind) is list
        yield Parameter(name, get_args(kind)[0] if several else kind, several, index < required, declared)


def read(command: Callable[..., object], words: list[str]) -> dict[str, Any] | None:
    """The values that ``words`` give to the parameters of ``command``, or None if typer must read them: for help, for
    errors, and for rare spellings (``-ofull``)."""
    found = tuple(parameters(command))
    try:
        values, positional = _options(_by_name(found), words)
        _arguments([parameter for parameter in found if isinstance(parameter.declared, Argument)], positional, values)
    except _Unusual:
        return None
    return values


def _by_name(found: tuple[Parameter, ...]) -> dict[str, tuple[Parameter, bool]]:
    """Each name of an option, and for a switch the value it sets."""
    names: dict[str, tuple[Parameter, bool]] = {}
    for parameter in found:
        if isinstance(parameter.declared, Option):
            for name in parameter.declared.names:
                yes, _, no = name.partition("/")
                names[yes] = parameter, True
                if no:
                    names[no] = parameter, False
    return names


def _options(names: dict[str, tuple[Parameter, bool]], words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The values of options, and the other words."""
    values: dict[str, Any] = {}
    positional: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            positional.extend(rest)
        elif word == "-" or not word.startswith("-"):
            positional.append(word)
        elif word in names:
            parameter, switch = names[word]
            if parameter.type is bool:
                values[parameter.name] = switch
            elif _count(parameter):
                values[parameter.name] = values.get(parameter.name, 0) + 1
            else:
                _add(values, parameter, next(rest, "-?"))
        else:
            name, equals, text = word.partition("=")
            if not equals or not name.startswith("--") or name not in names or names[name][0].type is bool:
                raise _Unusual
            _add(values, names[name][0], text)
    return values, positional


def _count(parameter: Parameter) -> bool:
    return isinstance(parameter.declared, Option) and parameter.declared.count


def _arguments(parameters: list[Parameter], words: list[str], values: dict[str, Any]) -> None:
    """Assigns each argument its word, and a list all remaining ones."""
    for parameter in parameters:
        taken = words if parameter.several else words[:1]
        if taken:
            found = [_converted(parameter, word) for word in taken]
            values[parameter.name] = found if parameter.several else found[0]
        elif parameter.required:
            raise _Unusual
        words = words[len(taken) :]
    if words:
        raise _Unusual


def _add(values: dict[str, Any], parameter: Parameter, word: str) -> None:
    if _count(parameter) or (word != "-" and word.startswith("-")):  # usually a forgotten value
        raise _Unusual
    value = _converted(parameter, word)
    if parameter.several:
        values.setdefault(parameter.name, []).append(value)
    else:
        values[parameter.name] = value


def _converted(parameter: Parameter, word: str) -> Any:
    """The value of a word; typer reports one that has none."""
    if parameter.type is str:
        return word
    if parameter.type is int and word.isascii() and word.isdigit() and len(word) < _DIGITS:
        number = int(word)
        least, most = getattr(parameter.declared, "min", None), getattr(parameter.declared, "max", None)
        if (least is None or least <= number) and (most is None or number <= most):
            return number
    from pathlib import Path

    if parameter.type is not Path or (os.path.exists(word) and not os.access(word, os.R_OK)):
        raise _Unusual
    return Path(word)
