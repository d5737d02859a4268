"""Writes ``docs/man/``, the man pages, from the command line itself.

There is ``dractl.1``, and a page for each subcommand. ``--check`` only reports whether they are up
to date.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from dractl.cli.app import command_line, subcommand
from dractl.cli.subcommands import SUBCOMMANDS

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "man"
SCHEMA = ROOT / "schemas" / "dractl" / "config.json"
EXIT_STATUS = {
    "0": "No finding at or above the severity that counts; everything fits; no difference.",
    "1": "A finding, a subject that does not fit, a failed check, or a difference.",
    "2": "Wrong usage or configuration.",
    "3": "The command cannot answer: a path does not exist or cannot be read, no cluster responds, "
    "the input has nothing to explain, or an internal error occurred.",
    "130": "Interrupted.",
}
ENVIRONMENT = {
    "DRACTL_KUBERNETES_VERSION, DRACTL_FEATURE_GATES": "Defaults for the options of the "
    "same names.",
    "DRACTL_OUTPUT, DRACTL_FAIL_ON, DRACTL_SELECT, DRACTL_IGNORE, DRACTL_BASELINE": "Defaults for "
    "the options of lint.",
    "NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE": "Whether reports and messages are coloured; --color "
    "takes precedence.",
    "NODE_NAME": "The name of the node for render, if neither --node-name nor a snapshot has it.",
    "DRACTL_TRACEBACK": "If set, an internal error prints its traceback, for a bug report.",
}
FILES = (
    "dractl.toml, .dractl.toml, or the table tool.dractl of pyproject.toml, in the nearest folder, "
    "from the current one upwards, that has one. A name such as lint.select is the key select of "
    "the table lint."
)
COMMENTS = (
    "`# dractl: ignore[CODE]` suppresses the findings of a rule in its line, or in the next line "
    "if the comment has a line of its own; `# dractl: ignore-file[CODE]` suppresses them in the "
    "whole file. The brackets contain codes, names or beginnings of codes, separated by commas."
)
SUMMARY = "hardware, ResourceSlices, manifests and pending claims of Dynamic Resource Allocation"


def roff(text: str) -> str:
    """Escape roff's own characters, and wrap lines for a readable diff; `code` is bold."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    escaped = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped)
    lines = textwrap.wrap(escaped, 98, break_long_words=False, break_on_hyphens=False)
    return "\n".join(rf"\&{line}" if line.startswith(".") else line for line in lines)


def entries(rows: dict[str, str]) -> list[str]:
    return [
        line for name, text in rows.items() for line in (".TP", rf"\fB{roff(name)}\fR", roff(text))
    ]


def is_of_examples(paragraph: str) -> bool:
    return paragraph.startswith(("Example:", "Examples:"))


def description(text: str) -> list[str]:
    """Return the paragraphs of a help without its examples."""
    parts = [part for part in text.split("\n\n") if not is_of_examples(part)]
    return [line for part in parts for line in (".PP", roff(" ".join(part.split())))]


def examples(text: str) -> list[str]:
    """Return the section of a help's examples, one a line; nothing if it has none."""
    parts = [part for part in text.split("\n\n") if is_of_examples(part)]
    shown = [
        rf"\fB{roff(' '.join(example.split()))}\fR"
        for part in parts
        for example in re.findall(r"`([^`]+)`", part)
    ]
    return [".SH EXAMPLES", ".nf", *shown, ".fi"] if shown else []


def settings(schema: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the description of every setting by its dotted name."""
    descriptions: dict[str, str] = {}
    for name, part in schema["properties"].items():
        descriptions |= (
            settings(part, f"{name}.")
            if "properties" in part
            else {prefix + name: part["description"]}
        )
    return descriptions


def overview() -> str:
    """Return ``dractl(1)``: the subcommands, and the sections that they share."""
    group = command_line()
    pages = {f"dractl-{name}(1)": line for name, line in SUBCOMMANDS.items()}
    lines = [
        '.TH DRACTL 1 "" dractl "User Commands"',
        ".SH NAME",
        rf"dractl \- {roff(SUMMARY)}",
        ".SH SYNOPSIS",
        r"\fBdractl\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".br",
        r"\fBkubectl dra\fR COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        roff(" ".join((group.help or "").split())),
        ".SH COMMANDS",
        *entries(pages),
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


def page(name: str) -> str:
    """Return ``dractl-NAME(1)``, made of ``dractl NAME --help``."""
    command: Any = subcommand(name)
    context = command.context_class(command, info_name=f"dractl {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH DRACTL\\-{name.upper()} 1 "" dractl "User Commands"',
        ".SH NAME",
        rf"dractl\-{roff(name)} \- {roff(SUBCOMMANDS[name].rstrip('.'))}",
        ".SH SYNOPSIS",
        rf"\fBdractl {name}\fR {roff(usage)}",
        ".SH DESCRIPTION",
        *description(command.help),
        ".SH OPTIONS",
    ]
    for title, rows in command.sections(context).items():
        lines += [f'.SS "{title}"', *entries(dict(rows))]
    lines += [*examples(command.help), ".SH EXIT STATUS", *entries(EXIT_STATUS)]
    lines += [".SH SEE ALSO", r"\fBdractl\fR(1)"]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Return every page by the name of its file."""
    return {"dractl.1": overview(), **{f"dractl-{name}.1": page(name) for name in SUBCOMMANDS}}


def main() -> int:
    wanted = pages()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.1")}
    stale = [name for name in {**wanted, **present} if wanted.get(name) != present.get(name)]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/man/{name} is not up to date: run python tools/make_man.py")
        return bool(stale)
    FOLDER.mkdir(exist_ok=True)
    for name in stale:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
