"""Stops: causes that end an attempt before any node is looked at, or after one was found; each
stands where it is made.

A pod that PreEnqueue holds back has no condition and no event (except for scheduling gates);
refusals by PreFilter, Score and PreBind are in the pod's condition, in the sentence of ``text``.
"""

from typing import ClassVar

from msgspec import Struct


class Stop(Struct, frozen=True):
    """A failure before any node is looked at, in PreEnqueue or PreFilter."""

    absent: ClassVar[str] = ""
    """The kind of an object that does not exist, if that is the failure."""


class PreBindFailure(Struct, frozen=True):
    """A failure after a node was found, in Score or PreBind."""

    @property
    def text(self) -> str:
        """The scheduler's message."""
        raise NotImplementedError
