"""What is not examined while an input is read is freed once another one is."""

from __future__ import annotations

import gc
import weakref

from dractl.garbage import without_collecting


class Ring:
    def __init__(self) -> None:
        self.own = self


def test_what_an_earlier_input_left_is_freed() -> None:
    with without_collecting():
        left = weakref.ref(Ring())
    gc.collect()
    assert left() is not None
    with without_collecting():
        assert left() is None
    gc.unfreeze()
