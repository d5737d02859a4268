"""``discover --check``: for each check, the evidence and a hint."""

from collections import Counter

from dractl.probes.services import Check, State
from dractl.report.canvas import Canvas
from dractl.report.plain import plural, wrap

_COUNTED: dict[State, str] = {"ok": "OK"}
_MARKS: dict[State, tuple[str, str, str]] = {
    "ok": ("✓", "ok", "32"),
    "missing": ("✗", "MISSING", "31"),
    "warning": ("!", "warning", "33"),
    "unknown": ("?", "unknown", "2"),
}


def _count(state: State, count: int) -> str:
    """Return ``1 OK``, ``2 warnings``."""
    return (
        plural(count, "warning") if state == "warning" else f"{count} {_COUNTED.get(state, state)}"
    )


def render(checks: tuple[Check, ...], canvas: Canvas) -> str:
    """Return the checks in their order, then the number in each state."""
    left = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        mark, word, style = _MARKS[check.state]
        head = canvas.glyph(mark, f"{word:<7}")
        indent = " " * (len(head) + left + 4)
        first, *others = wrap(
            f"{head}  {check.name:<{left}}  {check.evidence}", canvas.width, indent
        )
        lines += [first.replace(head, canvas.paint(head, style), 1), *others]
        if check.advice:
            arrow = canvas.glyph("→", "->")
            lines += wrap(f"{indent}{arrow} {check.advice}", canvas.width, indent + "  ")
    counts: Counter[State] = Counter(check.state for check in checks)
    lines += ["", ", ".join(_count(state, counts[state]) for state in _MARKS if counts[state])]
    return canvas.plain("\n".join(lines) + "\n")
