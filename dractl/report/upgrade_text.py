"""``dractl upgrade`` as text: a paragraph for each step, what breaks first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.report.plain import printable, wrap
from dractl.upgrade.finding import LEVELS

if TYPE_CHECKING:
    from dractl.report.canvas import Canvas
    from dractl.upgrade import Finding, Plan, Step

_STYLES = {"breaks": "1;31", "changes": "33", "info": "2"}
_OBJECTS = 3
_MANY = 6  # findings of one level in a step; more are counted, unless every one is wanted


def render(plan: Plan, canvas: Canvas, *, every: bool = False) -> str:
    """The plan; ``every``: all findings and objects."""
    lines = [headline(plan), ""]
    for step in plan.steps:
        lines += [*_step(step, canvas, every=every), ""]
    if plan.not_compared:
        lines.append("Not compared")
        shown = plan.not_compared if every else plan.not_compared[:_MANY]
        lines += [line for text in shown for line in _wrapped(printable(text), canvas, "  ")]
        lines += _more(len(plan.not_compared) - len(shown))
    return canvas.plain("\n".join(lines).rstrip() + "\n")


def headline(plan: Plan) -> str:
    """What is upgraded, and how much breaks and changes."""
    drivers = "".join(f", {name} {before} → {after}" for name, (before, after) in plan.drivers.items())
    kubernetes = f"Kubernetes {plan.start}" + (f" → {plan.to}" if plan.to != plan.start else "")
    counts = ", ".join(f"{plan.count(level)} {level.upper()}" for level in LEVELS)
    return f"{kubernetes}{drivers}: {counts}"


def _step(step: Step, canvas: Canvas, *, every: bool) -> list[str]:
    lines = [canvas.paint(printable(step.step), "1")]
    for text in step.before:
        lines += _wrapped(f"before it: {printable(text)}", canvas, "  ")
    for level in LEVELS:
        found = [one for one in step.findings if one.level == level]
        shown = found if every else found[: _MANY if level != "info" else 0]
        for finding in shown:
            lines += _finding(finding, canvas, every=every)
        if len(found) > len(shown):
            lines.append(f"  {len(found) - len(shown)} {'more ' if shown else ''}{level.upper()}; -v shows all")
    return lines if len(lines) > 1 else [*lines, "  nothing changes"]


def _finding(finding: Finding, canvas: Canvas, *, every: bool) -> list[str]:
    names = finding.objects if every else finding.objects[:_OBJECTS]
    more = f" and {len(finding.objects) - len(names)} more" if len(finding.objects) > len(names) else ""
    about = f"{', '.join(map(printable, names))}{more}: " if names else ""
    first, *rest = _wrapped(about + printable(finding.message), canvas, " " * 11)
    label = finding.level.upper()
    lines = ["  " + canvas.paint(label, _STYLES[finding.level]) + " " * (9 - len(label)) + first.lstrip(), *rest]
    for what, text in (("fix", finding.fix), ("owner", finding.owner), ("source", _source(finding))):
        if text:
            lines += _wrapped(f"{what}: {printable(text)}", canvas, " " * 11)
    return lines


def _source(finding: Finding) -> str:
    return ", ".join(filter(None, (finding.source, finding.date)))


def _more(count: int) -> list[str]:
    return [f"  {count} more; -v shows all"] if count > 0 else []


def _wrapped(text: str, canvas: Canvas, indent: str) -> list[str]:
    return [indent + line for line in wrap(text, max(canvas.width - len(indent), 40))] or [indent]
