"""Writes the pages of the documentation site to build/site: docs/, docs/site/, and one page for each rule, reason and
driver, made from the files that `dractl rule` reads. Then: ``mkdocs build --strict``.

A rule's page is at ``rules/CODE/``: lint's reports link to it (``dractl/lint/registry.py``), so it never moves.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "site"
OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)[^)]*\)"
)  # a link to a file of the repository that is no page


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


def main() -> None:
    sys.path.insert(0, str(ROOT))
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for page in sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "site").glob("*.md")]):
        write(page.name, OUTSIDE.sub(r"\1", page.read_text(encoding="utf-8")))
    shutil.copytree(ROOT / "docs" / "pictures", OUT / "pictures")
    write("changelog.md", OUTSIDE.sub(r"\1", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")))
    rules()
    reasons()
    drivers()


def write(name: str, text: str) -> None:
    path = OUT / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")


def cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("\n", " ")


def rules() -> None:
    from dractl.lint import registry

    index = [
        "# Rules",
        "",
        "What `dractl lint` reports. A code is never given another meaning.",
        "",
    ]
    group = ""
    for rule in registry.rules().values():
        if rule.code[3] != group:
            group = rule.code[3]
            index += ["", f"## {GROUPS[group]}", "", "| rule | | severity |", "|---|---|---|"]
        summary = rule.section("")
        title = f"{rule.code} {rule.name}"
        index.append(f"| [{title}](rules/{rule.code}.md) | {cell(summary)} | {rule.severity} |")
        write(
            f"rules/{rule.code}.md", f"# {title}\n\n*{rule.severity}*: {linked(rule.documentation)}"
        )
    write("rules.md", "\n".join(index))


def linked(text: str) -> str:
    """Codes of other rules become links, outside of code."""
    parts = re.split(r"(```.*?```|`[^`]*`)", text, flags=re.DOTALL)
    return "".join(
        part if part.startswith("`") else re.sub(r"\b(DRA\d{3})\b", r"[\1](\1.md)", part)
        for part in parts
    )


def reasons() -> None:
    from dractl.explain.reasons.registry import REASONS

    index = [
        "# Reasons",
        "",
        "Why `dractl explain` says that a pod or claim is pending.",
        "",
        "| reason | |",
        "|---|---|",
    ]
    for page in REASONS.values():
        index.append(f"| [{page.code}](reasons/{page.code}.md) | {cell(page.title)} |")
        sections = (
            ("What it means", page.means),
            ("How to see it", page.see),
            ("How to fix it", page.mend),
        )
        body = "\n\n".join(f"## {heading}\n\n{literal(text)}" for heading, text in sections)
        write(f"reasons/{page.code}.md", f"# {page.code}\n\n{page.title}\n\n{body}")
    write("reasons.md", "\n".join(index))


def literal(text: str) -> str:
    """Prose as it is; a command as code."""
    return f"```sh\n{text}\n```" if text.startswith("kubectl ") and "\n" not in text else text


def drivers() -> None:
    from dractl.drivers import find, names

    index = [
        "# Drivers",
        "",
        "What each DRA driver publishes.",
        "",
        "| driver | | source |",
        "|---|---|---|",
    ]
    for name in names():
        catalogue = find(name).catalogue
        index.append(
            f"| [{name}](drivers/{name}.md) | {cell(catalogue.title)} | {cell(catalogue.source)} |"
        )
        lines = [f"# {name}", "", f"{catalogue.title}. Source: {catalogue.source}.", ""]
        if catalogue.versions:
            lines += [
                f"Versions: {', '.join(catalogue.versions)}; the newest release is {catalogue.released}.",
                "",
            ]
        lines += ["## Attributes", "", "| name | type | | versions | on |", "|---|---|---|---|---|"]
        for row in catalogue.attributes:
            about = "; ".join(filter(None, (row.about, row.when)))
            lines.append(
                f"| `{row.name}` | {row.type} | {cell(about)} | {span(row)} | {', '.join(row.devices)} |"
            )
        if catalogue.capacities:
            lines += ["", "## Capacities", "", "| name | | versions | on |", "|---|---|---|---|"]
            for capacity in catalogue.capacities:
                about = "; ".join(filter(None, (capacity.about, capacity.when)))
                on = ", ".join(capacity.devices)
                lines.append(f"| `{capacity.name}` | {cell(about)} | {span(capacity)} | {on} |")
        if catalogue.taints:
            lines += ["", "## Taints", "", "| key | effects | |", "|---|---|---|"]
            for taint in catalogue.taints:
                about = "; ".join(filter(None, (taint.about, taint.when)))
                lines.append(f"| `{taint.key}` | {', '.join(taint.effects)} | {cell(about)} |")
        if catalogue.settings:
            lines += ["", "## Settings", "", "| name | values | |", "|---|---|---|"]
            lines += [
                f"| `{s.name}` | {cell(s.values)} | {cell(s.about)} |" for s in catalogue.settings
            ]
        if catalogue.notes:
            lines += ["", "## Notes", "", *(f"- {note}" for note in catalogue.notes)]
        write(f"drivers/{name}.md", "\n".join(lines))
    write("drivers.md", "\n".join(index))


def span(row: object) -> str:
    since, removed = getattr(row, "since", None), getattr(row, "removed", None)
    return " ".join(
        filter(None, (f"from {since}" if since else "", f"before {removed}" if removed else ""))
    )


if __name__ == "__main__":
    main()
