"""The base of all exceptions that a user's file, node, cluster or command line can cause.

Core packages raise them; :mod:`dractl.cli` turns them into one clear message on standard error and
the exit code.
"""

from typing import ClassVar


class DractlError(Exception):
    """An error that the user can see and fix.

    ``message`` states the error in one sentence; ``place`` is where it is (``file``,
    ``file:line:column``, an object's name); ``hint`` is what is allowed or what to do next.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, *, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class UsageError(DractlError):
    """Wrong usage or configuration, an unknown code or release: exit code 2."""

    exit_code = 2


class InputError(DractlError):
    """The task could not be done (a named path is missing or unreadable, there is no cluster,
    kubectl failed): exit code 3.
    """


class Unsupported(DractlError):
    """A part of the question that dractl does not answer yet, reported instead of a guess: exit
    code 3.
    """
