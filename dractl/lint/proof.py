"""Tries fixes before they are offered: the API server has to accept the resulting document."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from dractl.lint.finding import TextFix
from dractl.lint.fixes import apply_text_fixes
from dractl.lint.place import Located
from dractl.manifests import Document

Reader = Callable[[str, str], Sequence[Sequence[Located]]]
"""A function from a file's name and text to the server's verdict on each of its documents; it
returns none if the file is damaged.
"""


MAX_ROUNDS = 10
"""Rounds of fixes: a fix may uncover a finding that the next round fixes."""
_ON_DEMAND = "DRA803"  # for a version that is served only if an administrator enables it


def keep_proven_fixes(placed: Iterable[Located], read: Reader) -> list[Located]:
    """Return the findings with the fixes whose result the server accepts.

    A fix is safe only if the document is accepted once all of its safe fixes are made. Unsafe fixes
    are kept only if the document is accepted once all of its fixes are made.
    """
    located = list(placed)
    safe = _find_accepted(located, read, _is_safe)
    checked = [
        _replace_fix(item, replace(fix, safe=False))
        if fix and fix.safe and item.trial is None and (item.file, item.number) not in safe
        else item
        for item in located
        for fix in [item.finding.fix]
    ]
    possible = (
        _find_accepted(checked, read, _has_fix)
        if any(_has_fix(item) and not _is_safe(item) for item in checked)
        else safe
    )
    return [
        item
        if not _has_fix(item)
        or _is_safe(item)
        or item.trial is not None
        or (item.file, item.number) in possible
        else _replace_fix(item, None)
        for item in checked
    ]


def keep_fixes_proven_on_objects(
    placed: Iterable[Located], judge: Callable[[Document], Sequence[Located]]
) -> list[Located]:
    """Return the findings with those fixes in values and patches that are proven on the rendered
    object.

    A fix is proven if the server accepts the object after it. If the server still refuses the
    object for other reasons, the fix is kept as unsafe.
    """
    return [_try_on_object(item, judge) if item.trial is not None else item for item in placed]


def _try_on_object(item: Located, judge: Callable[[Document], Sequence[Located]]) -> Located:
    fix = item.finding.fix
    if item.trial is None or fix is None:
        return replace(item, trial=None)
    refused = [other for other in judge(item.trial) if other.finding.api]
    if refused:
        stays = any(
            (other.finding.code, other.path) == (item.finding.code, item.path) for other in refused
        )
        fix = None if stays or item.finding.api is None else replace(fix, safe=False)
    return _replace_fix(replace(item, trial=None), fix)


def _has_fix(item: Located) -> bool:
    return item.finding.fix is not None


def _is_safe(item: Located) -> bool:
    return item.finding.fix is not None and item.finding.fix.safe


def _replace_fix(item: Located, fix: TextFix | None) -> Located:
    return replace(item, finding=replace(item.finding, fix=fix))


def _find_accepted(
    located: Sequence[Located], read: Reader, counts: Callable[[Located], bool]
) -> set[tuple[str, int]]:
    """Return the documents, by file and number, that the server accepts once the fixes are made for
    which ``counts`` is true.
    """
    by_file: dict[str, list[Located]] = {}
    for item in located:
        if counts(item) and item.text is not None and item.trial is None:
            by_file.setdefault(item.file, []).append(item)
    return {
        (file, number)
        for file, items in by_file.items()
        for number in _numbers(file, items, read, counts)
    }


def _numbers(
    file: str, located: Sequence[Located], read: Reader, counts: Callable[[Located], bool]
) -> set[int]:
    text = next(item.text for item in located if item.text is not None)
    fixes = [item.finding.fix for item in located if item.finding.fix is not None]
    touched = {item.number for item in located}
    rejected: set[int] = set()
    for _ in range(MAX_ROUNDS):
        text, count = apply_text_fixes(text, fixes)
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
