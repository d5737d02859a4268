"""The command line: which subcommands there are."""

from __future__ import annotations

import typer

app = typer.Typer(
    name="dractl",
    help="Discover a node's hardware, render its ResourceSlices, lint DRA manifests, explain unallocated claims.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
