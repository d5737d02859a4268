"""Selectors of classes and requests, evaluated on devices.

isSelectable and selectorsMatch in
k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go. An error is kept until the
search reaches the device, which is when the scheduler encounters it.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation.features import Behaviour, Features
from dractl.allocation.pools import Pool, PoolDevice
from dractl.cel import EvalError, Program, environment, require
from dractl.model.releases import Target
from dractl.model.slices import Device

_HINT = (  # cel/errors.go EnhanceRuntimeError
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


class Criteria(Struct, frozen=True):
    """The selectors of a class and of a request, in the order of evaluation."""

    device_class: str
    class_selectors: tuple[str, ...]
    selectors: tuple[str, ...]


class Failure(Struct, frozen=True):
    """A failing selector of the class or of the request."""

    scope: str | None
    """``class NAME`` for a selector of the class; None for a selector of the request."""
    selector: int
    device: str | None
    """The device on which the selector fails; None if the selector does not compile."""
    text: str
    error: str = ""
    """The error of cel-go, without the words that upstream puts around it."""

    def message(self, claim: str) -> str:
        """Return upstream's text."""
        subject = self.scope if self.scope is not None else f"claim {claim}"
        if self.device is None:
            return f"{subject}: selector #{self.selector}: {self.text}"
        return f"{subject}: selector #{self.selector}{self.device}: {self.text}"


Answer = bool | Failure


class Matcher:
    """The compiled selectors. All nodes share them, and so does an allocator that inherits from
    another one.
    """

    def __init__(self, features: Features, behaviour: Behaviour) -> None:
        gates = features.on if features.cel_on is None else features.cel_on
        self.target = Target(features.release, gates)
        self.environment = environment(self.target, "stored")
        self.names_device = features.has("errors-name-devices")
        # The variants of upstream's allocator that do not share devices do not pass the field on:
        # selectors see device.allowMultipleAllocations as false.
        self.hides_sharing = not behaviour.shares
        self._programs: dict[str, Program] = {}

    def program(self, text: str) -> Program:
        """Return the compiled selector."""
        program = self._programs.get(text)
        if program is None:
            require("allocating devices")  # a verdict without selectors would be a guess
            program = self._programs[text] = self.environment.compile(text)
        return program

    def match(self, text: str, candidate: PoolDevice, index: int, scope: str | None) -> Answer:
        """Return the result of one selector on a device."""
        program = self.program(text)
        if not program.ok:
            return Failure(
                scope,
                index,
                None,
                f"CEL compile error: {program.error}",
                f"compile error: {program.error}",
            )
        device = candidate.device
        if self.hides_sharing and device.mapping.get("allowMultipleAllocations") is not None:
            device = Device(
                {k: v for k, v in device.mapping.items() if k != "allowMultipleAllocations"}
            )
        result = program.evaluate(candidate.id.driver, device)
        if not isinstance(result, EvalError):
            return result
        error = result.text
        plain = f"runtime error: {error}"
        if self.names_device:
            if "no such key:" in error:
                error += _HINT
            return Failure(
                scope, index, f" on device {candidate.id}", f"CEL runtime error: {error}", plain
            )
        return Failure(scope, index, "", f"CEL runtime error: {error}", plain)

    def ask_pool(self, criteria: Criteria, pool: Pool) -> tuple[Answer, ...]:
        """Return, for each device of a pool, True if all selectors of class and request accept it,
        otherwise the result of the first selector that does not. Results are cached with the pool;
        the results of a class's selectors serve every request that names the class.
        """
        answers: tuple[Answer, ...] | None = pool.memory.get(criteria)
        if answers is None:
            answers = pool.memory[criteria] = self._answer(criteria, pool)
        return answers

    def _answer(self, criteria: Criteria, pool: Pool) -> tuple[Answer, ...]:
        if not criteria.selectors:
            scope = f"class {criteria.device_class}"
            return tuple([self._ask(criteria.class_selectors, d, scope) for d in pool.devices])
        of_class = self.ask_pool(replace(criteria, selectors=()), pool)
        return tuple(
            [
                self._ask(criteria.selectors, device, None) if answer is True else answer
                for device, answer in zip(pool.devices, of_class, strict=True)
            ]
        )

    def _ask(self, selectors: Sequence[str], candidate: PoolDevice, scope: str | None) -> Answer:
        for index, text in enumerate(selectors):
            answer = self.match(text, candidate, index, scope)
            if answer is not True:
                return answer
        return True
