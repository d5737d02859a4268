"""Exceptions that Python raises for archives and compressed files that cannot be unpacked."""

import lzma
import sys
import tarfile
import zipfile
import zlib


def damage() -> tuple[type[Exception], ...]:
    """Return the exceptions of tarfile, zipfile, gzip, bz2 and lzma for archives that cannot be
    unpacked.

    Such an archive is damaged, encrypted, or packed by a method that this Python does not support.
    """
    handled = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
    # tarfile and zipfile let these out for hostile headers; NotImplementedError and RecursionError
    # are RuntimeErrors.
    builtin = (OSError, EOFError, ValueError, OverflowError, RuntimeError)
    if sys.version_info >= (3, 14):  # both unpack zstd from then on, where Python was built with it
        try:
            from compression.zstd import ZstdError
        except ImportError:
            return (*handled, *builtin)
        return (*handled, *builtin, ZstdError)
    return (*handled, *builtin)
