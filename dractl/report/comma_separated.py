"""Rows as comma-separated values (RFC 4180), for spreadsheets and scripts."""

import csv
import io
from collections.abc import Iterable, Sequence


def csv_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a line with the names of the columns, and one line for each row. Without ``head``
    there is no first line.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if head:
        writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
