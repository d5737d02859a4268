"""The pack of facts: a folder of data with a version and a date, which can be replaced without the program.

One pack is in use in a process: the one that is named (``--facts``), else the newer of the built-in one and of the
installed ``dractl-facts``. Every file of a pack that is not the built-in one is decoded before any of it is used.
"""

from __future__ import annotations

import re
import zipfile
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from dractl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.resources.abc import Traversable

SCHEMA = 1
"""The form of the files, which a pack names: a pack of another form is not used."""

BUILT_IN = "built in"
_FOLDER = Path(__file__).resolve().parent / "data"
_NAME = re.compile(r"[a-z0-9][-a-z0-9.]*\Z")
_MOST = 16 << 20  # bytes of a file of a pack: a hundred times the largest
T = TypeVar("T")


class Damaged(Exception):
    """A pack cannot be used; the message says which file of it, and why."""


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """``pack.json``: the form of the files, the version of the pack, the date of the newest of its facts, and the
    drivers in the order in which people are told of them (others follow)."""

    schema: int
    version: str
    date: str
    drivers: tuple[str, ...] = ()


class Pack(Struct, frozen=True, kw_only=True):
    """A pack. ``origin`` is where it is from, in words; ``extra`` are files that it has besides those of its folder."""

    folder: Any  # a Traversable: a folder, or a folder in an archive
    origin: str
    head: Head
    extra: dict[str, bytes] = {}

    def entries(self, folder: str, ending: str = ".json") -> tuple[str, ...]:
        """The names of the files of a folder that have an ending, without it, sorted."""
        own = {one.name for one in self.folder.joinpath(folder).iterdir()}
        more = {name.rpartition("/")[2] for name in self.extra if name.rpartition("/")[0] == folder}
        return tuple(sorted(name.removesuffix(ending) for name in own | more if name.endswith(ending)))

    def data(self, name: str) -> bytes:
        """The content of a file. Raises Damaged if it cannot be read."""
        if name in self.extra:
            return self.extra[name]
        try:
            with self.folder.joinpath(name).open("rb") as file:
                content: bytes = file.read(_MOST + 1)
        except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError) as error:
            raise Damaged(f"{name}: {getattr(error, 'strerror', None) or error}") from None
        if len(content) > _MOST:
            raise Damaged(f"{name} is larger than {_MOST >> 20} MiB")
        return content

    def read(self, name: str, kind: type[T]) -> T:
        """A file as a value. Raises Damaged if it is none."""
        try:
            return msgspec.json.decode(self.data(name), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Damaged(f"{name}: {error}") from None

    @property
    def digest(self) -> str:
        """SHA-256 over the names and contents of all files, its first 12 digits."""
        found = sha256()
        for name in sorted({*_files(self.folder, ""), *self.extra}):
            content = self.data(name)
            found.update(f"{name}\0{len(content)}\0".encode() + content)
        return found.hexdigest()[:12]


def _files(folder: Traversable, prefix: str) -> Iterator[str]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _files(one, f"{prefix}{one.name}/")
        elif one.name.endswith((".json", ".yaml")):
            yield prefix + one.name


class _Choice:
    """The pack in use, and what is said about the choice. The one thing here that changes: once, before it is used."""

    def __init__(self) -> None:
        self.pack: Pack | None = None
        self.said: tuple[str, ...] = ()


_CHOICE = _Choice()


def current() -> Pack:
    """The pack in use."""
    if _CHOICE.pack is None:
        use(None)
    assert _CHOICE.pack is not None
    return _CHOICE.pack


def use(path: str | None, check: Callable[[Pack], None] | None = None) -> tuple[str, ...]:
    """Chooses the pack: the folder, archive or file of one driver at ``path``, else the newest that is installed.

    Returns what the user has to know about the choice. ``check`` reads a pack that is not the built-in one and raises
    Damaged. Raises UsageError if a named pack cannot be used.
    """
    own = Pack(folder=_FOLDER, origin=BUILT_IN, head=_head(_FOLDER))
    chosen, said = own, list[str]()
    if path is not None:
        try:
            chosen = _named(path, own)
            (check or _nothing)(chosen)
        except Damaged as error:
            raise UsageError(f"{path} is not a pack of facts: {error}", hint=_HINT) from None
    elif (installed := _installed()) is not None:
        try:
            other = Pack(folder=installed, origin="dractl-facts", head=_head(installed))
            if _number(other.head.version) > _number(own.head.version):
                (check or _nothing)(other)
                chosen = other
        except Damaged as error:
            said.append(f"the installed dractl-facts cannot be used ({error}); the built-in facts are used instead")
    if _CHOICE.pack is not None and _CHOICE.pack != chosen:
        _forget()
    _CHOICE.pack, _CHOICE.said = chosen, tuple(said)
    return _CHOICE.said


_HINT = "--facts takes the folder of a pack, a wheel of dractl-facts, or the JSON file of one driver"
_CACHES: list[Callable[[], None]] = []


def forget_with(clear: Callable[[], None]) -> None:
    """Registers what a module remembers of the pack, to be forgotten when another one is chosen."""
    _CACHES.append(clear)


def _forget() -> None:
    for clear in _CACHES:
        clear()


def _nothing(_: Pack) -> None:
    return None


@cache
def _installed() -> Path | None:
    found = find_spec("dractl_facts")
    places = found.submodule_search_locations if found is not None else None
    return Path(next(iter(places))) / "data" if places else None


def _head(folder: Traversable) -> Head:
    head = Pack(folder=folder, origin="", head=Head(SCHEMA, "0", "")).read("pack.json", Head)
    if head.schema != SCHEMA:
        raise Damaged(f"its form is {head.schema}, and this dractl knows form {SCHEMA}")
    _number(head.version)
    return head


def _number(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 9 for part in parts):
        raise Damaged(f"pack.json: {version!r} is not a version such as 2026.11.22")
    return tuple(map(int, parts))


def _named(path: str, own: Pack) -> Pack:
    place = Path(path)
    if place.is_dir():
        return _in(place, path)
    if not place.is_file():
        raise Damaged("there is no such file or folder")
    if place.suffix == ".json":
        return _with_driver(place, own)
    try:
        return _in(zipfile.Path(place), path)
    except (OSError, zipfile.BadZipFile) as error:
        raise Damaged(str(error)) from None


def _in(place: Any, origin: str) -> Pack:
    """The pack in a folder or an archive: itself, or as the wheel has it."""
    inner = place / "dractl_facts" / "data"
    folder = inner if inner.is_dir() else place
    return Pack(folder=folder, origin=origin, head=_head(folder))


def _with_driver(place: Path, own: Pack) -> Pack:
    """The built-in pack with one driver more, or with another file for a driver."""
    content = Pack(folder=place.parent, origin="", head=own.head).data(place.name)
    try:
        name = msgspec.json.decode(content, type=_Named).name
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from None
    if not _NAME.match(name):
        raise Damaged(f"{name!r} is not the name of a driver")
    return Pack(folder=own.folder, origin=str(place), head=own.head, extra={f"drivers/{name}.json": content})


class _Named(Struct, frozen=True):
    name: str
