"""Writes ``docs/dractl.1``, the man page, from the command line itself. ``--check`` says whether it is up to date."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from dractl.cli.app import command_line, subcommand as command_of
from dractl.cli.subcommands import SUBCOMMANDS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "dractl.1"
SCHEMA = ROOT / "schemas" / "dractl" / "config.json"
EXIT_STATUS = {
    "0": "Nothing found at or above the severity that counts, everything asked about fits, no difference.",
    "1": "Findings, something that does not fit, a failed check, a difference.",
    "2": "Wrong usage or configuration.",
    "3": "The job could not be done: a path missing or unreadable, no cluster, nothing to explain, an internal error.",
    "130": "Interrupted.",
}
ENVIRONMENT = {
    "DRACTL_KUBERNETES_VERSION, DRACTL_FEATURE_GATES": "As the options of that name, where they are not given.",
    "DRACTL_OUTPUT, DRACTL_FAIL_ON, DRACTL_SELECT, DRACTL_IGNORE, DRACTL_BASELINE": "The same, for lint.",
    "NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE": "Whether reports and messages are coloured; --color wins.",
    "NODE_NAME": "The name of the node for render, where neither --node-name nor a snapshot gives one.",
    "DRACTL_TRACEBACK": "An internal error ends in its traceback, for a bug report.",
}
FILES = (
    "dractl.toml, .dractl.toml, or the table tool.dractl of pyproject.toml, in the nearest folder upwards that has "
    "one. A name with a dot stands in the table lint."
)
COMMENTS = (
    "`# dractl: ignore[CODE]` takes the findings of a rule out of its line, or out of the next line if it stands "
    "alone; `# dractl: ignore-file[CODE]` out of the file. In the brackets are codes, names or beginnings of codes, "
    "with commas."
)


def roff(text: str) -> str:
    """Text with roff's own characters escaped; `code` is bold."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    escaped = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped)
    return "\n".join(
        rf"\&{line}" if line.startswith(".") else line for line in escaped.splitlines()
    )


def entries(rows: dict[str, str]) -> list[str]:
    return [
        line for name, text in rows.items() for line in (".TP", rf"\fB{roff(name)}\fR", roff(text))
    ]


def subcommand(name: str, command: Any, context: Any) -> list[str]:
    lines = [f'.SS "dractl {name}"']
    for paragraph in (command.help or SUBCOMMANDS[name]).split("\n\n"):
        lines += [".PP", roff(" ".join(paragraph.split()))]
    rows = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            rows[parameter.make_metavar(context)] = parameter.help or ""
        else:
            value = (
                ""
                if parameter.is_flag or parameter.count
                else f" {parameter.make_metavar(context)}"
            )
            rows[", ".join(sorted(parameter.opts, key=len)) + value] = parameter.help or ""
    return lines + entries(rows)


def settings(schema: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Every setting by its dotted name, and what it is."""
    found: dict[str, str] = {}
    for name, part in schema["properties"].items():
        found |= (
            settings(part, f"{name}.")
            if "properties" in part
            else {prefix + name: part["description"]}
        )
    return found


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
        lines += subcommand(name, command_of(name), context)
    lines += [
        ".SH EXIT STATUS",
        *entries(EXIT_STATUS),
        ".SH ENVIRONMENT",
        *entries(ENVIRONMENT),
        ".SH FILES",
        roff(FILES),
        *entries(settings(json.loads(SCHEMA.read_text(encoding="utf-8")))),
        ".SH COMMENTS",
        roff(COMMENTS),
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
