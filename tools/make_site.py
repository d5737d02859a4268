"""Writes the pages of the documentation site to build/site.

The pages are docs/, docs/site/, and one for each command, rule, reason and driver, made from help
and the files that `dractl rule` reads. Then: ``mkdocs build --strict``, and ``python
tools/check_links.py``.

A rule's page is at ``rules/CODE/``: lint's reports link to it (``dractl/lint/registry.py``), so it
never moves.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import shutil
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "site"
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
"""A link of Markdown to a file of the repository; one to another site has a colon."""

GROUPS = {
    "0": "What cannot be read or decoded",
    "1": "Claims and templates of claims",
    "2": "Device classes",
    "3": "Resource slices",
    "4": "Pods and workloads",
    "5": "Taint rules and the rest of the API",
    "6": "CEL",
    "7": "Accepted, but never satisfied",
    "8": "Releases and feature gates",
    "9": "Ignores and configuration",
}
"""The headings of the list of rules, by the first digit of a code."""


RECORDED = ROOT / "tests" / "data" / "recorded" / "conformance"
EXAMPLES = ROOT / "examples" / "reasons"
"""The examples of reasons; each is called as its reason."""
REASON = re.compile(r"^More about ([a-z0-9-]+):", re.MULTILINE)
"""The line of an answer that names its reason."""
COMMAND = re.compile(r"^# dractl (explain\b.*)$", re.MULTILINE)
"""The line of an example with the words to ask it: ``# dractl explain node/gpu-1``."""
NEXT_COMMAND = re.compile(r"(?:;|, then) (?=kubectl |dractl )")
# Words after a command: "(status.devices)", "; the feature gates", "beside the selectors".
REMARK = re.compile(r" (?=\()|; |, (?=if )| (?=and |beside |on the )")
HEAD = "| rule | finds | severity | fix | releases that report its example |"


def main() -> None:
    sys.path.insert(0, str(ROOT))
    shutil.rmtree(OUT, ignore_errors=True)
    shutil.copytree(ROOT / "docs" / "pictures", OUT / "pictures")
    for name in ("paste.js", "wide.css"):
        shutil.copy(ROOT / "docs" / "site" / name, OUT)
    for name, text in pages().items():
        path = OUT / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text.rstrip() + "\n", encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of each page of the site by name, written and generated."""
    written = {
        name: plain_outputs(move_links((ROOT / path).read_text(encoding="utf-8"), path))
        for path, name in page_names(ROOT).items()
    }
    generated = {**commands(), **rules(), **reasons(), **drivers()}
    return {**written, **{name: outside_code(text, show_tags) for name, text in generated.items()}}


def show_tags(prose: str) -> str:
    """Escape ``<name>``, which stands for a name: a browser would take it for an element, and
    show nothing.
    """
    return prose.replace("<", "&lt;")


def plain_outputs(text: str) -> str:
    """Leave sessions without colours if an output has a comment, which a highlighter takes for a
    command of root.
    """
    return re.sub(r"^```console(?=\n(?:(?!```).*\n)*?#)", "```text", text, flags=re.MULTILINE)


def page_names(root: Path) -> dict[str, str]:
    """Return the Markdown files that are pages of the site, with their names there."""
    files = [*(root / "docs").glob("*.md"), *(root / "docs" / "site").glob("*.md")]
    return {
        **{str(file.relative_to(root)): file.name for file in sorted(files)},
        "CHANGELOG.md": "changelog.md",
    }


def move_links(text: str, path: str, root: Path = ROOT) -> str:
    """Point the links of the file at ``path`` to pages of the site.

    A link to a file of the repository that is not a page becomes its text. A name that the
    repository lacks is a page that is made here.
    """
    names = page_names(root)

    def move(link: re.Match[str]) -> str:
        goal = posixpath.normpath(posixpath.join(posixpath.dirname(path), link["path"]))
        page = names.get(goal)
        if page is None and goal.startswith("docs/pictures/"):
            page = goal.removeprefix("docs/")
        if page is not None:
            return f"[{link['text']}]({page}{link['anchor'] or ''})"
        return link["text"] if (root / goal).exists() else link[0]

    return outside_code(text, lambda prose: LINK.sub(move, prose))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to the prose of a page, and leave its code alone."""
    parts = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("`") else change(part) for part in parts)


def cell(text: object) -> str:
    """Escape a text for a cell of a table."""
    return str(text).replace("|", "\\|").replace("\n", " ")


def commands() -> dict[str, str]:
    """Make a page for each command from its help, and their list."""
    from dractl.cli.subcommands import SUBCOMMANDS

    index = ["# Commands", "", "| command | what it does |", "|---|---|"]
    made: dict[str, str] = {}
    for name in SUBCOMMANDS:
        text = help_of(name)
        summary = text.split("\n\n")[1].replace("\n", " ").strip()
        index.append(f"| [dractl {name}](commands/{name}.md) | {cell(summary)} |")
        made[f"commands/{name}.md"] = f"# dractl {name}\n\n```text\n{text.strip()}\n```"
    return {"commands.md": "\n".join(index), **made}


def help_of(command: str) -> str:
    """Return what ``dractl COMMAND --help`` prints on a terminal of 100 columns."""
    return run_dractl(command, "--help")


def run_dractl(*words: str) -> str:
    """Return what dractl prints on a terminal of 100 columns.

    It runs in this process: to start a new one takes longer than most answers. Raises ValueError if
    it fails.
    """
    from dractl.cli.main import main as run_command

    printed, errors = TextIOWrapper(BytesIO(), encoding="utf-8"), StringIO()
    before = dict(os.environ)
    os.environ.update(COLUMNS="100", NO_COLOR="1", PYTHONIOENCODING="utf-8")
    try:
        with chdir(ROOT), redirect_stdout(printed), redirect_stderr(errors):
            code = run_command(list(words))
    finally:
        os.environ.clear()
        os.environ.update(before)
    if code != 0:
        raise ValueError(f"dractl {shlex.join(words)} ends with {code}: {errors.getvalue()}")
    printed.flush()
    output = printed.buffer
    assert isinstance(output, BytesIO)
    return output.getvalue().decode("utf-8")


def rules() -> dict[str, str]:
    """Make a page for each rule, and their list."""
    from dractl.lint import registry
    from dractl.lint.rule_table import rule_table
    from tools import server_messages

    index = [
        "# Rules",
        "",
        (
            "What `dractl lint` reports. A code is never given another meaning. `--fix` applies a "
            "safe fix, `--unsafe-fixes` the others too."
        ),
        "",
    ]
    made: dict[str, str] = {}
    group = ""
    for rule in registry.rules().values():
        if rule.code[3] != group:
            group = rule.code[3]
            index += ["", f"## {GROUPS[group]}", "", HEAD, "|---|---|---|---|---|"]
        summary = rule.section("")
        title = f"{rule.code} {rule.name}"
        row = rule_table().get(rule.code)
        fix, period = (row.fix or "-", row.period) if row is not None else ("-", "-")
        link = f"[{title}](rules/{rule.code}.md)"
        index.append(f"| {link} | {cell(summary)} | {rule.severity} | {fix} | {period} |")
        page = f"# {title}\n\n*{rule.severity}*: {link_codes(rule.documentation)}"
        made[f"rules/{rule.code}.md"] = "\n\n".join([page, *server_messages.section(rule)])
    return {"rules.md": "\n".join(index), **made}


def link_codes(text: str) -> str:
    """Make links of the codes of other rules, outside of code."""
    return outside_code(text, lambda prose: re.sub(r"\b(DRA\d{3})\b", r"[\1](\1.md)", prose))


def reasons() -> dict[str, str]:
    """Make a page for each reason, and their list."""
    from dractl.explain.reasons.base import MESSAGES_HEADING
    from dractl.explain.reasons.registry import REASONS

    index = [
        "# Reasons",
        "",
        "Why `dractl explain` says that a pod or claim is pending.",
        "",
        "| reason | what it says |",
        "|---|---|",
    ]
    made: dict[str, str] = {}
    printed = outputs_by_reason()
    for page in REASONS.values():
        index.append(f"| [{page.code}](reasons/{page.code}.md) | {cell(page.title)} |")
        parts = [f"# {page.code}", sentence(page.title)]
        for heading, paragraphs in page.sections.items():
            # A message is a heading: the site's search looks for pasted words in headings first.
            is_headed = heading == MESSAGES_HEADING
            parts.append(f"## {heading}")
            parts += [f"### `{text}`" if is_headed else literal(text) for text in paragraphs]
        if page.code in printed:
            output = f"```text\n{printed[page.code]}\n```"
            parts += ["## What dractl prints", *situation(page.code), output]
        made[f"reasons/{page.code}.md"] = "\n\n".join(parts)
    return {"reasons.md": "\n".join(index), **made}


def situation(code: str) -> list[str]:
    """Return a paragraph about the example of a reason, from the comment at its beginning; nothing
    for a reason without an example of its own.
    """
    file = EXAMPLES / f"{code}.yaml"
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    comment = takewhile(lambda line: line.startswith("# "), lines)
    told = [line[2:].strip() for line in comment if COMMAND.match(line) is None]
    return [f"{' '.join(told)} The objects are in `{file.relative_to(ROOT)}`."]


def outputs_by_reason() -> dict[str, str]:
    """Return what ``dractl explain`` prints about an example, by the code of its reason.

    A reason without an example of its own has the first output that it heads: of the other examples
    of the repository, and of situations that were recorded on clusters. Raises ValueError if an
    example does not have its reason.
    """
    from dractl.explain.reasons.registry import REASONS

    outputs = {file.stem: output_of_example(file) for file in sorted(EXAMPLES.glob("*.yaml"))}
    for file in other_examples():
        if outputs.keys() >= REASONS.keys():
            break
        text = explain(file)
        if code := REASON.search(text):
            outputs.setdefault(code[1], text.strip())
    return outputs


def output_of_example(file: Path) -> str:
    """Return what ``dractl explain`` prints about the example of a reason.

    The reason heads the answer, or stands below another one. Raises ValueError if it does neither.
    """
    ask = COMMAND.search(file.read_text(encoding="utf-8"))
    words = shlex.split(ask[1]) if ask is not None else ["explain"]
    text = explain(file, *words)
    if file.stem not in REASON.findall(text):
        # Only JSON names the codes of the reasons below the headline.
        codes = re.findall(r'"code": *"([a-z0-9-]+)"', explain(file, *words, "-o", "json"))
        if file.stem not in codes:
            raise ValueError(f"{file}: the reasons are {codes}, not {file.stem}")
    return text.strip()


def other_examples() -> Iterator[Path]:
    """Yield the examples that belong to no single reason, those of the repository first."""
    yield ROOT / "examples" / "explain"
    yield from sorted((ROOT / "examples" / "pending").iterdir())
    for group, name in (("scheduling", "objects.json"), ("oncall", "dump.yaml")):
        yield from sorted((RECORDED / group).glob(f"*/{name}"))


def explain(file: Path, *words: str) -> str:
    """Return what ``dractl explain`` prints about the objects of a file."""
    options = ("--isolated", "--exit-zero", "-f", str(file.relative_to(ROOT)))
    return run_dractl(*(words or ("explain",)), *options)


def sentence(title: str) -> str:
    """Return a title as a sentence: with a full stop, and a capital unless it begins with a name
    such as ``adminAccess``.
    """
    first = title.partition(" ")[0]
    return f"{title[:1].upper() if first.islower() else title[:1]}{title[1:]}."


def literal(text: str) -> str:
    """Return prose unchanged, and commands as code that a shell can run.

    The words that follow a command, such as the field to look at, become a comment.
    """
    if not text.startswith("kubectl ") or "\n" in text:
        return text
    lines: list[str] = []
    for command in NEXT_COMMAND.split(text):
        words = REMARK.split(command, maxsplit=1)
        lines.append("  # ".join([words[0], *(remark(each) for each in words[1:])]))
    return "```sh\n" + "\n".join(lines) + "\n```"


def remark(words: str) -> str:
    """Return the words that follow a command as a comment."""
    words = re.sub(r"^\(([^()]*)\)", r"\1", words).rstrip(".")
    return re.sub(r"^(?:beside|and(?: compare)?) ", "compare with ", words)


def drivers() -> dict[str, str]:
    """Make a page for each driver, and their list."""
    from dractl.drivers import find, names

    index = [
        "# Drivers",
        "",
        "What each DRA driver publishes.",
        "",
        "| driver | devices | source |",
        "|---|---|---|",
    ]
    made: dict[str, str] = {}
    for name in names():
        catalogue = find(name).catalogue
        index.append(
            f"| [{name}](drivers/{name}.md) | {cell(catalogue.title)} | {cell(catalogue.source)} |"
        )
        lines = [f"# {name}", "", f"{catalogue.title}. Source: {catalogue.source}.", ""]
        if catalogue.versions:
            versions = ", ".join(catalogue.versions)
            lines += [f"Versions: {versions}; the newest release is {catalogue.released}.", ""]
        attributes = [
            (f"`{row.name}`", row.type, describe(row), span(row), ", ".join(row.devices))
            for row in catalogue.attributes
        ]
        capacities = [
            (f"`{row.name}`", describe(row), span(row), ", ".join(row.devices))
            for row in catalogue.capacities
        ]
        taints = [
            (f"`{taint.key}`", ", ".join(taint.effects), describe(taint))
            for taint in catalogue.taints
        ]
        settings = [(f"`{s.name}`", s.values, s.about) for s in catalogue.settings]
        lines += [
            *table("Attributes", ("name", "type", "", "versions", "on"), attributes),
            *table("Capacities", ("name", "", "versions", "on"), capacities),
            *table("Taints", ("key", "effects", ""), taints),
            *table("Settings", ("name", "values", ""), settings),
        ]
        if catalogue.notes:
            lines += ["## Notes", "", *(f"- {note}" for note in catalogue.notes)]
        made[f"drivers/{name}.md"] = "\n".join(lines)
    return {"drivers.md": "\n".join(index), **made}


def table(heading: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a heading and a table, without the columns that are empty in every row; nothing if
    there is no row.
    """
    columns = [number for number in range(len(heads)) if any(row[number] for row in rows)]
    lines = [
        "| " + " | ".join(cell(row[number]) for number in columns) + " |" for row in (heads, *rows)
    ]
    rule = "|" + "---|" * len(columns)
    return [f"## {heading}", "", lines[0], rule, *lines[1:], ""] if rows else []


def describe(row: Any) -> str:
    """Return the description of an attribute, a capacity or a taint, and when it is published."""
    return "; ".join(filter(None, (row.about, row.when)))


def span(row: object) -> str:
    since, removed = getattr(row, "since", None), getattr(row, "removed", None)
    return " ".join(
        filter(None, (f"from {since}" if since else "", f"before {removed}" if removed else ""))
    )


if __name__ == "__main__":
    main()
