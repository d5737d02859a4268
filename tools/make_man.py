"""Writes ``docs/dractl.1``, the man page, from the command line itself. ``--check`` says whether it is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from dractl.cli.app import SUBCOMMANDS, command_line

PAGE = Path(__file__).resolve().parent.parent / "docs" / "dractl.1"
EXIT_STATUS = {
    "0": "Nothing found at or above the severity that counts, everything asked about fits, no difference.",
    "1": "Findings, something that does not fit, a failed check, a difference.",
    "2": "Wrong usage or configuration.",
    "3": "The job could not be done: a path that is missing, no cluster, nothing to explain, an internal error.",
    "130": "Interrupted.",
}
ENVIRONMENT = {
    "DRACTL_KUBERNETES_VERSION, DRACTL_FEATURE_GATES": "As the options of that name, where they are not given.",
    "NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE": "Whether reports and messages are coloured; --color wins.",
    "NODE_NAME": "The name of the node for render, where neither --node-name nor a snapshot gives one.",
    "DRACTL_TRACEBACK": "An internal error ends in its traceback, for a bug report.",
}
FILES = (
    "dractl.toml, .dractl.toml, or the table tool.dractl of pyproject.toml, in the nearest folder upwards that has one."
)


def roff(text: str) -> str:
    """Text with roff's own characters escaped; `code` is bold."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    escaped = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped)
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in escaped.splitlines())


def entries(rows: dict[str, str]) -> list[str]:
    return [line for name, text in rows.items() for line in (".TP", rf"\fB{roff(name)}\fR", roff(text))]


def subcommand(name: str, command: Any, context: Any) -> list[str]:
    lines = [f'.SS "dractl {name}"']
    for paragraph in (command.help or SUBCOMMANDS[name]).split("\n\n"):
        lines += [".PP", roff(" ".join(paragraph.split()))]
    rows = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            rows[parameter.make_metavar(context)] = parameter.help or ""
        else:
            value = "" if parameter.is_flag or parameter.count else f" {parameter.make_metavar(context)}"
            rows[", ".join(sorted(parameter.opts, key=len)) + value] = parameter.help or ""
    return lines + entries(rows)


def page() -> str:
    group = command_line()
    context = group.make_context("dractl", [], resilient_parsing=True)
    lines = [
        '.TH DRACTL 1 "" dractl "User Commands"',
        ".SH NAME",
        r"dractl \- hardware, ResourceSlices, manifests and pending claims of Dynamic Resource Allocation",
        ".SH SYNOPSIS",
        r"\fBdractl\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".br",
        r"\fBkubectl dra\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        roff(" ".join((group.help or "").split())),
        ".SH COMMANDS",
    ]
    for name in SUBCOMMANDS:
        lines += subcommand(name, group.get_command(context, name), context)
    lines += [
        ".SH EXIT STATUS",
        *entries(EXIT_STATUS),
        ".SH ENVIRONMENT",
        *entries(ENVIRONMENT),
        ".SH FILES",
        roff(FILES),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == page()
    if "--check" in sys.argv[1:]:
        if not current:
            print("docs/dractl.1 is not up to date: run python tools/make_man.py")
        return not current
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
