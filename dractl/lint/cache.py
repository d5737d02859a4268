"""Reports of earlier runs on the same input, in files of the user's cache directory.

The key of a report covers everything that it depends on: the contents of all files that may concern DRA under their
names, the kustomizations around them, the release and its gates, the configuration, and the code of dractl itself. So a
cached report is never wrong, only missing. Damaged entries, and those that another user could have written, are
ignored, and so are errors of the file system: a cache is no reason to fail.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from dractl import __version__, atomic
from dractl.cel_library import why_not
from dractl.facts.pack import BUILT_IN, current
from dractl.lint.finding import Report
from dractl.manifests import Skipped
from dractl.manifests.neighbours import manifests_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dractl.lint.findings import Terms
    from dractl.manifests.kustomize import Kustomizations
    from dractl.manifests.load import Relevant

_FORMAT = "1"
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks a cache of dractl: it can be deleted, and backups may leave it out.\n"
    "# See https://bford.info/cachedir/\n"
)
MAX_BYTES = 64 * 1024 * 1024
"""Of all reports together; the ones that were not used for the longest time are deleted."""
MAX_REPORTS = 256


class Cache:
    """The reports in a folder, which is created for the first one."""

    def __init__(self, folder: str) -> None:
        self._top = folder
        self._folder = os.path.join(folder, f"lint-{_FORMAT}")

    def get(self, key: str) -> Report | None:
        """The report stored under a key."""
        try:
            if not (_is_ours(os.lstat(self._top)) and _is_ours(os.lstat(self._folder))):
                return None
            data = _read(os.path.join(self._folder, key))
            if data is None:
                return None
            digest, _, body = data.partition(b"\n")
            if digest != _digest([body]).encode():
                return None
            return msgspec.json.decode(body, type=Report)
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, key: str, report: Report) -> None:
        """Stores a report atomically; others are deleted if there are too many."""
        try:
            body = msgspec.json.encode(report)
        except UnicodeEncodeError:  # the name of a file is not UTF-8
            return
        if len(body) > MAX_BYTES // 4:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._top), exist_ok=True)
            for folder in (self._top, self._folder):
                with suppress(FileExistsError):
                    os.mkdir(folder, 0o700)
            if not (_is_ours(os.lstat(self._top)) and _is_ours(os.lstat(self._folder))):
                return
            tag = os.path.join(self._top, "CACHEDIR.TAG")
            if not os.path.lexists(tag):
                atomic.swap(tag, _TAG.encode())
            atomic.swap(os.path.join(self._folder, key), _digest([body]).encode() + b"\n" + body)
            self._prune()

    def _prune(self) -> None:
        """Deletes the least recently used reports, and those in the formats of other versions."""
        for entry in os.scandir(self._top):
            if entry.name.startswith("lint-") and entry.path != self._folder and entry.is_dir(follow_symlinks=False):
                _delete(entry.path)
        reports = [(entry.stat(follow_symlinks=False), entry.path) for entry in os.scandir(self._folder)]
        reports.sort(key=lambda report: report[0].st_mtime, reverse=True)
        total = 0
        reports = [report for report in reports if stat.S_ISREG(report[0].st_mode)]
        for number, (status, path) in enumerate(reports):
            total += status.st_size
            if total > MAX_BYTES or number >= MAX_REPORTS:
                with suppress(FileNotFoundError):  # another run was faster
                    os.unlink(path)


def digest_of(read: Relevant, kustomizations: Kustomizations) -> str:
    """The digest of the input: the files that matter, the kustomizations around them, and what stands beside
    files that are named one by one."""

    def parts() -> Iterator[bytes]:
        folders: set[str] = set()
        partly: set[str] = set()
        yield str((read.files, read.alone)).encode()
        for item in read.contents:
            if isinstance(item, Skipped):
                yield repr(item).encode(errors="surrogatepass")
                continue
            yield repr((item.name, item.named, item.on_disk, item.chart)).encode(errors="surrogatepass")
            yield item.data
            folder = os.path.dirname(os.path.abspath(item.name))
            folders.add(folder)
            if item.named:
                partly.add(folder)
        for folder in sorted(partly):
            yield repr((folder, manifests_in(folder))).encode(errors="surrogatepass")
        for folder in sorted(folders):
            for found in kustomizations.around(folder):
                named = (found.folder, sorted(found.resources), sorted(found.patches))
                yield repr((folder, named)).encode(errors="surrogatepass")

    return _digest(parts())


def _pack() -> str:
    """What tells the pack of facts from others; the built-in one is part of the code."""
    chosen = current()
    return "" if chosen.origin == BUILT_IN else chosen.digest


def key_of(terms: Terms, digest: str) -> str:
    """The key of a report on the input with a digest, without devices."""
    target, config = terms.target, terms.config
    asked = (
        _FORMAT,
        __version__,
        _code(),
        why_not(),
        _pack(),
        sorted(terms.versions.items()),
        target.release,
        sorted(target.gates),
        None if config.codes is None else sorted(config.codes),
        [(pattern, sorted(codes)) for pattern, codes in config.per_file],
        sorted(config.known.items()),
        sorted(config.severities.items()),
        terms.assumed,
        sorted(terms.consumers),
        digest,
    )
    return _digest([repr(asked).encode()])


def _code() -> str:
    """Identifies the state of dractl's code: versions stay the same while somebody works on it."""
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    found = []
    folders = [top]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:  # inside an archive
            return "".join(str(os.stat(path).st_mtime_ns) for path in _archive(top))
        for entry in entries:
            if entry.name.endswith((".py", ".md", ".json", ".yaml")):
                status = entry.stat()
                found.append((entry.path, status.st_mtime_ns, status.st_size))
            elif entry.is_dir() and entry.name != "__pycache__":
                folders.append(entry.path)
    return _digest([repr(sorted(found)).encode()])


def _archive(path: str) -> Iterator[str]:
    """The file of a zip application that contains a module."""
    while path != os.path.dirname(path):
        if os.path.isfile(path):
            yield path
            return
        path = os.path.dirname(path)


def _digest(parts: Iterable[bytes]) -> str:
    total = blake2b(digest_size=32)
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


# --- files -------------------------------------------------------------------------------------------------------


def _is_ours(status: os.stat_result) -> bool:
    """True for a file or folder that nobody else could have written; a symbolic link is neither."""
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o022)


def _read(path: str) -> bytes | None:
    """The bytes of a report, marked as used now; None for a file that another user could have written."""
    with open(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > MAX_BYTES:
            return None
        data = file.read(MAX_BYTES)
    with suppress(OSError):
        os.utime(path)
    return data


def _delete(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
