"""Rows as comma-separated values (RFC 4180), for spreadsheets and scripts."""

import csv
import io
from collections.abc import Iterable, Sequence


def csv_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a line for the names of the columns and one for each row; no first line without
    ``head``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if head:
        writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
