"""``dractl lint --fix``, ``--add-ignore`` and ``--diff``: changes of files, tried in memory, then written or shown."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dractl.lint.finding import Finding, Fix, Report
    from dractl.lint.ignoring import Ignoring

MAX_ROUNDS = 10
"""One fix uncovers what the next one fixes."""


class Change(NamedTuple):
    """A file before and after; ``made``: the fixes in it, or the findings that its new comments suppress."""

    name: str
    before: bytes
    after: bytes
    made: int


def fixed(
    linted: Callable[[Mapping[str, bytes]], Report], stdin: tuple[str, bytes] | None, *, unsafe: bool
) -> tuple[Report, list[Change]]:
    """The findings left after every fix, and the changes of each file; nothing is written.

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
        if _encoded(text, current) != current:
            continue
        after, count = applied(text, fixes)
        if after != text:
            yield Change(name, before, _encoded(after, current), count + (earlier.made if earlier else 0))


def ignored(
    linted: Callable[[Mapping[str, bytes]], Report], stdin: tuple[str, bytes] | None, remark: Callable[[str], None]
) -> tuple[Report, list[Change]]:
    """The findings left after adding an ignore comment for each finding, and the changes of each file; nothing is
    written.

    Parameters as in :func:`fixed`; ``remark`` is called with the findings that get no comment, and the reason.
    """
    by_file: dict[str, list[Finding]] = {}
    report = linted({})
    for finding in report.findings:
        by_file.setdefault(finding.position.file, []).append(finding)
    changes: list[Change] = []
    for name, findings in by_file.items():
        before = _content(name, stdin)
        if before is None:
            remark(f"{name}: no comments added, only files and standard input can be changed")
            continue
        done = _ignoring(name, before, findings)
        if done.why_not:
            remark(f"{name}: not all findings are suppressed, {done.why_not}; use per-file-ignores or a baseline")
        if done.findings:
            changes.append(Change(name, before, _encoded(done.text, before), done.findings))
    if changes:
        report = linted({change.name: change.after for change in changes})
    return report, changes


def _ignoring(name: str, data: bytes, findings: list[Finding]) -> Ignoring:
    from dractl.lint.ignoring import Ignoring, ignoring
    from dractl.manifests.text import decode

    text = decode(data)
    if _encoded(text, data) != data:
        return Ignoring(text, why_not="it is not UTF-8")
    return ignoring(name, text, findings)


def _encoded(text: str, like: bytes) -> bytes:
    """A text in UTF-8, with a byte order mark if ``like`` has one."""
    mark = codecs.BOM_UTF8 if like.startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode("utf-8", "surrogatepass")


def _content(name: str, stdin: tuple[str, bytes] | None) -> bytes | None:
    if stdin is not None and name == stdin[0]:
        return stdin[1]
    path = Path(name)
    return path.read_bytes() if path.is_file() else None


def write(change: Change) -> None:
    """Replaces the file atomically; a link stays one, and mode and owner are kept."""
    from dractl import atomic

    try:
        atomic.replace(Path(change.name), change.after)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", place=change.name) from error


def diff(change: Change) -> str:
    """The change as a unified diff that `git apply` accepts."""
    from difflib import unified_diff

    from dractl.manifests.text import decode

    name = Path(change.name).as_posix().lstrip("/")
    before, after = (decode(data).splitlines(keepends=True) for data in (change.before, change.after))
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
