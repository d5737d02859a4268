"""What programs besides kube-scheduler accept of claims: always a list of what they know, with its
version and date.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from msgspec import Struct, field

from dractl.errors import UsageError
from dractl.facts import pack

_LONGEST = 100  # compared characters
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?(?:[-+].{0,50})?\Z")


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """The attributes of a driver, by full name, that ``selectors`` can compare with a value, and
    those that only ``constraints`` can compare with each other.
    """

    selectors: tuple[str, ...]
    constraints: tuple[str, ...]


class Supported(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of claims and slices that a consumer takes from its version ``since`` on, of those
    that not all of its versions take. A main branch has the date at which it was ``seen``.
    """

    since: str
    accepts: tuple[str, ...]
    seen: str = ""


class Consumer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A consumer, from its version ``since`` on; ``versions`` are those that differ, oldest first.
    Of drivers that are not in ``drivers`` nothing is known; ``never_launched`` are those for which
    it launches no node.
    """

    title: str
    since: str
    source: str
    read: str
    drivers: dict[str, Accepted]
    versions: tuple[Supported, ...]
    never_launched: tuple[str, ...] = field(default=())
    newest: str = ""
    """The newest version that was read; empty: later ones are taken for the last of
    ``versions``.
    """

    def at(self, version: str | None) -> Supported:
        """What a version takes; None is the newest release."""
        if version is None:
            return [one for one in self.versions if not one.seen][-1]
        return [one for one in self.versions if _number(one.since) <= _number(version)][-1]

    def first(self, feature: str) -> Supported | None:
        """Return the first version that takes a field."""
        return next((one for one in self.versions if feature in one.accepts), None)


def _number(version: str) -> tuple[int, int]:
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def consumers() -> dict[str, Consumer]:
    """Return the consumers by the name that ``--for`` has for them."""
    return pack.current().read("consumers.json", dict[str, Consumer])


def named(texts: Iterable[str]) -> dict[str, str | None]:
    """Return the consumers in ``kueue=0.19``, ``karpenter``, with the version where one is named.
    Raises UsageError.
    """
    found: dict[str, str | None] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if name not in consumers():
            near = next(iter(get_close_matches(name[:_LONGEST], consumers(), 1)), None)
            hint = f"known are {', '.join(consumers())}"
            raise UsageError(
                f"unknown consumer {name!r}" + (f"; did you mean {near}?" if near else ""),
                hint=hint,
            )
        known = consumers()[name]
        if equals and not _VERSION.match(version):
            raise UsageError(
                f"{version!r} is not a version of {name}", hint=f"write it as {name}={known.since}"
            )
        if equals and _number(version) < _number(known.since):
            raise UsageError(
                f"{name} {version} is older than {known.since}, the first version of which dractl"
                " knows what it takes",
                hint=f"write {name}={known.since}, or a later one",
            )
        if equals and known.newest and _number(version) > _number(known.newest):
            raise UsageError(
                f"{name} {version} is not known", hint=f"known are {known.since} to {known.newest}"
            )
        found[name] = version if equals else None
    return found


pack.forget_with(consumers.cache_clear)
