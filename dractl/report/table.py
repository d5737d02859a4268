"""Rows in aligned columns, for reading and for grep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.report.plain import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.report.canvas import Canvas


def table(head: Sequence[str], rows: Sequence[Sequence[str]], canvas: Canvas, *, numbers: Sequence[int] = ()) -> str:
    """A table as text; the columns at ``numbers`` are right-aligned, and lines are cut at the canvas's width."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in rows), 0) if rows else len(name) for i, name in enumerate(head)]

    def line(row: Sequence[str]) -> str:
        cells = (
            f"{cell:>{width}}" if i in numbers else f"{cell:<{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return canvas.cut("  ".join(cells).rstrip(), canvas.width)

    return canvas.plain("\n".join([canvas.paint(line(head), "1"), *(line(row) for row in rows)]) + "\n")
