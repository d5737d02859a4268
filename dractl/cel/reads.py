"""The parts of a device that an expression depends on."""

from dractl.cel.ast import Call, Comprehension, Const, Ident, Node, Select
from dractl.cel.device import Field

_MAPS = {"device.attributes": "attributes", "device.capacity": "capacity"}
_INDEXING = ("_[_]", "_[?_]", "_?._")


class _All(Exception):
    """A map is used as a whole."""


def reads(root: Node) -> frozenset[Field] | None:
    """None when the expression iterates over, compares or otherwise uses a whole map of the device."""
    found: set[Field] = set()
    try:
        _visit(root, {}, found)
    except _All:
        return None
    return frozenset(found)


# The value of a node: a map of domains ("attributes",), or one domain ("attributes", "gpu.example.com").
_Place = tuple[str, ...]


def _visit(node: Node, scope: dict[str, _Place | None], found: set[Field]) -> None:
    """Collects the parts that a value depends on; a map of the device must not be the value itself."""
    if _place(node, scope, found) is not None:
        raise _All


def _place(node: Node, scope: dict[str, _Place | None], found: set[Field]) -> _Place | None:
    match node:
        case Ident():
            return _ident(node, scope, found)
        case Select():
            return _step(_place(node.operand, scope, found), node.field, found, node.test)
        case Call():
            return _call(node, scope, found)
        case Comprehension():
            return _comprehension(node, scope, found)
    for child in node.children():
        _visit(child, scope, found)
    return None


def _ident(node: Ident, scope: dict[str, _Place | None], found: set[Field]) -> _Place | None:
    if node.name in scope:
        return scope[node.name]
    if node.name in _MAPS:
        return (_MAPS[node.name],)
    if node.name == "device":
        return ("device",)
    if node.name in ("device.driver", "device.allowMultipleAllocations"):
        found.add(Field(node.name.removeprefix("device.")))
    return None


def _call(node: Call, scope: dict[str, _Place | None], found: set[Field]) -> _Place | None:
    if node.function in _INDEXING and isinstance(node.args[1], Const) and node.args[1].kind == "string":
        return _step(_place(node.args[0], scope, found), node.args[1].value, found, False)
    if node.function in ("@in", "in", "_in_") and isinstance(node.args[0], Const):
        place = _place(node.args[1], scope, found)
        key = node.args[0].value
        if place is not None:
            # The presence of a domain depends on every entry of it; that of an entry, on that one.
            if len(place) != 2 or not isinstance(key, str):
                raise _All
            found.add(Field(place[0], place[1], key))
            if place[0] != "device":
                found.add(Field("driver"))
        return None
    for child in node.children():
        _visit(child, scope, found)
    return None


def _step(place: _Place | None, name: str, found: set[Field], test: bool) -> _Place | None:
    if place is None:
        return None
    if place == ("device",):
        if test:
            return None  # the fields of a device are always there
        if name in ("attributes", "capacity"):
            return (name,)
        found.add(Field(name))
        return None
    if len(place) == 1:
        return None if test else (*place, name)
    found.add(Field(place[0], place[1], name))
    found.add(Field("driver"))  # an entry without a domain is in the driver's
    return None


def _comprehension(node: Comprehension, scope: dict[str, _Place | None], found: set[Field]) -> _Place | None:
    if node.binds:
        return _place(node.result, {**scope, node.accumulator: _place(node.init, scope, found)}, found)
    _visit(node.range, scope, found)
    inner = {**scope, node.variable: None, node.second: None, node.accumulator: None}
    _visit(node.init, scope, found)
    for part in (node.condition, node.step, node.result):
        _visit(part, inner, found)
    return None
