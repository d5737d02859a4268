"""Garbage left by reading an input is freed later."""

from __future__ import annotations

import gc
import weakref

import pytest

from dractl import garbage
from dractl.garbage import pause_collection


class Ring:
    def __init__(self) -> None:
        self.own = self


def test_garbage_of_earlier_inputs_is_freed_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_ALLOCATIONS", 1_000_000_000)
    with pause_collection():
        left = weakref.ref(Ring())
    gc.collect()
    assert left() is not None
    with pause_collection():
        assert left() is not None
    monkeypatch.setattr(garbage, "_ALLOCATIONS", 0)
    monkeypatch.setattr(garbage, "_survivors", 0)
    with pause_collection():
        assert left() is None
    gc.unfreeze()


def test_objects_that_survived_a_collection_are_not_collected_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(garbage, "_ALLOCATIONS", 0)
    monkeypatch.setattr(garbage, "_survivors", 0)
    with pause_collection():
        survivor = Ring()  # so that objects are frozen
    collections: list[int] = []
    monkeypatch.setattr(garbage, "_ALLOCATIONS", 100_000)
    with pause_collection():
        pass
    monkeypatch.setattr("gc.collect", lambda: collections.append(1))
    with pause_collection():
        assert survivor.own is survivor
    assert not collections
    gc.unfreeze()
