"""Stops: causes that end an attempt before any node is tried, or after one was found. Each class is
in the module that makes it.

A pod that PreEnqueue holds back has no condition and no event (except for scheduling gates).
Refusals by PreFilter, Score and PreBind are in the pod's condition, as the sentence ``text``.
"""

from typing import ClassVar

from msgspec import Struct


class Stop(Struct, frozen=True):
    """A failure before any node is tried, in PreEnqueue or PreFilter."""

    absent: ClassVar[str] = ""
    """The kind of the object that does not exist, if that is the failure."""


class PreBindFailure(Struct, frozen=True):
    """A failure after a node was found, in Score or PreBind."""

    @property
    def text(self) -> str:
        """The scheduler's message."""
        raise NotImplementedError
