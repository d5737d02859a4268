"""``dractl rule``: what a lint rule means, with examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dractl.cli import common

if TYPE_CHECKING:
    from dractl.lint.registry import Rule

FORMATS = ("text", "json")

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="CODE|NAME|DRIVER",
        help="A code (DRA116), a name (count-not-positive), the beginning of a code, or a driver (gpu.nvidia.com).",
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", metavar="FORMAT", help="text or json.")]


def command(
    name: Name = None,
    output: Output = "text",
    output_file: common.OutputFile = None,
    quiet: common.Quiet = False,
    verbose: common.Verbose = 0,  # noqa: ARG001 - every subcommand takes it
    color: common.Color = "auto",
) -> None:
    """Explain a rule of `dractl lint`: what it finds, why that is bad, and what to write instead.

    Without an argument every rule is listed. A driver's name shows the attributes that its devices have.

    Examples: `dractl rule DRA701`, `dractl rule count-zero`, `dractl rule DRA7`, `dractl rule gpu.nvidia.com`
    """
    common.settle(color, quiet)
    common.choose("--output", output, FORMATS)
    if name is not None and "." in name:  # no rule has a dot, and every driver's name has
        common.write_report(_driver(name, output), output_file)
        return
    chosen = _chosen(name)
    if output == "json":
        import json

        text = json.dumps({"schema": "dractl/rules/v1", "rules": [_json(rule) for rule in chosen]}, indent=1)
    else:
        text = _page(chosen[0]) if len(chosen) == 1 else _list(chosen)
    common.write_report(text, output_file)


def _driver(name: str, output: str) -> str:
    import sys

    from dractl.cli import terminal
    from dractl.drivers import find
    from dractl.report import driver_catalogue
    from dractl.report.canvas import Canvas

    profile = find(name)
    if output == "json":
        import json

        return json.dumps(driver_catalogue.to_json(profile), indent=1, ensure_ascii=False)
    return driver_catalogue.to_text(profile, Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout)))


def _chosen(name: str | None) -> list[Rule]:
    from dractl.errors import UsageError
    from dractl.lint import registry

    known = registry.rules()
    if name is None:
        return list(known.values())
    rule = registry.find(name)
    if rule:
        return [rule]
    try:
        return [known[code] for code in sorted(registry.expand([name], "rule"))]
    except UsageError as error:
        raise UsageError(f"there is no rule {name!r}", hint=error.hint) from None


def _list(rules: list[Rule]) -> str:
    import sys

    from dractl.cli import terminal
    from dractl.report.canvas import Canvas

    canvas = Canvas(terminal.width(sys.stdout), terminal.use_unicode(sys.stdout))
    wide = max(len(rule.name) for rule in rules)
    lines = []
    for rule in rules:
        line = f"{rule.code}  {rule.severity:<7}  {rule.name:<{wide}}  {rule.section('')}"
        lines.append(canvas.cut(line, canvas.width) if sys.stdout.isatty() else line)
    return "\n".join(lines)


def _page(rule: Rule) -> str:
    import sys

    from dractl.cli import terminal
    from dractl.lint.registry import HEADINGS

    title = terminal.paint(f"{rule.code} {rule.name}", "1", sys.stdout)
    lines = [f"{title} ({rule.severity})", "", rule.section("")]
    for heading in HEADINGS:
        if body := rule.section(heading).replace("```yaml\n", "").replace("\n```", ""):
            lines += ["", terminal.paint(heading, "1;36", sys.stdout), *(f"  {line}" for line in body.splitlines())]
    return "\n".join(lines)


def _json(rule: Rule) -> dict[str, Any]:
    from dractl.lint.registry import HEADINGS

    sections = {heading: rule.section(heading) for heading in HEADINGS if rule.section(heading)}
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "summary": rule.section(""),
        "reports": list(rule.server),
        "sections": sections,
    }
