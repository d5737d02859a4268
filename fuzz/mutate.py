"""Random mutations of bytes and of trees of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

ODD_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\t",
    b"&a *a",
    b"!!binary ",
    b"{" * 50,
    b"- " * 50,
    b"\r",
)
ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 10**40, 1.5, float("inf"), "", " ", "\ud800", "\x1b[2J", "a" * 70, "1e400", "0x10",
    "-5", "1Ki", "../..", "<script>", "::error::x", [], {}, [[]], {"": None}, ["a", 1], {"string": "x", "int": 1},
)  # fmt: skip


def of_bytes(data: bytes, dice: random.Random) -> bytes:
    """Return ``data`` with a few pieces removed, repeated, flipped or replaced."""
    result = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(result) + 1)
        size = dice.choice((1, 2, 8, 64))
        match dice.randrange(5):
            case 0:
                del result[at : at + size]
            case 1:
                result[at:at] = result[at : at + size] * dice.choice((1, 3, 40))
            case 2 if at < len(result):
                result[at] ^= 1 << dice.randrange(8)
            case 3:
                result[at : at + dice.choice((0, size))] = dice.choice(ODD_BYTES)
            case _:
                other = dice.randrange(len(result) + 1)
                result[at:at] = result[other : other + size]
    return bytes(result)


def of_tree(value: Any, dice: random.Random) -> Any:
    """Return a copy of ``value`` with one to three places replaced, removed or repeated."""
    for _ in range(dice.randint(1, 3)):
        value = _once(value, dice)
    return value


def _once(value: Any, dice: random.Random) -> Any:
    if not value or not isinstance(value, dict | list) or dice.random() < 0.08:
        return dice.choice(ODD_VALUES)
    if isinstance(value, dict):
        key = dice.choice(list(value))
        match dice.randrange(8):
            case 0:
                return {name: item for name, item in value.items() if name != key}
            case 1:
                return {**value, dice.choice(("", "x", "name", "spec")): value[key]}
        return {**value, key: _once(value[key], dice)}
    at = dice.randrange(len(value))
    match dice.randrange(8):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return value + [value[at]] * dice.choice((1, 40))
    return [*value[:at], _once(value[at], dice), *value[at + 1 :]]


def of_leaves(value: Any, dice: random.Random) -> Any:
    """Return a copy of ``value`` in which one to three leaves have another value of their kind, or
    items of a list are left out or repeated. So a reader does not refuse it because of its shape.
    """
    for _ in range(dice.randint(1, 3)):
        value = _leaf(value, dice)
    return value


def _leaf(value: Any, dice: random.Random) -> Any:
    match value:
        case dict() if value:
            key = dice.choice(list(value))
            return {**value, key: _leaf(value[key], dice)}
        case list() if value:
            at = dice.randrange(len(value))
            again = dice.choice((0, 1, 1, 1, 1, 1, 1, 2))
            return [*value[:at], *[_leaf(value[at], dice)] * again, *value[at + 1 :]]
        case bool():
            return not value
        case int():
            return dice.choice((0, 1, value + 1, value * 2, 2**31, 2**53))
        case str():
            return dice.choice((value[:-1], value + "0", value.upper(), value[::-1], "x" * 64))
    return value
