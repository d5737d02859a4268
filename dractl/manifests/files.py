"""The bytes of manifests: from files, folders, archives and standard input."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from dractl.errors import InputError
from dractl.manifests.content import (
    MANIFEST_SUFFIXES,
    MAX_FILE,
    Content,
    is_packed,
    read_bounded,
    reason,
    single_file,
)
from dractl.manifests.documents import Skipped
from dractl.manifests.ignored import Ignored, make_exclusion
from dractl.manifests.templates import is_bare_template

_OTHER_SUFFIXES = (".go", ".py", ".sh", ".rst", ".adoc", ".rs", ".java", ".ts", ".js")
"""The suffixes of files that often contain manifests, but are no manifests themselves."""
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})


class Entry(Struct, frozen=True):
    """A file to read: ``-`` for standard input."""

    path: str
    named: bool = False
    """True if the user named this very file."""
    status: os.stat_result | None = None
    """The file's status when it was listed; None if it was not read then."""


def list_files(
    paths: Sequence[str],
    exclude: Sequence[str],
    *,
    force_exclude: bool = False,
    gitignore: bool = False,
    suffixes: tuple[str, ...] = MANIFEST_SUFFIXES,
) -> Iterator[Entry | Skipped]:
    """Yield the manifests under ``paths`` in a stable order, each file once; paths that cannot be
    listed are Skipped.

    ``exclude`` applies to the contents of folders. With ``force_exclude``, the paths are a list of
    changed files: ``exclude`` applies to the paths, too, and paths without a manifest's name are
    skipped. With ``gitignore``, files that git ignores are skipped in folders, and so are folders
    of vendored packages. ``suffixes`` are the ends of manifests' names.
    """
    walker = _Walker(exclude, gitignore=gitignore, suffixes=suffixes)
    for path in paths:
        meant = (
            path == "-" or path.endswith(suffixes) or os.path.isdir(path) or is_bare_template(path)
        )
        if force_exclude and (walker.excludes(path) or not meant):
            continue
        if path == "-":
            yield Entry(path, named=True)
        elif os.path.isdir(path):
            yield from walker.walk(path)
        elif path.endswith(_OTHER_SUFFIXES):
            yield Skipped(
                path,
                "not a manifest by its name",
                "name YAML or JSON files; - reads standard input",
            )
        else:
            yield from _file_by_name(path, walker)


def contents(
    entries: Iterable[Entry | Skipped], stdin: bytes | None = None, stdin_name: str = "<stdin>"
) -> Iterator[Content | Skipped]:
    """Yield the bytes of the listed files, with each member of an archive by itself; unreadable
    ones are Skipped.
    """
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not entry.named:
            yield _content(entry)
        else:
            try:
                if entry.path == "-":
                    yield from _open_named(
                        stdin_name, _standard_input() if stdin is None else stdin, on_disk=False
                    )
                else:
                    yield from _open_named(entry.path, _data(entry.path), on_disk=True)
            except InputError as error:
                yield Skipped(error.place or entry.path, error.message, error.hint, unread=True)


def read_all(
    paths: Sequence[str],
    stdin: bytes | None,
    stdin_name: str,
    exclude: Sequence[str],
    *,
    force_exclude: bool = False,
    gitignore: bool = False,
    suffixes: tuple[str, ...] = MANIFEST_SUFFIXES,
) -> Iterator[Content | Skipped]:
    """Yield the bytes of everything under ``paths``: :func:`contents` of the files of
    :func:`list_files`.
    """
    entries = list_files(
        paths, exclude, force_exclude=force_exclude, gitignore=gitignore, suffixes=suffixes
    )
    return contents(entries, stdin, stdin_name)


def _standard_input() -> bytes:
    return read_bounded(sys.stdin.buffer, "<stdin>")


def _file_by_name(path: str, walker: _Walker) -> Iterator[Entry | Skipped]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        yield Skipped(path, _MISSING, unread=True)
    except (OSError, ValueError) as error:
        yield Skipped(path, f"cannot be read: {reason(error)}", unread=True)
    else:
        if walker.first_time(status):
            yield Entry(path, named=True, status=status)


_MISSING = "no such file or directory"


def _data(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return read_bounded(file, path)
    except FileNotFoundError:
        raise InputError(_MISSING, place=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {reason(error)}", place=path) from None


class _Walker:
    """Walks folders recursively: the manifests in them by name, each real file and folder once."""

    def __init__(
        self,
        exclude: Sequence[str],
        *,
        gitignore: bool = False,
        suffixes: tuple[str, ...] = MANIFEST_SUFFIXES,
    ) -> None:
        self._seen: set[tuple[int, int]] = set()
        self._gitignore = gitignore
        self._suffixes = suffixes
        self._excluded = make_exclusion(exclude) if exclude else None

    def first_time(self, status: os.stat_result) -> bool:
        """Return False for a file already read under another name (hard links count as separate
        files).
        """
        if status.st_nlink != 1 or not stat.S_ISREG(status.st_mode) or status.st_ino == 0:
            return True
        identity = (status.st_dev, status.st_ino)
        if identity in self._seen:
            return False
        self._seen.add(identity)
        return True

    def walk(self, top: str) -> Iterator[Entry | Skipped]:
        """Yield the manifests below a folder; linked folders come last, so that files are reported
        under their own names.
        """
        stack, linked = [(top, "")], deque[tuple[str, str]]()
        ignored = Ignored(top) if self._gitignore else None
        while stack or linked:
            folder, inside = stack.pop() if stack else linked.popleft()
            try:
                status = os.stat(folder)
                identity = (status.st_dev, status.st_ino)
                if status.st_ino and identity in self._seen:
                    continue  # a loop of symbolic links, or a folder that is linked twice
                self._seen.add(identity)
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                yield _unread(folder, error, below=bool(inside))
                continue
            folders: list[tuple[str, str]] = []
            hides = ignored.files(folder) if ignored is not None else None
            for entry in entries:
                relative = f"{inside}/{entry.name}" if inside else entry.name
                path = entry.name if folder == os.curdir else entry.path
                if _is_folder(entry):
                    if entry.name in _VERSION_CONTROL or self._skips(f"{relative}/", path + "/"):
                        continue
                    if ignored is None or not ignored.folder(path):
                        (linked if entry.is_symlink() else folders).append((path, relative))
                elif (
                    (entry.name.endswith(self._suffixes) or is_bare_template(path))
                    and not self._skips(relative, path)
                    and (hides is None or not hides(path))
                ):
                    item = self._file(entry, path)
                    if item is not None:
                        yield item
            stack.extend(reversed(folders))

    def excludes(self, path: str) -> bool:
        """Return True if a path that the user names is excluded."""
        return path != "-" and self._skips(os.path.normpath(path), path)

    def _skips(self, relative: str, path: str) -> bool:
        if self._excluded is None:
            return False
        from_here = os.path.normpath(path) + ("/" if path.endswith("/") else "")
        below = not os.path.isabs(from_here) and not from_here.startswith("..")
        return self._excluded(relative) or (below and self._excluded(from_here))

    def _file(self, entry: os.DirEntry[str], path: str) -> Entry | Skipped | None:
        try:
            status = entry.stat()
        except OSError as error:
            return _report_unread(path, error)
        if not stat.S_ISREG(status.st_mode):
            return Skipped(path, "not a regular file")
        if not self.first_time(status):
            return None
        if status.st_size > MAX_FILE:
            return Skipped(
                path, f"larger than {MAX_FILE // 2**20} MiB", "name the file or folder that matters"
            )
        return Entry(path, status=status)


def _content(entry: Entry) -> Content | Skipped:
    """Return the content of a file of a folder."""
    size = entry.status.st_size if entry.status is not None else 0
    try:
        # Takes half the time of a file object, and there may be 50,000 files
        file = os.open(entry.path, _READ)
        try:
            # with MAX_FILE as the argument, Python would allocate that much memory for every file
            data = os.read(file, size + 1)
            if len(data) != size:
                data += os.read(file, MAX_FILE - len(data))
        finally:
            os.close(file)
    except OSError as error:
        return _report_unread(entry.path, error)
    return Content(entry.path, data, on_disk=True)


def _report_unread(path: str, error: OSError) -> Skipped:
    """Return the reason why a file of a folder cannot be read."""
    if error.errno == errno.ENOENT:
        return Skipped(path, "a broken symbolic link")
    if error.errno == errno.ELOOP:
        return Skipped(path, "a symbolic link to itself")
    return _unread(path, error)


def _unread(path: str, error: OSError, *, below: bool = True) -> Skipped:
    hint = "make it readable, or exclude it" if below else None
    return Skipped(path, f"cannot be read: {reason(error)}", hint, unread=True)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _open_named(name: str, data: bytes, *, on_disk: bool) -> Iterator[Content | Skipped]:
    """Yield a named file, or the manifests in it if it is an archive."""
    if is_packed(data):
        from dractl.manifests.archived import unpack

        contents = unpack(name, data, on_disk=on_disk)
    else:
        contents = single_file(name, data, on_disk=on_disk)
    del data
    yield from contents
