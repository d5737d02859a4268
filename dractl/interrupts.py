"""Handling of Ctrl-C while a command starts and ends. This module is imported first, so it imports
nothing that takes time.
"""

import os
import signal

INTERRUPTED = 130


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the process at once, without a traceback.

    This is for imports, in any of which KeyboardInterrupt could be raised, and for the end of the
    process. If the parent process ignores interrupts (nohup), dractl does so, too.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that files and the terminal can be cleaned
    up.
    """
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    """End the process with the status for an interrupt."""
    os._exit(INTERRUPTED)
