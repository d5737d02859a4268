"""``dractl upgrade`` as text: a paragraph for each step, what breaks first."""

from collections import Counter
from itertools import groupby

from dractl.report.canvas import Canvas
from dractl.report.plain import printable, wrap
from dractl.upgrade import Finding, Plan, Step
from dractl.upgrade.finding import LEVELS

_STYLES = {"breaks": "1;31", "changes": "33", "info": "2"}
_ALIKE = 2  # findings of one code in a step; more are counted, unless every one is wanted, so that a screen holds it all
_LINES = 2  # lines of a finding, and one of its fix
_OPEN = 2


def render(plan: Plan, canvas: Canvas, *, every: bool = False) -> str:
    """The plan; ``every``: all findings and objects."""
    lines = [headline(plan), ""]
    for step in plan.steps:
        lines += _step(step, canvas, every=every)
    if plan.not_compared:
        lines.append("Not compared")
        shown = plan.not_compared if every else plan.not_compared[:_OPEN]
        lines += [
            line
            for text in shown
            for line in _wrapped(printable(text), canvas, "  ", 0 if every else 1)
        ]
        lines += _more(len(plan.not_compared) - len(shown))
    return canvas.plain("\n".join(lines).rstrip() + "\n")


def headline(plan: Plan) -> str:
    """What is upgraded, and how much breaks and changes."""
    drivers = "".join(
        f", {name} {before} → {after}" for name, (before, after) in plan.drivers.items()
    )
    kubernetes = f"Kubernetes {plan.start}" + (f" → {plan.to}" if plan.to != plan.start else "")
    counts = ", ".join(f"{plan.count(level)} {level.upper()}" for level in LEVELS)
    return f"{kubernetes}{drivers}: {counts}"


def _step(step: Step, canvas: Canvas, *, every: bool) -> list[str]:
    lines = [canvas.paint(printable(step.step), "1")]
    for text in step.before:
        lines += _wrapped(f"before it: {printable(text)}", canvas, "  ", 0 if every else 1)
    hidden: Counter[str] = Counter()
    for _, alike in groupby(step.findings, key=lambda one: (one.level, one.code)):
        found = list(alike)
        shown = found if every else found[: _ALIKE if found[0].level != "info" else 0]
        for finding in shown:
            lines += _finding(finding, canvas, every=every)
        hidden[found[0].level] += len(found) - len(shown)
    more = ", ".join(f"{count} {level.upper()}" for level, count in hidden.items() if count)
    lines += [f"  {'and ' if len(lines) > 1 else ''}{more}; -v shows all"] if more else []
    return lines if len(lines) > 1 else [*lines, "  nothing changes"]


def _finding(finding: Finding, canvas: Canvas, *, every: bool) -> list[str]:
    names = finding.objects if every else finding.objects[:1]
    more = (
        f" and {len(finding.objects) - len(names)} more"
        if len(finding.objects) > len(names)
        else ""
    )
    about = f"{', '.join(map(printable, names))}{more}: " if names else ""
    indent = " " * 11
    first, *rest = _wrapped(
        about + printable(finding.message), canvas, indent, 0 if every else _LINES
    )
    label = finding.level.upper()
    lines = [
        "  "
        + canvas.paint(label, _STYLES[finding.level])
        + " " * (9 - len(label))
        + first.lstrip(),
        *rest,
    ]
    owner = (
        None if (finding.owner or "").startswith("namespace ") else finding.owner
    )  # the objects' names have it
    source = ", ".join(filter(None, (finding.source, finding.date))) if every else ""
    for what, text in (("fix", finding.fix), ("owner", owner), ("source", source)):
        if text:
            lines += _wrapped(f"{what}: {printable(text)}", canvas, indent, 0 if every else 1)
    return lines


def _more(count: int) -> list[str]:
    return [f"  and {count} more; -v shows all"] if count > 0 else []


def _wrapped(text: str, canvas: Canvas, indent: str, most: int = 0) -> list[str]:
    """The lines of a text, at most ``most`` (0: any number); the last ends with an ellipsis if there would be more."""
    width = max(canvas.width - len(indent), 40)
    lines = wrap(text, width) or [""]
    if most and len(lines) > most:
        last = lines[most - 1]
        lines = [
            *lines[: most - 1],
            (last if len(last) + 2 <= width else last.rpartition(" ")[0] or last[:-2]) + " …",
        ]
    return [indent + line for line in lines]
