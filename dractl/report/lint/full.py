"""``dractl lint -o full``: each finding with its source line, a caret below the
error, and a hint.
"""

from msgspec import Struct

from dractl.lint import registry
from dractl.lint.finding import Finding, Report
from dractl.manifests import Position
from dractl.program import program_name
from dractl.report.canvas import Canvas
from dractl.report.lint.summary import STYLES
from dractl.report.plain import printable, wrap

_FRAME = "94"  # bright, since plain blue is hard to read on black


def render(report: Report, canvas: Canvas) -> str:
    """Return the findings, separated by blank lines."""
    return "\n\n".join(_finding(finding, canvas) for finding in report.findings)


def explain_hint(report: Report) -> str:
    """Return the hint on where to read about rules whose page has no address; empty if all pages
    have one.
    """
    codes = sorted(
        {finding.code for finding in report.findings if not registry.rule_of(finding.code).page}
    )
    if len(codes) < 2:
        return f"`{program_name()} rule {codes[0]}` explains the rule" if codes else ""
    return f"`{program_name()} rule CODE` explains a rule: {', '.join(codes)}"


def _finding(finding: Finding, canvas: Canvas) -> str:
    head = f"{finding.severity}[{finding.code}]"
    style = STYLES[finding.severity]
    title = f"{head} {finding.name}: {canvas.plain(printable(finding.message))}"
    if finding.confidence != "certain":
        title += f" ({finding.confidence})"
    first, *others = wrap(title, canvas.width, "  ")
    lines = [canvas.paint(head, style) + first[len(head) :], *others]

    margin = " " * len(str(finding.position.line))
    bar = canvas.paint(canvas.glyph("│", "|"), _FRAME)
    arrow = canvas.paint(canvas.glyph("╭─", "-->"), _FRAME)
    place = finding.position
    lines.append(f"{margin} {arrow} {printable(f'{place.file}:{place.line}:{place.column}')}")
    about = "  ".join(part for part in (str(finding.object), finding.path) if part)
    if about:
        lines += (f"{margin} {bar} {line}" for line in _wrap_text(about, canvas, len(margin)))
    if finding.excerpt.strip():
        excerpt = _excerpt(finding.excerpt, place, canvas.width - len(margin) - 4)
        lines.append(f"{margin} {bar}")
        lines.append(f"{canvas.paint(str(place.line), _FRAME)} {bar} {canvas.plain(excerpt.text)}")
        lines.append(
            f"{margin} {bar} {' ' * excerpt.start}"
            f"{canvas.paint('^' * max(1, excerpt.end - excerpt.start), style)}"
        )
    for related in finding.related:
        at = related.position
        lines += _note(
            f"{printable(f'{at.file}:{at.line}:{at.column}')}: {related.message}",
            "see",
            canvas,
            margin,
        )
    if finding.help:
        lines += _note(finding.help, "help", canvas, margin)
    if finding.fix:
        lines += _note(
            finding.fix.title + ("" if finding.fix.safe else " (not safe)"), "fix", canvas, margin
        )
    page = registry.rule_of(finding.code).page
    if page:
        lines += _note(page, "page", canvas, margin)
    if finding.origin:
        lines += _note(finding.origin, "rendered from", canvas, margin)
    return "\n".join(line.rstrip() for line in lines)


def _wrap_text(text: str, canvas: Canvas, indent: int) -> list[str]:
    return wrap(canvas.plain(printable(text)), max(20, canvas.width - indent - 3))


def _note(text: str, label: str, canvas: Canvas, margin: str) -> list[str]:
    first, *others = _wrap_text(f"{label}: {text}", canvas, len(margin))
    equals = canvas.paint("=", _FRAME)
    return [
        f"{margin} {equals} {canvas.paint(f'{label}:', '1')}{first[len(label) + 1 :]}",
        *(f"{margin}   {line}" for line in others),
    ]


class _Excerpt(Struct, frozen=True):
    """A source line as it is shown, or its part around a place."""

    text: str
    """The printable text."""
    start: int
    """The first column to mark, from 0."""
    end: int
    """The column after the last one to mark."""


def _excerpt(line: str, place: Position, width: int) -> _Excerpt:
    """Return the line, or its part around the place if it is too long."""
    start = min(place.column - 1, len(line))
    end = (
        min(place.end_column - 1, len(line)) if place.end_line == place.line else len(line.rstrip())
    )
    end = max(end, start + 1)
    room = max(20, width)
    first = 0
    if len(line) > room:
        first = max(0, min(start - room // 3, len(line) - room))
    before, marked, after = line[first:start], line[start:end], line[end : first + room]
    # Escapes are longer than the characters that they replace, so the marks are counted after
    # escaping.
    shown_before, shown_marked = (
        printable(before),
        printable(marked)[: max(1, room - len(printable(before)))],
    )
    return _Excerpt(
        shown_before + shown_marked + printable(after),
        len(shown_before),
        len(shown_before) + len(shown_marked),
    )
