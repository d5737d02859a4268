"""Files that are replaced atomically: if the writer is killed, the file has either the old content
or the new.
"""

import errno
import os
import stat
import sys
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl
from collections.abc import Callable, Iterator

_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)
"""Errors that occur if a file is mounted by itself, or is in a folder that cannot be written to."""


class ChangedError(OSError):
    """The file does not have the expected content."""


def replace(path: Path, data: bytes) -> None:
    """Make ``data`` the content of a file, creating it if necessary. Symbolic links are followed,
    and mode and owner are kept. Anything but a regular file (a pipe, ``/dev/stdout``) is written to
    directly, and so is a file that cannot be replaced.

    Raises OSError; then a file that can be replaced is unchanged, and no temporary file is left.
    """
    real = Path(os.path.realpath(path))
    try:
        old = real.stat()
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        real.write_bytes(data)
        return
    if old is not None:
        _check_mode(old)
    try:
        swap(str(real), data, _finish(old))
    except OSError as error:
        if error.errno not in _IN_PLACE:
            raise
        real.write_bytes(data)


def edit(path: Path, before: bytes, after: bytes) -> None:
    """Replace a regular file, as :func:`replace` does, if it still has the bytes ``before``.

    Raises ChangedError if it has other bytes, or if another process is editing it. Raises OSError
    if writing fails, and for a file with hard links, since its other names would keep the old
    content. After an error, the file is unchanged.
    """
    real = os.path.realpath(path)
    old = os.stat(real)
    _check_mode(old)
    if old.st_nlink > 1:
        raise OSError(
            errno.EMLINK, "it is a hard link, and its other names would keep the old content", real
        )
    with _hold(real, before) if sys.platform != "win32" else nullcontext():
        if Path(real).read_bytes() != before:
            raise _make_changed_error(real)
        swap(real, after, _finish(old))


def swap(path: str, data: bytes, finish: Callable[[str], None] = lambda _: None) -> None:
    """Move a new file, which only its owner can read, to ``path``, following links.

    ``finish`` is called with the name under which the file is written. Raises the error of a failed
    step, after which there is no temporary file.
    """
    import tempfile  # few commands write files

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


@contextmanager
def _hold(path: str, before: bytes) -> Iterator[None]:
    """Hold a file while it is replaced.

    If two processes edit it, only one succeeds. If a process without a lock appends text to the old
    file meanwhile, the file is restored with that text. (Windows replaces no file that is open.)
    """
    with open(path, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _make_changed_error(path) from None
        except OSError:  # a file system without locks
            pass
        old = os.fstat(file.fileno())
        if not os.path.samestat(old, os.stat(path)):
            raise _make_changed_error(path)
        yield
        if (late := file.read()) != before:
            swap(path, late, _finish(old))
            raise _make_changed_error(path)


def _make_changed_error(path: str) -> ChangedError:
    return ChangedError(errno.EBUSY, "it has changed", path)


def _check_mode(status: os.stat_result) -> None:
    """Raise PermissionError for a file that nobody, including root, may write to."""
    if not status.st_mode & 0o222:
        raise PermissionError(
            errno.EACCES, f"it is read-only, with mode {stat.S_IMODE(status.st_mode):03o}"
        )


def _finish(old: os.stat_result | None) -> Callable[[str], None]:
    """Return a function that gives a new file the mode and the owner of the old one."""

    def finish(temporary: str) -> None:
        if old is None:
            os.chmod(temporary, 0o666 & ~_umask())
            return
        # Only root can change the owner of a file, and Windows has no owners.
        with suppress(OSError, AttributeError):
            os.chown(temporary, old.st_uid, old.st_gid)
        os.chmod(temporary, stat.S_IMODE(old.st_mode))

    return finish


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
