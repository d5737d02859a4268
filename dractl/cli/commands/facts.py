"""``dractl facts``: what dractl knows of drivers, releases and hardware, up to which version and
date, and what in a cluster is newer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from dractl import facts
from dractl.cli import common, terminal
from dractl.cli.headings import ACTIONS, AGAINST
from dractl.cli.options.access import KubeconfigOptions
from dractl.cli.options.printing import Printing, output_option
from dractl.errors import UsageError
from dractl.facts.summary import summary
from dractl.model.releases import caveat
from dractl.report.facts import text as facts_text

if TYPE_CHECKING:
    from dractl.cluster import ClusterState

FORMATS = ("text", "json", "yaml")

Files = Annotated[
    list[str] | None,
    Argument(
        metavar="[FILE]...",
        help="Dumps and manifests whose drivers are compared.",
        show_default=False,
    ),
]
FromCluster = Annotated[
    bool,
    Option(
        "--cluster",
        help="Compare with what runs in the cluster of kubectl.",
        rich_help_panel=ACTIONS,
    ),
]
AsOf = Annotated[
    str | None,
    Option(
        "--as-of",
        metavar="DATE",
        help="Count ages from this date, such as 2026-11-22; default: today.",
        rich_help_panel=AGAINST,
    ),
]
Output = Annotated[str, output_option(FORMATS)]


def command(
    files: Files = None,
    cluster: FromCluster = False,
    access: KubeconfigOptions = KubeconfigOptions(),
    as_of: AsOf = None,
    output: Output = "text",
    printing: Printing = Printing(),
) -> None:
    """List what dractl knows of drivers, releases and hardware: to which version, and when it was
    read.

    With files or --cluster, says which drivers run there, which of them are newer, and what their
    ResourceSlices have that is not known. -v lists every fact that is older than 90 days.

    Examples: `dractl facts`, `dractl facts --cluster`, `kubectl get ds,resourceslices -A -o json |
    dractl facts -`, `dractl facts --facts my-driver.json`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    stdin = sys.stdin.buffer.read() if "-" in (files or ()) else None
    objects: list[Mapping[str, Any]] = []
    unread: list[dict[str, str]] = []
    release = None
    if files:
        from dractl.cluster.sources import list_unread_files
        from dractl.inputs.reading import read_files

        inputs = read_files(files, stdin=stdin)
        objects = [document.value for document in inputs.documents]
        unread = [row.as_json() for row in list_unread_files(inputs)]
    if cluster:
        live = _read_cluster(access)
        objects += [value for kind in live.kinds for value in live.objects(kind).values()]
        release = live.release
        unread += live.rights.as_json()
    facts_summary = summary(
        facts.current(), _parse_date(as_of), objects, release, caveat(release), unread
    )
    if common.base_format(output) == "json":
        text = json.dumps(facts_summary.to_json(), indent=1, ensure_ascii=False)
    else:
        text = facts_text.render(facts_summary, terminal.canvas(), every=printing.verbose > 0)
    common.write_output(text, output, printing.output_file)


def _read_cluster(access: KubeconfigOptions) -> ClusterState:
    """Read everything of a cluster that the user is allowed to read."""
    from dractl.cluster import live

    with terminal.progress() as progress:
        login = live.Login(access.context, access.kubeconfig, None, ())
        cluster = live.read(
            login, everywhere=True, partly=True, vital=frozenset(), progress=progress
        )
    for note in cluster.notes:
        terminal.notice(note)
    return cluster.state


def _parse_date(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of must be a date such as 2026-11-22, not {text!r}") from None
