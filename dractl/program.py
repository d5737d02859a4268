"""The name by which the user calls the program, for every text with a command to type.

The name is ``dractl``, or ``kubectl dra`` if kubectl runs it as a plug-in, since krew installs no
program ``dractl``. The command line sets the name before anything is printed; for users of the
library, it stays ``dractl``.
"""

import shlex
from collections.abc import Sequence

DRACTL = "dractl"
KUBECTL_DRA = "kubectl dra"


class _Call:
    name = DRACTL
    words: tuple[str, ...] = ()


def program_name() -> str:
    """Return the program's name as the user types it: ``dractl`` or ``kubectl dra``."""
    return _Call.name


def invocation() -> str:
    """Return the command line of this run in a form that can be pasted; "" for users of the
    library.
    """
    return f"{_Call.name} {shlex.join(_Call.words)}" if _Call.words else ""


def call_program(name: str, words: Sequence[str] = ()) -> None:
    """Set the program's name, and the words after it on the command line, for the rest of the
    process.
    """
    _Call.name, _Call.words = name, tuple(words)
