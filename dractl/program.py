"""The name by which the user calls the program, for every text with a command to type.

It is ``dractl``, and ``kubectl dra`` where kubectl runs it as a plug-in: krew installs no program ``dractl``. The
command line sets the name before anything is printed; a library's user keeps ``dractl``.
"""

DRACTL = "dractl"
KUBECTL_DRA = "kubectl dra"


class _Call:
    name = DRACTL


def program_name() -> str:
    """Return the program as the user types it: ``dractl`` or ``kubectl dra``."""
    return _Call.name


def call_program(name: str) -> None:
    """Set the name for the rest of the process."""
    _Call.name = name
