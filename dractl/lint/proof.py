"""Safe fixes are tried before they are offered: what becomes of a document has to be accepted by the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.fixes import applied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dractl.lint.finding import Fix
    from dractl.lint.place import Placed

    Reader = Callable[[str, str], Sequence[Sequence[Placed]]]
    """The name and the text of a file to what the server says about each of its documents."""

MAX_ROUNDS = 10
"""One fix uncovers what the next one fixes."""


def proven(placed: Iterable[Placed], read: Reader) -> list[Placed]:
    """The findings, with fixes that are safe only if the document is accepted once all of its safe fixes are made."""
    found = list(placed)
    texts = {item.file: item.document.text for item in found if item.document is not None and _is_safe(item)}
    accepted = {file: _accepted(file, text, found, read) for file, text in texts.items()}
    return [
        item._replace(finding=item.finding._replace(fix=item.finding.fix._replace(safe=False)))
        if item.finding.fix is not None and _is_safe(item) and item.number not in accepted.get(item.file, ())
        else item
        for item in found
    ]


def _is_safe(item: Placed) -> bool:
    return item.finding.fix is not None and item.finding.fix.safe


def _accepted(file: str, text: str, found: Sequence[Placed], read: Reader) -> set[int]:
    """The numbers of the documents of a file that the server accepts once they are fixed."""
    fixes: list[Fix] = [item.finding.fix for item in found if item.file == file and item.finding.fix and _is_safe(item)]
    touched = {item.number for item in found if item.file == file and _is_safe(item)}
    rejected: set[int] = set()
    for _ in range(MAX_ROUNDS):
        text, count = applied(text, fixes)
        if not count:
            break
        documents = read(file, text)
        rejected = {number for number, items in enumerate(documents) if any(item.finding.api for item in items)}
        fixes = [
            item.finding.fix
            for number, items in enumerate(documents)
            if number in touched
            for item in items
            if item.finding.fix and _is_safe(item)
        ]
    return touched - rejected
