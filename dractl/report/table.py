"""Rows in aligned columns, for reading and for grep."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest

from dractl.errors import UsageError
from dractl.model.order import natural
from dractl.report.canvas import Canvas
from dractl.report.plain import printable, wrap_anywhere

_NO_LIMITS: Mapping[int, int] = {}


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    canvas: Canvas,
    *,
    numbers: Sequence[int] = (),
    repeated: int = 0,
    limits: Mapping[int, int] = _NO_LIMITS,
) -> str:
    """Return a table as text. The columns at ``numbers`` are right-aligned, and the cells of a
    column in ``limits`` are wrapped to its number of characters.

    A table that is wider than the canvas is printed in blocks of columns, and each block begins
    with the first ``repeated`` columns. If no column is repeated, lines are cut. Raises UsageError
    if the table does not have the column of ``--sort-by``.
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
    lines_of_rows = [list(_lines_of_row(row, limits)) for row in rows]
    lines_of_table = [head, *chain.from_iterable(lines_of_rows)]
    widths = [max(len(line[i]) for line in lines_of_table) for i in range(len(head))]

    def line(row: Sequence[str], block: Sequence[int]) -> str:
        cells = (
            f"{row[i]:>{widths[i]}}" if i in numbers else f"{row[i]:<{widths[i]}}" for i in block
        )
        return canvas.cut("  ".join(cells).rstrip(), canvas.width)

    tables: list[str] = []
    for block in _blocks(widths, canvas.width, repeated):
        lines = [canvas.paint(line(head, block), "1")] if canvas.headers else []
        lines += [line(part, block) for part in chain.from_iterable(lines_of_rows)]
        tables.append("".join(f"{text}\n" for text in lines))
    return canvas.plain("\n".join(tables))


def _lines_of_row(row: Sequence[str], limits: Mapping[int, int]) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a row; in most tables each row is one line."""
    cells = (
        wrap_anywhere(cell, limits[i]) if i in limits else [cell] for i, cell in enumerate(row)
    )
    return zip_longest(*cells, fillvalue="")


def _blocks(widths: Sequence[int], width: int, repeated: int) -> list[list[int]]:
    """Return the columns of each block: as many as the width allows, and at least one that is not
    repeated. If no column is repeated, all columns are one block.
    """
    if not repeated:
        return [list(range(len(widths)))]
    first = list(range(repeated))
    blocks = [[*first]]
    for column in range(repeated, len(widths)):
        block = [*blocks[-1], column]
        is_wide = sum(widths[i] + 2 for i in block) - 2 > width
        if is_wide and len(blocks[-1]) > repeated:
            blocks.append([*first, column])
        else:
            blocks[-1] = block
    return blocks
