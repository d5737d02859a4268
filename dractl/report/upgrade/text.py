"""``dractl upgrade`` as text: a paragraph for each step, with breaking changes first."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from dractl.model.abbreviation import abbreviate
from dractl.model.releases import NEWEST, RELEASES
from dractl.report.canvas import Canvas
from dractl.report.plain import plural, printable, wrap
from dractl.upgrade import Finding, Plan, Step
from dractl.upgrade.finding import LEVELS, Level

_NOUNS: dict[Level, str] = {"breaks": "break", "changes": "behaviour change", "info": "note"}
_STYLES = {"breaks": "1;31", "changes": "33", "info": "2"}
_MAX_ALIKE = 2
"""Number of findings with one code that a step shows without ``-v``; the others are only
counted.
"""
_LONG_MESSAGE = 170
"""Number of characters of a long message, which takes two lines of 100 columns. Without ``-v``, a
step shows only one of several findings with one code if the message is longer.
"""
_PREEMPTION = re.compile(r"(?: [a-z ]+,)? preemption: 0/\d+ nodes are available: [^.]*\.")
"""The sentence with which kube-scheduler ends each refusal (pkg/scheduler/framework/preemption,
Preempt); it does not say why the pod does not fit.
"""
_OPEN = 3
"""Number of subjects that are named as not compared; the others are counted."""
_MAX_OBJECTS = 12
"""Number of names in a finding that is printed in full; JSON has all of them."""


def render(plan: Plan, canvas: Canvas, *, every: bool = False) -> str:
    """Return the plan; with ``every``, also the notes and all findings of a kind."""
    lines = [*_wrap_lines(headline(plan), canvas, ""), ""]
    quiet = [] if every else [step for step in plan.steps if _is_quiet(step)]
    for step in plan.steps:
        if step not in quiet:
            lines += _step(step, canvas, describe_unchanged(plan), every=every)
    lines += _quiet_steps(quiet, canvas, describe_unchanged(plan))
    if plan.not_compared:
        lines.append("Not compared")
        shown = plan.not_compared if every else plan.not_compared[:_OPEN]
        lines += [line for text in shown for line in _wrap_lines(printable(text), canvas, "  ")]
        lines += _note_more(len(plan.not_compared) - len(shown))
    notes = plan.count("info")
    lines += [f"{_count('info', notes)}; -v shows them"] if notes and not every else []
    return canvas.plain("\n".join(lines).rstrip() + "\n")


def _is_quiet(step: Step) -> bool:
    return not step.before and all(finding.level == "info" for finding in step.findings)


def _quiet_steps(steps: Sequence[Step], canvas: Canvas, unchanged: str) -> list[str]:
    """Return one line for the steps that change nothing."""
    first, *following = [printable(step.step) for step in steps if not step.findings] or [""]
    names = ", ".join([first, *(name.removeprefix("Kubernetes ") for name in following)])
    return _wrap_lines(f"{names}: {unchanged}", canvas, "") if names else []


def headline(plan: Plan) -> str:
    """Return the releases of the upgrade with the numbers of changes, or that there is nothing to
    upgrade.
    """
    is_present = plan.start == plan.to and not plan.drivers
    has_findings = any(step.findings for step in plan.steps)
    if is_present and not has_findings:
        return _describe_current_release(plan.to)
    drivers = "".join(
        f", {name} {before} → {after}" for name, (before, after) in plan.drivers.items()
    )
    kubernetes = f"Kubernetes {plan.start}" + (f" → {plan.to}" if plan.to != plan.start else "")
    subject = _describe_current_release(plan.to) if is_present else kubernetes + drivers
    counts = [_count(level, plan.count(level)) for level in LEVELS if plan.count(level)]
    unbroken = [] if plan.count("breaks") else ["nothing breaks"]
    count = len(plan.not_compared)
    unseen = f"; {plural(count, 'subject')} not compared" if count else ""
    return f"{subject}: {', '.join((*counts, *unbroken))}{unseen}"


def describe_unchanged(plan: Plan) -> str:
    """Say that a step changes nothing for the kinds of objects that were read."""
    return f"nothing changes for {', '.join(plan.kinds)}" if plan.kinds else "nothing changes"


def _describe_current_release(release: str) -> str:
    """Say that the cluster has the release; for the newest release, name the preview that
    exists.
    """
    if release != NEWEST:
        return f"already at Kubernetes {release}"
    further = f"; try --to {RELEASES[-1]}, a preview" if RELEASES[-1] != NEWEST else ""
    return f"already at Kubernetes {release}, the newest release that dractl knows{further}"


def _count(level: Level, count: int) -> str:
    return plural(count, _NOUNS[level])


def _step(step: Step, canvas: Canvas, unchanged: str, *, every: bool) -> list[str]:
    lines = [canvas.paint(printable(step.step), "1")]
    for text in step.before:
        lines += _wrap_lines(f"first {printable(text)}", canvas, "  ")
    hidden: Counter[Level] = Counter()
    findings = [one for one in step.findings if every or one.level != "info"]
    for _, alike in groupby(findings, key=lambda one: (one.level, one.code)):
        group = list(alike)
        most = _MAX_ALIKE if len(group[0].message) <= _LONG_MESSAGE else 1
        shown = group if every else group[:most]
        for finding in shown:
            lines += _finding(finding, canvas, every=every)
        hidden[group[0].level] += len(group) - len(shown)
    more = ", ".join(_count(level, count) for level, count in hidden.items() if count)
    lines += [f"  {'and ' if len(lines) > 1 else ''}{more}; -v shows all"] if more else []
    return lines if len(lines) > 1 else [*lines, *_wrap_lines(unchanged, canvas, "  ")]


def _finding(finding: Finding, canvas: Canvas, *, every: bool) -> list[str]:
    names = abbreviate([*map(printable, finding.objects)], _MAX_OBJECTS if every else 1)
    about = f"{names}: " if names else ""
    indent = " " * 11
    answer = finding.message if every else _PREEMPTION.sub("", finding.message)
    message = about + printable(answer)
    first, *further_lines = _wrap_lines(message, canvas, indent)
    label = finding.level.upper()
    lines = [
        "  "
        + canvas.paint(label, _STYLES[finding.level])
        + " " * (9 - len(label))
        + first.lstrip(),
        *further_lines,
    ]
    # the names of the objects already contain a namespace
    owner = None if (finding.owner or "").startswith("namespace ") else finding.owner
    source = ", ".join(filter(None, (finding.source, finding.date))) if every else ""
    sides = (finding.earlier, finding.later) if every else (None, None)
    for title, text in (
        ("before", sides[0]),
        ("after", sides[1]),
        ("fix", finding.fix),
        ("owner", owner),
        ("source", source),
    ):
        if text:
            lines += _wrap_lines(f"{title}: {printable(text)}", canvas, indent)
    return lines


def _note_more(count: int) -> list[str]:
    return [f"  and {count} more; -v shows all"] if count > 0 else []


def _wrap_lines(text: str, canvas: Canvas, indent: str) -> list[str]:
    width = max(canvas.width - len(indent), 40)
    return [indent + line for line in wrap(text, width)]
