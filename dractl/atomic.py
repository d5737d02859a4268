"""Files that are replaced in one step: whenever the writer is killed, the old content is there or the new one."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Makes ``data`` the content of a file, creating it if need be. A symbolic link stays one, and mode and owner are
    kept; what is no regular file (a pipe, ``/dev/stdout``) is written to as it is.

    Raises OSError; then the file is as it was, and nothing is left beside it.
    """
    import tempfile

    real = Path(os.path.realpath(path))
    try:
        old = real.stat()
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        real.write_bytes(data)
        return
    handle, temporary = tempfile.mkstemp(prefix=f".{real.name[:64]}.", dir=real.parent)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        if old is None:
            os.chmod(temporary, 0o666 & ~_umask())
        else:
            with suppress(OSError, AttributeError):  # only root gives files away, and Windows has no owners
                os.chown(temporary, old.st_uid, old.st_gid)
            os.chmod(temporary, stat.S_IMODE(old.st_mode))
        os.replace(temporary, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
