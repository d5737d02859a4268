"""The contents of a pack, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from dractl.facts.check import old
from dractl.facts.drivers import driver, names
from dractl.facts.hardware import machines, products
from dractl.facts.images import versions_that_run as versions
from dractl.facts.kubernetes import kubernetes
from dractl.facts.seen import UnknownDriver, differences, names_of_publishers, unknown_drivers

if TYPE_CHECKING:
    from datetime import date

    from dractl.facts.pack import Pack

SCHEMA = "dractl/facts/v1"


class DriverLine(Struct, frozen=True, omit_defaults=True):
    """A driver, with its versions in the pack and its version in the cluster."""

    name: str
    known: str
    """The newest release in the pack."""
    read: str
    """The date on which the pack's facts about the driver were read."""
    seen: str = ""
    """An unreleased version in the pack, with the date on which it was read."""
    running: str = ""
    """The version that runs; empty if no image shows it."""
    publishes: bool = False
    """True if ResourceSlices of the driver were read."""
    newer: bool = False
    """True if the version that runs is newer than the pack."""


class Old(Struct, frozen=True):
    """A part of the pack that was read long ago."""

    part: str
    days: int
    """The age of the facts, in days."""


class ComingLine(Struct, frozen=True):
    """A change in a coming release of Kubernetes whose rules are not completely in the pack."""

    release: str
    what: str
    source: str


class Summary(Struct, frozen=True):
    """The contents of a pack, compared with the cluster that uses it."""

    version: str
    date: str
    digest: str
    origin: str
    """built in, dractl-facts, or the path that ``--facts`` names."""
    drivers: tuple[DriverLine, ...]
    products: int
    machines: int
    coming: tuple[ComingLine, ...]
    old: tuple[Old, ...]
    seen: tuple[str, ...] = ()
    """Values that slices have and that the pack lacks."""
    cluster: str = ""
    """The release of Kubernetes that runs."""
    caveat: str = ""
    """A caveat about the rules of that release."""
    unread: Sequence[Mapping[str, str]] = ()
    """Resources that could not be read, so that newer versions than the reported ones may run."""
    unknown: tuple[UnknownDriver, ...] = ()
    """Drivers that publish slices and that the pack lacks."""

    @property
    def title(self) -> str:
        """The first line of the report."""
        return f"facts {self.version} of {self.date} ({self.origin}, {self.digest})"

    def to_json(self) -> dict[str, Any]:
        """Return the summary as ``-o json`` prints it."""
        return {"schema": SCHEMA, **to_builtins(self)}


def summary(
    pack: Pack,
    today: date,
    objects: Sequence[Mapping[str, Any]],
    cluster: str | None = None,
    caveat: str | None = None,
    unread: Sequence[Mapping[str, str]] = (),
) -> Summary:
    """Summarize a pack, and compare it with the drivers that the ``objects`` show.

    ``cluster`` is the release of the cluster, ``caveat`` a warning about the rules of the release.
    ``unread`` are resources of the cluster that could not be read.
    """
    running, publishers = versions(objects), names_of_publishers(objects)
    return Summary(
        pack.head.version,
        pack.head.date,
        pack.digest,
        pack.origin,
        tuple(_line(name, running.get(name, ""), name in publishers) for name in names()),
        sum(map(len, products().products.values())),
        len(machines()),
        tuple(ComingLine(row.release, row.what, row.source) for row in kubernetes().coming),
        tuple(Old(part, days) for part, days in old(pack, today)),
        differences(objects),
        cluster or "",
        caveat or "",
        unread,
        unknown_drivers(objects),
    )


def _line(name: str, runs: str, publishes: bool) -> DriverLine:
    driver_facts = driver(name)
    seen = next(
        (f"{release.name}, {release.seen}" for release in driver_facts.releases if release.seen), ""
    )
    return DriverLine(
        name,
        driver_facts.newest,
        driver_facts.read,
        seen,
        runs,
        publishes,
        bool(runs) and driver_facts.is_newer(runs),
    )
