"""Files that are replaced atomically: if the writer is killed, the file has either the old content or the new."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def replace(path: Path, data: bytes) -> None:
    """Makes ``data`` the content of a file, creating it if necessary. A symbolic link stays one, and mode and owner are
    kept; anything but a regular file (a pipe, ``/dev/stdout``) is written to directly.

    Raises OSError; then the file is unchanged, and no temporary file is left.
    """
    real = Path(os.path.realpath(path))
    try:
        old = real.stat()
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        real.write_bytes(data)
        return

    def finish(temporary: str) -> None:
        if old is None:
            os.chmod(temporary, 0o666 & ~_umask())
            return
        with suppress(OSError, AttributeError):  # only root can give files away, and Windows has no owners
            os.chown(temporary, old.st_uid, old.st_gid)
        os.chmod(temporary, stat.S_IMODE(old.st_mode))

    swap(str(real), data, finish)


def swap(path: str, data: bytes, finish: Callable[[str], None] = lambda _: None) -> None:
    """Moves a new file, which only its owner can read, to ``path``, following links; ``finish`` gets the name under
    which it is written. Raises the error of a failed step; then no temporary file is left."""
    import tempfile

    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", dir=folder)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        finish(temporary)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
