"""``dractl facts``: what dractl knows of the outside, to which version and of which date, and what runs beyond it."""

from __future__ import annotations

import json
import sys
from datetime import date
from typing import Annotated

from typer import Argument, Option

from dractl import facts
from dractl.cli import common, terminal
from dractl.errors import UsageError
from dractl.facts.images import running
from dractl.facts.summary import summary
from dractl.manifests import load
from dractl.report import facts_text

FORMATS = ("text", "json")

Files = Annotated[
    list[str] | None,
    Argument(metavar="[FILE]...", help="Dumps and manifests whose drivers are compared.", show_default=False),
]
AsOf = Annotated[
    str | None, Option("--as-of", metavar="DATE", help="Count ages from this date, such as 2026-11-22; default: today.")
]
Output = Annotated[str, common.output_option(FORMATS)]


def command(
    files: Files = None,
    as_of: AsOf = None,
    output: Output = "text",
    output_file: common.OutputFile = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,
    color: common.Color = "auto",
) -> None:
    """List what dractl knows of drivers, releases and hardware: to which version, and when it was read.

    With files, says which of the drivers in them are newer than that. -v lists every fact that is older than 90 days.

    Examples: `dractl facts`, `kubectl get ds -A -o json | dractl facts -`, `dractl facts --facts my-driver.json`
    """
    common.settle(color, quiet)
    common.choose_output(output, FORMATS)
    read = sys.stdin.buffer.read() if "-" in (files or ()) else None
    documents = load(files, stdin=read, relevant_only=False).documents if files else ()
    said = summary(facts.current(), _day(as_of), running(document.value for document in documents))
    if output == "json":
        common.write_report(json.dumps(said.to_json(), indent=1, ensure_ascii=False), output_file)
    else:
        canvas = terminal.canvas()
        common.write_report(facts_text.render(said, canvas, every=verbose > 0), output_file)


def _day(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--as-of must be a date such as 2026-11-22, not {text!r}") from None
