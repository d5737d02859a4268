"""Claims that the allocator cannot tell apart: their specs are equal except for selectors that have
the same results on all devices. Such claims share verdicts and surveys.
"""

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cel import EvalError, Program
from dractl.model import (
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaimSpec,
    ResourceSlice,
)

MAX_DEVICES = 1024
"""The number of devices on which selectors are compared; with more, their texts are compared."""
_NO_TEXT = CELDeviceSelector("")


class SpecOutline(Struct, frozen=True):
    """The spec of a claim, split into selectors and everything else."""

    text: str
    """A text that is equal for specs that differ only in the expressions of their selectors."""
    selectors: tuple[str, ...]
    """The expressions, in the order of the requests."""


NO_SPEC = SpecOutline("", ())


def outline(spec: ResourceClaimSpec) -> SpecOutline:
    """Split a spec into selectors and everything else."""
    expressions: list[str] = []

    def blank(selectors: Iterable[DeviceSelector]) -> tuple[DeviceSelector, ...]:
        kept = []
        for selector in selectors:
            if selector.cel is not None:
                expressions.append(selector.cel.expression)
            kept.append(selector if selector.cel is None else replace(selector, cel=_NO_TEXT))
        return tuple(kept)

    def blank_exactly(option: ExactDeviceRequest) -> ExactDeviceRequest:
        return replace(option, selectors=blank(option.selectors))

    def blank_alternative(option: DeviceSubRequest) -> DeviceSubRequest:
        return replace(option, selectors=blank(option.selectors))

    def blank_request(request: DeviceRequest) -> DeviceRequest:
        exactly = request.exactly
        return replace(
            request,
            exactly=None if exactly is None else blank_exactly(exactly),
            first_available=tuple(map(blank_alternative, request.first_available)),
        )

    requests = tuple(map(blank_request, spec.devices.requests))
    others = replace(spec, devices=replace(spec.devices, requests=requests))
    return SpecOutline(repr(others), tuple(expressions))


def selector_key(program: Program, slices: Sequence[ResourceSlice]) -> Hashable:
    """Return a key that is equal for selectors with the same results on all devices of slices.

    The key is the text if the selector does not compile, reads a field that some allocators of
    upstream hide from it, or would have to be evaluated on too many devices.
    """
    reads = program.reads
    is_hidden = reads is None or any(field.kind == "allowMultipleAllocations" for field in reads)
    if is_hidden or sum(len(each.spec.devices) for each in slices) > MAX_DEVICES:
        return program.text
    results = (
        program.evaluate(resource_slice.spec.driver, device)
        for resource_slice in slices
        for device in resource_slice.spec.devices
    )
    return tuple([each.text if isinstance(each, EvalError) else each for each in results])
