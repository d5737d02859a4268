"""Exceptions that Python raises for archives and compressed files that cannot be unpacked."""

import lzma
import sys
import tarfile
import zipfile
import zlib


def damage() -> tuple[type[Exception], ...]:
    """For an ``except`` around tarfile, zipfile, gzip, bz2 and lzma: damaged, encrypted, or packed
    by a method that this Python does not support.
    """
    known = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
    # tarfile and zipfile let these out for hostile headers; NotImplementedError and RecursionError
    # are RuntimeErrors.
    builtin = (OSError, EOFError, ValueError, OverflowError, RuntimeError)
    if sys.version_info >= (3, 14):  # both unpack zstd from then on, where Python was built with it
        try:
            from compression.zstd import ZstdError
        except ImportError:
            return (*known, *builtin)
        return (*known, *builtin, ZstdError)
    return (*known, *builtin)
