"""Facts about known drivers, in the form that rules need: by class, by domain, by version."""

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

if TYPE_CHECKING:  # only needed for files with selectors
    from dractl.cel import Program
    from dractl.cel.lookups import Lookup

# Names that everybody uses, such as the names of the example driver
EXAMPLE_DOMAIN = ".example.com"
Row = Attribute | Capacity
T = TypeVar("T")


class KnownDriver(Struct, frozen=True):
    """The facts about one driver, by full names."""

    fact: facts.Driver
    """The driver's file in the pack of facts."""
    attributes: dict[str, Attribute]
    """The attributes, by full name."""
    capacities: dict[str, Capacity]
    """The capacities, by full name."""
    at: str
    """The version that is judged: the newest release, unless another is stated."""
    stated: str = ""
    """The version that is stated for the run; empty if none is."""
    unknown: bool = False
    """True if the stated version is newer than all known ones, so that nothing is known to be
    absent.
    """

    @property
    def name(self) -> str:
        return self.fact.name

    def rows(self, kind: str) -> Mapping[str, Row]:
        """Return the rows of ``attributes`` or ``capacity``."""
        return self.attributes if kind == "attributes" else self.capacities

    @property
    def domains(self) -> frozenset[str]:
        """The domains of everything that it publishes."""
        return _domains(self.name)

    def last_with(self, row: Row) -> str | None:
        """Return the last release with an attribute that the judged version no longer has; None if
        the judged version has it.
        """
        if row.removed is None or self._index(row.removed) > self._index(self.at):
            return None
        return self._release(self.fact.versions[self._index(row.removed) - 1])

    def first_with(self, row: Row) -> str | None:
        """Return the first release with an attribute; None if no known version is older than the
        attribute.
        """
        return None if row.since is None else self.fact.tags.get(row.since, (row.since,))[0]

    def release_date(self, version: str | None) -> str:
        """Return the date on which an unreleased version was read; "" for any other version."""
        return next((release.seen for release in self.fact.releases if release.name == version), "")

    @property
    def newest(self) -> str:
        """The judged version: the stated one, or else the newest release."""
        return self.stated or self._release(self.at)

    @property
    def known_to(self) -> str:
        """The basis for a statement of absence: ``known to v0.5.1, read on 2026-11-22``."""
        return f"known to {self._release(self.at)}, read on {self.fact.read}"

    def explain_absence(self, help: str | None = None) -> str:  # noqa: A002
        """Return the advice with the basis for a statement of absence."""
        rests = f"{self.name} is {self.known_to}"
        return f"{help} ({rests})" if help else rests

    def is_later(self, row: Row) -> bool:
        """True if only versions after the judged one have a row."""
        return row.since is not None and self._index(row.since) > self._index(self.at)

    def version_with_value(self, row: Row, value: str) -> str | None:
        """Return the first version that has a value if it is later than the judged version; else
        None.
        """
        since = row.values_since.get(value)
        return since if since is not None and self._index(since) > self._index(self.at) else None

    def soften(self, advice: Advice) -> Advice:
        """Turn advice about an absence into a note where the version is newer than the known
        ones.
        """
        if not self.unknown:
            return advice
        words = f"; this is only {self.known_to}, and {self.stated} is newer"
        return replace(
            advice, message=advice.message + words, severity="info", confidence="possible", fix=None
        )

    def _release(self, version: str) -> str:
        """Return the last release that belongs to a version; the version itself if none does."""
        return self.fact.tags.get(version, (version,))[-1]

    def _index(self, version: str) -> int:
        return self.fact.versions.index(version)


class InstalledClass(Struct, frozen=True):
    """A class of a driver's chart."""

    driver: str
    """The name of the driver."""
    selectors: tuple[str, ...]
    """The CEL expressions."""
    types: tuple[str, ...]
    """The values of the attribute ``type`` that its selectors accept."""


_PRODUCTS: dict[str, hardware.Kind] = {"gpu.nvidia.com": "nvidia", "gpu.amd.com": "amd"}


@cache
def _domains(name: str) -> frozenset[str]:
    catalogue = drivers()[name]
    return frozenset(
        full.partition("/")[0] for full in (*catalogue.attributes, *catalogue.capacities)
    )


@cache
def in_domain(domain: str) -> dict[str, frozenset[str]]:
    """Return the bare names that any publisher has in the domain of a known driver, by kind; empty
    for other domains.
    """
    if domain not in drivers():
        return {}
    return {
        kind: frozenset(
            name.partition("/")[2]
            for driver in drivers().values()
            for name in driver.rows(kind)
            if name.startswith(f"{domain}/")
        )
        for kind in ("attributes", "capacity")
    }


def nearest_published(kind: str, domain: str, name: str) -> str | None:
    """Return the only published name that a name resembles, or of which it is the beginning.

    Return None if the name itself is published, or if it resembles none or several.
    """
    if name in in_domain(domain)["attributes"] | in_domain(domain)["capacity"] or len(name) < 3:
        return None
    names = sorted(in_domain(domain)[kind])
    near = nearest_names(name, names, 0.8, 2)
    near = [other for other in near if other.lower() == name.lower()] or near
    near = near or [other for other in names if other.startswith(name)]
    return near[0] if len(near) == 1 else None


@cache
def drivers() -> dict[str, KnownDriver]:
    """Return every known driver except the example driver, whose name everybody uses in
    examples.
    """
    drivers_by_name = {}
    for fact in (facts.driver(name) for name in facts.names() if not name.endswith(EXAMPLE_DOMAIN)):
        attributes = {
            name: replace(row, name=name)
            for row in fact.attributes
            for name in (fact.full(row.name),)
        }
        capacities = {
            name: replace(row, name=name)
            for row in fact.capacities
            for name in (fact.full(row.name),)
        }
        drivers_by_name[fact.name] = KnownDriver(fact, attributes, capacities, fact.released)
    return drivers_by_name


@cache
def classes() -> dict[str, InstalledClass]:
    """Return the classes that drivers install, as their newest releases have them, by name."""
    classes_by_name: dict[str, InstalledClass] = {}
    for name in drivers():
        fact = facts.driver(name)
        for row in fact.classes:
            if fact.covers(row, None):
                classes_by_name.setdefault(row.name, InstalledClass(name, row.selectors, row.types))
    return classes_by_name


@cache
def products() -> dict[str, tuple[str, ...]]:
    """Return the names of known products, by the driver that publishes them as productName."""
    rows = hardware.products().products
    return {
        driver: tuple(sorted({row["name"] for row in rows[kind].values() if "name" in row}))
        for driver, kind in _PRODUCTS.items()
    }


@cache
def memories(driver: str) -> dict[str, int]:
    """Return the memory of known products in MiB, by the names that a driver publishes as
    productName.
    """
    rows = hardware.products().products[_PRODUCTS[driver]].values() if driver in _PRODUCTS else ()
    return {row["name"]: row["memoryMiB"] for row in rows if "name" in row and "memoryMiB" in row}


def driver(name: str | None) -> KnownDriver | None:
    """Return a driver at its newest release; None if the driver is not known."""
    return drivers().get(name or "")


def driver_of_run(run: Run, known: KnownDriver) -> KnownDriver:
    """Return a driver at the version that is stated for the run, else at the version of its image
    in the input.
    """
    fact = known.fact
    stated = run.versions.get(fact.name) or image_versions(run.whole).get(fact.name)
    if stated is None or (fact.name not in run.versions and not fact.knows(stated)):
        return known
    at = fact.versions[fact.index(stated)]
    return replace(known, at=at, stated=stated, unknown=fact.is_newer(stated))


@lru_cache(1)  # every rule asks for the same run
def image_versions(run: Run) -> dict[str, str]:
    """Return the versions of drivers, from their images in the input."""
    return versions_that_run(subject.document.value for subject in run.subjects if subject.pods)


@lru_cache(1)  # every rule asks for the same run
def values_in_input(run: Run) -> dict[tuple[str, str], frozenset[object]]:
    """Return the attributes and capacities that ResourceSlices of the input have, by driver and
    full name, with the values of attributes: values in the input take precedence over facts.
    """
    values: dict[tuple[str, str], set[object]] = {}
    others = run.others.of("ResourceSlice") if run.others is not None else ()
    for subject in (*run.of("ResourceSlice"), *others):
        name = text(subject.spec.get("driver"))
        for item in items(subject.spec.get("devices")):
            device = mapping(mapping(item).get("basic")) or mapping(item)
            for kind in ("attributes", "capacity"):
                for key, value in mapping(device.get(kind)).items():
                    full = str(key) if "/" in str(key) else f"{name}/{key}"
                    values_of_name = values.setdefault((name, full), set())
                    values_of_name.update(
                        value
                        for value in mapping(value).values()
                        if isinstance(value, str | int | bool)
                    )
    return {key: frozenset(values) for key, values in values.items()}


class RequestDevices(Struct, frozen=True):
    """The devices that a request, or a class, can get, if the driver is known."""

    driver: KnownDriver
    """The driver."""
    compiled: Callable[[], tuple[Program, ...]]
    """Compiles the selectors of the class on demand."""
    types: tuple[str, ...]
    """The values of the driver's attribute ``type`` that the selectors accept; empty for any."""

    @property
    def classes(self) -> tuple[Program, ...]:
        return self.compiled()

    def row(self, kind: str, name: str) -> Row | None:
        """Return the driver's row for an attribute or capacity by its full name; None if the driver
        has none.
        """
        return self.driver.rows(kind).get(name)

    def narrow(self, selectors: Iterable[Program]) -> RequestDevices:
        """Return the devices that further selectors leave; the same devices if the selectors would
        accept no type (DRA721).
        """
        types = types_left(self.driver, selectors)
        both = tuple(sorted(set(types) & set(self.types))) if types and self.types else types
        return replace(self, types=both or self.types)

    def lacks(self, row: Row) -> bool:
        """Return True if the devices, by their types, never have the attribute or capacity."""
        return bool(row.devices and self.types) and not set(row.devices) & set(self.types)


def devices_of_request(run: Run, request: Request) -> RequestDevices | None:
    """Return the devices selected by a request's class; None if the class or its driver is not
    known.

    A class of the run takes precedence over one that a driver installs under that name.
    """
    return _by_class(run.whole)(request.device_class)


@lru_cache(1)  # every rule asks for the same run
def _by_class(run: Run) -> Callable[[str], RequestDevices | None]:
    return cache(partial(_devices_of_class, run))


def _devices_of_class(run: Run, name: str) -> RequestDevices | None:
    of_class = run.device_class(name)
    if of_class is not None:
        return devices_of_selectors(run.program(item) for item in of_class.selectors)
    installed = classes().get(name)
    if installed is None or not installed.selectors:  # without selectors, only the name is known
        return None
    written = installed.selectors
    return RequestDevices(
        drivers()[installed.driver],
        lambda: tuple(_compile(run, one) for one in written),
        installed.types,
    )


def driver_at(run: Run, subject: Manifest, expression: Expression) -> str | None:
    """Return the driver whose devices a selector sees, according to the class itself, or to the
    class of the request; None if the class requires no driver, or is unknown.
    """
    if subject.claim is None:
        return run.driver_of(subject.selectors)
    for request in subject.claim.alternatives:
        if expression.path[: len(request.path)] == request.path:
            class_object = run.device_class(request.device_class)
            if class_object:
                return run.driver_of(class_object.selectors)
            devices = devices_of_request(run, request)
            return devices.driver.name if devices else None
    return None


def devices_of_selectors(selectors: Iterable[Program]) -> RequestDevices | None:
    """Return the devices that the selectors of a class accept; None if they name no known
    driver.
    """
    programs = tuple(selectors)
    driver_of_class = driver(next((program.driver for program in programs if program.driver), None))
    return (
        None
        if driver_of_class is None
        else RequestDevices(
            driver_of_class, lambda: programs, types_left(driver_of_class, programs)
        )
    )


def types_left(known: KnownDriver, programs: Iterable[Program]) -> tuple[str, ...]:
    """Return the values of the attribute ``type`` that selectors accept; empty for any."""
    row = known.attributes.get(f"{known.name}/type")
    kinds = set(map(str, row.values)) if row else set()
    demands = [
        {str(literal.value) for literal in comparison.literals}
        for program in programs
        for comparison in program.comparisons
        if comparison.required and comparison.operator in ("==", "in")
        if comparison.lookup
        and comparison.lookup.kind == "attributes"
        and comparison.lookup.full_name == f"{known.name}/type"
    ]
    for values in demands:
        kinds &= values
    return tuple(sorted(kinds)) if demands else ()


def _compile(run: Run, written: str) -> Program:
    """Compile a selector of a driver's own class in the environment of the input's selectors, since
    another environment costs 5 ms.
    """
    from dractl.cel import environment  # only needed for files with selectors

    return environment(run.target, "new").compile(written)


def _cache_per_run(compute: Callable[[Run], Iterator[T]]) -> Callable[[Run], tuple[T, ...]]:
    """Cache the result of a function until the next run, since every rule asks for the same
    result.
    """
    return lru_cache(1)(lambda run: tuple(compute(run)))


class Selectors(Struct, frozen=True):
    """The selectors of one request, or of one class, in the order in which they are evaluated."""

    subject: Manifest
    """The object with the selectors."""
    request: Request | None
    """The request; None for a class."""
    selectors: tuple[tuple[Expression, Program], ...]
    """Each selector, with its program."""
    devices: RequestDevices | None
    """The devices before the selectors of a request, or after the selectors of a class; None if
    they are unknown.
    """

    @property
    def types(self) -> tuple[str, ...]:
        """The values of the attribute ``type`` that the class and the selectors both accept; empty
        if they accept all values, or none.
        """
        if self.devices is None:
            return ()
        types, class_types = (
            types_left(self.devices.driver, (program for _, program in self.selectors)),
            self.devices.types,
        )
        return (
            tuple(sorted(set(types) & set(class_types)))
            if types and class_types
            else types or class_types
        )

    def advice(
        self,
        expression: Expression,
        message: str,
        help: str | None = None,  # noqa: A002
        **others: Any,
    ) -> Advice:
        """Return advice on one of the selectors."""
        return Advice(self.subject, expression.path, message, help, **others)


@_cache_per_run
def selections(run: Run) -> Iterator[Selectors]:
    """Yield the selectors of every class and request, except for drivers whose real devices
    ``--devices`` supplies.
    """
    supplied = {device.driver for device in run.devices.devices} if run.devices else set()
    for subject in run.of("DeviceClass"):
        programs = tuple((expression, run.program(expression)) for expression in subject.selectors)
        devices = devices_of_selectors(program for _, program in programs)
        if devices is None or devices.driver.name not in supplied:
            yield Selectors(subject, None, programs, devices)
    for claim, request in run.requests:
        devices = devices_of_request(run, request)
        if devices is None or devices.driver.name not in supplied:
            programs = tuple(
                (expression, run.program(expression)) for expression in request.selectors
            )
            yield Selectors(claim.subject, request, programs, devices)


class Read(Struct, frozen=True):
    """One lookup of an attribute or a capacity by its name, on devices of a known driver."""

    selection: Selectors
    expression: Expression
    program: Program
    lookup: Lookup
    driver: KnownDriver
    guessed: bool = False
    """True if only the domain of the attribute indicates the driver; other drivers may publish in
    that domain.
    """

    @property
    def row(self) -> Row | None:
        """The driver's row for the name; None if the driver publishes nothing of that name."""
        return self.driver.rows(self.lookup.kind).get(self.lookup.full_name)

    @property
    def guarded(self) -> bool:
        """True if the selector handles a device without the attribute: by ``?``, or by an earlier
        test.
        """
        if self.lookup.optional or self.lookup.tested:
            return True
        programs, class_devices = (
            [program for _, program in self.selection.selectors],
            self.selection.devices,
        )
        earlier = (
            *programs[: programs.index(self.program) + 1],
            *(class_devices.classes if class_devices else ()),
        )
        return any(
            other.tested
            and other.domain == self.lookup.domain
            and other.name in (None, self.lookup.name)
            for program in earlier
            for other in program.lookups
        )

    def advice(self, message: str, help: str | None = None, **others: Any) -> Advice:  # noqa: A002
        """Return advice on the lookup, placed at its name unless ``others`` has a ``span``."""
        lists = f"`{program_name()} rule {self.driver.name}` lists what its devices have"
        help = help or lists  # noqa: A001
        others = {"span": self.lookup.name_span, "confidence": "likely", **others}
        return Advice(self.selection.subject, self.expression.path, message, help, **others)


@_cache_per_run
def reads(run: Run) -> Iterator[Read]:
    """Yield every lookup by name whose driver is known: from the class, or else from the selector,
    or else, if the class is unknown, from the domain.
    """
    supplied = {device.driver for device in run.devices.devices} if run.devices else set()
    values = values_in_input(run)
    for selection in selections(run):
        has_other_driver = (
            selection.devices is None and _driver_of_class(run, selection) is not None
        )
        for expression, program in selection.selectors:
            for lookup in program.lookups:
                driver_read = (
                    selection.devices.driver if selection.devices else driver(program.driver)
                )
                guessed = driver_read is None
                # If the driver is unknown, the owner of the domain is assumed.
                if driver_read is None and not has_other_driver:
                    driver_read = driver(lookup.domain)
                if (
                    program.drivers
                    and driver_read is not None
                    and program.drivers != {driver_read.name}
                ):
                    # The selector names other drivers, so this lookup is meant for one of them.
                    driver_read = driver(lookup.domain)
                if (
                    driver_read is not None
                    and lookup.name is not None
                    and driver_read.name not in supplied
                ):
                    driver_read = driver_of_run(run, driver_read)
                    if (
                        driver_read.rows(lookup.kind).get(lookup.full_name) is None
                        and (driver_read.name, lookup.full_name) in values
                    ):
                        continue
                    yield Read(selection, expression, program, lookup, driver_read, guessed)


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


class ComparedDevices(Struct, frozen=True):
    """A constraint and the devices that it compares."""

    claim: Claim
    constraint: Constraint
    field: str
    """``matchAttribute`` or ``distinctAttribute``."""
    attribute: str
    """The attribute that the constraint names."""
    sides: dict[str, RequestDevices]
    """The devices of each request whose driver is known, by the request's reference."""
    whole: bool
    """True if the driver of each request is known."""

    def advice(self, message: str, help: str | None = None, **others: Any) -> Advice:  # noqa: A002
        """Return advice on the constraint, placed at its attribute."""
        path = (*self.constraint.path, self.field)
        return Advice(self.claim.subject, path, message, help, confidence="likely", **others)


@_cache_per_run
def list_compared_devices(run: Run) -> Iterator[ComparedDevices]:
    """Yield every constraint over devices of known drivers, except for drivers whose real devices
    ``--devices`` supplies.
    """
    supplied = {device.driver for device in run.devices.devices} if run.devices else set()
    for claim, constraint in run.constraints:
        field = "matchAttribute" if constraint.fields.get("matchAttribute") else "distinctAttribute"
        attribute = text(constraint.fields.get(field))
        targets = claim.targets(constraint.requests)
        devices_by_request = {
            request.reference: devices
            for request in targets
            if (devices := devices_after_selectors(run, request))
        }
        sides = {
            reference: side
            for reference, side in devices_by_request.items()
            if side.driver.name not in supplied
        }
        if sides and "/" in attribute:
            yield ComparedDevices(
                claim, constraint, field, attribute, sides, len(sides) == len(targets)
            )


def devices_after_selectors(run: Run, request: Request) -> RequestDevices | None:
    """Return the devices of a request after its own selectors; None if its class or driver is
    unknown.
    """
    devices = devices_of_request(run, request)
    return devices and devices.narrow(run.program(item) for item in request.selectors)


for _known in (drivers, classes, products, memories, in_domain, _domains):
    pack.forget_with(_known.cache_clear)
