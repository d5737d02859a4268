"""The command line: which subcommands there are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.completion import completion_init  # type: ignore[attr-defined]  # re-exported, but not in name

if TYPE_CHECKING:
    from typer.core import TyperGroup

# In the order of the work: see a node, render it, check manifests, explain what is stuck.
SUBCOMMANDS = {
    "discover": "What is in this node, and how is it wired.",
    "render": "The ResourceSlices (and DeviceClasses) that drivers would publish for it.",
    "lint": "What is wrong in these manifests.",
    "explain": "Why is this claim or pod not allocated, and what would make it fit.",
    "devices": "What the cluster has, who holds it, and what has to be cleaned up.",
    "fit": "How many more copies of this fit, where, and what is stranded.",
    "migrate": "Device-plugin requests in these manifests, turned into claims.",
    "cel": "What a device selector means: verdict, type, cost, and its result on devices.",
    "lsp": "Findings, hovers, completions and fixes in an editor (Language Server Protocol).",
    "rule": "What a lint rule, a reason or a driver's attributes mean.",
    "completion": "The completion script of a shell.",
}


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version; with -v the releases known.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With --version: say more.")] = False,
) -> None:
    """DRA on Kubernetes: what hardware is here, which ResourceSlices it becomes, what is wrong with these
    manifests, and why this pod is pending."""
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

    lint_only = [release for release in RELEASES if release not in COMPARED]
    return (
        f"dractl {__version__}\n"
        f"Kubernetes {COMPARED[0]} to {COMPARED[-1]}: compared with real API servers and schedulers\n"
        f"Kubernetes {lint_only[0]} to {lint_only[-1]}: lint only, not compared with a server"
    )


def command_line(invoked: str | None = None) -> TyperGroup:
    """The command line as one command: with all subcommands, or with ``invoked`` alone where that is one of them, which
    spares a run the making of the other five."""
    completion_init()  # the scripts of completions/ ask through the environment; without it typer knows no shell
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    for name in [invoked] if invoked in SUBCOMMANDS else SUBCOMMANDS:
        app.command(name, short_help=SUBCOMMANDS[name])(import_module(f"dractl.cli.{name}").command)
    command: Any = typer.main.get_command(app)
    return command  # type: ignore[no-any-return]
