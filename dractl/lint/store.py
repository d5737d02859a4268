"""Files in the user's cache directory, by keys.

Damaged files, files that another user could have written, and errors of the file system are
ignored, since a cache must not make a run fail.
"""

import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

from dractl import atomic

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This file marks a cache of dractl: it can be deleted, and backups may leave it out.\n"
    "# See https://bford.info/cachedir/\n"
)
MAX_BYTES = 64 * 1024 * 1024
"""The size of all files of one kind together; the least recently used ones are deleted."""
MAX_FILES = 256


class Store:
    """The files of a kind, such as ``lint``, in a format; their folder is created for the first
    one.
    """

    def __init__(self, folder: str, kind: str, version: str) -> None:
        self._top = folder
        self._kind = kind
        self._folder = os.path.join(folder, f"{kind}-{version}")

    @property
    def empty(self) -> bool:
        """True if nothing is stored."""
        try:
            return not os.listdir(self._folder)
        except OSError:
            return True

    def get(self, key: str) -> bytes | None:
        """Return the bytes that are stored under a key, as they were."""
        try:
            if not (_is_ours(os.lstat(self._top)) and _is_ours(os.lstat(self._folder))):
                return None
            data = _read(os.path.join(self._folder, key))
        except OSError:
            return None
        digest, _, body = (data or b"").partition(b"\n")
        return body if digest == digest_of_parts([body]).encode() else None

    def put(self, key: str, body: bytes) -> None:
        """Store bytes atomically, unless they exceed a quarter of :data:`MAX_BYTES`, and delete the
        oldest files if there are too many.
        """
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
            atomic.swap(
                os.path.join(self._folder, key), digest_of_parts([body]).encode() + b"\n" + body
            )
            self._prune()

    def _prune(self) -> None:
        """Delete the least recently used files, and files in the formats of other versions."""
        for name in os.listdir(self._top):
            path = os.path.join(self._top, name)
            if (
                name.startswith(f"{self._kind}-")
                and path != self._folder
                and not os.path.islink(path)
            ):
                shutil.rmtree(path, ignore_errors=True)
        files = []
        for name in os.listdir(self._folder):
            with suppress(FileNotFoundError):  # another run has deleted the file
                files.append(
                    (os.lstat(os.path.join(self._folder, name)), os.path.join(self._folder, name))
                )
        files.sort(key=lambda file: file[0].st_mtime, reverse=True)
        total = 0
        for number, (status, path) in enumerate(
            file for file in files if stat.S_ISREG(file[0].st_mode)
        ):
            total += status.st_size
            if total > MAX_BYTES or number >= MAX_FILES:
                with suppress(FileNotFoundError):
                    os.unlink(path)


def digest_of_parts(parts: Iterable[bytes]) -> str:
    """Return the digest of several values, including the boundaries between them."""
    total = blake2b(digest_size=32)
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def _is_ours(status: os.stat_result) -> bool:
    """Return True for a file or folder that no other user could have written; False for a symbolic
    link.
    """
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return False
    return not hasattr(os, "geteuid") or (
        status.st_uid == os.geteuid() and not status.st_mode & 0o022
    )


def _read(path: str) -> bytes | None:
    """Return the bytes of a file, marked as used now; None for a file that another user could have
    written, or that is too large.
    """
    with open(
        os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)),
        "rb",
    ) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_ours(status) or status.st_size > MAX_BYTES:
            return None
        data = file.read(MAX_BYTES)
    with suppress(OSError):
        os.utime(path)
    return data
