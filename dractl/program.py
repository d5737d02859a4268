"""The name by which the user calls the program, for every text with a command to type.

It is ``dractl``, and ``kubectl dra`` where kubectl runs it as a plug-in: krew installs no program
``dractl``. The command line sets the name before anything is printed; a library's user keeps
``dractl``.
"""

import shlex
from collections.abc import Sequence

DRACTL = "dractl"
KUBECTL_DRA = "kubectl dra"


class _Call:
    name = DRACTL
    words: tuple[str, ...] = ()


def program_name() -> str:
    """Return the program as the user types it: ``dractl`` or ``kubectl dra``."""
    return _Call.name


def invocation() -> str:
    """Return the command line of this run, to be pasted again; a library's user has none."""
    return f"{_Call.name} {shlex.join(_Call.words)}" if _Call.words else ""


def call_program(name: str, words: Sequence[str] = ()) -> None:
    """Set the name, and the words that follow it, for the rest of the process."""
    _Call.name, _Call.words = name, tuple(words)
