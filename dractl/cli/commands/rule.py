"""``dractl rule``: describes a lint rule, a reason of explain or a driver's attributes."""

import json
import re
import sys
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument

from dractl.cli import common, completing, terminal
from dractl.cli.options.printing import Printing, output_option
from dractl.cli.subcommands import spell_program
from dractl.errors import UsageError
from dractl.explain.reasons.base import ReasonPage
from dractl.explain.reasons.registry import REASONS
from dractl.lint import registry
from dractl.lint.registry import HEADINGS, LIST_HEADINGS, Rule
from dractl.lint.rule_table import rule_table
from dractl.model.nearest import nearest_names
from dractl.program import program_name
from dractl.report.facts import driver_catalogue
from dractl.report.plain import wrap

FORMATS = ("text", "json", "yaml")

Name = Annotated[
    str | None,
    Argument(
        metavar="CODE|NAME|REASON|DRIVER",
        help=(
            "A code (DRA116) or its beginning, a name (count-zero), a reason (device-in-use), a"
            " driver."
        ),
        autocompletion=completing.offer_pages,
    ),
]
Output = Annotated[str, output_option(FORMATS)]


def command(name: Name = None, output: Output = "text", printing: Printing = Printing()) -> None:
    """Explain a rule of `dractl lint` (what it finds, why that is bad, what to write instead), a
    reason of `dractl explain` (what it means, how to see it, how to fix it), or the attributes that
    a driver's devices have.

    Without an argument, lists every rule and every reason.

    Examples: `dractl rule DRA701`, `dractl rule count-zero`, `dractl rule device-in-use`, `dractl
    rule gpu.nvidia.com`
    """
    printing.apply()
    common.choose_output(output, FORMATS)
    if name is not None and "." in name:  # no rule has a dot, and every driver's name has
        common.write_output(
            _render_driver(name, common.base_format(output)), output, printing.output_file
        )
        return

    reasons = [page for code, page in REASONS.items() if name in (None, code)]
    rules = [] if name in REASONS else _find_rules(name)
    if common.base_format(output) == "json":
        pages = {
            "rules": [_json(rule) for rule in rules],
            "reasons": [_reason_json(reason) for reason in reasons],
        }
        text = json.dumps({"schema": "dractl/rules/v1", **pages}, indent=1)
    elif len(rules) + len(reasons) == 1:
        text = _render_rule(rules[0]) if rules else _render_reason(reasons[0])
    else:
        text = _render_list(rules, reasons)
    common.write_output(text, output, printing.output_file)


def _render_driver(name: str, output: str) -> str:
    from dractl.drivers import find

    profile = find(name)
    if output == "json":
        return json.dumps(driver_catalogue.to_json(profile), indent=1, ensure_ascii=False)
    return terminal.fold_report(driver_catalogue.to_text(profile, terminal.canvas()))


def _find_rules(name: str | None) -> list[Rule]:
    """Find the rules with a code, a name or the beginning of a code; without a name return all."""
    rules = registry.rules()
    if name is None:
        return list(rules.values())
    rule = registry.find(name)
    if rule:
        return [rule]
    try:
        return [rules[code] for code in sorted(registry.expand([name], "rule"))]
    except UsageError:
        raise UsageError(
            f"unknown rule or reason {name!r}", hint=_suggest_names(name, rules)
        ) from None


def _suggest_names(name: str, rules: Mapping[str, Rule]) -> str:
    """Suggest names that resemble an unknown name or contain it."""
    from dractl.drivers import names

    if name.upper().startswith("DRA") and name[3:].isdigit():
        return registry.suggest(name)
    all_names = [*names(), *REASONS, *(rule.name for rule in rules.values())]
    matches = nearest_names(name, all_names, most=1) or [
        word for word in all_names if name.lower() in word.lower()
    ]
    more = f" (and {len(matches) - 6} more)" if len(matches) > 6 else ""
    if not matches:
        return f"`{program_name()} rule` lists every code and name"
    return f"did you mean {', '.join(matches[:6])}{more}?"


def _render_list(rules: list[Rule], reasons: list[ReasonPage]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    rows = [("code", "severity", "fix", "releases", "name".ljust(width), "")] if rules else []
    for rule in rules:
        row = rule_table().get(rule.code)
        fix, period = (row.fix or "-", row.period) if row is not None else ("-", "-")
        rows.append(
            (rule.code, rule.severity, fix, period, rule.name.ljust(width), rule.section(""))
        )
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
    lines = []
    for *cells, summary in rows:
        padded = (cell.ljust(size) for cell, size in zip(cells, [*widths, width], strict=True))
        lines += _list_row("  ".join(padded), summary)
    width = max((len(reason.code) for reason in reasons), default=0)
    lines += ["", f"Reasons of `{program_name()} explain`", ""] if reasons else []
    lines += [f"{reason.code:<{width}}  {reason.title}" for reason in reasons]
    return "\n".join(lines)


def _list_row(cells: str, summary: str) -> list[str]:
    """Return a row of the list; its summary gets lines of its own if the terminal is too narrow."""
    line = f"{cells}  {summary}".rstrip()
    if not sys.stdout.isatty() or len(line) <= (columns := terminal.width(sys.stdout)):
        return [line]
    return [cells.rstrip(), *(f"        {part}" for part in wrap(summary, columns - 8))]


def _render_rule(rule: Rule) -> str:
    title = terminal.paint(f"{rule.code} {rule.name}", "1", sys.stdout)
    lines = [f"{title} ({rule.severity})", "", terminal.fold_report(rule.section(""))]
    for heading in HEADINGS:
        text = spell_program(rule.section(heading))
        if text:
            title = terminal.paint(heading, "1;36", sys.stdout)
            lines += ["", title, *_lay_out(text, is_list=heading in LIST_HEADINGS)]
    return "\n".join(lines)


def _lay_out(text: str, *, is_list: bool) -> list[str]:
    """Return the indented lines of a section of a rule's page. On a terminal, they are wrapped,
    unless they are code. A list has a line for each item.
    """
    is_code = "```" in text
    text = text.replace("```yaml\n", "").replace("\n```", "")
    if is_code or not sys.stdout.isatty():
        return [f"  {line}" for line in text.splitlines()]
    if not is_list:
        text = re.sub(r"(?<!\n)\n *(?![\n -])", " ", text)  # a paragraph becomes a line
    columns = terminal.width(sys.stdout) - 2
    return [
        f"  {part}".rstrip()
        for line in text.split("\n")
        for part in wrap(line, columns, "  " if is_list or line.startswith("- ") else "")
    ]


def _render_reason(reason: ReasonPage) -> str:
    width = min(100, terminal.width(sys.stdout))
    lines = [f"{terminal.paint(reason.code, '1', sys.stdout)}: {reason.title}"]
    for heading, paragraphs in reason.sections.items():
        wrapped = [
            line
            for paragraph in spell_program("\n".join(paragraphs)).splitlines()
            for line in textwrap.wrap(paragraph, width - 2, break_on_hyphens=False)
        ]
        lines += [
            "",
            terminal.paint(heading, "1;36", sys.stdout),
            *(f"  {line}" for line in wrapped),
        ]
    return "\n".join(lines)


def _json(rule: Rule) -> dict[str, Any]:
    sections = {
        heading: spell_program(rule.section(heading))
        for heading in HEADINGS
        if rule.section(heading)
    }
    row = rule_table().get(rule.code)
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        **({"fix": row.fix} if row is not None and row.fix else {}),
        **({"releases": list(row.releases)} if row is not None and row.releases else {}),
        "summary": rule.section(""),
        "reports": list(rule.violations),
        "sections": sections,
    }


def _reason_json(reason: ReasonPage) -> dict[str, Any]:
    return {
        "code": reason.code,
        "title": reason.title,
        "means": spell_program(reason.means),
        "see": spell_program(reason.see),
        "fix": spell_program(reason.fix),
        "mend": spell_program(reason.fix),  # the former name of fix, for this release
        **({"messages": list(reason.messages)} if reason.messages else {}),
    }
