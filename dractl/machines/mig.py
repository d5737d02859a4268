"""``mig=``: MIG mode on or off, or the MIG devices that every GPU has: ``7x1g.5gb``,
``3g.20gb+2x2g.10gb``.
"""

import re
import uuid
from collections.abc import Iterator
from typing import Any

from dractl.errors import UsageError
from dractl.topology.machine import MigDevice, MigProfile, Placement

ON = ("on", True)
_OFF = ("off", False)
_PART = re.compile(
    r"(?:(?P<count>[1-8])[xX])?(?P<profile>[1-8]g\.[0-9]{1,4}gb(?:[+-][a-z.]{1,12})?)\Z"
)
_BETWEEN = re.compile(r"\+(?=[0-9])")  # not the plus in the profile 1g.5gb+me
_NAMES = uuid.UUID("6f6b9dc4-27f7-4f3a-8a0e-6a1f3a1d54a9")


def fits(value: Any) -> bool:
    """Return True if a setting has the form of a ``mig=`` value."""
    return value in (*ON, *_OFF) or (
        isinstance(value, str)
        and bool(value)
        and all(_PART.match(part) for part in _BETWEEN.split(value))
    )


def is_on(value: Any) -> bool:
    """Return True if GPUs are in MIG mode."""
    return value is not None and value not in _OFF


def profiles_of(value: Any) -> tuple[str, ...]:
    """Return the profiles of the MIG devices of a GPU, one by one; none if the GPU is only in MIG
    mode.
    """
    if value is None or value in (*ON, *_OFF):
        return ()
    parts = filter(None, map(_PART.match, _BETWEEN.split(str(value))))
    return tuple(part["profile"] for part in parts for _ in range(int(part["count"] or 1)))


def devices(
    value: Any, profiles: tuple[MigProfile, ...], gpu: str, bdf: str
) -> tuple[MigDevice, ...]:
    """Return the MIG devices of a GPU, each at the first free place, in the order in which they are
    named. Raises UsageError for a profile that the GPU does not have, and if there is no room.
    """
    return tuple(
        _devices(profiles_of(value), {profile.name: profile for profile in profiles}, gpu, bdf)
    )


def _devices(
    names: tuple[str, ...], known: dict[str, MigProfile], gpu: str, bdf: str
) -> Iterator[MigDevice]:
    taken: set[int] = set()
    for index, name in enumerate(names):
        profile = known.get(name)
        if profile is None:
            raise UsageError(
                f"--hardware: mig: {gpu} has no profile {name}", hint=f"it has {', '.join(known)}"
            )
        place = next(
            (placement for placement in profile.placements if not taken & _slices(placement)), None
        )
        if place is None:
            raise UsageError(
                f"--hardware: mig: {gpu} has no room for {name} beside {', '.join(names[:index])}"
            )
        taken |= _slices(place)
        uuid_of_device = f"MIG-{uuid.uuid5(_NAMES, f'{bdf} {index} {name}')}"
        yield MigDevice(
            uuid_of_device, name, profile.id, place, index + 1, 0, index, profile.slices
        )


def _slices(place: Placement) -> set[int]:
    return set(range(place.start, place.start + place.size))
