"""Shapes: devices by kind and count, as people write them on one line.

In ``gpu=2,nic=1``, the kinds are words for hardware or names of DeviceClasses. ``mig=7x1g.10gb``
and ``mig=3g.40gb+2x1g.10gb`` are MIG devices by profile. A shape takes the closest alignment that a
node has; ``gpu=2,nic=1@pcieRoot`` demands that its devices share a PCIe root, ``@numaNode`` a NUMA
node, and ``@none`` has no preference. Several shapes are separated by ``;``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, get_args

from msgspec import Struct

from dractl.errors import UsageError
from dractl.facts.resources import hardware
from dractl.model.nearest import nearest

Constraint = Literal["pcieRoot", "numaNode", "none"]

CONSTRAINTS: Final[tuple[Constraint, ...]] = get_args(Constraint)
MAX_DEVICES: Final = 32  # maximum for one claim (resource/v1 AllocationResultsMaxSize)
MIG: Final = "mig-"
"""The prefix of the kinds of MIG devices; the profile follows."""

_COUNTED_ONCE = f"each kind once, with a count from 1 to {MAX_DEVICES}"
_ALLOWED = (
    "a shape ends in @pcieRoot or @numaNode if all its devices have to share one, or in @none for "
    "no alignment; without an ending it takes the closest alignment that a node has"
)
_PREFIX = "resource.kubernetes.io/"  # the domain of the attributes in the constraints
_MAX_LISTED = 8  # maximum number of DeviceClasses in a hint
_JOINED = re.compile(r"\+(?=[a-z])")  # a profile begins with a digit
_NUMBER = re.compile("[0-9]{1,9}")
_PART = re.compile(r"(?:([0-9]{1,9})x)?([1-7]g\.[0-9]{1,3}gb[a-z0-9.+-]{0,12}?)")
_SEPARATED = re.compile("|".join((";", *(f"(?<=@{name})," for name in CONSTRAINTS))))


class Shape(Struct, frozen=True):
    """Devices of one claim."""

    text: str
    """The shape as it was written."""
    counts: Mapping[str, int]
    """Devices by kind."""
    constraint: Constraint | None = None
    """The demanded alignment; None for the closest one that a node has."""

    @property
    def devices(self) -> int:
        """The number of devices of all kinds together."""
        return sum(self.counts.values())


def split(text: str) -> list[str]:
    """Split a text into its shapes."""
    return [part.strip() for part in text.split(";") if part.strip()]


def split_list(text: str) -> list[str]:
    """Split a list of shapes and names; a comma either separates two of them or belongs to a shape.

    ``gpu=2,nic=1`` is one shape; ``gpu=2,gpu=4``, ``pair,gpu=1+nic=1`` and ``gpu=2@none,nic=1`` are
    two: a kind occurs only once in a shape, ``pair`` is a name, and a constraint ends a shape.
    """
    return [shape for part in _SEPARATED.split(text) for shape in _shapes_of(part) if shape]


def _shapes_of(text: str) -> list[str]:
    """Split at commas, except commas between different kinds."""
    parts = [part.strip() for part in text.split(",")]
    kinds = {part.partition("=")[0] for part in parts if "=" in part}
    return [text.strip()] if len(kinds) == len(parts) else parts


def spread(text: str) -> str:
    """Write a shape as in a list, with ``+`` between its kinds: ``gpu=2+nic=1``."""
    return _JOINED.sub(",", text)


def parse(text: str, classes: Sequence[str] = ()) -> Shape:
    """Parse a shape; its kinds may also be names of ``classes``, the existing DeviceClasses.

    Raises UsageError with the nearest word.
    """
    kinds, mark, demanded = text.strip().partition("@")
    constraint = _constraint(text, demanded) if mark else None
    counts: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in kinds.split(","))):
        for kind, count in _parse_part(part, classes):
            if kind in counts:
                raise UsageError(f"{kind} occurs twice in shape {text}", hint=_COUNTED_ONCE)
            counts[kind] = count
    if not counts or sum(counts.values()) > MAX_DEVICES:
        raise UsageError(f"a shape has 1 to {MAX_DEVICES} devices, such as gpu=2,nic=1")
    return Shape(text.strip(), counts, constraint)


def _constraint(text: str, demanded: str) -> Constraint:
    """Return the constraint at the end of a shape."""
    name, comma, behind = demanded.partition(",")
    name = name.strip().removeprefix(_PREFIX)
    if comma:
        kinds = f"{text.partition('@')[0]},{behind.partition('@')[0]}"
        raise UsageError(
            f"{text}: @{name} stands within the shape",
            hint=f"it holds for all devices, and stands at the end: {kinds}@{name}",
        )
    if not name:
        raise UsageError(f"{text}: no constraint follows @", hint=_ALLOWED)
    for constraint in CONSTRAINTS:
        if name == constraint:
            return constraint
    near = nearest(name, CONSTRAINTS, alike=0.5)
    suggestion = f"; did you mean @{near}?" if near else ""
    raise UsageError(f"{text}: unknown constraint @{name}{suggestion}", hint=_ALLOWED)


def _parse_part(part: str, classes: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the kinds of a part of a shape with their counts; only ``mig`` has several."""
    word, equals, number = part.partition("=")
    if word != "mig" and word not in hardware() and word not in classes:
        raise _unknown(word, classes)
    for kind, count in _profiles(number) if word == "mig" else [(word, number)]:
        if not (equals or count):
            yield kind, 1
        elif _NUMBER.fullmatch(count) and 0 < int(count) <= MAX_DEVICES:
            yield kind, int(count)
        else:
            many = count.isascii() and count.isdecimal() and int(count[:9]) > MAX_DEVICES
            problem = "too many" if many else "no count"
            raise UsageError(f"{part}: {count!r} is {problem}", hint=_COUNTED_ONCE)


def _unknown(word: str, classes: Sequence[str]) -> UsageError:
    """Return the error for a word that is not a kind, with the nearest kind and a list of kinds, of
    which there may be many.
    """
    near = nearest(word, [*hardware(), *classes])
    listed = f": {', '.join(sorted(classes)[:_MAX_LISTED])}" if classes else ""
    more = " ..." if len(classes) > _MAX_LISTED else ""
    return UsageError(
        f"{word!r} is neither a kind of hardware nor a DeviceClass"
        + (f"; did you mean {near}?" if near else ""),
        hint=f"a shape is KIND=COUNT,...: {', '.join(hardware())}, mig, or the name of a "
        f"DeviceClass{listed}{more}",
    )


def _profiles(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kinds of ``7x1g.10gb+3g.40gb`` with their counts."""
    for part in text.split("+"):
        profile = _PART.fullmatch(part.strip())
        if profile is None:
            raise UsageError(
                f"mig={text}: {part!r} is no profile", hint="write it like mig=7x1g.10gb"
            )
        yield f"{MIG}{profile[2]}", profile[1] or "1"


def request_name(kind: str) -> str:
    """Return the name of the request for a kind: a DNS label."""
    return kind.replace(".", "-").replace("+", "-")


def mig_selector(kind: str) -> str | None:
    """Return the CEL expression for a kind of MIG devices; None for any other kind."""
    return (
        f'device.attributes["gpu.nvidia.com"].profile == "{kind.removeprefix(MIG)}"'
        if kind.startswith(MIG)
        else None
    )
