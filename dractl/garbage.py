"""A pause of garbage collection while objects are made that all stay alive."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 400_000
"""Frozen objects above which earlier inputs are collected; modules and classes are a quarter."""


@contextmanager
def pause_collection() -> Iterator[None]:
    """Disable garbage collection while an input is read.

    Its million small objects live until the end, and examining them takes up to a third of the
    time. So they are frozen afterwards. A command that watches reads many inputs: if too many
    objects are frozen, the next pause collects them first.
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
