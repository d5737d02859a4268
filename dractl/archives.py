"""Exceptions that Python raises for archives and compressed files that cannot be unpacked."""

import lzma
import sys
import tarfile
import zipfile
import zlib


def damage() -> tuple[type[Exception], ...]:
    """Return the exceptions of tarfile, zipfile, gzip, bz2 and lzma for archives that cannot be
    unpacked.

    Such an archive is damaged or encrypted, or uses a compression method that this Python does not
    support.
    """
    handled = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
    # tarfile and zipfile do not catch these for hostile headers; NotImplementedError and
    # RecursionError are RuntimeErrors.
    builtin = (OSError, EOFError, ValueError, OverflowError, RuntimeError)
    # tarfile and zipfile unpack zstd from 3.14 on, if Python was built with it
    if sys.version_info >= (3, 14):
        try:
            from compression.zstd import ZstdError
        except ImportError:
            return (*handled, *builtin)
        return (*handled, *builtin, ZstdError)
    return (*handled, *builtin)
