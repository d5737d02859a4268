"""``dractl help``: what ``--help`` shows, as kubectl and git have it too."""

import sys
from typing import Annotated

import typer

from dractl.cli import completing
from dractl.cli.app import subcommand
from dractl.cli.common import choose
from dractl.cli.subcommands import SUBCOMMANDS


def command(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="COMMAND",
            show_default=False,
            autocompletion=completing.offer_lazily(completing.subcommands),
        ),
    ] = None,
) -> None:
    """Show the help of a subcommand; without one, where to start."""
    root = context.find_root()
    asked = root.command
    if name is not None:
        choose("COMMAND", name, tuple(SUBCOMMANDS))
        asked = subcommand(name)
        root = asked.context_class(asked, info_name=name, parent=root)
    sys.stdout.write(asked.get_help(root) + "\n")
