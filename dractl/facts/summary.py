"""What a pack knows, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from dractl.facts.check import old
from dractl.facts.drivers import driver, names
from dractl.facts.hardware import machines, products
from dractl.facts.images import running as versions
from dractl.facts.kubernetes import kubernetes
from dractl.facts.seen import UnknownDriver, differences, unknown_drivers

if TYPE_CHECKING:
    from datetime import date

    from dractl.facts.pack import Pack

SCHEMA = "dractl/facts/v1"


class DriverLine(Struct, frozen=True, omit_defaults=True):
    """A driver: the newest release that is known, a later state that was seen, the date on which it
    was read, and the version that runs, ``newer`` if that is not known."""

    name: str
    known: str
    read: str
    seen: str = ""
    running: str = ""
    newer: bool = False


class Old(Struct, frozen=True):
    """A part that was read ``days`` ago."""

    part: str
    days: int


class ComingLine(Struct, frozen=True):
    """Something that a release of Kubernetes will bring whose rules are not known completely."""

    release: str
    what: str
    source: str


class Summary(Struct, frozen=True):
    """``origin``: built in, dractl-facts, or what ``--facts`` names. ``seen`` is what slices have
    and the pack lacks, ``cluster`` the release of Kubernetes that runs, ``caveat`` what its rules
    are, ``unread`` the resources of the cluster that may not be read: what runs may be newer than
    is seen."""

    version: str
    date: str
    digest: str
    origin: str
    drivers: tuple[DriverLine, ...]
    products: int
    machines: int
    coming: tuple[ComingLine, ...]
    old: tuple[Old, ...]
    seen: tuple[str, ...] = ()
    cluster: str = ""
    caveat: str = ""
    unread: Sequence[Mapping[str, str]] = ()
    unknown: tuple[UnknownDriver, ...] = ()
    """Drivers that publish slices, and of which nothing is known."""

    @property
    def title(self) -> str:
        """Its first line."""
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
    """What a pack knows on a day, beside what objects tell of the drivers that run. ``cluster`` is
    the release that runs, with the ``caveat`` about its rules, ``unread`` what may not be read of
    it."""
    running = versions(objects)
    return Summary(
        pack.head.version,
        pack.head.date,
        pack.digest,
        pack.origin,
        tuple(_line(name, running.get(name, "")) for name in names()),
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


def _line(name: str, runs: str) -> DriverLine:
    known = driver(name)
    seen = next((f"{one.name}, {one.seen}" for one in known.releases if one.seen), "")
    return DriverLine(
        name, known.newest, known.read, seen, runs, bool(runs) and known.is_newer(runs)
    )
