"""The manifests in archives and compressed files, which are recognized by their first bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import import_module
from typing import IO, Any

from dractl.archives import damage
from dractl.errors import InputError
from dractl.manifests.content import (
    COMPRESSED,
    MANIFEST_SUFFIXES,
    MAX_FILE,
    ZIP,
    Content,
    is_tar,
    read_bounded,
    reason,
    single_file,
)
from dractl.manifests.documents import Skipped

MAX_ARCHIVE = 128 * 1024 * 1024
"""The maximum number of bytes of all manifests in one archive together, since they are held as
bytes, as text and as values.
"""
MAX_MEMBERS = 2_000_000


def unpack(name: str, data: bytes, *, on_disk: bool) -> Iterator[Content | Skipped]:
    """Yield the manifests of an archive, or else the decompressed file."""
    packed = False
    for magic, module in COMPRESSED:
        if data.startswith(magic):
            data = _decompress(name, data, module)
            packed = True
            break
    if data.startswith(ZIP):
        yield from _zip(name, data)
    elif is_tar(data) or (packed and _is_old_tar(data)):
        yield from _tar(name, data)
    else:
        contents = single_file(name, data, on_disk=on_disk)
        del data
        yield from contents


def _decompress(name: str, data: bytes, module: str) -> bytes:
    opener: Any = import_module(module)
    try:
        with opener.open(io.BytesIO(data)) as file:
            return read_bounded(file, name, MAX_ARCHIVE)
    except damage() as error:
        raise InputError(f"not a complete {module} file: {reason(error)}", place=name) from None


def _is_old_tar(data: bytes) -> bool:
    """Return True for a tar from before POSIX: it has no magic, but a correct header checksum."""
    header = data[:512]
    if len(header) < 512 or not header[0]:
        return False
    try:
        wanted = int(header[148:156].strip(b" \0") or b"x", 8)
    except ValueError:
        return False
    return wanted == sum(header[:148]) + 8 * 32 + sum(header[156:])


def _member_name(archive: str, member: str) -> str:
    """Return the displayed name of a member. It never becomes a path on this machine; control
    characters are shown as ``?``.
    """
    return f"{archive}/" + "".join(
        char if char.isprintable() else "?" for char in member.removeprefix("./")
    )


class _Budget:
    """The remaining size to which an archive may expand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.bytes = MAX_ARCHIVE
        self.members = MAX_MEMBERS

    def member(self) -> None:
        self.members -= 1
        if self.members < 0:
            raise InputError(f"more than {MAX_MEMBERS} members", place=self.name)

    def read(self, file: IO[bytes], size: int) -> bytes | None:
        """Return the file's bytes, or None if the ``size`` that the archive declares is already too
        large. Raises InputError if the archive expands too far.
        """
        if size > MAX_FILE:
            return None
        data = file.read(self.bytes + 1)
        self.bytes -= len(data)
        if self.bytes < 0:
            raise InputError(f"expands to more than {MAX_ARCHIVE // 2**20} MiB", place=self.name)
        return data


def _tar(name: str, data: bytes) -> Iterator[Content | Skipped]:
    budget, members = _Budget(name), []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for member in archive:
                budget.member()
                if member.isreg() and member.name.endswith(MANIFEST_SUFFIXES):
                    file = archive.extractfile(member)
                    members.append(
                        (member.name, budget.read(file, member.size) if file is not None else b"")
                    )
    except damage() as error:
        raise InputError(f"not a complete tar archive: {reason(error)}", place=name) from None
    yield from _members(name, members)


def _zip(name: str, data: bytes) -> Iterator[Content | Skipped]:
    budget, members, locked = _Budget(name), [], []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                budget.member()
                if member.is_dir() or not member.filename.endswith(MANIFEST_SUFFIXES):
                    continue
                if member.flag_bits & 1:
                    locked.append(Skipped(_member_name(name, member.filename), "encrypted"))
                    continue
                with archive.open(member) as file:
                    members.append((member.filename, budget.read(file, member.file_size)))
    except damage() as error:
        raise InputError(f"not a complete zip archive: {reason(error)}", place=name) from None
    yield from locked
    yield from _members(name, members)


def _members(name: str, members: list[tuple[str, bytes | None]]) -> Iterator[Content | Skipped]:
    templates = tuple(
        member.removesuffix("Chart.yaml") + "templates/"
        for member, _ in members
        if member == "Chart.yaml" or member.endswith("/Chart.yaml")
    )
    for member, data in sorted(members, key=lambda pair: pair[0]):
        shown = _member_name(name, member)
        if data is None:
            yield Skipped(shown, f"larger than {MAX_FILE // 2**20} MiB")
        else:
            yield Content(shown, data, chart=name if member.startswith(templates) else None)
