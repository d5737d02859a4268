"""The results that an expression can have on any device at all, by its logic alone.

``&&``, ``||``, ``!`` and ``? :`` are evaluated as CEL does (an operand that decides absorbs the other's error) for
every combination of what their operands can be. Equal operands are equal in each combination, and comparisons of one
operand with different literals exclude each other.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from dractl.cel.ast import Call, Const, Ident, ListLiteral, Node, Select

Outcome = bool | None
"""None: the evaluation fails."""

_MOST = 4096  # combinations
_LOGIC = ("_&&_", "_||_", "!_", "_?_:_")
_ANY: tuple[Outcome, ...] = (True, False, None)
_OTHER = object()
_FAILED = object()


def outcomes(*roots: Node) -> frozenset[Outcome]:
    """The possible results of an expression, or of several joined by ``&&``: one that is missing is certain never to
    occur; all, where that is not known."""
    leaves = [node for root in roots for node in _atoms(root)]
    atoms = _declared(leaves)
    if len(leaves) == len(atoms) and all(
        _same(node) is None for node in leaves
    ):  # nothing ties one to another
        return frozenset(
            _ANY
            if any(_FAILED in values or None in values for values in atoms.values())
            else _ANY[:2]
        )
    if _are_too_many(atoms):
        return frozenset(_ANY)
    return frozenset(
        _logic("_&&_", [_result(root, case) for root in roots]) for case in _cases(atoms)
    )


def implied(root: Node, *by: Node) -> bool:
    """True if an expression is true on every device on which the others are all true; false if there is none."""
    atoms = _declared([node for one in (root, *by) for node in _atoms(one)])
    if _are_too_many(atoms):
        return False
    found = {
        _result(root, case)
        for case in _cases(atoms)
        if _logic("_&&_", [_result(one, case) for one in by]) is True
    }
    return found == {True}


def _declared(leaves: Iterable[Node]) -> dict[Any, tuple[Any, ...]]:
    """What conditions depend on, with the values that make a difference."""
    atoms: dict[Any, tuple[Any, ...]] = {}
    for node in leaves:
        _declare(node, atoms)
    return atoms


def _are_too_many(atoms: Mapping[Any, tuple[Any, ...]]) -> bool:
    return prod(map(len, atoms.values())) > _MOST


def _cases(atoms: Mapping[Any, tuple[Any, ...]]) -> Iterator[dict[Any, Any]]:
    for values in product(*atoms.values()):
        yield dict(zip(atoms, values, strict=True))


def _atoms(node: Node) -> Iterator[Node]:
    if isinstance(node, Call) and node.function in _LOGIC:
        for child in node.children():
            yield from _atoms(child)
    else:
        yield node


def _declare(node: Node, atoms: dict[Any, tuple[Any, ...]]) -> None:
    """Adds what a condition depends on, with the values that make a difference."""
    if isinstance(node, Const):
        return
    compared = _compared(node)
    if compared is not None:
        operand, literals = compared
        known = atoms.get(
            _value_of(operand), (_OTHER, _FAILED) if _can_fail(operand) else (_OTHER,)
        )
        atoms[_value_of(operand)] = (
            *known,
            *(literal for literal in literals if literal not in known),
        )
    elif (same := _same(node)) is not None:
        atoms[_key(node)] = (same, None) if any(map(_can_fail, node.children())) else (same,)
    else:
        atoms[_key(node)] = _ANY if _can_fail(node) else (True, False)


def _result(node: Node, values: Mapping[Any, Any]) -> Outcome:
    if isinstance(node, Const):
        return bool(node.value)
    if isinstance(node, Call) and node.function in _LOGIC:
        return _logic(node.function, [_result(child, values) for child in node.children()])
    compared = _compared(node)
    if compared is None:
        found: Outcome = values[_key(node)]
        return found
    operand, literals = compared
    value = values[_value_of(operand)]
    if value is _FAILED:
        return None
    return (value in literals) != (isinstance(node, Call) and node.function == "_!=_")


def _logic(function: str, parts: list[Outcome]) -> Outcome:
    if function == "!_":
        return None if parts[0] is None else not parts[0]
    if function == "_?_:_":
        return None if parts[0] is None else parts[1] if parts[0] else parts[2]
    deciding = function == "_||_"
    return deciding if deciding in parts else None if None in parts else not deciding


def _compared(node: Node) -> tuple[Node, tuple[tuple[str, Any], ...]] | None:
    """The operand of a comparison for equality with literals of strings, integers or booleans, and these."""
    if (
        not isinstance(node, Call)
        or len(node.args) != 2
        or node.function not in ("_==_", "_!=_", "@in")
    ):
        return None
    left, right = node.args
    if node.function == "@in":
        members = right.elements if isinstance(right, ListLiteral) and not right.optional else ()
    else:
        left, right = (right, left) if isinstance(left, Const) else (left, right)
        members = (right,)
    literals = tuple((item.kind, item.value) for item in members if isinstance(item, Const))
    plain = literals and len(literals) == len(members) and not isinstance(left, Const)
    return (
        (left, literals)
        if plain and all(kind in ("string", "int", "bool") for kind, _ in literals)
        else None
    )


def _same(node: Node) -> Outcome:
    """What a comparison of an operand with itself is where it does not fail; doubles may be NaN."""
    if not isinstance(node, Call) or len(node.args) != 2 or node.function not in ("_==_", "_!=_"):
        return None
    left, right = node.args
    if _key(left) != _key(right) or _has_double(left):
        return None
    return node.function == "_==_"


def _has_double(node: Node) -> bool:
    return (
        node.type == "double"
        or (isinstance(node, Call) and node.function == "double")
        or any(map(_has_double, node.children()))
    )


def _can_fail(node: Node) -> bool:
    """False for what every device has, and for tests that cannot fail: those of an entry in a domain, which is empty
    where a device has none."""
    if isinstance(node, Select) and node.test:
        domain = node.operand
        indexed = (
            isinstance(domain, Call)
            and domain.function == "_[_]"
            and isinstance(domain.args[1], Const)
        )
        return not (
            indexed and isinstance(domain, Call) and _is(domain.args[0], "attributes", "capacity")
        )
    return not _is(node, "driver")


def _is(node: Node, *fields: str) -> bool:
    """True for one of these fields of the device."""
    match node:
        case Ident(name=name):
            return name.startswith("device.") and name.removeprefix("device.") in fields
        case Select(operand=Ident(name="device"), field=field, test=False):
            return field in fields
    return False


def _value_of(operand: Node) -> Any:
    """What comparisons of an operand depend on; the operand as a condition has outcomes instead."""
    return "value", _key(operand)


def _key(node: Node) -> Any:
    """Equal for sub-expressions that are written alike; comprehensions and literals of maps are equal to themselves."""
    match node:
        case Const():
            return "const", node.kind, node.value
        case Ident():
            return "ident", node.name
        case Select():
            return "select", node.field, node.test, _key(node.operand)
        case Call():
            return "call", node.function, node.target is None, tuple(map(_key, node.children()))
    return "node", node.id
