"""The devices on which claims and classes are tried, and those that the selectors leave."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cel import EvalError, Field, environment
from dractl.lint.advice import meant
from dractl.model import Quantity, ResourceSlice, decode, qualified_name
from dractl.model.nearest import nearest
from dractl.objects import identity, newest, selectors_of, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.cel import Program
    from dractl.lint.model import Claim, Run, Subject
    from dractl.model import Device, DeviceAttribute
    from dractl.objects import Expression, Request

MAX_SHOWN = 6


class Candidate(Struct, frozen=True):
    """A published device; ``str()`` is its ``driver/pool/device``."""

    driver: str
    pool: str
    device: Device

    def attribute(self, name: str) -> DeviceAttribute | None:
        """The attribute as constraints look it up: by its full name, else by the bare one."""
        return self.device.attribute(name, self.driver)

    def capacity(self, name: str) -> Quantity | None:
        """The amount of a capacity by its exact name."""
        found = self.device.capacity.get(name)
        return found.value if found is not None else None

    def names(self, kind: str) -> dict[str, dict[str, Any]]:
        """Attributes or capacities by domain and name, as CEL sees them."""
        found: dict[str, dict[str, Any]] = {}
        values: Mapping[str, Any] = self.device.attributes if kind == "attributes" else self.device.capacity
        for key, value in values.items():
            name = qualified_name(key, self.driver)
            found.setdefault(name.domain, {})[name.name] = value.value
        return found

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device.name}"


class Step(Struct, frozen=True):
    """One selector: the devices that reach it, those that satisfy it, and those on which it fails, with the error."""

    expression: Expression
    devices: list[Candidate]
    left: list[Candidate]
    failed: list[tuple[Candidate, str]]

    @property
    def before(self) -> int:
        return len(self.devices)

    @property
    def after(self) -> int:
        return len(self.left)


class Funnel(Struct, frozen=True):
    """The selectors of a class, or those of a request after its class.

    ``guessed``: the class is unknown, so the devices are all those of the drivers that the selectors name, and only
    findings that hold for every one of them are reported.
    """

    subject: Subject
    steps: list[Step]
    left: list[Candidate]
    guessed: bool = False


class Inventory:
    """Devices and, by name, the selectors of the device classes that came with them.

    ``slices`` and ``classes`` are mappings as read from a cluster or a file; only the newest generation of a pool
    counts. ``assumed`` are classes as the drivers install them, for an input without any.
    """

    def __init__(
        self,
        slices: Iterable[Mapping[str, Any]],
        classes: Mapping[str, Mapping[str, Any]],
        *,
        assumed: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        self.devices = _devices(slices)
        self.classes = {name: selectors_of(value) for name, value in classes.items()}
        self.assumed = {} if classes else {name: selectors_of(value) for name, value in assumed.items()}
        self._funnels: dict[Run, list[Funnel]] = {}

    def funnels(self, run: Run) -> list[Funnel]:
        """The devices left by each class of the run, and by each request. If the input has classes, but not that of a
        request, nothing else is reported."""
        if run not in self._funnels:
            funnels = self._funnels[run] = []
            funnels += (_sift(run, subject, subject.selectors, self.devices) for subject in run.of("DeviceClass"))
            for claim in run.claims:
                for request in claim.alternatives:
                    of_class = self._of_class(run, request.device_class)
                    if of_class is not None:
                        funnels.append(_sift(run, claim.subject, request.selectors, of_class))
                    elif not self.classes:
                        devices = self._named(run, request.selectors)
                        funnel = _sift(run, claim.subject, request.selectors, devices)
                        funnels.append(replace(funnel, guessed=True))
        return self._funnels[run]

    def candidates(self, run: Run, claim: Claim, request: Request) -> list[Candidate]:
        """The devices that a request can get; none if its class is not known."""
        of_class = self._of_class(run, request.device_class)
        return _sift(run, claim.subject, request.selectors, of_class).left if of_class else []

    def _of_class(self, run: Run, name: str) -> list[Candidate] | None:
        subject = run.device_class(name)
        selectors = subject.selectors if subject else self.classes.get(name, self.assumed.get(name))
        if selectors is None:
            return None
        devices = self.devices
        for selector in selectors:
            devices = _step(run, selector, devices).left
        return devices

    def _named(self, run: Run, selectors: Iterable[Expression]) -> list[Candidate]:
        """The devices of the drivers whose domains the selectors read."""
        drivers = {lookup.domain for selector in selectors for lookup in run.program(selector).lookups}
        return [device for device in self.devices if device.driver in drivers]

    def hint(self, program: Program, failed: Sequence[tuple[Candidate, str]]) -> str | None:
        """The entries of the failing devices in the domains that the expression reads, or their types."""
        devices = [device for device, _ in failed]
        return _published(program, devices) or _typed(program, devices)

    def values(self, program: Program, devices: Sequence[Candidate]) -> str | None:
        """The values that an expression reads."""
        found = []
        for lookup in dict.fromkeys((item.kind, item.domain, item.name) for item in program.lookups):
            kind, domain, name = lookup
            if name is None:
                continue
            values = Counter(_shown(device.names(kind).get(domain, {}).get(name)) for device in devices)
            listed = [f"{value} ×{count}" for value, count in values.most_common(MAX_SHOWN)]
            shown = f"{name}: {', '.join(listed)}" + (", ..." if len(values) > MAX_SHOWN else "")
            found.append(shown + _not_text(program, name, devices))
        if not found and (program.reads is None or Field("driver") in program.reads):
            return f"the drivers are {', '.join(sorted({device.driver for device in devices}))}"
        return "; ".join(found) or None

    def nearest_attribute(self, name: str, devices: Sequence[Candidate]) -> str:
        """The attribute that was probably meant, else the devices' attributes."""
        had = [(domain, names) for device in devices for domain, names in device.names("attributes").items()]
        return meant(name, {f"{domain}/{short}" for domain, names in had for short in names}, "they have")

    def nearest_capacity(self, name: str, devices: Sequence[Candidate]) -> str:
        """The capacity that was probably meant, else the devices' capacities, as a request has to write them."""
        return meant(name, {key for device in devices for key in device.device.capacity}, "they have")


def _devices(slices: Iterable[Mapping[str, Any]]) -> list[Candidate]:
    decoded = [item for value in slices if isinstance(item := decode(value), ResourceSlice)]
    return [
        Candidate(driver, pool, device)
        for (driver, pool), members in newest(decoded, identity).items()
        for member in members
        for device in member.spec.devices
    ]


def _step(run: Run, expression: Expression, devices: list[Candidate]) -> Step:
    program = environment(run.target, "stored").compile(expression.text)
    if not program.ok:
        return Step(expression, devices, devices, [])  # the API server reports it
    left: list[Candidate] = []
    failed: list[tuple[Candidate, str]] = []
    for candidate in devices:
        result = program.evaluate(candidate.driver, candidate.device)
        if isinstance(result, EvalError):
            failed.append((candidate, result.text))
        elif result:
            left.append(candidate)
    return Step(expression, devices, left, failed)


def _sift(run: Run, subject: Subject, expressions: list[Expression], devices: list[Candidate]) -> Funnel:
    steps = []
    for expression in expressions:
        steps.append(_step(run, expression, devices))
        devices = steps[-1].left
    return Funnel(subject, steps, devices)


def _published(program: Program, devices: Sequence[Candidate]) -> str | None:
    """Names that are not there, and those that are."""
    for lookup in program.lookups:
        if lookup.tested:
            continue
        have = sorted({name for device in devices for name in device.names(lookup.kind).get(lookup.domain, {})})
        if lookup.name is not None and lookup.name not in have:
            if not have:
                domains = sorted({domain for device in devices for domain in device.names(lookup.kind)})
                return (
                    f"they have nothing in the domain {lookup.domain}; their domains are {', '.join(domains) or 'none'}"
                )
            other = "attributes" if lookup.kind == "capacity" else "capacity"
            if any(lookup.name in device.names(other).get(lookup.domain, {}) for device in devices):
                return f'write device.{other}["{lookup.domain}"].{lookup.name}, which they have'
            near = nearest(lookup.name, have)
            hint = f"did you mean {near}? " if near else ""
            return f"{hint}in {lookup.domain} they have {', '.join(have)}"
    return None


def _typed(program: Program, devices: Sequence[Candidate]) -> str | None:
    """The types of the attributes that the expression looks up."""
    found = []
    for kind, domain, name in dict.fromkeys((item.kind, item.domain, item.name) for item in program.lookups):
        if kind != "attributes" or name is None:
            continue
        values = [value for device in devices if (value := device.attribute(f"{domain}/{name}")) is not None]
        for type_ in sorted({value.type or "" for value in values}):
            example = next(value.value for value in values if value.type == type_)
            how = f': compare it with compareTo(semver("{example}"))' if type_ == "version" else ""
            found.append(f"{name} has type {type_}, such as {_shown(example)}{how}")
    return "; ".join(found) or None


def _not_text(program: Program, name: str, devices: Sequence[Candidate]) -> str:
    """A note if an expression compares a number or a boolean with a string that looks the same."""
    strings = {
        literal.value
        for found in program.comparisons
        if found.lookup and found.lookup.name == name
        for literal in found.literals
        if literal.kind == "string"
    }
    for device in devices:
        for domain in device.names("attributes"):
            value = device.attribute(f"{domain}/{name}")
            if value is not None and value.type in ("int", "bool") and (written := _shown(value.value)) in strings:
                return f' (of type {value.type}, which never equals the string "{written}")'
    return ""


def _shown(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) or str(value)
