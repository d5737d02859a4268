"""The check of all files in a pack, before dractl uses a pack other than its own."""

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from dractl.facts.autoscalers import DeviceTables
from dractl.facts.cluster_autoscaler import ClusterAutoscalerFacts
from dractl.facts.consumers import Consumer
from dractl.facts.drivers import Driver, Row
from dractl.facts.hardware import Machines, MigTables, Products
from dractl.facts.helpers import Helpers
from dractl.facts.known import Breakage
from dractl.facts.kubernetes import Kubernetes
from dractl.facts.pack import Damaged, Pack, built_in
from dractl.facts.refusals import (
    CONTEXT,
    FOLDER,
    OTHERS,
    RefusalFact,
    RefusalFile,
    compile_pattern,
    fields_of,
)
from dractl.facts.resources import Resources
from dractl.facts.schedulers import KUBE_SCHEDULER, SchedulerFacts

MAX_AGE_DAYS = 90
"""Number of days after which facts should be read again."""


def check(pack: Pack) -> None:
    """Raise Damaged for the first file that does not have the required form, contradicts itself, or
    lacks a fact that dractl needs.
    """
    built_in_pack = built_in()
    for name in built_in_pack.entries("drivers"):
        file = f"drivers/{name}.json"
        if name not in pack.entries("drivers"):
            raise Damaged(f"{file} is missing")
        _complete(file, pack.read(file, Driver).changes, built_in_pack.read(file, Driver).changes)
    changes = built_in_pack.read("kubernetes.json", Kubernetes).changes
    _complete("kubernetes.json", pack.read("kubernetes.json", Kubernetes).changes, changes)
    for name in pack.entries("drivers"):
        _driver(name, pack.read(f"drivers/{name}.json", Driver))
    for name in pack.entries("configuration"):
        _configuration(name, pack)
    for name in pack.entries(FOLDER):
        _refusals(name, pack)
    products = pack.read("products.json", Products)
    layouts = pack.read("mig.json", MigTables).layouts
    for kind, rows in products.products.items():
        for name, row in rows.items():
            if row.get("same", name) not in rows:
                raise Damaged(
                    f"products.json: {kind} {name} is said to be the same as {row['same']}, which"
                    " is missing"
                )
            if row.get("mig") is not None and row["mig"] not in layouts:
                raise Damaged(
                    f"products.json: {name} has the MIG layout {row['mig']}, which mig.json lacks"
                )
    _date("products.json", products.read)
    _date("mig.json", pack.read("mig.json", MigTables).read)
    _date("machines.json", pack.read("machines.json", Machines).read)
    for name, consumer in pack.read("consumers.json", dict[str, Consumer]).items():
        _date(f"consumers.json: {name}", consumer.read)
    for name in pack.entries("autoscalers"):
        _date(f"autoscalers/{name}.json", pack.read(f"autoscalers/{name}.json", DeviceTables).read)
    cluster_autoscaler = pack.read("cluster-autoscaler.json", ClusterAutoscalerFacts)
    _date("cluster-autoscaler.json", cluster_autoscaler.read)
    for fault in cluster_autoscaler.empty_groups:
        _date("cluster-autoscaler.json", fault.read)
    for breakage in pack.read("known.json", tuple[Breakage, ...]):
        _date("known.json", breakage.read)
        for pattern in breakage.words:
            _pattern("known.json", pattern)
    _helpers(pack.read("helpers.json", Helpers))
    schedulers = pack.read("schedulers.json", dict[str, SchedulerFacts])
    if KUBE_SCHEDULER not in schedulers:
        raise Damaged(f"schedulers.json lacks {KUBE_SCHEDULER}")
    for name, scheduler in schedulers.items():
        _date(f"schedulers.json: {name}", scheduler.read)
    _kubernetes(pack.read("kubernetes.json", Kubernetes))
    _date("resources.json", pack.read("resources.json", Resources).read)


def _helpers(known: Helpers) -> None:
    for row in known.helpers:
        _date("helpers.json", row.read)
    for program in known.programs:
        _date(f"helpers.json: {program.title}", program.read)
    for name, builds in known.drivers.items():
        _date(f"helpers.json: {name}", builds.read)
        for build in builds.builds:
            if known.helper_of(build) is None:
                raise Damaged(
                    f"helpers.json: {name} {build.since} has the helper library {build.helper},"
                    " which is older than all of helpers"
                )


def _complete(file: str, found: Iterable[str], asked: Iterable[str]) -> None:
    if missing := sorted(set(asked) - set(found)):
        raise Damaged(f"{file}: its changes lack {', '.join(missing)}")


def _driver(name: str, known: Driver) -> None:
    file = f"drivers/{name}.json"
    if known.name != name:
        raise Damaged(f"{file} is about {known.name}")
    if not known.releases:
        raise Damaged(f"{file} has no version")
    versions = known.versions
    if len(set(versions)) < len(versions):
        raise Damaged(f"{file} has a version twice")
    rows: tuple[Row, ...] = (
        *known.attributes,
        *known.capacities,
        *known.device_kinds,
        *known.taints,
        *known.settings,
        *known.classes,
    )
    _date(file, known.read)
    for attribute in known.attributes:
        for since in (attribute.more_since, attribute.fewer_since):
            if since is not None and since not in versions:
                raise Damaged(f"{file}: {since} is not one of its versions {', '.join(versions)}")
    attributes = {attribute.name for attribute in known.attributes}
    for kind in known.device_kinds:
        unknown = {*kind.attributes, *kind.lacks} - attributes
        if unknown:
            raise Damaged(f"{file}: {', '.join(sorted(unknown))} is not one of its attributes")
    for row in (*rows, *known.models.values(), *known.changes.values()):
        if row.read:
            _date(file, row.read)
        for text in (row.since, row.removed):
            if text is not None and text not in versions:
                raise Damaged(f"{file}: {text} is not one of its versions {', '.join(versions)}")


def _configuration(name: str, pack: Pack) -> None:
    file = f"configuration/{name}.json"
    schema = pack.read(file, dict[str, Any])
    if name not in pack.entries("drivers"):
        raise Damaged(f"{file} is about a driver that the pack lacks")
    _date(file, str(schema.get("read", "")))
    versions = pack.read(f"drivers/{name}.json", Driver).versions
    for text in _sinces(schema):
        if text not in versions:
            raise Damaged(
                f"{file}: {text} is not one of the versions {', '.join(versions)} of {name}"
            )


def _refusals(name: str, pack: Pack) -> None:
    file = f"{FOLDER}/{name}.json"
    content = pack.read(file, RefusalFile)
    if content.of != name:
        raise Damaged(f"{file} is about {content.of}")
    _date(file, content.read)
    for driver in (name, content.like):
        if driver and driver not in (*pack.entries("drivers"), *OTHERS):
            raise Damaged(f"{file} is about driver {driver}, which the pack lacks")
    ids = set()
    for fact in content.refusals:
        if fact.id in ids:
            raise Damaged(f"{file} has {fact.id} twice")
        ids.add(fact.id)
        if fact.read:
            _date(file, fact.read)
        _texts(f"{file}: {fact.id}", fact)


def _pattern(place: str, pattern: str) -> Iterable[str]:
    """Return the named groups of a pattern. Raise Damaged if RE2 does not accept it."""
    try:
        groups: Iterable[str] = compile_pattern(pattern).groupindex
    except ValueError as error:
        raise Damaged(f"{place}: {pattern!r} is no pattern: {error}") from None
    return groups


def _texts(place: str, fact: RefusalFact) -> None:
    """Raise Damaged for a pattern that RE2 does not accept, or for a name in braces that never gets
    a value.
    """
    names = set(CONTEXT)
    for pattern in fact.words:
        names.update(_pattern(place, pattern))
    steps = [step for advice in fact.advices for step in advice.steps]
    texts = [text for advice in fact.advices for text in advice.meaning]
    for text in (*texts, fact.is_not, *(step.do for step in steps), *(step.run for step in steps)):
        try:
            unknown = [name for name in fields_of(text) if name not in names]
        except ValueError as error:
            raise Damaged(f"{place}: {text!r}: {error}") from None
        if unknown:
            raise Damaged(f"{place}: nothing gives {{{unknown[0]}}} a value")


def _sinces(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "since" and not isinstance(value, dict):
                yield str(value)
            elif key == "enumSince" and isinstance(value, dict):
                yield from map(str, value.values())
            else:
                yield from _sinces(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _sinces(item)


def _kubernetes(known: Kubernetes) -> None:
    _date("kubernetes.json", known.read)
    for preview in known.previews.values():
        _date("kubernetes.json", preview.read)
        _date("kubernetes.json", preview.due)
    stages = (stage.release for gate in known.gates.values() for stage in gate.stages)
    changes = (text for row in known.changes.values() for text in (row.since, row.until))
    for text in (known.needs_since, *known.compared, *stages, *changes):
        if text is not None and text not in known.releases:
            raise Damaged(
                f"kubernetes.json: {text} is not one of its releases {', '.join(known.releases)}"
            )


def _date(file: str, text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise Damaged(f"{file}: {text!r} is not a date such as 2026-11-22") from None


def dates_of_parts(pack: Pack) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pack with the date on which each was read: its files, and rows that have
    a date of their own.
    """
    for name in pack.entries("drivers"):
        part = pack.read(f"drivers/{name}.json", Driver)
        yield name, part.read
        for kind in ("attributes", "capacities", "taints", "settings", "classes"):
            for row in getattr(part, kind):
                if row.read and row.read < part.read:
                    yield f"{name} {kind} {getattr(row, 'name', getattr(row, 'key', ''))}", row.read
    for name in pack.entries(FOLDER):
        yield f"refusals of {name}", pack.read(f"{FOLDER}/{name}.json", RefusalFile).read
    products = pack.read("products.json", Products)
    yield "products", products.read
    yield "MIG layouts", pack.read("mig.json", MigTables).read
    yield "names of machines", pack.read("machines.json", Machines).read
    for name, consumer in pack.read("consumers.json", dict[str, Consumer]).items():
        yield name, consumer.read
    cluster_autoscaler = pack.read("cluster-autoscaler.json", ClusterAutoscalerFacts)
    yield "settings of Cluster Autoscaler", cluster_autoscaler.read
    for fault in cluster_autoscaler.empty_groups:
        yield f"Cluster Autoscaler with provider {fault.providers[0]}", fault.read
    for breakage in pack.read("known.json", tuple[Breakage, ...]):
        yield f"known problem {breakage.source}", breakage.read
    known_helpers = pack.read("helpers.json", Helpers)
    for row in known_helpers.helpers:
        yield f"helper library {row.since}", row.read
    for program in known_helpers.programs:
        yield f"API of {program.title}", program.read
    for name, builds in known_helpers.drivers.items():
        yield f"helper libraries of {name}", builds.read
    for scheduler in pack.read("schedulers.json", dict[str, SchedulerFacts]).values():
        yield f"scheduler {scheduler.title}", scheduler.read
    yield from list_kubernetes_rows(pack.read("kubernetes.json", Kubernetes))
    yield "resources of device plugins", pack.read("resources.json", Resources).read


def list_kubernetes_rows(known: Kubernetes) -> Iterator[tuple[str, str]]:
    """Yield the file of releases, and each of its rows that was read before the file."""
    yield "Kubernetes", known.read
    rows = (
        *((f"gate {name}", row.read) for name, row in known.gates.items()),
        *((f"gate {name}", row.read) for name, row in known.retired.items()),
        *((f"change {name}", row.read) for name, row in known.changes.items()),
        *((f"field {row.path}", row.read) for row in known.fields),
        *((f"{row.api_version} {row.kind}", row.read) for row in known.served),
        *((f"preview {name}", row.read) for name, row in known.previews.items()),
        *((f"{row.release}: {row.what}", row.read) for row in known.coming),
    )
    yield from ((f"Kubernetes {name}", read) for name, read in rows if read and read < known.read)


def list_overdue_previews(pack: Pack, today: date) -> tuple[str, ...]:
    """Return a sentence for each preview whose release was due before a day."""
    previews = pack.read("kubernetes.json", Kubernetes).previews
    return tuple(
        f"Kubernetes {release} was due on {preview.due} and is known up to {preview.tag}"
        for release, preview in previews.items()
        if today > date.fromisoformat(preview.due)
    )


def old(pack: Pack, today: date) -> tuple[tuple[str, int], ...]:
    """Return the parts that were read more than :data:`MAX_AGE_DAYS` days ago, with their age in
    days, the oldest first.
    """
    ages = [(name, (today - date.fromisoformat(read)).days) for name, read in dates_of_parts(pack)]
    return tuple(
        sorted(
            ((name, age) for name, age in ages if age > MAX_AGE_DAYS),
            key=lambda item: (-item[1], item[0]),
        )
    )
