"""Tries fixes before they are offered: the API server has to accept the resulting document."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from dractl.lint.finding import TextFix
from dractl.lint.fixes import applied
from dractl.lint.place import Located
from dractl.manifests import Document

Reader = Callable[[str, str], Sequence[Sequence[Located]]]
"""The name and the text of a file to what the server says about each document; to nothing if it is damaged."""


MAX_ROUNDS = 10
"""One fix uncovers what the next one fixes."""
_ON_DEMAND = "DRA803"  # such a version is served only if an administrator enabled it


def proven(placed: Iterable[Located], read: Reader) -> list[Located]:
    """The findings with the fixes whose result the server accepts.

    A fix is safe only if the document is accepted once all of its safe fixes are made. Other fixes are left out unless
    it is accepted once all of its fixes are made.
    """
    found = list(placed)
    safe = _accepted(found, read, _is_safe)
    kept = [
        _with(item, replace(fix, safe=False))
        if fix and fix.safe and item.trial is None and (item.file, item.number) not in safe
        else item
        for item in found
        for fix in [item.finding.fix]
    ]
    possible = (
        _accepted(kept, read, _has_fix)
        if any(_has_fix(item) and not _is_safe(item) for item in kept)
        else safe
    )
    return [
        item
        if not _has_fix(item)
        or _is_safe(item)
        or item.trial is not None
        or (item.file, item.number) in possible
        else _with(item, None)
        for item in kept
    ]


def proven_when_rendered(
    placed: Iterable[Located], judge: Callable[[Document], Sequence[Located]]
) -> list[Located]:
    """The findings with those fixes in values and patches after which the server accepts the rendered object, or
    refuses it for other reasons only; then they are not safe."""
    return [_tried(item, judge) if item.trial is not None else item for item in placed]


def _tried(item: Located, judge: Callable[[Document], Sequence[Located]]) -> Located:
    fix = item.finding.fix
    if item.trial is None or fix is None:
        return replace(item, trial=None)
    refused = [found for found in judge(item.trial) if found.finding.api]
    if refused:
        stays = any(
            (found.finding.code, found.path) == (item.finding.code, item.path) for found in refused
        )
        fix = None if stays or item.finding.api is None else replace(fix, safe=False)
    return _with(replace(item, trial=None), fix)


def _has_fix(item: Located) -> bool:
    return item.finding.fix is not None


def _is_safe(item: Located) -> bool:
    return item.finding.fix is not None and item.finding.fix.safe


def _with(item: Located, fix: TextFix | None) -> Located:
    return replace(item, finding=replace(item.finding, fix=fix))


def _accepted(
    found: Sequence[Located], read: Reader, counts: Callable[[Located], bool]
) -> set[tuple[str, int]]:
    """The documents, by file and number, that the server accepts once all relevant fixes are made."""
    by_file: dict[str, list[Located]] = {}
    for item in found:
        if counts(item) and item.text is not None and item.trial is None:
            by_file.setdefault(item.file, []).append(item)
    return {
        (file, number)
        for file, items in by_file.items()
        for number in _numbers(file, items, read, counts)
    }


def _numbers(
    file: str, found: Sequence[Located], read: Reader, counts: Callable[[Located], bool]
) -> set[int]:
    text = next(item.text for item in found if item.text is not None)
    fixes = [item.finding.fix for item in found if item.finding.fix is not None]
    touched = {item.number for item in found}
    rejected: set[int] = set()
    for _ in range(MAX_ROUNDS):
        text, count = applied(text, fixes)
        if not count:
            break
        documents = read(file, text)
        if not documents:
            return set()
        rejected = {
            number
            for number, items in enumerate(documents)
            if any(item.finding.api or item.finding.code == _ON_DEMAND for item in items)
        }
        fixes = [
            item.finding.fix
            for number, items in enumerate(documents)
            if number in touched
            for item in items
            if item.finding.fix is not None and counts(item)
        ]
    return touched - rejected
