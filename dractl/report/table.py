"""Rows in aligned columns, for reading and for grep."""

from collections.abc import Sequence

from dractl.errors import UsageError
from dractl.model.order import natural
from dractl.report.canvas import Canvas
from dractl.report.plain import printable


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    canvas: Canvas,
    *,
    numbers: Sequence[int] = (),
) -> str:
    """Return a table as text; the columns at ``numbers`` are right-aligned, and lines are cut at
    the canvas's width. Raises UsageError if it has no column to sort by.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    if canvas.sort_by is not None:
        columns = [name.lower().replace(" ", "-") for name in head]
        if canvas.sort_by not in columns:
            raise UsageError(
                f"--sort-by: no column {canvas.sort_by!r}", hint=f"columns are {', '.join(columns)}"
            )
        column = columns.index(canvas.sort_by)
        rows.sort(key=lambda row: natural(row[column]))
    widths = [
        max(len(name), *(len(row[i]) for row in rows), 0) if rows else len(name)
        for i, name in enumerate(head)
    ]

    def line(row: Sequence[str]) -> str:
        cells = (
            f"{cell:>{width}}" if i in numbers else f"{cell:<{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return canvas.cut("  ".join(cells).rstrip(), canvas.width)

    lines = [canvas.paint(line(head), "1")] if canvas.headers else []
    return canvas.plain("".join(f"{text}\n" for text in (*lines, *map(line, rows))))
