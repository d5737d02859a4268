"""Shapes: devices by kind and count, as people write them on one line.

``gpu=2,nic=1``: kinds are words for hardware or names of DeviceClasses. ``mig=7x1g.10gb``,
``mig=3g.40gb+2x1g.10gb``: MIG devices by profile. Several shapes are separated by ``;``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from dractl.errors import UsageError
from dractl.facts.resources import hardware
from dractl.model.nearest import nearest

MOST: Final = 32  # devices in the allocation of one claim: resource/v1 AllocationResultsMaxSize
MIG: Final = "mig-"
"""What the kinds of MIG devices begin with; the rest is the profile."""

_ONCE = f"each kind once, with a count from 1 to {MOST}"
_JOINED = re.compile(r"\+(?=[a-z])")  # a profile begins with a digit
_PART = re.compile(r"(?:([0-9]{1,9})x)?([1-7]g\.[0-9]{1,3}gb[a-z0-9.+-]{0,12}?)")


def split(text: str) -> list[str]:
    """The shapes of a text."""
    return [part.strip() for part in text.split(";") if part.strip()]


def spread(text: str) -> str:
    """A shape whose kinds are joined by ``+``, as in lists with commas: ``gpu=2+nic=1`` is ``gpu=2,nic=1``."""
    return _JOINED.sub(",", text)


def parse(text: str, known: Sequence[str] = ()) -> dict[str, int]:
    """Counts by kind; ``known`` are the DeviceClasses that there are. Raises UsageError with the nearest word."""
    words = [*hardware(), *known]
    counts: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        kind, equals, number = part.partition("=")
        for each, count in _mig(number) if kind == "mig" else [(kind, number)]:
            if kind != "mig" and kind not in words:
                near = nearest(kind, words)
                raise UsageError(
                    f"{kind!r} is neither a kind of hardware nor a DeviceClass"
                    + (f"; did you mean {near}?" if near else ""),
                    hint=f"a shape is KIND=COUNT,...: {', '.join(hardware())}, or the name of a DeviceClass",
                )
            if each in counts:
                raise UsageError(f"{each} occurs twice in shape {text}", hint=_ONCE)
            if (equals or count) and not (count.isdecimal() and 0 < int(count[:9]) <= MOST):
                many = count.isdecimal() and int(count[:9]) > MOST
                raise UsageError(
                    f"{part}: {count!r} is {'too many' if many else 'no count'}", hint=_ONCE
                )
            counts[each] = int(count or 1)
    if not counts or sum(counts.values()) > MOST:
        raise UsageError(f"a shape has 1 to {MOST} devices, such as gpu=2,nic=1")
    return counts


def _mig(text: str) -> Iterator[tuple[str, str]]:
    """``7x1g.10gb+3g.40gb`` as kinds with their counts."""
    for part in text.split("+"):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise UsageError(
                f"mig={text}: {part!r} is no profile", hint="write it like mig=7x1g.10gb"
            )
        yield f"{MIG}{found[2]}", found[1] or "1"


def request_name(kind: str) -> str:
    """The name of the request for a kind: a DNS label."""
    return kind.replace(".", "-").replace("+", "-")


def mig_selector(kind: str) -> str | None:
    """The CEL expression for a kind of MIG devices; None for any other kind."""
    return (
        f'device.attributes["gpu.nvidia.com"].profile == "{kind.removeprefix(MIG)}"'
        if kind.startswith(MIG)
        else None
    )
