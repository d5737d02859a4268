"""What programs besides kube-scheduler accept of claims: always a list of what they know, with its version and date."""

from __future__ import annotations

from functools import cache

from msgspec import Struct, field

from dractl.facts import pack


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """The attributes of a driver, by full name, that ``selectors`` can compare with a value, and those that only
    ``constraints`` can compare with each other."""

    selectors: tuple[str, ...]
    constraints: tuple[str, ...]


class Consumer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A consumer, from its version ``since`` on. Of drivers that are not in ``drivers`` nothing is known;
    ``never_launched`` are those for which it launches no node."""

    title: str
    since: str
    source: str
    read: str
    drivers: dict[str, Accepted]
    never_launched: tuple[str, ...] = field(default=())


@cache
def consumers() -> dict[str, Consumer]:
    """The consumers by the name that ``--for`` has for them."""
    return pack.current().read("consumers.json", dict[str, Consumer])


pack.forget_with(consumers.cache_clear)
