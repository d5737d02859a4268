"""The API versions that a driver speaks, as its helper library determines them."""

import re
from functools import cache

from msgspec import Struct

from dractl.facts import pack
from dractl.facts.drivers import driver, names

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


class Helper(Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of k8s.io/dynamic-resource-allocation that speak the same API versions."""

    since: str
    """The first release."""
    speaks: tuple[str, ...]
    """The apiVersions in which the library writes slices and claims, in the order of attempts."""
    source: str
    read: str


class Build(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The first version of a driver that was built with a newer helper library."""

    since: str
    """The first version, as the tag of its image."""
    helper: str
    """The release of the helper library in its go.mod."""
    claim_versions: tuple[str, ...] = ()
    """The apiVersions that the driver's own code, apart from the library, uses to get claims when
    it unprepares them.
    """


class Builds(Struct, frozen=True, forbid_unknown_fields=True):
    """The helper libraries of the versions of a driver."""

    source: str
    read: str
    builds: tuple[Build, ...]
    """Oldest first."""


class Spoken(Struct, frozen=True, forbid_unknown_fields=True):
    """The apiVersions that a program speaks from one version on."""

    since: str
    speaks: tuple[str, ...]
    """The apiVersions."""


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """A program that reads claims but is not a driver. Each of its versions has a client for one
    version of the API.
    """

    title: str
    group: str
    """The API group of the program's own kinds."""
    images: tuple[str, ...]
    """The names of its images."""
    marks: tuple[str, ...]
    """Words in its configuration that turn on its support of claims."""
    versions: tuple[Spoken, ...]
    """The versions with different apiVersions, oldest first; earlier ones read no claims."""
    source: str
    read: str

    def owns(self, group: str) -> bool:
        """Return True for the API group of the program's own kinds, and for groups below it."""
        return group.endswith(self.group)

    def find_version(self, tag: str) -> Spoken | None:
        """Return the entry that applies to a version; None if the version reads no claims, or has
        no number.
        """
        number = _numbers(tag)
        fitting = [row for row in self.versions if number and _numbers(row.since) <= number]
        return fitting[-1] if fitting else None

    def first(self, served: frozenset[str]) -> str | None:
        """Return the first version that speaks at least one of some apiVersions."""
        return next((row.since for row in self.versions if not served.isdisjoint(row.speaks)), None)


class Helpers(Struct, frozen=True, forbid_unknown_fields=True):
    """``helpers.json``."""

    helpers: tuple[Helper, ...]
    """Oldest first."""
    drivers: dict[str, Builds]
    programs: tuple[Program, ...] = ()

    def helper_of(self, build: Build) -> Helper | None:
        """Return the entry for a build's library; None if it is older than all known libraries."""
        fitting = [row for row in self.helpers if _numbers(row.since) <= _numbers(build.helper)]
        return fitting[-1] if fitting else None


class Speech(Struct, frozen=True):
    """The apiVersions that a version of a driver speaks."""

    driver: str
    version: str
    """The tag of its image."""
    speaks: tuple[str, ...]
    """The apiVersions."""
    source: str
    read: str
    claim_versions: tuple[str, ...] = ()
    """The apiVersions that the driver's own code, apart from the library, uses to get claims when
    it unprepares them.
    """


@cache
def helpers() -> Helpers:
    """Return the tables."""
    return pack.current().read("helpers.json", Helpers)


pack.forget_with(helpers.cache_clear)


def speech_of(name: str, version: str) -> Speech | None:
    """Return the apiVersions that a version of a driver speaks; None if they are unknown."""
    rows = helpers().drivers.get(name)
    if rows is None or _NUMBERS.search(version) is None:
        return None
    order = _order(name, version)
    fitting = [build for build in rows.builds if _order(name, build.since) <= order]
    build = fitting[-1] if fitting else None
    helper = helpers().helper_of(build) if build is not None else None
    if build is None or helper is None:
        return None
    source = f"{rows.source}: helper library {build.helper}; {helper.source}"
    return Speech(name, version, helper.speaks, source, rows.read, build.claim_versions)


def first_speaker(name: str, served: frozenset[str]) -> str | None:
    """Return the first version of a driver whose library and whose own code each speak at least one
    of the ``served`` apiVersions; None if none is known.
    """
    rows = helpers().drivers.get(name)
    for build in rows.builds if rows is not None else ():
        helper = helpers().helper_of(build)
        if helper is not None and all(
            not served.isdisjoint(versions)
            for versions in (helper.speaks, build.claim_versions or helper.speaks)
        ):
            return build.since
    return None


def _order(name: str, version: str) -> tuple[int, tuple[int, ...]]:
    """Return a key that sorts versions in the driver's order: NVIDIA's 0.4 comes after 25.12."""
    rank = driver(name).rank(version) if name in names() else 0
    return rank, _numbers(version)


def _numbers(version: str) -> tuple[int, ...]:
    match = _NUMBERS.search(version)
    return tuple(map(int, match[0].split("."))) if match is not None else ()
