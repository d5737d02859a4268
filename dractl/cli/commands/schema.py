"""``dractl schema``: the JSON Schema of a report, of the configuration or of an API kind."""

from typing import Annotated

from typer import Argument, Option

from dractl.cli import common, completing, terminal
from dractl.cli.headings import AGAINST
from dractl.cli.options.printing import Printing
from dractl.errors import UsageError
from dractl.model.nearest import nearest
from dractl.model.releases import NEWEST, RELEASES
from dractl.program import program_name
from dractl.report.json_schemas import names, text

Name = Annotated[
    str | None,
    Argument(
        metavar="NAME",
        help=(
            "lint, explain, devices ..., config, or a kind such as ResourceClaim. Default: list the"
            " names."
        ),
        show_default=False,
        autocompletion=completing.offer_lazily(completing.schemas),
    ),
]
Release = Annotated[
    str,
    Option(
        "--kubernetes-version",
        metavar="1.NN",
        help="Release of an API kind.",
        autocompletion=completing.offer_lazily(completing.releases),
        rich_help_panel=AGAINST,
    ),
]


def command(
    name: Name = None, kubernetes_version: Release = NEWEST, printing: Printing = Printing()
) -> None:
    """Print the JSON Schema of what `-o json` of a subcommand prints, of dractl.toml (`config`), or
    of an API kind.

    Without a name, lists the names. A schema is whole in itself: what it refers to is part of it.

    Examples: `dractl schema explain`, `dractl schema config`, `dractl schema ResourceClaim
    --kubernetes-version 1.36`
    """
    printing.apply()
    common.choose("--kubernetes-version", kubernetes_version, RELEASES)
    if name is None:
        common.write_report("\n".join(names(kubernetes_version)), printing.output_file)
        return
    schema_names = names(kubernetes_version)
    if name not in schema_names:
        near = nearest(name, schema_names)
        raise UsageError(
            f"no schema {name!r}" + (f"; did you mean {near}?" if near else ""),
            hint=f"`{program_name()} schema` lists the names",
        )
    terminal.write_utf8()
    common.write_report(text(name, kubernetes_version), printing.output_file)
