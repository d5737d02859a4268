"""Schedulers other than kube-scheduler: how to recognize them, and how they treat claims, gangs and
quotas.
"""

import re
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct

from dractl.facts import pack

KUBE_SCHEDULER = "kube-scheduler"
"""The key of the row about kube-schedulers that run under another name."""

_VERSION = re.compile(r"\d{1,6}(?:\.\d{1,6}){1,3}")


class ClaimSupport(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The allocation of claims by one scheduler."""

    allocator: Literal["structured", "own", "none"]
    """``structured``: the library that kube-scheduler uses; ``own``: another allocator."""
    takes_claims: bool
    """True if pods with ``spec.resourceClaims`` get their claims allocated."""
    since: str | None
    """The first version with this behaviour; None if no version is known to differ."""
    text: str
    """The predicate of a sentence whose subject is the scheduler."""
    detail: str | None
    """A clause with more details."""
    instead: str | None
    """The advice, as an imperative, for pods whose claims it does not allocate."""
    source: str


class Limit(Struct, frozen=True, forbid_unknown_fields=True):
    """A case that a scheduler treats differently from kube-scheduler."""

    when: Literal["claims", "alternatives", "admin-access", "named-claim"]
    """The pods to which it applies: pods with any claim, with ``firstAvailable``, with
    ``adminAccess``, or with a claim that they name directly.
    """
    text: str
    source: str
    since: str = ""
    """The first version with the limit; if it is empty, all versions before ``until`` have it."""
    until: str = ""
    """The first version without the limit; empty if no such version is known."""

    def concerns(self, version: str) -> bool:
        """Return True if a version has the limit; an unknown version (empty) counts as the
        newest.
        """
        numbers = numbers_of(version)
        if not numbers:
            return not self.until
        after = not self.since or numbers_of(self.since) <= numbers
        return after and (not self.until or numbers < numbers_of(self.until))


class GroupObject(Struct, frozen=True, forbid_unknown_fields=True):
    """The kind of object with which a scheduler groups pods that start together."""

    resource: str
    """The resource with its API group, such as ``podgroups.scheduling.run.ai``."""
    keys: tuple[str, ...]
    """Annotations and labels with which a pod names the object."""
    conditions: str | None
    """The list of conditions in its status; None if the status only has a phase."""


class SchedulerFacts(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A scheduler that pods can name in ``spec.schedulerName``."""

    title: str
    names: tuple[str, ...]
    """Values of ``spec.schedulerName`` for which it schedules pods by default."""
    images: tuple[str, ...]
    """The last parts of its image's repository. If several components share a repository, the
    beginning of the tag follows, as in ``apache/yunikorn:scheduler``.
    """
    deployments: tuple[str, ...]
    """The names of the scheduler's Deployment, as its chart or manifest installs it."""
    labels: dict[str, str]
    """The labels of the scheduler's pods, as its chart or manifest sets them."""
    api_groups: tuple[str, ...]
    """The API groups of the scheduler's own kinds."""
    reporters: tuple[str, ...]
    """The sources of the scheduler's events, other than its own name."""
    event_reasons: tuple[str, ...]
    """Reasons of its events about a pod."""
    condition_types: tuple[str, ...]
    """Types of pod conditions that it writes."""
    condition_reasons: dict[str, str]
    """Reasons of these conditions, with their meanings."""
    queue_keys: tuple[str, ...]
    """Labels and annotations with which a pod names its queue or quota."""
    group: GroupObject | None
    claims: ClaimSupport
    limits: tuple[Limit, ...]
    gangs: str | None
    """The predicate of a sentence about gangs; None if its treatment of gangs is unknown."""
    quota: str | None
    """The predicate of a sentence about queues and quotas."""
    built_on: str | None
    """``kube-scheduler`` if it is that program with its own plugins."""
    known: str | None
    """The newest version that was read."""
    source: str
    read: str

    def version_of(self, image: str) -> str | None:
        """Return the version in the tag of an image of this scheduler; "" if the tag has none, None
        for other images.
        """
        name, _, tag = image.partition("@")[0].rpartition(":")
        if not name or "/" in tag:
            name, tag = image.partition("@")[0], ""
        for pattern in self.images:
            repository, _, start = pattern.partition(":")
            if f"/{name}".endswith(f"/{repository}") and tag.startswith(start):
                version = _VERSION.search(tag)
                return version[0] if version else ""
        return None

    def allocates_in(self, version: str) -> bool:
        """Return True if a version (empty: unknown) allocates the claims of pods."""
        if not self.claims.takes_claims:
            return False
        return not (
            version and self.claims.since and numbers_of(version) < numbers_of(self.claims.since)
        )


def numbers_of(version: str) -> tuple[int, ...]:
    """Return the numbers of the first version in a text; none if the text has no version."""
    match = _VERSION.search(version)
    return tuple(map(int, match[0].split("."))) if match else ()


@cache
def schedulers() -> dict[str, SchedulerFacts]:
    """Return the rows of ``schedulers.json``."""
    return pack.current().read("schedulers.json", dict[str, SchedulerFacts])


def scheduler_named(name: str) -> SchedulerFacts | None:
    """Return the scheduler that uses a name by default; None for other names."""
    return next((row for row in schedulers().values() if name in row.names), None)


@lru_cache(1 << 12)
def scheduler_of_image(image: str) -> SchedulerFacts | None:
    """Return the scheduler of an image; None for other images."""
    rows = schedulers().values()
    return next((row for row in rows if row.version_of(image) is not None), None)


def group_resources() -> frozenset[str]:
    """Return the resources with which schedulers group pods that start together."""
    return frozenset(row.group.resource for row in schedulers().values() if row.group)


pack.forget_with(schedulers.cache_clear)
pack.forget_with(scheduler_of_image.cache_clear)
