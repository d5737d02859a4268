"""The last lines of lint's text formats: the number of findings, of files, and of findings per
rule.
"""

from collections import Counter

from dractl.lint.finding import Report
from dractl.report.canvas import Canvas
from dractl.report.plain import plural, wrap

STYLES = {"error": "1;31", "warning": "1;33", "info": "1;36"}


def summary(report: Report, canvas: Canvas) -> str:
    """Return one sentence: ``2 errors, 1 warning in 3 documents of 2 files``, and the notes; broken
    at words where the canvas is narrower.
    """
    counts = [
        (report.number_of("error"), "error"),
        (report.number_of("warning"), "warning"),
        (report.number_of("info"), "info"),
    ]
    numbers_by_severity = ", ".join(plural(count, noun) for count, noun in counts if count)
    extent = f"in {plural(report.documents, 'document')}"
    if report.files or not report.documents:  # else the documents are a cluster's
        extent += f" of {plural(report.files, 'file')}"
    asides = ["selectors not checked"] if report.unchecked is not None else []
    if report.suppressed:
        asides.append(f"{report.suppressed} suppressed")
    if report.skipped:
        asides.append(f"{len(report.skipped)} skipped")
    aside = f" ({', '.join(asides)})" if asides else ""
    fixable = sum(finding.fix is not None and finding.fix.safe for finding in report.findings)
    unsafe = sum(finding.fix is not None for finding in report.findings) - fixable
    if fixable or unsafe:
        more = f"{unsafe}{' more' if fixable else ''} with --unsafe-fixes" if unsafe else ""
        asides.append(
            ", ".join(filter(None, (f"{fixable} fixable with --fix" if fixable else "", more)))
        )
        aside = f" ({', '.join(asides)})"
    whence = f" ({report.release_from})" if report.release_from else ""
    first = (
        f"{numbers_by_severity or 'nothing found'} {extent} for Kubernetes"
        f" {report.kubernetes_version}{whence}{aside}"
    )
    text = "\n".join(wrap(first, canvas.width, "  "))
    for count, noun in counts:
        number = plural(count, noun)
        text = text.replace(number, canvas.paint(number, STYLES[noun]), 1) if count else text
    notes = (wrap(f"note: {note}", canvas.width, "  ") for note in report.notes)
    return "\n".join([text, *("\n".join(lines) for lines in notes)])


def statistics(report: Report) -> str:
    """Return the number of findings of each rule, the most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    width = max((len(str(count)) for _, count in rows), default=1)
    return "\n".join(f"{count:>{width}}  {code}  {name}" for (code, name), count in rows)
