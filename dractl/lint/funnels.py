"""The devices that selectors leave, of the devices on which lint evaluates them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from dractl.cel import EvalError, environment
from dractl.lint.inventory import SliceDevice, TriedDevices
from dractl.lint.model import Claim, Manifest, Run
from dractl.objects import Expression, Request


class Sieve(Struct, frozen=True):
    """One selector, with the devices that reach it, and those that satisfy it."""

    expression: Expression
    """The selector."""
    devices: list[SliceDevice]
    """The devices that reach the selector."""
    left: list[SliceDevice]
    """The devices that satisfy the selector."""
    failed: list[tuple[SliceDevice, str]]
    """The devices on which the selector fails, with the error."""

    @property
    def before(self) -> int:
        return len(self.devices)

    @property
    def after(self) -> int:
        return len(self.left)


class Funnel(Struct, frozen=True):
    """The selectors of a class, or the selectors of a request after its class."""

    subject: Manifest
    """The object that has the selectors."""
    steps: list[Sieve]
    """The selectors in their order."""
    left: list[SliceDevice]
    """The devices that satisfy all selectors."""
    guessed: bool = False
    """True if the class is unknown. Then the funnel has the devices of all drivers that the
    selectors name, and only findings that hold for every such device are reported.
    """


@lru_cache(1)  # two rules need the funnels of the same run
def funnels(run: Run) -> tuple[Funnel, ...]:
    """Return the devices left by each class of the run, and by each request; none without devices.

    If the input has classes but lacks the class of a request, only that is reported for the
    request.
    """
    return () if run.devices is None else tuple(_funnels(run, run.devices))


def _funnels(run: Run, inventory: TriedDevices) -> Iterator[Funnel]:
    for subject in run.of("DeviceClass"):
        yield _sift(run, subject, subject.selectors, inventory.devices)
    for claim, request in run.requests:
        if _sift_class(run, inventory, request.device_class) is not None:
            yield _sift_request(run, inventory, claim.subject, request)
        elif not inventory.classes:
            devices = _devices_of_named_drivers(run, inventory, request.selectors)
            yield _sift(run, claim.subject, request.selectors, devices, guessed=True)


def candidates(run: Run, claim: Claim, request: Request) -> list[SliceDevice]:
    """Return the devices that a request can get; none if its class is unknown."""
    if run.devices is None or not _sift_class(run, run.devices, request.device_class):
        return []
    return _sift_request(run, run.devices, claim.subject, request).left


@lru_cache(64)  # many requests of a run have the same class
def _sift_class(run: Run, inventory: TriedDevices, name: str) -> list[SliceDevice] | None:
    subject = run.device_class(name)
    selectors = (
        subject.selectors if subject else inventory.classes.get(name, inventory.assumed.get(name))
    )
    if selectors is None:
        return None
    devices = inventory.devices
    for selector in selectors:
        devices = _step(run, selector, devices).left
    return devices


def _sift_request(run: Run, inventory: TriedDevices, subject: Manifest, request: Request) -> Funnel:
    """Return the devices of a request's class that its selectors leave."""
    texts = tuple(expression.text for expression in request.selectors)
    sieves = [
        _last(run, inventory, request.device_class, texts[: n + 1]) for n in range(len(texts))
    ]
    steps = [
        replace(step, expression=expression)
        for step, expression in zip(sieves, request.selectors, strict=True)
    ]
    devices = steps[-1].left if steps else _sift_class(run, inventory, request.device_class)
    return Funnel(subject, steps, devices or [])


@lru_cache(1024)  # many requests of a run have the same class and selectors
def _last(run: Run, inventory: TriedDevices, name: str, texts: tuple[str, ...]) -> Sieve:
    devices = (
        _last(run, inventory, name, texts[:-1]).left
        if texts[1:]
        else _sift_class(run, inventory, name)
    )
    return _step(run, Expression(texts[-1], ()), devices or [])


def _devices_of_named_drivers(
    run: Run, inventory: TriedDevices, selectors: Iterable[Expression]
) -> list[SliceDevice]:
    """Return the devices of the drivers in whose domains the selectors read."""
    drivers = {lookup.domain for selector in selectors for lookup in run.program(selector).lookups}
    return [device for device in inventory.devices if device.driver in drivers]


def _step(run: Run, expression: Expression, devices: list[SliceDevice]) -> Sieve:
    program = environment(run.target, "stored").compile(expression.text)
    if not program.ok:
        # The expression does not compile, which the API server reports
        return Sieve(expression, devices, devices, [])
    left: list[SliceDevice] = []
    failed: list[tuple[SliceDevice, str]] = []
    for candidate in devices:
        if run.devices is not None and run.devices.is_undecided(program, candidate.driver):
            left.append(candidate)
            continue
        result = program.evaluate(candidate.driver, candidate.device)
        if isinstance(result, EvalError):
            failed.append((candidate, result.text))
        elif result:
            left.append(candidate)
    return Sieve(expression, devices, left, failed)


def _sift(
    run: Run,
    subject: Manifest,
    expressions: Sequence[Expression],
    devices: list[SliceDevice],
    *,
    guessed: bool = False,
) -> Funnel:
    steps = []
    for expression in expressions:
        steps.append(_step(run, expression, devices))
        devices = steps[-1].left
    return Funnel(subject, steps, devices, guessed)
