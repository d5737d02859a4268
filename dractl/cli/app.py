"""The whole command line as typer has it: for help, completions, and command lines that :func:`dractl.cli.options.read`
leaves to it."""

from __future__ import annotations

from functools import update_wrapper
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.completion import completion_init  # type: ignore[attr-defined]  # re-exported, but not in name

from dractl.cli.options import Option, parameters
from dractl.cli.subcommands import SUBCOMMANDS, function

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.core import TyperGroup

    from dractl.cli.options import Argument


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version; with -v the releases known.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With --version: list the releases known.")] = False,
) -> None:
    """DRA on Kubernetes: what hardware is here, which ResourceSlices it becomes, what is wrong with these manifests,
    why this pod is pending, and how many more fit."""
    if version:
        typer.echo(_version(verbose))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def _version(verbose: bool) -> str:
    from dractl import __version__

    if not verbose:
        return f"dractl {__version__}"
    from dractl.model.releases import COMPARED, RELEASES

    first, last = RELEASES.index(COMPARED[0]), RELEASES.index(COMPARED[-1])
    lines = [f"Kubernetes {COMPARED[0]} to {COMPARED[-1]}: compared with real API servers and schedulers"]
    lines += [f"Kubernetes {release}: not compared with a server yet" for release in RELEASES[last + 1 :]]
    lines.append(f"Kubernetes {RELEASES[0]} to {RELEASES[first - 1]}: lint only, not compared with a server")
    return "\n".join([f"dractl {__version__}", *lines])


def command_line(invoked: str | None = None, program: str = "dractl") -> TyperGroup:
    """The command line as one command: with all subcommands, or only with ``invoked`` if that is one of them, which
    saves making the others. Help shows its examples with the name ``program``."""
    completion_init()  # the scripts of completions/ ask through the environment; without it typer finds no shell
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in [invoked] if invoked in SUBCOMMANDS else SUBCOMMANDS:
        subcommand = function(name)
        example = cleandoc(subcommand.__doc__ or "").replace("`dractl ", f"`{program} ")
        app.command(name, short_help=SUBCOMMANDS[name], help=example)(_for_typer(subcommand))
    command: Any = typer.main.get_command(app)
    return command  # type: ignore[no-any-return]


def _for_typer(command: Callable[..., Any]) -> Callable[..., Any]:
    """A subcommand whose parameters are declared as typer's."""

    def call(**values: Any) -> Any:
        return command(**values)

    declared = {parameter.name: _of_typer(parameter.declared) for parameter in parameters(command)}
    written = signature(command, eval_str=True)
    changed = [
        parameter.replace(annotation=Annotated[parameter.annotation.__origin__, declared[name]])
        for name, parameter in written.parameters.items()
    ]
    update_wrapper(call, command)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in changed}
    call.__signature__ = written.replace(parameters=changed)  # type: ignore[attr-defined]
    return call


def _of_typer(declared: Option | Argument) -> Any:
    if not isinstance(declared, Option):
        return typer.Argument(metavar=declared.metavar, help=declared.help, show_default=declared.show_default)
    return typer.Option(
        *declared.names,
        metavar=declared.metavar,
        help=declared.help,
        count=declared.count,
        min=declared.min,
        max=declared.max,
    )
