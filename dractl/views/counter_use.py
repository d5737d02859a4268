"""The shared counters that a device of a ResourceSlice uses."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.model.paths import map_at, maps_at, text_at
from dractl.objects import Raw


class CounterUse(Struct, frozen=True):
    """An entry of ``consumesCounters``."""

    counter_set: str
    counters: Mapping[str, Any]
    """The amounts by counter, as written."""

    def amount(self, counter: str) -> str:
        """Return how much of a counter the device uses; "" if it does not use the counter."""
        return text_at(self.counters, counter, "value")


def counter_uses(device: Raw) -> tuple[CounterUse, ...]:
    """Return ``consumesCounters`` of a device."""
    return tuple(
        CounterUse(text_at(entry, "counterSet"), map_at(entry, "counters"))
        for entry in maps_at(device, "consumesCounters")
    )
