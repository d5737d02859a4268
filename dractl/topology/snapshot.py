"""Snapshots of machines, and archives of a node's ``/sys`` and ``/proc``."""

import json
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dractl import atomic
from dractl.archives import damage
from dractl.errors import InputError
from dractl.program import program_name
from dractl.topology import wire
from dractl.topology.complexes import complexes
from dractl.topology.levels import affinity
from dractl.topology.machine import SCHEMA, Machine, check

MAX_MEMBERS = 1_000_000
MAX_TOTAL = 1 << 30
_MAX_NAME = 4096
MAX_SNAPSHOT = 256 << 20
_MAX_MEMBER = 1 << 20

Files = dict[str, bytes | str | None]
"""The contents of an archive by path from its root: the bytes of a file, the target of a link, or
None for a directory.
"""


def to_json(machine: Machine) -> dict[str, Any]:
    """Return the ``dractl/machine/v1`` object, with the derived lists ``affinity`` and
    ``complexes``.
    """
    body: dict[str, Any] = wire.encode(machine)
    body["affinity"] = [wire.encode(pair) for pair in affinity(machine)]
    if pairs := complexes(machine):
        body["complexes"] = [wire.encode(pair) for pair in pairs]
    body["notes"] = body.pop("notes", [])
    return {"schema": SCHEMA, **body}


def from_json(value: object) -> Machine:
    """Return the machine of a ``dractl/machine/v1`` object; unknown keys are ignored.

    Raises InputError with the path of the first wrong value.
    """
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise InputError(
            "not a machine snapshot: "
            + ("it has no field schema" if schema is None else f"schema is {schema!r}"),
            hint=f"`{program_name()} discover --save FILE` writes one (schema {SCHEMA})",
        )
    machine = wire.decode(Machine, value)
    check(machine)
    return machine


def save(machine: Machine, path: Path, *, identity: bool = False) -> None:
    """Write ``machine`` to ``path``, with host name, MAC and IP addresses and serial numbers only
    if ``identity`` is set.

    Raises InputError if the file cannot be written.
    """
    kept = machine if identity else machine.drop_identity()
    text = json.dumps(to_json(kept), indent=1, ensure_ascii=False) + "\n"
    try:
        atomic.replace(path, text.encode("utf-8", errors="replace"))
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", place=str(path)) from error


def load(path: Path) -> Machine | Files:
    """Return the Machine of a snapshot, or the files of an archive; raises InputError for anything
    else.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not path.is_dir():
            raise InputError("is not a regular file", place=str(path))
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        hint = "read a directory with --root" if isinstance(error, IsADirectoryError) else None
        raise InputError(f"cannot be read: {error.strerror}", place=str(path), hint=hint) from error
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _snapshot(path)
    try:
        _check_total(status.st_size)
        if head.startswith(b"PK\x03\x04"):
            return _zip(path)
        return _tar(path)
    except InputError as error:
        raise InputError(error.message, place=str(path), hint=error.hint) from error


def _snapshot(path: Path) -> Machine:
    try:
        if path.stat().st_size > MAX_SNAPSHOT:
            raise InputError(
                f"is larger than {MAX_SNAPSHOT >> 20} MiB, too large for a snapshot of one machine",
                place=str(path),
            )
        return from_json(json.loads(path.read_bytes()))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", place=str(path)) from error
    except RecursionError as error:
        raise InputError("is nested too deeply for a snapshot", place=str(path)) from error
    except ValueError as error:
        raise InputError(f"not valid JSON: {error}", place=str(path)) from error
    except InputError as error:
        raise InputError(error.message, place=str(path), hint=error.hint) from error


def _tar(path: Path) -> Files:
    try:
        with tarfile.open(path, "r:*") as archive:
            return _collect(_tar_members(archive))
    except damage() as error:
        # If no format of tarfile fits, its error has several lines, one for each format
        why = str(error)
        raise InputError(
            "neither a snapshot nor a readable archive" + ("" if "\n" in why else f": {why}"),
            hint=(
                "--from reads snapshots written by --save, and .tar, .tar.gz, .tar.bz2, .tar.xz or"
                " .zip archives of a node's /sys and /proc"
            ),
        ) from error


def _tar_members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes | str | None]]:
    declared = 0
    for member in archive:
        # Checked before the next header is read: to reach that header, all of this member is
        # unpacked.
        declared = _check_total(declared + member.size)
        if member.isdir():
            yield member.name, None
        elif member.issym():
            yield member.name, member.linkname
        elif member.isfile() and (file := archive.extractfile(member)) is not None:
            yield member.name, file.read(_MAX_MEMBER)
        # Hard links, devices and pipes do not occur in sysfs.


def _check_total(total: int) -> int:
    if total > MAX_TOTAL:
        raise InputError(
            f"unpacks to more than {MAX_TOTAL >> 20} MiB, too much for the files of one node"
        )
    return total


def _zip(path: Path) -> Files:
    try:
        with zipfile.ZipFile(path) as archive:
            return _collect(_zip_members(archive))
    except damage() as error:
        raise InputError(f"is not a readable zip archive: {error}") from error


def _zip_members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes | str | None]]:
    for member in archive.infolist():
        if member.is_dir():
            yield member.filename, None
            continue
        with archive.open(member) as file:
            data = file.read(_MAX_MEMBER)
        symbolic = (member.external_attr >> 28) == 0xA  # S_IFLNK in the Unix mode
        yield member.filename, data.decode("utf-8", "replace") if symbolic else data


def _collect(members: Iterator[tuple[str, bytes | str | None]]) -> Files:
    """Return the files below the archive's root: the shallowest folder with a ``sys`` that has
    devices.
    """
    files: Files = {}
    total = 0
    for count, (name, value) in enumerate(members):
        total = _check_total(total + (len(value) if value is not None else 0))
        if count >= MAX_MEMBERS:
            raise InputError(f"has more than {MAX_MEMBERS} files, too many for one node")
        if len(name) > _MAX_NAME:
            continue
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if parts and ".." not in parts:
            files["/".join(parts)] = value
    tops = set()
    for name in files:
        parts = name.split("/")
        for i, part in enumerate(parts[:-1]):
            if part == "sys" and parts[i + 1] in ("bus", "class", "devices"):
                tops.add((i, "/".join(parts[:i])))
                break
    if not tops:
        raise InputError(
            "has no sys/ folder of a node",
            hint=(
                "hwloc-gather-topology writes such archives; "
                f"`{program_name()} discover --save` writes a smaller file that "
                "contains more"
            ),
        )
    top = min(tops)[1]
    if not top:
        return files
    return {
        name[len(top) + 1 :]: value for name, value in files.items() if name.startswith(top + "/")
    }
