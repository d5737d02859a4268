"""The bytes of one manifest, wherever they come from."""

import os
import stat
from collections.abc import Iterator
from typing import IO

from msgspec import Struct

from dractl.errors import InputError

MANIFEST_SUFFIXES = (".yaml", ".yml", ".json")
MAX_FILE = 256 * 1024 * 1024
"""The maximum number of bytes of one uncompressed file: twice the size of the largest DRA state
that etcd holds in practice.
"""
COMPRESSED = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "lzma"))
"""The first bytes of compressed files, and the modules that read them."""
ZIP = (b"PK\3\4", b"PK\5\6")


class Content(Struct, frozen=True):
    """The bytes of one manifest file."""

    name: str
    data: bytes
    named: bool = False
    """True if the user named this very file (or stream)."""
    on_disk: bool = False
    chart: str | None = None
    """The packed chart that the file is a template of."""


def read_bounded(file: IO[bytes], name: str, limit: int = MAX_FILE) -> bytes:
    """Read to the end of a file. Raises InputError if it has more than ``limit`` bytes."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"larger than {limit // 2**20} MiB", place=name)
    return data


def read_file(path: str, limit: int = MAX_FILE) -> bytes | None:
    """Return the first ``limit`` bytes of a file; None if it is no plain file, or cannot be read.

    A pipe or a terminal is not read, since that would wait.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            return file.read(limit) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except (OSError, ValueError):  # a name with a null byte
        return None


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has no such flag


def reason(error: Exception) -> str:
    """Return the reason why a file cannot be read, without its name."""
    return (
        (error.strerror if isinstance(error, OSError) else None)
        or str(error)
        or type(error).__name__
    )


def single_file(name: str, data: bytes, *, on_disk: bool) -> Iterator[Content]:
    """Yield a named file that is no archive. Its bytes are not kept in memory, since the values
    parsed from it may be as large.
    """
    contents = [Content(name, data, named=True, on_disk=on_disk)]
    del data
    yield contents.pop()


def is_packed(data: bytes) -> bool:
    """Return True for an archive, and for compressed bytes, by their beginning."""
    return data.startswith((*ZIP, *(magic for magic, _ in COMPRESSED))) or is_tar(data)


def is_tar(data: bytes) -> bool:
    """Return True for a POSIX tar."""
    return data[257:262] == b"ustar"
