"""The files that a program renders, read within bounds, and never from outside their repository.

A program works on a copy, which contains only the bytes that were read here. So a rendering can be
cached by its content, and can be made of files that are not written yet.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from dractl.manifests.naming import display_path

MAX_TREE_FILES = 20_000
MAX_TREE_BYTES = 128 * 2**20


class NotRenderable(Exception):
    """Raised with the reason why files are not given to a program that renders them."""

    def __init__(self, why: str, place: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.place = place
        """The file and the line at fault, if they are not in the folder that was to be built."""


class NotInRepository(NotRenderable):
    """Raised with the reason why something outside the repository is not built."""


class FileTree(Struct, frozen=True):
    """Files below a folder, and links between folders."""

    root: str
    """Absolute path of the folder that they were read from."""
    files: Mapping[str, bytes]
    """Contents by path, relative to the root."""
    links: Mapping[str, str] = MappingProxyType({})
    """The folders that links lead to, by the paths of the links; both are relative to the root."""

    def parts(self) -> Iterator[bytes]:
        """Yield everything that distinguishes this tree from another, for a digest."""
        for path in sorted(self.files):
            yield os.fsencode(path)
            yield self.files[path]
        for path in sorted(self.links):
            yield os.fsencode(path)
            yield os.fsencode(self.links[path])

    def write(self, folder: str) -> None:
        """Write the files into a new folder."""
        for path, content in self.files.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "xb") as file:
                file.write(content)
        for path, target in self.links.items():
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if not os.path.lexists(place):
                os.symlink(os.path.join(folder, target), place, target_is_directory=True)


class Overlay:
    """The contents of files that are not written yet, which replace the contents on disk."""

    def __init__(self, contents: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._contents = {os.path.realpath(name): content for name, content in contents.items()}

    def get(self, path: str) -> bytes | None:
        """Return the content that replaces a file's; None if the file stays as it is."""
        return self._contents.get(os.path.realpath(path)) if self._contents else None


NO_OVERLAY = Overlay()


class TreeReader:
    """Reads the files of one tree, within bounds for all of them together."""

    def __init__(self, top: str | None, overlay: Overlay) -> None:
        self._top = top
        self._overlay = overlay
        self._bytes = 0
        self._files = 0

    def read(self, path: str) -> bytes:
        """Read a file. Raises NotRenderable for a file that is no plain file, or that is outside
        the repository.
        """
        self.check(path)
        self._files += 1
        if self._files > MAX_TREE_FILES:
            raise NotRenderable(f"it has more than {MAX_TREE_FILES:,} files")
        content = self._overlay.get(path)
        if content is None:
            try:
                status = os.stat(path)
                if not stat.S_ISREG(status.st_mode):
                    raise NotRenderable(f"{display_path(path)} is not a regular file")
                with open(path, "rb") as file:
                    content = file.read(MAX_TREE_BYTES - self._bytes + 1)
            except OSError as error:
                raise NotRenderable(
                    f"{display_path(path)} cannot be read: {error.strerror}"
                ) from None
        self._bytes += len(content)
        if self._bytes > MAX_TREE_BYTES:
            raise NotRenderable(f"it has more than {MAX_TREE_BYTES // 2**20} MiB")
        return content

    def check(self, path: str) -> None:
        """Raise NotRenderable if a path leads out of the repository, or into its version
        control.
        """
        if self._top is None:
            return
        steps = os.path.relpath(os.path.realpath(path), self._top).split(os.sep)
        if steps[0] == ".." or ".git" in steps:
            kind = "the link " if os.path.islink(path) else ""
            raise NotRenderable(f"{kind}{display_path(path)} leads out of the repository")


def find_repository(folder: str) -> str | None:
    """Find the top of the repository that contains a folder, judging by the folder's path, which
    may contain links. None if there is no repository.
    """
    top = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            return None
        top = parent
    return os.path.realpath(top)


def read_folder(folder: str, overlay: Overlay) -> FileTree:
    """Read all files below a folder, except version control; links are followed in its repository.

    Raises NotRenderable for links that lead out of the repository or, without a repository, out of
    the folder. helm follows links (internal/sympath/walk.go), and ``.Files`` would put the target
    of a link into a report.
    """
    root = os.path.realpath(folder)
    reader = TreeReader(find_repository(folder) or root, overlay)
    reader.check(folder.rstrip(os.sep))
    files: dict[str, bytes] = {}
    folders: list[tuple[str, tuple[str, ...]]] = [("", (root,))]
    entries = 0
    while folders:
        inside, way = folders.pop()
        try:
            names = sorted(os.listdir(os.path.join(folder, inside)))
        except OSError as error:
            raise NotRenderable(f"it cannot be read: {error.strerror}") from None
        entries += len(names)
        if entries > MAX_TREE_FILES:
            raise NotRenderable(f"it has more than {MAX_TREE_FILES:,} files")
        for name in names:
            path = os.path.join(folder, inside, name)
            relative = os.path.join(inside, name)
            real = os.path.realpath(path)
            if name == ".git":
                continue
            reader.check(path)
            if not os.path.exists(path):
                continue  # a broken link, which helm skips
            if not os.path.isdir(path):
                files[relative] = reader.read(path)
            elif real not in way:  # otherwise the link makes a loop
                folders.append((relative, (*way, real)))
    return FileTree(root, files)
