"""Names of files in reports, in the form that services expect."""

import os
from pathlib import Path, PurePath
from urllib.parse import quote


def relative(file: str) -> str:
    """Return a file's name with slashes, relative if the file is below the working directory:
    services identify files by such names.
    """
    path = PurePath(file)
    here = PurePath(os.getcwd())
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def uri(file: str) -> str:
    """Return a URI reference to a file: relative if it is below the working directory, else with
    the scheme ``file``.
    """
    path = PurePath(relative(file))
    if path.is_absolute() or ".." in path.parts:
        return Path(os.path.abspath(path)).as_uri()
    return quote(os.fsencode(path.as_posix()))  # byte by byte, since a name need not be UTF-8
