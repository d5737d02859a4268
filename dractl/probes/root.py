"""A read-only view of a ``/sys`` and ``/proc`` tree: this machine's, a directory's, or an
archive's.

Paths are relative to the root (``sys/bus/pci/devices``). Symbolic links are followed inside the
root only: an absolute target starts at the root again, and ``..`` never leaves it. So a hostile
tree cannot show files of the machine that reads it.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from pathlib import Path
from typing import Protocol

from dractl.errors import InputError

MAX_FILE = 1 << 20
"""The maximum number of bytes that are read of a file; no file of sysfs or procfs that dractl reads
is longer.
"""

_LISTENS = " 00010000 "  # __SO_ACCEPTCON, in the kernel's net/unix/af_unix.c unix_seq_show

# No path in sysfs is nearly as deep or has nearly as many links; a tree that exceeds this is
# hostile.
_MAX_LINKS, _MAX_DEPTH = 12, 48


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters, which act on a terminal: names must not contain them, and they are removed
from text.
"""


class Tree(Protocol):
    """A source of bytes by path. Links in ``path`` are resolved beforehand; if the last part is a
    link, the link itself is meant.
    """

    def kind(self, path: str) -> str | None:
        """Return ``dir``, ``file``, ``link``, or ``special`` for anything else; None if the path
        does not exist.
        """

    def entries(self, path: str) -> list[str]:
        """Return the names in a directory; empty if it cannot be read."""

    def target(self, path: str) -> str:
        """Return the target of a symbolic link."""

    def read(self, path: str) -> bytes | None:
        """Return a file's first :data:`MAX_FILE` bytes; None if it cannot be read."""


class DirectoryTree:
    """A directory of this machine, ``/`` included."""

    def __init__(self, top: str) -> None:
        self._top = top.rstrip("/")
        self.denied = 0

    def _full(self, path: str) -> str:
        return f"{self._top}/{path}"

    def kind(self, path: str) -> str | None:
        try:
            mode = os.lstat(self._full(path)).st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISDIR(mode):
            return "dir"
        if stat.S_ISLNK(mode):
            return "link"
        return "file" if stat.S_ISREG(mode) else "special"

    def entries(self, path: str) -> list[str]:
        try:
            return os.listdir(self._full(path))
        except PermissionError:
            self.denied += 1
        except OSError:
            pass
        return []

    def target(self, path: str) -> str:
        return os.readlink(self._full(path))

    def listens(self, path: str) -> bool | None:
        """Return True if a process listens on the socket at ``path``; None if it is not a socket,
        or access is denied.
        """
        folder, _, name = self._full(path).rpartition("/")
        if self.kind(path) != "special":
            return None
        try:
            # Connect through the socket's folder, since the name of a socket has at most 107 bytes
            # (unix(7)).
            above = os.open(folder or "/", os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
                client.settimeout(1)
                client.connect(f"/proc/self/fd/{above}/{name}")
        except ConnectionRefusedError:
            return False
        except (OSError, ValueError):
            return None
        finally:
            os.close(above)
        return True

    def read(self, path: str) -> bytes | None:
        try:
            with open(self._full(path), "rb", buffering=0) as file:
                return file.read(MAX_FILE)
        except PermissionError:
            self.denied += 1
        except OSError:
            pass  # sysfs answers EINVAL, ENODEV or EOPNOTSUPP for facts that a device does not have
        return None


class MemoryTree:
    """Files in memory, by path: the contents of an archive. A value is the bytes of a file, the
    target of a link as a string, or None for a directory.
    """

    denied = 0

    def __init__(self, files: dict[str, bytes | str | None]) -> None:
        self._files = files
        self._children: dict[str, set[str]] = {"": set()}
        for path, value in files.items():
            if value is None:
                self._children.setdefault(path, set())
            child = path
            while child:
                parent, _, name = child.rpartition("/")
                has_parent = parent in self._children
                self._children.setdefault(parent, set()).add(name)
                if has_parent:
                    break
                child = parent

    def kind(self, path: str) -> str | None:
        if path in self._children:
            return "dir"
        if path not in self._files:
            return None
        value = self._files[path]
        if value is None:
            return "dir"
        return "link" if isinstance(value, str) else "file"

    def entries(self, path: str) -> list[str]:
        return list(self._children.get(path, ()))

    def target(self, path: str) -> str:
        value = self._files[path]
        assert isinstance(value, str)
        return value

    def read(self, path: str) -> bytes | None:
        value = self._files.get(path)
        return value[:MAX_FILE] if isinstance(value, bytes) else None


class SysRoot:
    """A tree, with methods that read facts from it.

    ``live`` is True for this machine itself; ``name`` is the name in messages.
    """

    def __init__(self, tree: Tree, *, name: str, live: bool = False) -> None:
        self._tree = tree
        self._directories: dict[str, str | None] = {"": ""}
        self.name = name
        self.live = live

    @classmethod
    def for_this_machine(cls) -> SysRoot:
        """Return the running machine."""
        return cls(DirectoryTree("/"), name="this machine", live=True)

    @classmethod
    def for_directory(cls, directory: Path) -> SysRoot:
        """Return the tree of a directory that contains ``sys/`` (and ``proc/``, ``etc/``), or that
        is itself a ``/sys``; raises InputError for any other.
        """
        if not directory.is_dir():
            raise InputError(
                "no such directory" if not directory.exists() else "this is not a directory",
                place=str(directory),
                hint="read an archive or a snapshot with --from",
            )
        top = os.path.realpath(directory)
        if os.path.isdir(os.path.join(top, "sys")):
            return cls(DirectoryTree(top), name=str(directory))
        if os.path.isdir(os.path.join(top, "devices")):
            return cls(_Below("sys", DirectoryTree(top)), name=str(directory))
        raise InputError(
            "this directory has neither sys/ nor devices/",
            place=str(directory),
            hint="name the folder that contains a host's sys/ and proc/",
        )

    @property
    def denied(self) -> int:
        """The number of files and directories that could not be read for lack of permission."""
        return int(getattr(self._tree, "denied", 0))

    def real(self, path: str) -> str | None:
        """Return ``path`` without symbolic links and dots; None if nothing is there, or links form
        a circle.
        """
        return self._resolve(path, [_MAX_LINKS])

    def _resolve(self, path: str, budget: list[int]) -> str | None:
        if path.count("/") > _MAX_DEPTH:
            return None
        parent, _, name = path.rpartition("/")
        if parent:
            if parent not in self._directories:
                self._directories[parent] = self._resolve(parent, budget)
            above = self._directories[parent]
            if above is None:
                return None
        else:
            above = ""
        if name in ("", "."):
            return above
        if name == "..":
            return above.rpartition("/")[0]
        here = f"{above}/{name}" if above else name
        kind = self._tree.kind(here)
        if kind != "link":
            return here if kind else None
        if budget[0] == 0:
            return None
        budget[0] -= 1
        try:
            target = self._tree.target(here)
        except OSError:
            return None
        if target.startswith("/"):
            return self._resolve(target.strip("/"), budget)
        return self._resolve(_clean(f"{above}/{target}" if above else target), budget)

    def exists(self, path: str) -> bool:
        """Return True if the path exists."""
        return self.real(path) is not None

    def is_directory(self, path: str) -> bool:
        """Return True if the path is a directory."""
        real = self.real(path)
        return real is not None and (real == "" or self._tree.kind(real) == "dir")

    def listens(self, path: str) -> bool | None:
        """Return True if a process listens on the socket at ``path``; None if that is unknown.

        The kernel lists the sockets of one network namespace (/proc/net/unix), but most drivers run
        in another. For a socket that is not in the list, a connection is tried: if it is refused,
        no process listens.
        """
        real = self.real(path)
        if real is None:
            return None
        table = (self.text("proc/net/unix") or "").splitlines()
        if any(line.endswith((f" /{real}", f" /{path}")) and _LISTENS in line for line in table):
            return True
        return self._tree.listens(real) if isinstance(self._tree, DirectoryTree) else None

    def names(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; empty if there is no such directory."""
        real = self.real(path)
        return (
            sorted(n for n in self._tree.entries(real) if not CONTROL.search(n))
            if real is not None
            else []
        )

    def link(self, path: str) -> str | None:
        """Return the target of the link at ``path``, unresolved; None if it is not a link."""
        parent, _, name = path.rpartition("/")
        above = self.real(parent) if parent else ""
        if above is None:
            return None
        here = f"{above}/{name}" if above else name
        if self._tree.kind(here) != "link":
            return None
        try:
            target = self._tree.target(here)
        except OSError:
            return None
        return None if CONTROL.search(target) else target

    def bytes(self, path: str) -> bytes | None:
        """Return a file's contents; None if it is missing or unreadable."""
        real = self.real(path)
        if real is None or self._tree.kind(real) != "file":
            return None
        return self._tree.read(real)

    def text(self, path: str) -> str | None:
        """Return a file's contents as a string without surrounding blanks and NULs; None if it is
        missing or unreadable.
        """
        data = self.bytes(path)
        return (
            None
            if data is None
            else CONTROL.sub("?", data.decode("utf-8", "replace").strip(" \t\r\n\0"))
        )

    def integer(self, path: str, base: int = 10) -> int | None:
        """Return a file's number; None if it is missing, unreadable or not a number."""
        text = self.text(path)
        if not text or len(text) > 64:
            return None
        try:
            return int(text, base)
        except ValueError:
            return None

    def fields(self, path: str) -> dict[str, str]:
        """Return a ``uevent``-like file's ``KEY=value`` lines."""
        lines = (line.partition("=") for line in (self.text(path) or "").splitlines())
        return {name: value for name, equals, value in lines if equals}


class _Below:
    """A ``/sys`` directory, presented as the ``sys/`` of a root: paths begin one folder higher."""

    def __init__(self, folder: str, tree: DirectoryTree) -> None:
        self._folder = folder
        self._inner = tree

    @property
    def denied(self) -> int:
        return self._inner.denied

    def _strip(self, path: str) -> str | None:
        if path == self._folder:
            return ""
        return path[len(self._folder) + 1 :] if path.startswith(self._folder + "/") else None

    def kind(self, path: str) -> str | None:
        if path == self._folder:
            return "dir"
        inner = self._strip(path)
        return None if inner is None else self._inner.kind(inner)

    def entries(self, path: str) -> list[str]:
        inner = self._strip(path)
        if path == "":
            return [self._folder]
        return [] if inner is None else self._inner.entries(inner)

    def target(self, path: str) -> str:
        return self._inner.target(self._strip(path) or "")

    def read(self, path: str) -> bytes | None:
        inner = self._strip(path)
        return None if inner is None else self._inner.read(inner)


def _clean(path: str) -> str:
    """Return ``path`` without ``.`` and empty components; ``..`` stays, because the component
    before it may be a link.
    """
    return "/".join(part for part in path.split("/") if part not in ("", "."))
