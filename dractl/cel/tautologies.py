"""The results that an expression can have on any device, judged by its logic alone.

``&&``, ``||``, ``!`` and ``? :`` are evaluated as in CEL (an operand that decides absorbs an error
of the other one), for every combination of possible operand results. Equal operands have equal
results in each combination, and comparisons of one operand with different literals exclude each
other.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from dractl.cel.ast import Call, Const, Ident, ListLiteral, Node, Select

Outcome = bool | None
"""The result of an evaluation; None if it fails."""

_MAX_CASES = 4096  # combinations of operand results
_LOGIC = ("_&&_", "_||_", "!_", "_?_:_")
_ANY: tuple[Outcome, ...] = (True, False, None)
_OTHER = object()
_FAILED = object()


def outcomes(*roots: Node) -> frozenset[Outcome]:
    """Return the possible results of an expression, or of several joined by ``&&``. A result that
    is not returned never occurs; if nothing is known, all results are returned.
    """
    leaves = [node for root in roots for node in _atoms(root)]
    atoms = _declare_atoms(leaves)
    # The results of the atoms are independent
    if len(leaves) == len(atoms) and all(_self_comparison(node) is None for node in leaves):
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


def is_implied(root: Node, *by: Node) -> bool:
    """Return True if ``root`` is true on every device on which all expressions of ``by`` are true;
    False if there is no such device.
    """
    atoms = _declare_atoms([node for tree in (root, *by) for node in _atoms(tree)])
    if _are_too_many(atoms):
        return False
    results = {
        _result(root, case)
        for case in _cases(atoms)
        if _logic("_&&_", [_result(tree, case) for tree in by]) is True
    }
    return results == {True}


def _declare_atoms(leaves: Iterable[Node]) -> dict[Any, tuple[Any, ...]]:
    """Return the atoms that conditions depend on, with the values that make a difference."""
    atoms: dict[Any, tuple[Any, ...]] = {}
    for node in leaves:
        _declare(node, atoms)
    return atoms


def _are_too_many(atoms: Mapping[Any, tuple[Any, ...]]) -> bool:
    return prod(map(len, atoms.values())) > _MAX_CASES


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
    """Add the atom that a condition depends on, with the values that make a difference."""
    if isinstance(node, Const):
        return
    compared = _literal_comparison(node)
    if compared is not None:
        operand, literals = compared
        values = atoms.get(
            _value_of(operand), (_OTHER, _FAILED) if _can_fail(operand) else (_OTHER,)
        )
        atoms[_value_of(operand)] = (
            *values,
            *(literal for literal in literals if literal not in values),
        )
    elif (same := _self_comparison(node)) is not None:
        atoms[_key(node)] = (same, None) if any(map(_can_fail, node.children())) else (same,)
    else:
        atoms[_key(node)] = _ANY if _can_fail(node) else (True, False)


def _result(node: Node, values: Mapping[Any, Any]) -> Outcome:
    if isinstance(node, Const):
        return bool(node.value)
    if isinstance(node, Call) and node.function in _LOGIC:
        return _logic(node.function, [_result(child, values) for child in node.children()])
    compared = _literal_comparison(node)
    if compared is None:
        outcome: Outcome = values[_key(node)]
        return outcome
    operand, literals = compared
    value = values[_value_of(operand)]
    if value is _FAILED:
        return None
    return (value in literals) != (isinstance(node, Call) and node.function == "_!=_")


def _logic(function: str, parts: list[Outcome]) -> Outcome:
    if function == "!_":
        return None if parts[0] is None else not parts[0]
    if function == "_?_:_":
        if parts[0] is None:
            return None
        return parts[1] if parts[0] else parts[2]
    deciding = function == "_||_"
    if deciding in parts:
        return deciding
    return None if None in parts else not deciding


def _literal_comparison(node: Node) -> tuple[Node, tuple[tuple[str, Any], ...]] | None:
    """Return the operand of a comparison for equality with string, integer or boolean literals,
    together with these literals; None for any other node.
    """
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


def _self_comparison(node: Node) -> Outcome:
    """Return the result of comparing an operand with itself, if the operand does not fail. None for
    other nodes, and for operands with a double, which may be NaN.
    """
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
    """Return False for fields that every device has, and for tests of an entry in a domain. Such a
    test cannot fail, since the domain is an empty map on a device that does not have it.
    """
    if isinstance(node, Select) and node.test:
        domain = node.operand
        indexed = (
            isinstance(domain, Call)
            and domain.function == "_[_]"
            and isinstance(domain.args[1], Const)
        )
        return not (
            indexed
            and isinstance(domain, Call)
            and _is_device_field(domain.args[0], "attributes", "capacity")
        )
    return not _is_device_field(node, "driver")


def _is_device_field(node: Node, *fields: str) -> bool:
    """Return True for a selection of one of these fields of the device."""
    match node:
        case Ident(name=name):
            return name.startswith("device.") and name.removeprefix("device.") in fields
        case Select(operand=Ident(name="device"), field=field, test=False):
            return field in fields
    return False


def _value_of(operand: Node) -> Any:
    """Return the atom on which comparisons of an operand depend: the value of the operand. An
    operand that is a condition, too, has a second atom for its outcome.
    """
    return "value", _key(operand)


def _key(node: Node) -> Any:
    """Return a key that is equal for sub-expressions that are written alike; a comprehension or a
    literal of a map is equal only to itself.
    """
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
