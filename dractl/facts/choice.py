"""The choice of the pack: the pack that the user names, or else the newer one of the built-in pack
and an installed ``dractl-facts``.

If another pack than the built-in one is chosen, all of its files are decoded before one is used.
"""

import os
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dractl.errors import UsageError
from dractl.facts.pack import CHOICE, Damaged, Pack, built_in, forget, head_of, number_of

_NAME = re.compile(r"[a-z0-9][-a-z0-9.]*\Z")
_HINT = (
    "--facts takes the folder of a pack, a wheel of dractl-facts, or the JSON file of one driver"
)


def use(path: str | None) -> tuple[str, ...]:
    """Choose the pack: the folder, the archive or the file of one driver at ``path``, or else the
    newest pack that is installed.

    Returns notices for the user about the choice. Raises UsageError if a named pack cannot be used.
    Facts that modules read at import (the releases of Kubernetes) do not change later, so
    :mod:`dractl.__main__` calls this first.
    """
    if CHOICE.pack is not None and CHOICE.path == path:
        return CHOICE.said
    default = built_in()
    chosen, notices = default, list[str]()
    if path is not None:
        try:
            chosen = _check_pack(_pack_of_path(path, default))
        except Damaged as error:
            raise UsageError(f"{path} is not a pack of facts: {error}", hint=_HINT) from None
    elif (installed := _folder_of_installed_pack()) is not None:
        try:
            other = Pack(folder=installed, origin="dractl-facts", head=head_of(installed))
            if number_of(other.head.version) > number_of(default.head.version):
                chosen = _check_pack(other)
        except Damaged as error:
            notices.append(
                f"the installed dractl-facts cannot be used ({error}); the built-in facts are used"
                " instead"
            )
    forget()
    CHOICE.pack, CHOICE.path, CHOICE.said = chosen, path, tuple(notices)
    return CHOICE.said


def _check_pack(pack: Pack) -> Pack:
    """Return a pack from elsewhere after checking that every file in it can be decoded."""
    # Imported here, since the check loads the form of every file, and the built-in pack needs none
    from dractl.facts.check import check

    check(pack)
    return pack


@cache
def _folder_of_installed_pack() -> Path | None:
    """Return the folder of the installed package dractl-facts, if there is one."""
    module = find_spec("dractl_facts")
    places = module.submodule_search_locations if module is not None else None
    return Path(next(iter(places))) / "data" if places else None


def _pack_of_path(path: str, default: Pack) -> Pack:
    """Return the pack in a folder or an archive; for the file of one driver, return ``default``
    with that file.
    """
    place = Path(path)
    # The result is False, too, if the name is too long, or if the folder cannot be read
    if os.path.isdir(path):
        return _pack_of_folder(place, path)
    if not os.path.isfile(path):
        raise Damaged("there is no such file or folder")
    if place.suffix == ".json":
        return _with_driver(place, default)
    import zipfile  # few packs are archives

    try:
        return _pack_of_folder(zipfile.Path(place), path)
    except (OSError, zipfile.BadZipFile) as error:
        raise Damaged(str(error)) from None


def _pack_of_folder(place: Any, origin: str) -> Pack:
    """Return the pack in a folder or an archive, either at its root or at its place in a wheel."""
    inner = place / "dractl_facts" / "data"
    folder = inner if inner.is_dir() else place
    return Pack(folder=folder, origin=origin, head=head_of(folder))


def _with_driver(place: Path, own: Pack) -> Pack:
    """Return the built-in pack with one more driver, or with another file for a driver."""
    content = Pack(folder=place.parent, origin="", head=own.head).data(place.name)
    try:
        name = msgspec.json.decode(content, type=_Named).name
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Damaged(str(error)) from None
    if not _NAME.match(name):
        raise Damaged(f"{name!r} is not the name of a driver")
    return Pack(
        folder=own.folder, origin=str(place), head=own.head, extra={f"drivers/{name}.json": content}
    )


class _Named(Struct, frozen=True):
    name: str
