"""Failures before any node is looked at, or after one was found, as values; each stands where it is found.

A pod that PreEnqueue holds back has no condition and no event (but for scheduling gates); what PreFilter, Score and
PreBind refuse is in the pod's condition, in the sentence of ``text``.
"""

from typing import ClassVar

from msgspec import Struct


class Stop(Struct, frozen=True):
    """A failure before any node is looked at. ``absent`` is the kind of the object that it says does not exist."""

    absent: ClassVar[str] = ""


class Late(Struct, frozen=True):
    """A failure after a node was found, in Score or PreBind."""

    @property
    def text(self) -> str:
        """The scheduler's message."""
        raise NotImplementedError
