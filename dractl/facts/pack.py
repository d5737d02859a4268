"""The pack of facts: a folder of data with a version and a date, which can be replaced without
replacing the program.

A process uses one pack (:mod:`dractl.facts.choice`).
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.resources.abc import Traversable

SCHEMA = 1
"""The form of the files. A pack names its form, and a pack with another form is not used."""

BUILT_IN = "built in"
_FOLDER = Path(__file__).resolve().parent / "data"
_MAX_FILE_BYTES = 16 << 20  # bytes of a file of a pack: a hundred times the largest
T = TypeVar("T")


class Damaged(Exception):
    """Raised if a pack cannot be used; the message names the file and the reason."""


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``pack.json``."""

    schema: int
    """The form of the files."""
    version: str
    """The version of the pack."""
    date: str
    """The date of the newest of its facts."""
    drivers: tuple[str, ...] = ()
    """The drivers in the order in which people see them listed; other drivers follow."""


class Pack(Struct, frozen=True, kw_only=True):
    """A pack of facts."""

    folder: Any
    """The folder: a Traversable, which may be in an archive."""
    origin: str
    """The origin of the pack, in words."""
    head: Head
    extra: dict[str, bytes] = {}
    """Files in addition to those in its folder."""

    def entries(self, folder: str, ending: str = ".json") -> tuple[str, ...]:
        """Return the sorted names of a folder's files with an ending, without this ending; none if
        the pack lacks the folder.
        """
        place = self.folder.joinpath(folder)
        names = {entry.name for entry in place.iterdir()} if place.is_dir() else set()
        more = {name.rpartition("/")[2] for name in self.extra if name.rpartition("/")[0] == folder}
        return tuple(
            sorted(name.removesuffix(ending) for name in names | more if name.endswith(ending))
        )

    def data(self, name: str) -> bytes:
        """Return the content of a file. Raises Damaged if it cannot be read."""
        if name in self.extra:
            return self.extra[name]
        try:
            with self.folder.joinpath(name).open("rb") as file:
                content: bytes = file.read(_MAX_FILE_BYTES + 1)
        except _read_errors() as error:
            raise Damaged(f"{name}: {getattr(error, 'strerror', None) or error}") from None
        if len(content) > _MAX_FILE_BYTES:
            raise Damaged(f"{name} is larger than {_MAX_FILE_BYTES >> 20} MiB")
        return content

    def read(self, name: str, kind: type[T]) -> T:
        """Return a file as a value. Raises Damaged if it does not have the form."""
        try:
            return msgspec.json.decode(self.data(name), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Damaged(f"{name}: {error}") from None

    @property
    def title(self) -> str:
        """``facts 2026.11.23 of 2026-11-23 (built in, 0a1b2c3d4e5f)``, for people."""
        return f"facts {self.head.version} of {self.head.date} ({self.origin}, {self.digest})"

    def to_json(self) -> dict[str, str]:
        """Return the version of the facts on which a report is based, for programs."""
        return {"version": self.head.version, "date": self.head.date, "digest": self.digest}

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all files, its first 12 digits."""
        digest = sha256()
        for name in sorted({*_files(self.folder, ""), *self.extra}):
            content = self.data(name)
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()[:12]


def _read_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a file that cannot be read, in a folder or in an archive."""
    from zipfile import BadZipFile  # few packs are archives

    return OSError, KeyError, BadZipFile, NotImplementedError


def _files(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".json", ".yaml")):
            yield prefix + entry.name


class _Choice:
    """The pack in use, and the notices about the choice. It is the only mutable state in this
    package, and is set once, before its first use.
    """

    def __init__(self) -> None:
        self.pack: Pack | None = None
        self.path: str | None = None
        self.said: tuple[str, ...] = ()


CHOICE = _Choice()


def current() -> Pack:
    """Return the pack in use: the built-in one, until :func:`dractl.facts.choice.use` chooses."""
    if CHOICE.pack is None:
        CHOICE.pack = built_in()
    return CHOICE.pack


def built_in() -> Pack:
    """Return the pack that is part of the program."""
    return Pack(folder=_FOLDER, origin=BUILT_IN, head=head_of(_FOLDER))


_CACHES: list[Callable[[], None]] = []


def forget_with(clear: Callable[[], None]) -> None:
    """Register a function that clears the values which a module has cached from the pack; it is
    called when another pack is chosen.
    """
    _CACHES.append(clear)


def forget() -> None:
    for clear in _CACHES:
        clear()


def head_of(folder: Traversable) -> Head:
    head = Pack(folder=folder, origin="", head=Head(SCHEMA, "0", "")).read("pack.json", Head)
    if head.schema != SCHEMA:
        raise Damaged(f"its form is {head.schema}, and this dractl knows form {SCHEMA}")
    number_of(head.version)
    return head


def number_of(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 9 for part in parts):
        raise Damaged(f"pack.json: {version!r} is not a version such as 2026.11.22")
    return tuple(map(int, parts))
