"""Reasons about CEL selectors that exclude devices or fail on them."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import SEE_SLICES, Facts, Progress, ReasonPage, RequestCause
from dractl.explain.reasons.misfits import Evaluation, Misfit, format_expression, values_text
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope, plural
from dractl.model.abbreviation import abbreviate

MAX_EVALUATIONS = 8
"""The number of kinds of devices whose evaluation JSON shows."""
_COMPARE = NextStep(
    "compare the selector with what the devices publish", "kubectl get resourceslices -o yaml"
)


class SelectorFalse(RequestCause, frozen=True, kw_only=True):
    """A selector is false on devices."""

    page = ReasonPage(
        "selector-false",
        "the selectors exclude the devices",
        "The devices are there, but the CEL expressions of the class and the request are false on"
        " them.",
        SEE_SLICES + " beside the selectors of the class and the request",
        "Compare the expression with the values that the devices publish: dractl explain prints the"
        " nearest ones.",
        Progress.OTHER_DEVICES,
    )
    identity = ("request", "selector")

    selector: str
    part: str | None = None
    """The part of the selector that is false on all of the devices."""
    of_class: bool = False
    """True if the selector belongs to the class, False if it belongs to the request."""
    attribute: str | None = None
    capacity: str | None = None
    values: tuple[str, ...] = ()
    """The values that the devices have instead."""
    misfit: Misfit | None = None
    """The name that the selector reads, and the values of the devices for it."""
    nearest: str | None = None
    """The published name that was probably meant."""
    want: int | None = None
    """The number of devices that the request wants."""
    have: int | None = None
    """The number of devices on which the selector is true."""
    of: int = 0
    """The number of devices on which the selector was evaluated."""
    devices: tuple[str, ...] = ()
    evaluated: tuple[Evaluation, ...] = ()
    """The evaluations, one for each kind of device."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "selector": self.selector,
            "attribute": self.attribute,
            "capacity": self.capacity,
            "found": self.values,
            "nearest": self.nearest,
            "want": self.want,
            "have": self.have,
            "devices": self.devices,
            "evaluated": self.evaluated[:MAX_EVALUATIONS],
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        values = values_text(self.misfit) if self.misfit is not None else ""
        detail = f" ({self._false_part()}{values})" if values else ""
        if self.of_class:
            of = plural(self.of, "device")
            return f"{self.lead(names)}class {self.device_class} matches none of {of}{detail}"
        have = self.have or 0
        why = (
            f"{self.lead(names)}{format_expression(self.selector)} is true on {have} of"
            f" {plural(self.of, 'device')}"
        )
        if have and (self.want or 0) > 1:
            why += f", {self.want} wanted"
        return why + detail

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.of_class:
            yield NextStep(
                f"correct the selector of class {self.device_class}, or add devices that it"
                " matches",
                quote_command("kubectl edit deviceclass {}", self.device_class or ""),
            )
        yield _COMPARE

    def _false_part(self) -> str:
        """Return the part of a longer selector that is false, as the beginning of a clause."""
        part = format_expression(self.part) if self.part else ""
        return f"{part} is false: " if part and part != format_expression(self.selector) else ""


class SelectorError(RequestCause, frozen=True, kw_only=True):
    """A selector fails on devices."""

    page = ReasonPage(
        "selector-error",
        "a selector fails on a device",
        "An error while evaluating a CEL expression on any device that the search reaches aborts"
        " scheduling for the whole pod, even if other devices or nodes would fit.",
        "kubectl describe pod -n NS NAME (FailedScheduling: CEL runtime error)",
        "Guard optional attributes (device.attributes['d'].?x.orValue(0) or has()), test"
        " device.driver first, compare with the attribute's own type.",
        Progress.STOPPED,
        (
            (
                "claim ml/gpu: selector #0 on device gpu.example.com/node-1/gpu-0: CEL runtime"
                " error: no such key: productName"
            ),
            "CEL compile error",
        ),
    )
    identity = ("request", "selector")

    selector: str | None = None
    error: str = ""
    """The error of cel-go."""
    upstream: str = ""
    """The scheduler's message, if nothing more is known."""
    on: tuple[str, ...] = ()
    """The nodes that have the devices."""
    attribute: str | None = None
    values: tuple[str, ...] = ()
    misfit: Misfit | None = None
    nearest: str | None = None
    devices: tuple[str, ...] = ()
    evaluated: tuple[Evaluation, ...] = ()

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "selector": self.selector,
            "attribute": self.attribute,
            "found": self.values,
            "nearest": self.nearest,
            "devices": self.devices,
            "evaluated": self.evaluated[:MAX_EVALUATIONS],
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        if self.upstream:
            return self.upstream
        values = values_text(self.misfit) if self.misfit is not None else ""
        detail = f" ({values})" if values else ""
        if self.selector is None:
            return f"{self.lead(names)}{self.error}{detail}"
        on = (
            f"{len(self.devices)} devices" if len(self.devices) > 1 else f"device {self.devices[0]}"
        )
        if self.on:
            on += f" of node {abbreviate(self.on)}"
        return (
            f"{self.lead(names)}{format_expression(self.selector)} fails on {on}:"
            f" {self.error}{detail}"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _COMPARE
