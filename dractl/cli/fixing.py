"""``dractl lint --fix``, ``--add-ignore`` and ``--diff``: changes of files, tried in memory, then
written or shown.

A change is made only to the bytes that were linted: a file that somebody else changes meanwhile is
left alone and reported.
"""

import codecs
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal

from msgspec import Struct

from dractl import atomic
from dractl.cli.terminal import notice, paint
from dractl.errors import InputError
from dractl.lint.finding import Finding, Report, TextFix
from dractl.lint.fixes import apply_text_fixes
from dractl.manifests.text import decode, digest
from dractl.program import program_name

MAX_ROUNDS = 10
"""Rounds of fixes: a fix may uncover a finding that the next round fixes."""
_CONTEXT_LINES = 3
_WINDOW_LINES = 64
_Tag = Literal["replace", "delete", "insert", "equal"]


class FileChange(Struct, frozen=True):
    """A file before and after a change."""

    name: str
    """The path of the file, or the name of standard input."""
    before: bytes
    """The bytes that were linted."""
    after: bytes
    """The bytes to write."""
    made: int
    """The number of fixes, or of findings that new comments suppress."""


class EditOutcome(Struct, frozen=True):
    """The changes of files, and what remains after them."""

    report: Report
    """The findings that remain."""
    changes: list[FileChange]
    """The files that change."""
    errors: list[InputError]
    """Errors of files that cannot be changed."""


def apply_fixes(
    lint: Callable[[Mapping[str, bytes]], Report], stdin: tuple[str, bytes] | None, *, unsafe: bool
) -> EditOutcome:
    """Apply all fixes in memory; nothing is written.

    ``lint`` reports on the input with some files replaced; ``stdin`` is the name and content of
    standard input. Members of archives and files in other encodings than UTF-8 stay as they are.
    """
    changes_by_file: dict[str, FileChange] = {}
    errors: dict[str, InputError] = {}
    report = lint({})
    for _ in range(MAX_ROUNDS):
        changes: list[FileChange] = []
        for name, fixes in _fixes_by_file(report, unsafe=unsafe).items():
            if name in errors:
                continue
            try:
                changes += _change_file(name, fixes, changes_by_file.get(name), report, stdin)
            except InputError as error:
                errors[name] = error
        if not changes:
            break
        changes_by_file |= {change.name: change for change in changes}
        report = lint({name: change.after for name, change in changes_by_file.items()})
    return EditOutcome(report, list(changes_by_file.values()), list(errors.values()))


def _fixes_by_file(report: Report, *, unsafe: bool) -> dict[str, list[TextFix]]:
    """Group the fixes by file."""
    by_file: dict[str, list[TextFix]] = {}
    for finding in report.findings:
        if finding.fix and (finding.fix.safe or unsafe):
            # Not always the finding's file: the edit may be in a patch or in a chart's values.
            file = finding.fix.edits[0].position.file
            by_file.setdefault(file, []).append(finding.fix)
    return by_file


def _change_file(
    name: str,
    fixes: list[TextFix],
    earlier: FileChange | None,
    report: Report,
    stdin: tuple[str, bytes] | None,
) -> list[FileChange]:
    """Apply fixes to a file on top of the changes of ``earlier`` fixes."""
    before = earlier.before if earlier else read_content(name, report.digests, stdin)
    if before is None or not is_utf8(before):
        return []
    current = earlier.after if earlier else before
    text = decode(current)
    after, count = apply_text_fixes(text, fixes)
    fix_count = count + (earlier.made if earlier else 0)
    return [] if after == text else [FileChange(name, before, encode(after, current), fix_count)]


def add_ignore_comments(
    lint: Callable[[Mapping[str, bytes]], Report], stdin: tuple[str, bytes] | None
) -> EditOutcome:
    """Add an ignore comment for each finding in memory; nothing is written.

    The parameters are as in :func:`apply_fixes`. Notices name the findings without a comment, and
    the reasons.
    """
    from dractl.lint.ignoring import AnnotatedFile, add_ignore_comments

    by_file: dict[str, list[Finding]] = {}
    report = lint({})
    for finding in report.findings:
        by_file.setdefault(finding.position.file, []).append(finding)
    changes: list[FileChange] = []
    errors: list[InputError] = []
    for name, findings in by_file.items():
        try:
            before = read_content(name, report.digests, stdin)
        except InputError as error:
            errors.append(error)
            continue
        if before is None:
            notice(f"{name}: no comments added, only files and standard input can be changed")
            continue
        text = decode(before)
        unreadable = None if is_utf8(before) else AnnotatedFile(text, why_not="it is not UTF-8")
        comments = unreadable or add_ignore_comments(name, text, findings)
        if comments.why_not:
            notice(
                f"{name}: not all findings are suppressed, because {comments.why_not}; use"
                " per-file-ignores or a baseline"
            )
        after = encode(comments.text, before)
        if after != before:
            changes.append(FileChange(name, before, after, comments.findings))
    if changes:
        report = lint({change.name: change.after for change in changes})
    return EditOutcome(report, changes, errors)


def encode(text: str, like: bytes) -> bytes:
    """Encode a text in UTF-8, with a byte order mark if ``like`` has one."""
    mark = codecs.BOM_UTF8 if like.startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode("utf-8", "surrogatepass")


def is_utf8(data: bytes) -> bool:
    """Return True if a file's bytes are its text in UTF-8; False for other encodings and compressed
    files.
    """
    return encode(decode(data), data) == data


def read_content(
    name: str, digests: Mapping[str, str], stdin: tuple[str, bytes] | None
) -> bytes | None:
    """Read a file again; return None for the member of an archive.

    ``digests`` has the digests of the linted bytes, by name. Raises InputError if the file has
    changed or cannot be read.
    """
    if stdin is not None and name == stdin[0]:
        return stdin[1]
    if not os.path.isfile(name):
        return None
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=name) from error
    if is_utf8(data) and digests.get(name) != digest(data):
        raise _concurrent_change_error(name)
    return data


def _concurrent_change_error(name: str) -> InputError:
    return InputError(
        "it changed after it was read, so it is left alone",
        place=name,
        hint=f"run {program_name()} again",
    )


def write(
    changes: Iterable[FileChange],
    stdin: tuple[str, bytes] | None,
    describe: Callable[[FileChange], str],
) -> list[InputError]:
    """Write the changes, and print a notice for each.

    Returns the errors of files that stay as they are. Links stay links, and mode and owner are
    kept.
    """
    errors: list[InputError] = []
    for change in changes:
        try:
            if stdin is None or change.name != stdin[0]:
                atomic.edit(Path(change.name), change.before, change.after)
        except atomic.ChangedError:
            errors.append(_concurrent_change_error(change.name))
        except OSError as error:
            errors.append(InputError(f"cannot be written: {error.strerror}", place=change.name))
        else:
            notice(f"{change.name}: {describe(change)}")
    return errors


def paint_diff(text: str) -> str:
    """Paint a diff if standard output gets colours."""
    styles = {"+": "32", "-": "31", "@": "36"}
    lines = (line.partition("\n") for line in text.splitlines(keepends=True))
    return "".join(
        (paint(line, styles[line[:1]], sys.stdout) if line[:1] in styles else line) + end
        for line, end, _ in lines
    )


def diff(change: FileChange) -> str:
    """Format the change as a unified diff that `git apply` accepts."""
    name = Path(change.name).as_posix().lstrip("/")
    before, after = (
        decode(data).splitlines(keepends=True) for data in (change.before, change.after)
    )
    lines: list[str] = []
    for group in _Lines(None, before, after).get_grouped_opcodes(_CONTEXT_LINES):
        (_, first, _, new_first, _), (_, _, last, _, new_last) = group[0], group[-1]
        lines.append(f"@@ -{_range(first, last)} +{_range(new_first, new_last)} @@\n")
        for tag, start, end, new_start, new_end in group:
            old = " " if tag == "equal" else "-"
            lines += (old + line for line in before[start:end])
            lines += ("+" + line for line in after[new_start:new_end] if tag != "equal")
    if lines:
        lines[:0] = (f"--- a/{name}\n", f"+++ b/{name}\n")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _range(start: int, end: int) -> str:
    """Format the range of lines of a hunk; an empty range is given by the line before it."""
    return str(end) if end == start + 1 else f"{start + (end > start)},{end - start}"


class _Lines(SequenceMatcher[str]):
    """Compares lines window by window, since the time for whole files grows with the square of
    their length.
    """

    a: list[str]
    b: list[str]

    def get_opcodes(self) -> list[tuple[_Tag, int, int, int, int]]:
        opcodes: list[tuple[_Tag, int, int, int, int]] = []
        old = new = 0
        width = _WINDOW_LINES
        while old < len(self.a) or new < len(self.b):
            start, new_start = old, new
            while old < len(self.a) and new < len(self.b) and self.a[old] == self.b[new]:
                old, new = old + 1, new + 1
            if old > start:
                opcodes.append(("equal", start, old, new_start, new))
            steps = SequenceMatcher(
                None, self.a[old : old + width], self.b[new : new + width]
            ).get_opcodes()
            # The window may end within a difference, so the steps from the last long match on are
            # dropped; the next window begins there.
            if max(len(self.a) - old, len(self.b) - new) > width:
                equal_steps = (
                    index
                    for index, step in enumerate(steps)
                    if step[0] == "equal" and step[2] - step[1] >= _CONTEXT_LINES
                )
                steps = steps[: max(equal_steps, default=0)]
            width = _WINDOW_LINES if steps else 2 * width
            opcodes += ((tag, old + a, old + b, new + c, new + d) for tag, a, b, c, d in steps)
            if steps:
                _, _, old, _, new = opcodes[-1]
        return opcodes
