"""Less garbage collection, where objects are made that all stay alive."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 400_000
"""Frozen objects above which earlier inputs are collected; modules and classes are a quarter."""

_NEW_OBJECTS = 2_000_000
"""New objects before garbage is collected: lint of 8,000 findings makes a million, all needed."""


def collect_rarely() -> None:
    """Collect garbage only while a long run makes many objects.

    The objects of a short run (modules, classes, patterns, schemas) live until its end, so
    collecting garbage among them is useless, but would take a sixth of the time of ``dractl lint
    one.yaml``: Python collects every 700 new objects.
    """
    gc.set_threshold(_NEW_OBJECTS)


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
