"""The command line is built of its functions."""

import sys
from typing import Any

import pytest
from typer import core

from dractl.cli.app import command_line, subcommand
from dractl.cli.subcommands import SUBCOMMANDS


def test_options_are_constructed_by_typer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constructors differ: 0.29 of typer requires a type_descriptor, which 0.28 does not know."""
    construct = core.TyperOption.__init__
    callers = set()

    def constructor(self: core.TyperOption, **arguments: object) -> None:
        callers.add(sys._getframe(1).f_globals["__name__"])
        construct(self, **arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(core.TyperOption, "__init__", constructor)
    command_line()
    for name in SUBCOMMANDS:
        subcommand(name)
    assert callers
    assert {module.partition(".")[0] for module in callers} == {"typer"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lint", {"--facts", "--show-settings", "--assume-newest"}),
        ("rule", {"--facts"}),
        ("discover", {"--facts", "--show-settings", "--assume-newest"}),
    ],
)
def test_subcommand_has_the_common_options(name: str, options: set[str]) -> None:
    assert options <= {word for option in subcommand(name).params for word in option.opts}


@pytest.mark.parametrize(
    ("name", "usage", "argument"),
    [
        ("lint", ["[OPTIONS]", "[PATH]..."], "[PATH]..."),
        ("explain", ["[OPTIONS]", "[[KIND/]NAME | FILE]..."], "[KIND/]NAME | FILE"),
        ("cel", ["[OPTIONS]", "EXPRESSION|-", "[FILE]..."], "EXPRESSION|-"),
        ("rule", ["[OPTIONS]", "[CODE|NAME|REASON|DRIVER]"], "CODE|NAME|REASON|DRIVER"),
        ("migrate", ["[OPTIONS]", "PATH..."], "PATH..."),
    ],
)
def test_usage_does_not_depend_on_the_release_of_typer(
    name: str, usage: list[str], argument: str
) -> None:
    """0.29 writes ``[[PATH]...]...``, and a Python type behind each argument."""
    command: Any = subcommand(name)
    context = command.context_class(command, info_name=name)
    assert command.collect_usage_pieces(context) == usage
    assert command.sections(context)["Arguments"][0][0] == argument
