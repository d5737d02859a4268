"""``dractl lint --fix`` and ``--diff``: safe fixes, written to the files they are for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dractl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.finding import Fix, Report


class Change(NamedTuple):
    """What fixes make of a file; ``fixes`` says how many there are."""

    path: Path
    before: str
    after: str
    fixes: int


def changes(report: Report) -> Iterator[Change]:
    """The files that safe fixes change; not standard input, members of archives and files in odd encodings."""
    from dractl.lint.fixes import applied
    from dractl.manifests.text import decode

    by_file: dict[str, list[Fix]] = {}
    for finding in report.findings:
        if finding.fix and finding.fix.safe:
            by_file.setdefault(finding.position.file, []).append(finding.fix)
    for name, fixes in by_file.items():
        path = Path(name)
        if not path.is_file():
            continue
        data = path.read_bytes()
        before = decode(data)
        try:
            faithful = before.encode("utf-8") == data
        except UnicodeEncodeError:
            faithful = False
        if not faithful:
            continue
        after, count = applied(before, fixes)
        if after != before:
            yield Change(path, before, after, count)


def write(change: Change) -> None:
    """Replaces the file at once or not at all; a link stays one, and the mode is kept."""
    import shutil
    import tempfile

    path = change.path.resolve()
    temporary = None
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}.", delete=False) as stream:
            temporary = stream.name
            stream.write(change.after.encode("utf-8"))
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise InputError(f"cannot be written: {error.strerror}", place=str(change.path)) from error


def diff(change: Change) -> str:
    """The change as a unified diff that `git apply` takes."""
    from difflib import unified_diff

    name = change.path.as_posix().lstrip("/")
    lines = unified_diff(
        change.before.splitlines(keepends=True), change.after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
