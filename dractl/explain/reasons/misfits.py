"""Conditions of selectors in words: as a person would write them, and what devices have instead of
what they want.
"""

from collections import Counter

from msgspec import Struct

from dractl.cel import reading
from dractl.cel.lookups import Lookup
from dractl.cel.tokens import tokenize
from dractl.explain.reasons.phrases import MAX_NAMED_VALUES, tally


class SeenValue(Struct, frozen=True):
    """A value that an evaluation read: ``device.driver``, or an attribute or capacity by
    ``domain/name``. ``value`` is written as in CEL, None where the device does not publish it.
    """

    name: str
    value: str | None


class Evaluation(Struct, frozen=True):
    """Why a selector is false, or fails, on some of the devices: the part of it that decided, from
    ``start`` to ``end`` (code points), cel-go's ``error`` if it fails, and the values that the part
    saw.
    """

    expression: str
    start: int
    end: int
    error: str | None
    saw: tuple[SeenValue, ...]


class Misfit(Struct, frozen=True):
    """Why a condition is false on ``devices`` devices: the name that it reads, and what these have
    for it.

    ``values`` has each value and how many devices have it; empty if none has one, and then
    ``nearest`` is the published name that was probably meant; ``in_other_map``: a capacity was
    looked up among the attributes, or the reverse. ``kinds`` are the type that the devices have it
    with, and that of the literal, where these differ. Without a ``reference`` the condition is
    about ``device.driver``.
    """

    reference: Lookup | None
    values: tuple[tuple[str, int], ...] = ()
    devices: int = 0
    nearest: str | None = None
    in_other_map: bool = False
    kinds: tuple[str, str] | None = None

    @property
    def found(self) -> tuple[str, ...]:
        """The values, the most frequent first; drivers as they come."""
        if self.reference is None:
            return tuple(value for value, _ in self.values)
        return tuple(value for value, _ in Counter(dict(self.values)).most_common(MAX_NAMED_VALUES))

    @property
    def missing(self) -> int:
        """The number of devices that have nothing of that name."""
        return self.devices - sum(number for _, number in self.values)


def values_text(misfit: Misfit) -> str:
    """Values that devices have instead of what a selector wants: ``memory: 40Gi ×8, not published
    by 2``.
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
        right = (
            ("a capacity", "device.capacity")
            if reference.kind == "attributes"
            else ("an attribute", "device.attributes")
        )
        near = f"; {reference.name} is {right[0]}, read by {right[1]}"
    return f"{name} exists on 0 of {misfit.devices} devices{near}"


def format_expression(text: str, most: int = 72) -> str:
    """An expression as a person would say it: ``memory >= 80Gi``, ``architecture == 'Hopper'``."""
    program = reading(text)
    instead: dict[
        int, tuple[int, str]
    ] = {}  # by where a part starts: where it ends, and what is written for it
    for lookup in program.lookups:
        if lookup.name and lookup.name_start > lookup.domain_start:
            instead[lookup.start] = (
                lookup.end,
                f"has({_name_text(lookup)})" if lookup.tested else _name_text(lookup),
            )
    for found in program.comparisons:
        if found.lookup and found.literals[0].kind in ("quantity", "semver") and not found.default:
            values = ", ".join(str(literal.value) for literal in found.literals)
            values = f"[{values}]" if found.operator == "in" else values
            instead[found.start] = (
                found.end,
                f"{_name_text(found.lookup)} {found.operator} {values}",
            )
    parts: list[str] = []
    end = 0
    for token in tokenize(text):
        if token.start < end:
            continue
        if token.start > end and parts:
            parts.append(" ")
        end, written = instead.get(token.start, (token.end, token.text))
        parts.append(written)
    line = " ".join("".join(parts).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _name_text(lookup: Lookup) -> str:
    """The bare name, unless the domain is one of Kubernetes'."""
    return lookup.full_name if lookup.domain.endswith("kubernetes.io") else lookup.name or ""
