"""Runs garbage collection less often while many objects are created that all stay alive."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_ALLOCATIONS = 300_000
"""The number of objects that may be frozen before garbage is collected again."""
_survivors = 100_000
"""The number of frozen objects that the last collection left; at first, those of modules and
classes.
"""

_NEW_OBJECTS = 2_000_000
"""The number of new objects after which garbage is collected: lint of 8,000 findings makes a
million, all of which it needs.
"""


def collect_rarely() -> None:
    """Collect garbage only during a long run that makes many objects.

    The objects of a short run (modules, classes, patterns, schemas) live until its end, so
    collecting garbage is useless. It would take a sixth of the time of ``dractl lint one.yaml``,
    since Python collects garbage every 700 new objects.
    """
    gc.set_threshold(_NEW_OBJECTS)


@contextmanager
def pause_collection() -> Iterator[None]:
    """Disable garbage collection while an input is read.

    The million small objects of an input live until the end, and examining them takes up to a third
    of the time. So they are frozen afterwards. A command that watches reads many inputs: if too
    many objects were frozen since the last collection, the next call first collects garbage.
    """
    global _survivors  # noqa: PLW0603 - it counts objects of the whole process, as gc does
    if gc.get_freeze_count() - _survivors > _ALLOCATIONS:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _survivors = gc.get_freeze_count()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
