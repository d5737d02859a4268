"""``dractl lint --fix`` and ``--diff``: fixes, tried in memory until none is left, then written or shown."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dractl.lint.finding import Fix, Report

MAX_ROUNDS = 10
"""One fix uncovers what the next one fixes."""


class Change(NamedTuple):
    """What fixes make of a file; ``fixes``: how many of them."""

    name: str
    before: bytes
    after: bytes
    fixes: int


def fixed(
    linted: Callable[[Mapping[str, bytes]], Report], stdin: tuple[str, bytes] | None, *, unsafe: bool
) -> tuple[Report, list[Change]]:
    """What is left once every fix is made, and the changes of each file; nothing is written.

    ``linted`` reports on the input with some files replaced. ``stdin``: the name and the content of standard input.
    Members of archives and files in other encodings than UTF-8 stay as they are.
    """
    made: dict[str, Change] = {}
    report = linted({})
    for _ in range(MAX_ROUNDS):
        changes = list(_changes(report, made, stdin, unsafe=unsafe))
        if not changes:
            break
        made |= {change.name: change for change in changes}
        report = linted({name: change.after for name, change in made.items()})
    return report, list(made.values())


def _changes(
    report: Report, made: Mapping[str, Change], stdin: tuple[str, bytes] | None, *, unsafe: bool
) -> Iterator[Change]:
    from dractl.lint.fixes import applied
    from dractl.manifests.text import decode

    by_file: dict[str, list[Fix]] = {}
    for finding in report.findings:
        if finding.fix and (finding.fix.safe or unsafe):
            by_file.setdefault(finding.position.file, []).append(finding.fix)
    for name, fixes in by_file.items():
        earlier = made.get(name)
        before = earlier.before if earlier else _content(name, stdin)
        if before is None:
            continue
        current = earlier.after if earlier else before
        text = decode(current)
        mark = codecs.BOM_UTF8 if current.startswith(codecs.BOM_UTF8) else b""
        if mark + text.encode("utf-8", "surrogatepass") != current:
            continue
        after, count = applied(text, fixes)
        if after != text:
            yield Change(name, before, mark + after.encode("utf-8"), count + (earlier.fixes if earlier else 0))


def _content(name: str, stdin: tuple[str, bytes] | None) -> bytes | None:
    if stdin is not None and name == stdin[0]:
        return stdin[1]
    path = Path(name)
    return path.read_bytes() if path.is_file() else None


def write(change: Change) -> None:
    """Replaces the file at once or not at all; a link stays one, and mode and owner are kept."""
    from dractl import atomic

    try:
        atomic.replace(Path(change.name), change.after)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", place=change.name) from error


def diff(change: Change) -> str:
    """The change as a unified diff that `git apply` takes."""
    from difflib import unified_diff

    from dractl.manifests.text import decode

    name = Path(change.name).as_posix().lstrip("/")
    before, after = (decode(data).splitlines(keepends=True) for data in (change.before, change.after))
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
