"""The claims that programs other than kube-scheduler accept: for each program, the features that it
knows, with versions and dates.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache

from msgspec import Struct, field

from dractl.errors import UsageError
from dractl.facts import pack

_MAX_COMPARED_LENGTH = 100  # compared characters
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?(?:[-+].{0,50})?\Z")


class Accepted(Struct, frozen=True, forbid_unknown_fields=True):
    """The attributes of a driver, by full name, that a consumer accepts."""

    selectors: tuple[str, ...]
    """The attributes that selectors can compare with a value."""
    constraints: tuple[str, ...]
    """The attributes that only constraints can compare with each other."""


class Supported(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields of claims and slices that a consumer accepts from a version on, if some of its
    versions do not accept them.
    """

    since: str
    accepts: tuple[str, ...]
    seen: str = ""
    """The date on which a main branch was read."""


class Consumer(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A consumer of claims, from its version ``since`` on."""

    title: str
    since: str
    source: str
    read: str
    drivers: dict[str, Accepted]
    """The attributes by driver; for other drivers, nothing is known."""
    versions: tuple[Supported, ...]
    """The versions with different support, the oldest first."""
    never_launched: tuple[str, ...] = field(default=())
    """Drivers for which it launches no node."""
    newest: str = ""
    """The newest version that was read; if it is empty, later versions count as the last of
    ``versions``.
    """

    def support_in(self, version: str | None) -> Supported:
        """Return the fields that a version accepts; None is the newest release."""
        if version is None:
            return [row for row in self.versions if not row.seen][-1]
        return [row for row in self.versions if _number(row.since) <= _number(version)][-1]

    def first(self, feature: str) -> Supported | None:
        """Return the first version that accepts a field; None if no version that was read accepts
        it.
        """
        return next((row for row in self.versions if feature in row.accepts), None)


def _number(version: str) -> tuple[int, int]:
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2])) if match else (0, 0)


@cache
def consumers() -> dict[str, Consumer]:
    """Return the consumers by their names in ``--for``."""
    return pack.current().read("consumers.json", dict[str, Consumer])


def parse_consumers(texts: Iterable[str]) -> dict[str, str | None]:
    """Parse ``kueue=0.19``, ``karpenter``: consumers, each with its version if one is named. Raises
    UsageError.
    """
    versions: dict[str, str | None] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if name not in consumers():
            near = next(iter(get_close_matches(name[:_MAX_COMPARED_LENGTH], consumers(), 1)), None)
            hint = f"use one of {', '.join(consumers())}"
            raise UsageError(
                f"unknown consumer {name!r}" + (f"; did you mean {near}?" if near else ""),
                hint=hint,
            )
        consumer = consumers()[name]
        if equals and not _VERSION.match(version):
            raise UsageError(
                f"{version!r} is not a version of {name}",
                hint=f"write it as {name}={consumer.since}",
            )
        if equals and _number(version) < _number(consumer.since):
            raise UsageError(
                f"{name} {version} is older than {consumer.since}, the first version of which"
                " dractl knows what it takes",
                hint=f"write {name}={consumer.since}, or a later one",
            )
        if equals and consumer.newest and _number(version) > _number(consumer.newest):
            raise UsageError(
                f"{name} {version} is not known",
                hint=f"dractl knows {consumer.since} to {consumer.newest}",
            )
        versions[name] = version if equals else None
    return versions


pack.forget_with(consumers.cache_clear)
