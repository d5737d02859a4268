"""What known drivers publish, in the form that rules need: by class, by domain, by version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dractl import facts
from dractl.facts import Attribute, Capacity, hardware, pack
from dractl.facts.images import versions_that_run
from dractl.lint.model import Advice, Claim, Manifest, Run
from dractl.model.nearest import nearest_names
from dractl.objects import Constraint, Expression, Request, items, mapping, text
from dractl.program import program_name

if TYPE_CHECKING:  # not for files without selectors
    from dractl.cel import Program
    from dractl.cel.lookups import Lookup

ANYBODYS = ".example.com"  # names that everybody makes up, also those of the example driver
Row = Attribute | Capacity
T = TypeVar("T")


class KnownDriver(Struct, frozen=True):
    """What is known of one driver, by full names. ``at`` is the version that is judged: the newest release, unless
    another is ``stated``. ``unknown``: the stated version is newer than all that are known, so nothing is known to be
    absent."""

    fact: facts.Driver
    attributes: dict[str, Attribute]
    capacities: dict[str, Capacity]
    at: str
    stated: str = ""
    unknown: bool = False

    @property
    def name(self) -> str:
        return self.fact.name

    def rows(self, kind: str) -> Mapping[str, Row]:
        """``attributes`` or ``capacity``."""
        return self.attributes if kind == "attributes" else self.capacities

    @property
    def domains(self) -> frozenset[str]:
        """The domains of everything that it publishes."""
        return _domains(self.name)

    def last_with(self, row: Row) -> str | None:
        """The last release with an attribute that the judged version no longer has; None if that has it."""
        if row.removed is None or self._index(row.removed) > self._index(self.at):
            return None
        return self._release(self.fact.versions[self._index(row.removed) - 1])

    def first_with(self, row: Row) -> str | None:
        """The first release with an attribute; None if all known versions up to its last have it."""
        return None if row.since is None else self.fact.tags.get(row.since, (row.since,))[0]

    def seen(self, version: str | None) -> str:
        """The date of a version that is not released; empty for one that is."""
        return next((one.seen for one in self.fact.releases if one.name == version), "")

    @property
    def newest(self) -> str:
        """The judged version: as it was stated, else the newest release."""
        return self.stated or self._release(self.at)

    @property
    def known_to(self) -> str:
        """What an absence rests on: ``known to v0.5.1, read on 2026-11-22``."""
        return f"known to {self._release(self.at)}, read on {self.fact.read}"

    def dated(self, help: str | None = None) -> str:  # noqa: A002
        """Advice about an absence, with what that rests on."""
        rests = f"{self.name} is {self.known_to}"
        return f"{help} ({rests})" if help else rests

    def is_later(self, row: Row) -> bool:
        """True if only versions after the judged one have it."""
        return row.since is not None and self._index(row.since) > self._index(self.at)

    def later_value(self, row: Row, value: str) -> str | None:
        """The first version that has a value, if the judged one does not have it yet."""
        since = row.values_since.get(value)
        return since if since is not None and self._index(since) > self._index(self.at) else None

    def soften(self, advice: Advice) -> Advice:
        """An absence in a version that is newer than what is known: a note."""
        if not self.unknown:
            return advice
        words = f"; this is only {self.known_to}, and {self.stated} is newer"
        return replace(
            advice, message=advice.message + words, severity="info", confidence="possible", fix=None
        )

    def _release(self, version: str) -> str:
        """The last release of a version; the version itself if it has none."""
        return self.fact.tags.get(version, (version,))[-1]

    def _index(self, version: str) -> int:
        return self.fact.versions.index(version)


class Installed(Struct, frozen=True):
    """A class of a driver's chart. ``types`` are the values of the attribute ``type`` that its selectors leave."""

    driver: str
    selectors: tuple[str, ...]
    types: tuple[str, ...]


_PRODUCTS: dict[str, hardware.Kind] = {"gpu.nvidia.com": "nvidia", "gpu.amd.com": "amd"}


@cache
def _domains(name: str) -> frozenset[str]:
    known = drivers()[name]
    return frozenset(full.partition("/")[0] for full in (*known.attributes, *known.capacities))


@cache
def in_domain(domain: str) -> dict[str, frozenset[str]]:
    """Bare names in the domain of a known driver, whoever publishes them, by kind; empty for other domains."""
    if domain not in drivers():
        return {}
    return {
        kind: frozenset(
            name.partition("/")[2]
            for known in drivers().values()
            for name in known.rows(kind)
            if name.startswith(f"{domain}/")
        )
        for kind in ("attributes", "capacity")
    }


def nearest_published(kind: str, domain: str, name: str) -> str | None:
    """The one published name that a name is nearly, or begins; None if it is published, or none or several are near."""
    if name in in_domain(domain)["attributes"] | in_domain(domain)["capacity"] or len(name) < 3:
        return None
    known = sorted(in_domain(domain)[kind])
    near = nearest_names(name, known, 0.8, 2)
    near = [other for other in near if other.lower() == name.lower()] or near
    near = near or [other for other in known if other.startswith(name)]
    return near[0] if len(near) == 1 else None


@cache
def drivers() -> dict[str, KnownDriver]:
    """Every known driver but the example's, whose name everybody uses for examples."""
    found = {}
    for known in (facts.driver(name) for name in facts.names() if not name.endswith(ANYBODYS)):
        attributes = {
            name: replace(row, name=name)
            for row in known.attributes
            for name in (known.full(row.name),)
        }
        capacities = {
            name: replace(row, name=name)
            for row in known.capacities
            for name in (known.full(row.name),)
        }
        found[known.name] = KnownDriver(known, attributes, capacities, known.released)
    return found


@cache
def classes() -> dict[str, Installed]:
    """The classes that drivers install, as their newest releases have them, by name."""
    found: dict[str, Installed] = {}
    for name in drivers():
        known = facts.driver(name)
        for row in known.classes:
            if known.covers(row, None):
                found.setdefault(row.name, Installed(name, row.selectors, row.types))
    return found


@cache
def products() -> dict[str, tuple[str, ...]]:
    """The names of known products, by the driver that publishes them as productName."""
    rows = hardware.products().products
    return {
        driver: tuple(sorted({row["name"] for row in rows[kind].values() if "name" in row}))
        for driver, kind in _PRODUCTS.items()
    }


@cache
def memories(driver: str) -> dict[str, int]:
    """The memory of known products in MiB, by the names that a driver publishes as productName."""
    rows = hardware.products().products[_PRODUCTS[driver]].values() if driver in _PRODUCTS else ()
    return {row["name"]: row["memoryMiB"] for row in rows if "name" in row and "memoryMiB" in row}


def driver(name: str | None) -> KnownDriver | None:
    """A known driver, at its newest release."""
    return drivers().get(name or "")


def judged(run: Run, known: KnownDriver) -> KnownDriver:
    """A driver at the version that is stated for the run, else at that of its image in the input."""
    fact = known.fact
    stated = run.versions.get(fact.name) or running_here(run.whole).get(fact.name)
    if stated is None or (fact.name not in run.versions and not fact.knows(stated)):
        return known
    at = fact.versions[fact.index(stated)]
    return replace(known, at=at, stated=stated, unknown=fact.is_newer(stated))


@lru_cache(1)  # every rule asks for the same run
def running_here(run: Run) -> dict[str, str]:
    """The versions of drivers whose images are in the input."""
    return versions_that_run(subject.document.value for subject in run.subjects if subject.pods)


@lru_cache(1)  # every rule asks for the same run
def published_here(run: Run) -> dict[tuple[str, str], frozenset[object]]:
    """The attributes and capacities that ResourceSlices of the input have, by driver and full name, with the values of
    attributes: what is seen wins over what is known."""
    found: dict[tuple[str, str], set[object]] = {}
    others = run.others.of("ResourceSlice") if run.others is not None else ()
    for subject in (*run.of("ResourceSlice"), *others):
        name = text(subject.spec.get("driver"))
        for item in items(subject.spec.get("devices")):
            device = mapping(mapping(item).get("basic")) or mapping(item)
            for kind in ("attributes", "capacity"):
                for key, value in mapping(device.get(kind)).items():
                    full = str(key) if "/" in str(key) else f"{name}/{key}"
                    held = found.setdefault((name, full), set())
                    held.update(
                        one for one in mapping(value).values() if isinstance(one, str | int | bool)
                    )
    return {key: frozenset(values) for key, values in found.items()}


class Wanted(Struct, frozen=True):
    """The devices that a request, or a class, can get, if the driver is known.

    ``classes`` are the selectors of the class; for a class known only from its driver's installation, they are compiled
    on demand. ``types`` are the values of the driver's attribute ``type`` that they leave, empty: any.
    """

    driver: KnownDriver
    compiled: Callable[[], tuple[Program, ...]]
    types: tuple[str, ...]

    @property
    def classes(self) -> tuple[Program, ...]:
        return self.compiled()

    def row(self, kind: str, name: str) -> Row | None:
        """The driver's row for an attribute or capacity by its full name."""
        return self.driver.rows(kind).get(name)

    def narrowed(self, selectors: Iterable[Program]) -> Wanted:
        """The devices after further selectors; the same where these leave none of the types (DRA721)."""
        own = pinned(self.driver, selectors)
        both = tuple(sorted(set(own) & set(self.types))) if own and self.types else own
        return replace(self, types=both or self.types)

    def lacks(self, row: Row) -> bool:
        """True if devices of these types never have it."""
        return bool(row.devices and self.types) and not set(row.devices) & set(self.types)


def wanted(run: Run, request: Request) -> Wanted | None:
    """The devices selected by a request's class; None if the class or its driver is not known.

    A class of the run takes precedence over one that a driver installs under that name.
    """
    return _by_class(run.whole)(request.device_class)


@lru_cache(1)  # every rule asks for the same run
def _by_class(run: Run) -> Callable[[str], Wanted | None]:
    return cache(partial(_wanted, run))


def _wanted(run: Run, name: str) -> Wanted | None:
    of_class = run.device_class(name)
    if of_class is not None:
        return of_selectors(run.program(item) for item in of_class.selectors)
    installed = classes().get(name)
    if installed is None or not installed.selectors:  # without selectors, only the name is known
        return None
    written = installed.selectors
    return Wanted(
        drivers()[installed.driver],
        lambda: tuple(_compiled(run, one) for one in written),
        installed.types,
    )


def driver_at(run: Run, subject: Manifest, expression: Expression) -> str | None:
    """The driver whose devices a selector sees, according to the class: the class itself, or that of the request."""
    if subject.claim is None:
        return run.driver_of(subject.selectors)
    for request in subject.claim.alternatives:
        if expression.path[: len(request.path)] == request.path:
            of_class = run.device_class(request.device_class)
            known = wanted(run, request)
            return (
                run.driver_of(of_class.selectors)
                if of_class
                else known.driver.name
                if known
                else None
            )
    return None


def of_selectors(selectors: Iterable[Program]) -> Wanted | None:
    """The devices that the selectors of a class leave; None where they name no known driver."""
    programs = tuple(selectors)
    known = driver(next((program.driver for program in programs if program.driver), None))
    return None if known is None else Wanted(known, lambda: programs, pinned(known, programs))


def pinned(known: KnownDriver, programs: Iterable[Program]) -> tuple[str, ...]:
    """The values of the attribute ``type`` that selectors leave; empty: any."""
    row = known.attributes.get(f"{known.name}/type")
    kinds = set(map(str, row.values)) if row else set()
    demands = [
        {str(literal.value) for literal in found.literals}
        for program in programs
        for found in program.comparisons
        if found.required and found.operator in ("==", "in")
        if found.lookup
        and found.lookup.kind == "attributes"
        and found.lookup.full_name == f"{known.name}/type"
    ]
    for values in demands:
        kinds &= values
    return tuple(sorted(kinds)) if demands else ()


def _compiled(run: Run, written: str) -> Program:
    """A selector of a driver's own class, in the environment of the input's selectors: one more costs 5 ms."""
    from dractl.cel import environment  # not for files without selectors

    return environment(run.target, "new").compile(written)


def _once_a_run(found: Callable[[Run], Iterator[T]]) -> Callable[[Run], tuple[T, ...]]:
    """What is found in a run, kept until the next one: every rule asks for the same."""
    return lru_cache(1)(lambda run: tuple(found(run)))


class Selectors(Struct, frozen=True):
    """The selectors of one request, or of one class, in the order in which they are evaluated.

    ``request`` is None for a class. ``wanted``: what is known of the devices before them (of a class: of those that it
    leaves).
    """

    subject: Manifest
    request: Request | None
    selectors: tuple[tuple[Expression, Program], ...]
    wanted: Wanted | None

    @property
    def types(self) -> tuple[str, ...]:
        """The values of the attribute ``type`` that class and selectors leave together; empty: any, or none."""
        if self.wanted is None:
            return ()
        own, of_class = (
            pinned(self.wanted.driver, (program for _, program in self.selectors)),
            self.wanted.types,
        )
        return tuple(sorted(set(own) & set(of_class))) if own and of_class else own or of_class

    def advice(
        self,
        expression: Expression,
        message: str,
        help: str | None = None,  # noqa: A002
        **others: Any,
    ) -> Advice:
        """Advice on one of them."""
        return Advice(self.subject, expression.path, message, help, **others)


@_once_a_run
def selections(run: Run) -> Iterator[Selectors]:
    """Those of all classes and requests, but for drivers whose devices are asked instead (``--devices``)."""
    asked = {device.driver for device in run.devices.devices} if run.devices else set()
    for subject in run.of("DeviceClass"):
        programs = tuple((expression, run.program(expression)) for expression in subject.selectors)
        known = of_selectors(program for _, program in programs)
        if known is None or known.driver.name not in asked:
            yield Selectors(subject, None, programs, known)
    for claim, request in run.requests:
        known = wanted(run, request)
        if known is None or known.driver.name not in asked:
            programs = tuple(
                (expression, run.program(expression)) for expression in request.selectors
            )
            yield Selectors(claim.subject, request, programs, known)


class Read(Struct, frozen=True):
    """One lookup of an attribute or a capacity by its name, on devices of a known driver. ``guessed``: only the domain
    tells the driver, and others may publish in it."""

    selection: Selectors
    expression: Expression
    program: Program
    lookup: Lookup
    driver: KnownDriver
    guessed: bool = False

    @property
    def row(self) -> Row | None:
        """The driver's row for it; None if the driver publishes nothing of that name."""
        return self.driver.rows(self.lookup.kind).get(self.lookup.full_name)

    @property
    def guarded(self) -> bool:
        """True if a device without it is no error here: written with ``?``, or tested before."""
        if self.lookup.optional or self.lookup.tested:
            return True
        own, of_class = [program for _, program in self.selection.selectors], self.selection.wanted
        before = (*own[: own.index(self.program) + 1], *(of_class.classes if of_class else ()))
        return any(
            other.tested
            and other.domain == self.lookup.domain
            and other.name in (None, self.lookup.name)
            for program in before
            for other in program.lookups
        )

    def advice(self, message: str, help: str | None = None, **others: Any) -> Advice:  # noqa: A002
        """Advice on it, placed at its name unless ``others`` have a ``span``."""
        lists = f"`{program_name()} rule {self.driver.name}` lists what its devices have"
        help = help or lists  # noqa: A001
        others = {"span": self.lookup.name_span, "confidence": "likely", **others}
        return Advice(self.selection.subject, self.expression.path, message, help, **others)


@_once_a_run
def reads(run: Run) -> Iterator[Read]:
    """Every lookup by name whose driver is known: that of the class, else the one that the selector names, else, if the
    class is not known, the one that owns its domain."""
    asked = {device.driver for device in run.devices.devices} if run.devices else set()
    seen = published_here(run)
    for selection in selections(run):
        of_another = selection.wanted is None and _driver_of_class(run, selection) is not None
        for expression, program in selection.selectors:
            for lookup in program.lookups:
                known = selection.wanted.driver if selection.wanted else driver(program.driver)
                guessed = known is None
                if (
                    known is None and not of_another
                ):  # a driver may publish attributes in any domain
                    known = driver(lookup.domain)
                if program.drivers and known is not None and program.drivers != {known.name}:
                    known = driver(
                        lookup.domain
                    )  # the part of a selector that is for another driver
                if known is not None and lookup.name is not None and known.name not in asked:
                    known = judged(run, known)
                    if (
                        known.rows(lookup.kind).get(lookup.full_name) is None
                        and (known.name, lookup.full_name) in seen
                    ):
                        continue
                    yield Read(selection, expression, program, lookup, known, guessed)


def _driver_of_class(run: Run, selection: Selectors) -> str | None:
    if selection.request is None:
        return run.driver_of(expression for expression, _ in selection.selectors)
    installed = classes().get(selection.request.device_class)
    if (
        installed is not None
        and not installed.selectors
        and not run.device_class(selection.request.device_class)
    ):
        return installed.driver
    return run.driver_of_class(selection.request.device_class)


class Constrained(Struct, frozen=True):
    """A constraint and the devices that it compares. ``sides`` are those of each request whose driver is known, by the
    request's reference; ``whole``: all of them are."""

    claim: Claim
    constraint: Constraint
    field: str
    attribute: str
    sides: dict[str, Wanted]
    whole: bool

    def advice(self, message: str, help: str | None = None, **others: Any) -> Advice:  # noqa: A002
        """Advice on it, placed at its attribute."""
        path = (*self.constraint.path, self.field)
        return Advice(self.claim.subject, path, message, help, confidence="likely", **others)


@_once_a_run
def constrained(run: Run) -> Iterator[Constrained]:
    """Every constraint over devices of known drivers, but for drivers whose devices are asked instead."""
    asked = {device.driver for device in run.devices.devices} if run.devices else set()
    for claim, constraint in run.constraints:
        field = "matchAttribute" if constraint.fields.get("matchAttribute") else "distinctAttribute"
        attribute = text(constraint.fields.get(field))
        targets = claim.targets(constraint.requests)
        found = {
            request.reference: known for request in targets if (known := narrowed(run, request))
        }
        sides = {
            reference: side for reference, side in found.items() if side.driver.name not in asked
        }
        if sides and "/" in attribute:
            yield Constrained(
                claim, constraint, field, attribute, sides, len(sides) == len(targets)
            )


def narrowed(run: Run, request: Request) -> Wanted | None:
    """The devices of a request after its own selectors."""
    known = wanted(run, request)
    return known and known.narrowed(run.program(item) for item in request.selectors)


for _known in (drivers, classes, products, memories, in_domain, _domains):
    pack.forget_with(_known.cache_clear)
