"""The command line: a group of subcommands, of which only the one that is called is imported."""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # re-exported, but not in name
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from dractl import __version__, facts
from dractl.cli import subcommands
from dractl.interrupts import raise_on_interrupt

_FACTS = "Take the facts about drivers and hardware from this folder, wheel of dractl-facts, or file of one driver."


def command_line() -> TyperGroup:
    """The whole command line."""
    completion_init()  # the scripts of completions/ ask through the environment; without it typer finds no shell
    app = _app()
    app.callback(invoke_without_command=True)(_root)
    group: Any = get_command(app)
    group.params.append(_facts_option())
    for name, line in subcommands.SUBCOMMANDS.items():
        group.add_command(_Subcommand(name, short_help=line))
    return group  # type: ignore[no-any-return]


def subcommand(name: str, program: str = "dractl") -> TyperCommand:
    """A subcommand, with its options. Its help shows its examples with the name ``program``."""
    app = _app()
    command = subcommands.function(name)
    app.command(name, help=cleandoc(command.__doc__ or "").replace("`dractl ", f"`{program} "))(command)
    made: Any = get_command(app)
    made.params.append(_facts_option())
    if any(parameter.name == "kubernetes_version" for parameter in made.params):
        made.params.append(
            TyperOption(
                param_decls=["--assume-newest"],
                is_flag=True,
                expose_value=False,
                callback=_assume_newest,
                help="For a release newer than dractl knows: take the newest rules instead of an error.",
            )
        )
    return made  # type: ignore[no-any-return]


def _assume_newest(_context: typer.Context, _parameter: TyperOption, value: bool) -> None:
    from dractl.cli.common import assume_newest  # it comes with the subcommand

    assume_newest(value)


def candidates(words: list[str], incomplete: str) -> list[str]:
    """Candidates after ``words`` (without the program's name): names that begin with ``incomplete``."""
    if words and words[0] not in subcommands.SUBCOMMANDS:
        return []
    command = subcommand(words[0]) if words else command_line()
    context = command.make_context("dractl", [], resilient_parsing=True)
    return sorted(item.value for item in command.shell_complete(context, incomplete) if item.value != "-")


def _facts_option() -> TyperOption:
    """``--facts``, which is read before any subcommand is imported (dractl/facts/words.py)."""
    return TyperOption(param_decls=["--facts"], metavar="DIR|FILE", expose_value=False, help=_FACTS)


class _Subcommand(TyperCommand):
    """The name and the one line of help of a subcommand, until it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        command = subcommand(self.name or "", parent.find_root().info_name)
        raise_on_interrupt()
        return command.make_context(info_name, args, parent, **extra)


def _app() -> typer.Typer:
    return typer.Typer(
        add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
    )


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
    if not verbose:
        return f"dractl {__version__}"
    from dractl.model.releases import COMPARED, RELEASES

    first, last = RELEASES.index(COMPARED[0]), RELEASES.index(COMPARED[-1])
    lines = [f"Kubernetes {COMPARED[0]} to {COMPARED[-1]}: compared with real API servers and schedulers"]
    lines += [f"Kubernetes {release}: not compared with a server yet" for release in RELEASES[last + 1 :]]
    lines.append(f"Kubernetes {RELEASES[0]} to {RELEASES[first - 1]}: lint only, not compared with a server")
    pack = facts.current()
    lines.append(f"facts {pack.head.version} of {pack.head.date} ({pack.origin}, {pack.digest})")
    return "\n".join([f"dractl {__version__}", *lines])
