"""A matrix of machines and subjects: a table, or comma-separated values."""

from collections.abc import Sequence

from dractl.explain.answer import Subject
from dractl.explain.fleet.matrix import Cell, Matrix
from dractl.model.abbreviation import abbreviate
from dractl.report.canvas import Canvas
from dractl.report.comma_separated import csv_table
from dractl.report.plain import plural, printable, wrap
from dractl.report.table import table

_NAMED = 6  # maximum number of subjects in one line
UNDECIDED = "? it is unknown whether the machine can serve it: -v has what is not known"
STRANDED = "✓ N: N devices are stranded once no further copy fits: -v has their names"


def to_text(matrix: Matrix, canvas: Canvas, release: str) -> str:
    """Return a table of machines and subjects, in blocks of subjects if it is wider than the
    canvas.

    A cell is ``✓`` if the machine serves the subject, or ``✓*`` if it does so only under
    conditions; the number of stranded devices follows if there are any. Any other cell is the code
    of the first reason, after ``?`` if it is unknown whether the subject fits.
    """
    subjects = [subject.title for subject in matrix.subjects]
    cells = [
        (row.machine, f"{row.served}/{len(subjects)}", *map(format_cell, row.cells))
        for row in matrix.rows
    ]
    lines = [summarize(matrix, release)]
    if matrix.has_conditions:
        lines.append("* only on some nodes, or not all of it was judged: -v has the conditions")
    if matrix.strands_devices:
        lines.append(STRANDED)
    if matrix.has_undecided:
        lines.append(UNDECIDED)
    if sentence := name_unserved(matrix):
        lines.append(sentence)
    rows = table(("MACHINE", "SERVES", *subjects), cells, canvas, repeated=2)
    return f"{rows}\n" + canvas.plain(
        "".join(f"{part}\n" for line in lines for part in wrap(printable(line), canvas.width, "  "))
    )


def to_csv(matrix: Matrix) -> str:
    """Return the matrix as comma-separated values: ``fits`` or the code of the first reason.

    If stranded devices were counted, their numbers follow in a column for each subject.
    """
    addresses = [subject.address for subject in matrix.subjects]
    head, rows = ["machine", "serves", *addresses], []
    has_stranded = matrix.counts_stranded
    if has_stranded:
        head += [f"stranded {address}" for address in addresses]
    for row in matrix.rows:
        values = [row.machine, str(row.served), *(cell.code for cell in row.cells)]
        if has_stranded:
            values += ["" if cell.stranded is None else str(cell.stranded) for cell in row.cells]
        rows.append(values)
    return csv_table(head, rows)


def summarize(matrix: Matrix, release: str) -> str:
    """Return the sentence with the number of subjects that a machine can serve, and the number of
    machines that can serve all subjects.
    """
    subjects = len(matrix.subjects)
    served = subjects - len(matrix.unserved)
    return (
        f"{served} of {plural(subjects, 'subject')} can be served by a machine,"
        f" {matrix.universal} of {plural(len(matrix.rows), 'machine')} can serve all;"
        f" for Kubernetes {release}"
    )


def name_unserved(matrix: Matrix) -> str:
    """Return the names of the subjects that no machine can serve, and of the subjects for which
    this is unknown, in one sentence; empty if there are neither.
    """
    undecided = matrix.undecided
    unserved = [subject for subject in matrix.unserved if subject not in undecided]
    sentences = (
        f"no machine can serve {_list_titles(unserved)}" if unserved else "",
        f"whether a machine can serve {_list_titles(undecided)} is unknown" if undecided else "",
    )
    return "; ".join(filter(None, sentences))


def _list_titles(subjects: Sequence[Subject]) -> str:
    return abbreviate([subject.title for subject in subjects], _NAMED)


def format_cell(cell: Cell) -> str:
    if not cell.serves:
        return f"? {cell.code}" if cell.is_undecided else cell.code
    mark = "✓*" if cell.is_conditional else "✓"
    return f"{mark} {cell.stranded}" if cell.stranded else mark
