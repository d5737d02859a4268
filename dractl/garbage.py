"""Garbage collection, where it can find nothing."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 400_000
"""Objects that may be left of earlier inputs; modules and their classes have a quarter of it."""


@contextmanager
def pause_collection() -> Iterator[None]:
    """Disable garbage collection while an input is read.

    Its million small objects live until the end, and examining them takes up to a third of the
    time. They are not examined later either, until another input is read: a command that watches
    reads one after the other.
    """
    if gc.get_freeze_count() > _ALLOCATIONS:
        gc.unfreeze()
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
