"""Describes conditions of selectors as a person would write them, with the values of devices that
do not meet them.
"""

from collections import Counter
from functools import lru_cache

from msgspec import Struct

from dractl.cel import reading
from dractl.cel.lookups import Lookup
from dractl.cel.tokens import tokenize
from dractl.explain.reasons.phrases import MAX_NAMED_VALUES, tally


class SeenValue(Struct, frozen=True):
    """A value that an evaluation read."""

    name: str
    """``device.driver``, or an attribute or capacity by ``domain/name``."""
    value: str | None
    """The value as written in CEL; None if the device does not publish it."""


class Evaluation(Struct, frozen=True):
    """The part of a selector that made it false, or made it fail, on some of the devices."""

    expression: str
    start: int
    """The offset at which the part begins in the selector, in code points."""
    end: int
    """The offset at which the part ends."""
    error: str | None
    """The error of cel-go, if the part fails."""
    saw: tuple[SeenValue, ...]
    """The values that the part read."""


class Misfit(Struct, frozen=True):
    """A condition that is false on devices, with the name that the condition reads, and the values
    of the devices for this name.
    """

    reference: Lookup | None
    """The name that the condition reads; None for ``device.driver``."""
    values: tuple[tuple[str, int], ...] = ()
    """Each value with the number of devices that have it; empty if no device has a value."""
    devices: int = 0
    """The number of devices on which the condition is false."""
    nearest: str | None = None
    """The published name that was probably meant, if no device has a value."""
    in_other_map: bool = False
    """True if a capacity was looked up among the attributes, or the reverse."""
    kinds: tuple[str, str] | None = None
    """The type of the devices' value and the type of the literal, if they differ."""

    @property
    def frequent_values(self) -> tuple[str, ...]:
        """The values, the most frequent first; names of drivers keep their order."""
        if self.reference is None:
            return tuple(value for value, _ in self.values)
        return tuple(value for value, _ in Counter(dict(self.values)).most_common(MAX_NAMED_VALUES))

    @property
    def missing(self) -> int:
        """The number of devices that have no value of that name."""
        return self.devices - sum(number for _, number in self.values)


def values_text(misfit: Misfit) -> str:
    """Return the values that devices have instead of the wanted ones: ``memory: 40Gi ×8, not
    published by 2``.
    """
    reference = misfit.reference
    if reference is None:
        return f"driver: {tally(dict(misfit.values))}" if misfit.values else ""
    if misfit.values:
        lacking = f", not published by {misfit.missing}" if misfit.missing else ""
        kinds = (
            f"; {reference.name} is {misfit.kinds[0]}, not {misfit.kinds[1]}"
            if misfit.kinds
            else ""
        )
        return f"{reference.name}: {tally(dict(misfit.values))}{lacking}{kinds}"
    kind = "attribute" if reference.kind == "attributes" else "capacity"
    name = f"{kind} {reference.full_name}" if reference.name else f"domain {reference.domain}"
    near = f"; there is {misfit.nearest}" if misfit.nearest else ""
    if misfit.in_other_map:
        if reference.kind == "attributes":
            near = f"; {reference.name} is a capacity, read by device.capacity"
        else:
            near = f"; {reference.name} is an attribute, read by device.attributes"
    return f"{name} exists on 0 of {misfit.devices} devices{near}"


class _Replacement(Struct, frozen=True):
    """The text for a part of an expression."""

    end: int
    """The offset at which the part ends, in code points."""
    text: str


@lru_cache(maxsize=4096)
def format_expression(text: str, limit: int = 72) -> str:
    """Return an expression as a person would write it: ``memory >= 80Gi``, ``architecture ==
    'Hopper'``.
    """
    program = reading(text)
    replacements: dict[int, _Replacement] = {}  # by the start of the part
    for lookup in program.lookups:
        if lookup.name and lookup.name_start > lookup.domain_start:
            name = f"has({_name_text(lookup)})" if lookup.tested else _name_text(lookup)
            replacements[lookup.start] = _Replacement(lookup.end, name)
    for comparison in program.comparisons:
        has_units = comparison.literals[0].kind in ("quantity", "semver")
        if comparison.lookup and has_units and not comparison.default:
            values = ", ".join(str(literal.value) for literal in comparison.literals)
            values = f"[{values}]" if comparison.operator == "in" else values
            text_of_part = f"{_name_text(comparison.lookup)} {comparison.operator} {values}"
            replacements[comparison.start] = _Replacement(comparison.end, text_of_part)
    parts: list[str] = []
    end = 0
    for token in tokenize(text):
        if token.start < end:
            continue
        if token.start > end and parts:
            parts.append(" ")
        part = replacements.get(token.start, _Replacement(token.end, token.text))
        end = part.end
        parts.append(part.text)
    line = " ".join("".join(parts).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _name_text(lookup: Lookup) -> str:
    """Return the name without its domain, unless the domain is one of Kubernetes' own."""
    return lookup.full_name if lookup.domain.endswith("kubernetes.io") else lookup.name or ""
