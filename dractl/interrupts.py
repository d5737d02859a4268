"""Ctrl-C while a command starts and ends. Imports nothing that costs time: this module comes
first.
"""

import os
import signal

INTERRUPTED = 130


def leave_on_interrupt() -> None:
    """Let Ctrl-C end the process at once, without a traceback.

    It may come during imports, any of which could raise KeyboardInterrupt, and at the end. If the
    parent ignores interrupts (nohup), so do we.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that files and the terminal are left in
    order.
    """
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    """End the process with the status of an interrupt."""
    os._exit(INTERRUPTED)
