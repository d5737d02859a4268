"""The worst-case cost of an expression, as the API server estimates it at admission.

cel-go checker/cost.go with the estimators of ext/{lists,sets,strings}.go,
apiserver/pkg/cel/library/cost.go and dynamic-resource-allocation/cel/compile.go (sizeEstimator).
Costs and sizes are ranges ``(min, max)`` that saturate at 2^64-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from dractl.cel.ast import (
    Call,
    Checked,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    parameters,
)
from dractl.cel.declarations import Declarations

UNBOUNDED = (1 << 64) - 1

Range = tuple[int, int]

_NOTHING: Range = (0, 0)
_ONE: Range = (1, 1)
_UNKNOWN: Range = (0, UNBOUNDED)


class Path:
    """The steps from a variable to a value: a Go slice, as in checker/cost.go.

    ``room`` is the capacity of the slice. Two paths may share one slice: as long as the slice has
    room, a step that is appended to one path overwrites the step of the other path. Therefore the
    first variable of ``device.attributes["d"].all(k, v, …)`` is as large as the second.
    """

    __slots__ = ("_room", "_size", "_steps")

    def __init__(self, steps: list[str], room: int | None = None) -> None:
        self._steps = steps
        self._size = len(steps)
        self._room = len(steps) if room is None else room

    @property
    def steps(self) -> list[str]:
        return self._steps[: self._size]

    def plus(self, step: str) -> Path:
        """Return the path with one more step."""
        if self._size == self._room:
            return Path([*self.steps, step], max(1, 2 * self._room))
        self._steps[self._size : self._size + 1] = [step]
        longer = Path(self._steps, self._room)
        longer._size = self._size + 1
        return longer


_NO_PATH = Path([])


def estimate(checked: Checked, declarations: Declarations) -> int:
    """Return the upper bound of the cost; 2^64-1 means unbounded."""
    return _Estimator(declarations).cost(checked.root)[1]


# -- ranges ----------------------------------------------------------------------------------------


def _sum(*ranges: Range) -> Range:
    low = high = 0
    for least, most in ranges:
        low += least
        high += most
    return min(UNBOUNDED, low), min(UNBOUNDED, high)


def _product(a: Range, b: Range) -> Range:
    return min(UNBOUNDED, a[0] * b[0]), min(UNBOUNDED, a[1] * b[1])


def _scale(a: Range, factor: float) -> Range:
    return _ceil(a[0] * factor), _ceil(a[1] * factor)


def _ceil(number: float) -> int:
    return UNBOUNDED if number >= 2.0**64 else math.ceil(number)


def _union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _constant(number: int) -> Range:
    return number, number


# -- known values ----------------------------------------------------------------------------------


class Entries(Struct, frozen=True):
    """The sizes of the entries of a map, or of a list (``keys`` are then indices)."""

    container: str
    keys: Range
    values: Range


class Variable(Struct, frozen=True):
    path: Path
    size: Range | None
    entries: Entries | None


class Estimated(Struct, frozen=True):
    """The estimate of a call."""

    cost: Range
    """The cost of the call, without the costs of its arguments."""
    size: Range | None = None
    """The size of the result; None if it is not known from the call alone."""


_SCALARS = {
    "bool",
    "double",
    "google.protobuf.Duration",
    "int",
    "google.protobuf.Timestamp",
    "uint",
}
_STRUCTS = {
    "kubernetes.DRADevice",
    "kubernetes.Quantity",
    "kubernetes.Semver",
    "kubernetes.URL",
    "kubernetes.NamedFormat",
}


def _is_scalar(kind: str) -> bool:
    while kind.startswith("optional_type("):
        kind = kind[14:-1]
    return kind in _SCALARS


# The declared sizes below `device`: the value that a step leads to, and its size (resourceapi's
# limits).
_STEPS: dict[str, dict[str, str]] = {
    "device": {
        "driver": "driver",
        "attributes": "attribute domains",
        "capacity": "capacity domains",
        "allowMultipleAllocations": "shared",
    },
    "attribute domains": {"@values": "attributes", "@items": "attributes", "@keys": "domain"},
    "capacity domains": {"@values": "capacities", "@items": "capacities", "@keys": "domain"},
    "attributes": {"@values": "attribute", "@items": "attribute", "@keys": "identifier"},
    "capacities": {"@values": "capacity", "@items": "capacity", "@keys": "identifier"},
}
_SIZES = {
    "device": 0,
    "driver": 63,
    "attribute domains": 32,
    "capacity domains": 32,
    "attributes": 32,
    "capacities": 32,
    "domain": 63,
    "identifier": 32,
    "attribute": 64,
    "capacity": 0,
    "shared": 1,
}


def _size_limit(path: list[str], release: int) -> Range | None:
    if not path or path[0] != "device":
        return None
    place = "device"
    for step in path[1:]:
        steps = _STEPS.get(place, {})
        # A selection by name has a size in the inner map of attributes, but not of capacities.
        next_place = steps.get(step) or (
            "attribute" if place == "attributes" and not step.startswith("@") else None
        )
        if next_place is None:
            return None
        place = next_place
    if place == "attribute" and release < 33:  # no size before 1.33: kubernetes/kubernetes#129523
        return None
    return 0, _SIZES[place]


# -- the estimator ---------------------------------------------------------------------------------

_GETTERS = {
    *(
        "isGreaterThan",
        "isLessThan",
        "compareTo",
        "asInteger",
        "isInteger",
        "asApproximateFloat",
        "sign",
        "add",
        "sub",
    ),
    *("major", "minor", "patch", "format.named"),
    *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
    *(
        "masked",
        "prefixLength",
        "family",
        "isUnspecified",
        "isLoopback",
        "isLinkLocalMulticast",
        "isLinkLocalUnicast",
    ),
    "isGlobalUnicast",
}
_PARSERS = {
    "ip",
    "ip.isCanonical",
    "cidr",
    "isIP",
    "isCIDR",
    "quantity",
    "isQuantity",
    "semver",
    "isSemver",
}
_SCANS = {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"}
_FOUR_BY_FOUR = {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}
_COMPARISONS = {
    *(
        f"{operator}_{kind}"
        for operator in ("less", "less_equals", "greater", "greater_equals")
        for kind in ("string", "bytes")
    ),
    *("equals", "not_equals"),
}


class _Estimator:
    def __init__(self, declarations: Declarations) -> None:
        self.release = declarations.release
        self.lists = declarations.lists
        self.variables: dict[str, list[Variable]] = {}
        self.paths: dict[int, Path] = {}
        self.sizes: dict[int, Range] = {}
        self.contents: dict[int, Entries] = {}

    # -- knowledge ---------------------------------------------------------------------------------

    def variable(self, node: Node) -> Variable | None:
        stack = self.variables.get(node.name) if isinstance(node, Ident) else None
        return stack[-1] if stack else None

    def path(self, node: Node) -> Path:
        variable = self.variable(node)
        return variable.path if variable else self.paths.get(node.id, _NO_PATH)

    def size(self, node: Node) -> Range | None:
        if node.id in self.sizes:
            return self.sizes[node.id]
        if isinstance(node, Const):
            return _constant(len(node.value)) if node.kind in ("string", "bytes") else _ONE
        if isinstance(node, ListLiteral):
            return _constant(len(node.elements))
        if isinstance(node, MapLiteral):
            return _constant(len(node.entries))
        declared = _size_limit(self.path(node).steps, self.release)
        if declared is not None:
            self.sizes[node.id] = declared
            return declared
        if _is_scalar(node.type):
            return _ONE
        variable = self.variable(node)
        return variable.size if variable else None

    def size_or_unknown(self, node: Node) -> Range:
        return self.size(node) or _UNKNOWN

    def item_size(self, node: Node) -> Range:
        """Return the size of an element of a list that has a path."""
        return _size_limit([*self.path(node).steps, "@items"], self.release) or _UNKNOWN

    def entries(self, node: Node) -> Entries | None:
        if node.id in self.contents:
            return self.contents[node.id]
        variable = self.variable(node)
        return variable.entries if variable else None

    def pass_on(self, source: Node, target: Node) -> None:
        """Copy the known sizes of one node to another."""
        size, entries = self.size(source), self.entries(source)
        if size is not None:
            self.sizes[target.id] = size
        if entries is not None:
            self.contents[target.id] = entries

    # -- nodes -------------------------------------------------------------------------------------

    def cost(self, node: Node) -> Range:
        match node:
            case Const():
                return _NOTHING
            case Ident():
                return self.ident(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListLiteral():
                return self.list_literal(node)
            case MapLiteral():
                return self.map_literal(node)
            case Comprehension():
                return self.comprehension(node)
            case StructLiteral():
                return _sum(_constant(40), *map(self.cost, node.children()))
        raise TypeError(f"unknown node {node!r}")

    def measure(self, node: Node) -> Range:
        """Return the cost of an operand, and record its size before a later append can overwrite
        the shared path (:class:`Path`).
        """
        cost = self.cost(node)
        self.size(node)
        return cost

    def ident(self, node: Ident) -> Range:
        variable = self.variable(node)
        if variable:
            self.paths[node.id] = variable.path
        elif node.name.startswith("device."):
            self.paths[node.id] = Path(node.name.split("."))
            return 2, 2
        else:
            self.paths[node.id] = Path([node.name])
        return _ONE

    def select(self, node: Select) -> Range:
        cost = self.cost(node.operand)
        if node.test:
            return cost
        kind = node.operand.type.partition("(")[0]
        self.paths[node.id] = self.path(node.operand).plus(node.field)
        return (
            _sum(cost, _ONE) if kind == "map" or kind in _STRUCTS or kind.startswith("<") else cost
        )

    def list_literal(self, node: ListLiteral) -> Range:
        costs = [self.measure(element) for element in node.elements]
        self.contents[node.id] = Entries("list", _ONE, self.widest(node.elements))
        return _sum(_constant(10), *costs)

    def map_literal(self, node: MapLiteral) -> Range:
        costs = [_sum(self.cost(entry.key), self.measure(entry.value)) for entry in node.entries]
        keys = self.widest([entry.key for entry in node.entries])
        self.contents[node.id] = Entries(
            "map", keys, self.widest([entry.value for entry in node.entries])
        )
        return _sum(_constant(30), *costs)

    def widest(self, nodes: Sequence[Node]) -> Range:
        if not nodes:
            return _NOTHING
        sizes = [self.size_or_unknown(node) for node in nodes]
        return min(s[0] for s in sizes), max(s[1] for s in sizes)

    # -- comprehensions ----------------------------------------------------------------------------

    def enter(self, name: str, variable: Variable) -> None:
        self.variables.setdefault(name, []).append(variable)

    def leave(self, name: str) -> None:
        self.variables[name].pop()

    def comprehension(self, node: Comprehension) -> Range:
        before = _sum(self.cost(node.range), self.cost(node.init))
        self.enter(
            node.accumulator,
            Variable(self.path(node.init), self.size(node.init), self.entries(node.init)),
        )
        bind = node.binds and node.accumulator != "__result__"
        each = _NOTHING if bind else self.rounds(node)
        after = self.cost(node.result)
        self.leave(node.accumulator)
        if bind:
            self.pass_on(node.result, node)
            return _sum(before, after)
        count = self.size_or_unknown(node.range)
        if isinstance(node.init, Const):
            self.sizes[node.id] = self.size_or_unknown(node.init)
        elif isinstance(node.init, (ListLiteral, MapLiteral)):
            self.sizes[node.id] = count
            made = self.entries(node.step)
            if made is not None:
                self.contents[node.id] = made
        return _sum(before, _product(count, each), after)

    def rounds(self, node: Comprehension) -> Range:
        """Return the cost of one round of a loop."""
        entries = self.entries(node.range)
        container = entries.container if entries else node.range.type.partition("(")[0]
        keys, values = (entries.keys, entries.values) if entries else (None, None)
        path = self.path(node.range)
        if node.second:
            first, second = ("@indices", "@items") if container == "list" else ("@keys", "@values")
            self.enter(node.variable, Variable(path.plus(first), keys, None))
            self.enter(node.second, Variable(path.plus(second), values, None))
        elif container == "list":
            self.enter(node.variable, Variable(path.plus("@items"), values, None))
        else:
            self.enter(node.variable, Variable(path.plus("@keys"), keys, None))
        each = _sum(self.cost(node.condition), self.cost(node.step))
        self.leave(node.variable)
        if node.second:
            self.leave(node.second)
        return each

    # -- calls -------------------------------------------------------------------------------------

    def call(self, node: Call) -> Range:
        if node.function == "dyn" and node.target is None:
            cost = self.cost(node.args[0])
            self.pass_on(node.args[0], node)
            return _sum(_ONE, cost)
        arguments = [self.measure(argument) for argument in node.args]
        if not node.overloads:
            return _NOTHING
        target = self.measure(node.target) if node.target is not None else _NOTHING
        total: Range = (UNBOUNDED, 0)
        size: Range | None = None
        for overload in node.overloads:
            estimated = self.overload(node, overload, arguments)
            total = _union(total, estimated.cost)
            if estimated.size is not None:
                size = estimated.size if size is None else _union(size, estimated.size)
            if overload in ("index_list", "index_map"):
                entries = self.entries(node.args[0])
                size = entries.values if entries else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node.id] = self.path(node.args[0]).plus(step)
            if size is None:
                size = self.size(node)
        if size is not None:
            self.sizes[node.id] = size
        return _sum(target, total)

    def overload(self, node: Call, overload: str, arguments: list[Range]) -> Estimated:
        special = _LIBRARY.get(node.function)
        estimated = special(self, node, overload) if special else None
        if estimated is None:
            return self.standard(node, overload, arguments)
        return Estimated(_sum(estimated.cost, *arguments), estimated.size)

    def standard(self, node: Call, overload: str, arguments: list[Range]) -> Estimated:
        """Estimate a call by the rules of functionCost in checker/cost.go."""
        spent = _sum(*arguments)
        sizes = self.size_or_unknown
        operands = node.children()
        match overload:
            case "string_format" | "string_to_bytes" | "bytes_to_string" | "strings_quote":
                low, high = sizes(operands[0])
                made = {
                    "string_to_bytes": (low, high * 4 % (1 << 64)),
                    "bytes_to_string": (low // 4, high),
                    "strings_quote": (low + 2, (high * 2 + 2) % (1 << 64)),
                }
                return Estimated(_sum(_scale((low, high), 0.1), spent), made.get(overload))
            case "starts_with_string" | "ends_with_string":
                return Estimated(_sum(_scale(sizes(operands[1]), 0.1), spent))
            case "in_list":
                return Estimated(_sum(sizes(operands[1]), spent))
            case "contains_string":
                parts = _scale(sizes(operands[0]), 0.1), _scale(sizes(operands[1]), 0.1)
                return Estimated(_sum(_product(*parts), spent))
            case "logical_or" | "logical_and":
                return Estimated((arguments[0][0], spent[1]))
            case "conditional":
                condition, yes, no = arguments
                size = _union(sizes(node.args[1]), sizes(node.args[2]))
                self.join_entries(node, node.args[1], node.args[2])
                return Estimated(_sum(condition, _union(yes, no)), size)
            case "add_string" | "add_bytes" | "add_list":
                total = _sum(sizes(operands[0]), sizes(operands[1]))
                self.join_entries(node, operands[0], operands[1])
                concatenation = _ONE if overload == "add_list" else _scale(total, 0.1)
                return Estimated(_sum(concatenation, spent), total)
        if overload == "matches_string" or (overload == "matches" and self.release >= 37):
            return Estimated(_sum(self.pattern_cost(operands[0], operands[1]), spent))
        if overload in _COMPARISONS:
            most = min(sizes(operands[0])[1], sizes(operands[1])[1])
            return Estimated(_sum(_scale((min(most, 1), most), 0.1), spent))
        return Estimated(_sum(_ONE, spent))

    def join_entries(self, node: Node, a: Node, b: Node) -> None:
        x, y = self.entries(a), self.entries(b)
        if x is not None and y is not None:
            self.contents[node.id] = Entries(
                x.container, _union(x.keys, y.keys), _union(x.values, y.values)
            )

    def pattern_cost(self, text: Node, pattern: Node) -> Range:
        scanned = _scale(_sum(self.size_or_unknown(text), _ONE), 0.1)
        return _product(scanned, _scale(self.size_or_unknown(pattern), 0.25))

    # -- libraries: a method gives None where the standard rules hold ------------------------------

    def sets(self, node: Call, _: str) -> Estimated:
        pairs = _product(*map(self.size_or_unknown, node.args))
        return Estimated(
            _sum(_scale(pairs, 2 if node.function.endswith("equivalent") else 1), _ONE)
        )

    def allocate_list(self, node: Call, overload: str) -> Estimated | None:
        """Estimate a function of ext/lists.go; it has a cost of its own only if the environment has
        the extension.
        """
        if not self.lists:
            return None
        operands = node.children()
        factor, size = 1.0, self.size_or_unknown(operands[0])
        match node.function:
            case "slice":
                start, end = _literal_or(node.args[0], 0), _literal_or(node.args[1], size[1])
                size = _constant((end - start) % (1 << 64))
            case "lists.range":
                size = _constant(_literal_or(node.args[0], UNBOUNDED))
            case "flatten":
                factor = float(_literal_or(node.args[0], UNBOUNDED) if node.args else 1)
            case "distinct" | "sort" | "@sortByAssociatedKeys":
                text = node.function != "distinct" and ("string" in overload or "bytes" in overload)
                factor, size = 2.1 if text else 2.0, _product(size, size)
        return Estimated(_sum(_scale(size, factor), _constant(11)), size)

    def scan(self, node: Call, _: str) -> Estimated:
        target = node.children()[0]
        if node.function == "includes" and self.release < 37:
            return Estimated((0, 48))
        size = self.size_or_unknown(target)
        inner = parameters(target.type)
        if inner:
            each = (
                _sum(_ONE, _scale(self.item_size(target), 0.1))
                if inner[0] in ("string", "bytes")
                else _ONE
            )
            return Estimated(_product(size, each))
        return Estimated(size if node.function == "includes" else _scale(size, 0.1))

    def transform(self, node: Call, _: str) -> Estimated:
        size = self.size_or_unknown(node.children()[0])
        return Estimated(_scale(size, 0.1), size)

    def parser(self, node: Call, overload: str) -> Estimated:
        if overload == "cidr_ip":
            return Estimated(_ONE)
        return Estimated(
            _scale(
                self.size_or_unknown(node.args[0]), 0.2 if overload == "ip_is_canonical" else 0.1
            )
        )

    def getter(self, _node: Call, _overload: str) -> Estimated:
        return Estimated(_ONE)

    def replace(self, node: Call, _: str) -> Estimated:
        text, old, new = map(self.size_or_unknown, node.children()[:3])
        most, kept_most = self.replacements(text[1], old[0], new[1])
        least, kept_least = self.replacements(text[0], old[1], new[0])
        size = _sum(_product((least, most), new), (kept_least, kept_most))
        return Estimated(_scale(text, 0.2), size)

    @staticmethod
    def replacements(text: int, old: int, new: int) -> tuple[int, int]:
        """Return the number of possible replacements in a string of this size, and the size of the
        text that remains.
        """
        if old == 0:
            return min(UNBOUNDED, text + 1), text
        if new <= old:
            return 0, text
        return min(UNBOUNDED, math.ceil(float(text) / float(old))), 0

    def split(self, node: Call, _: str) -> Estimated:
        size = self.size_or_unknown(node.children()[0])
        limit = node.args[1] if len(node.args) > 1 else None
        most = (
            limit.value % (1 << 64) if isinstance(limit, Const) and limit.kind == "int" else size[1]
        )
        return Estimated(_scale(size, 0.2), (0, most))

    def join(self, node: Call, _: str) -> Estimated:
        target = node.children()[0]
        count = self.size_or_unknown(target)
        size = _product(count, self.item_size(target)) if parameters(target.type) else _NOTHING
        if node.args:
            gaps = max(0, count[0] - 1), max(0, count[1] - 1)
            size = _sum(size, _product(self.size_or_unknown(node.args[0]), gaps))
        return Estimated(_scale(size, 0.1), size)

    def find(self, node: Call, _: str) -> Estimated:
        text, pattern = node.children()[:2]
        return Estimated(self.pattern_cost(text, pattern), (0, self.size_or_unknown(text)[1]))

    def contains_address(self, node: Call, overload: str) -> Estimated:
        parsed = (
            _scale(self.size_or_unknown(node.args[0]), 0.1)
            if overload.endswith("_string")
            else _NOTHING
        )
        prefix = _sum(_scale((4, 16), 0.1), _ONE) if node.function == "containsCIDR" else _NOTHING
        return Estimated(_sum(_scale((8, 32), 0.1), prefix, parsed))

    def validate(self, node: Call, _: str) -> Estimated:
        return Estimated(_scale(_scale(self.size_or_unknown(node.args[0]), 0.1), 128 * 0.25))

    def equals(self, node: Call, _: str) -> Estimated | None:
        a, b = node.args
        if a.type != b.type:
            return None
        if a.type in _FOUR_BY_FOUR:
            return Estimated(_ONE)
        if a.type == "kubernetes.NamedFormat":
            return Estimated(_scale((1, 64), 0.1))
        if a.type == "kubernetes.URL":
            return Estimated(_scale((1, (self.size(b) or _ONE)[1]), 0.1))
        return None


def _literal_or(node: Node, default: int) -> int:
    return max(0, node.value) if isinstance(node, Const) and node.kind == "int" else default


_Method = Callable[[_Estimator, Call, str], "Estimated | None"]

_LIBRARY: dict[str, _Method] = {
    **dict.fromkeys(("sets.contains", "sets.intersects", "sets.equivalent"), _Estimator.sets),
    **dict.fromkeys(
        ("slice", "lists.range", "reverse", "flatten", "distinct", "sort", "@sortByAssociatedKeys"),
        _Estimator.allocate_list,
    ),
    **dict.fromkeys(_SCANS, _Estimator.scan),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim", "url"), _Estimator.transform),
    **dict.fromkeys(_PARSERS, _Estimator.parser),
    **dict.fromkeys(_GETTERS, _Estimator.getter),
    **dict.fromkeys(("find", "findAll"), _Estimator.find),
    "replace": _Estimator.replace,
    "split": _Estimator.split,
    "join": _Estimator.join,
    "containsIP": _Estimator.contains_address,
    "containsCIDR": _Estimator.contains_address,
    "validate": _Estimator.validate,
    "_==_": _Estimator.equals,
}
