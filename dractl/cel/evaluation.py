"""Evaluation of a checked expression as cel-go does it.

:func:`build` turns the tree into nested closures, once per expression. Verdicts run these closures.
Explanations run closures that are built with an ``observer``, which gets every sub-expression's
value (:mod:`dractl.cel.tracing`). These closures have no shortcuts, so that each part of the source
has its own closure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from msgspec import Struct, structs

from dractl.cel import invariants, values as v
from dractl.cel.ast import (
    Call,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from dractl.cel.bounds import predicate_bounds
from dractl.cel.closures import (
    Decider,
    Elements,
    Frame,
    Parts,
    Run,
    put,
    remember,
    remember_loop,
    share_loop,
)
from dractl.cel.columns import int_elements
from dractl.cel.functions import messages, operators
from dractl.cel.functions.dispatch import dispatcher
from dractl.cel.lines import predicate_regions
from dractl.cel.loops import Accumulation, Loop, quantify, repeat
from dractl.cel.nests import Inner, nest_decider
from dractl.cel.values import NONE, CelError, Optional, TypeValue, Uint
from dractl.model import Quantity, Version

T = TypeVar("T")


class Observer(Protocol):
    """Wraps closures, so that an explanation gets the values of sub-expressions."""

    def observe(self, node: Node, run: Run) -> Run:
        """Wrap the closure of a sub-expression that is written in the source."""

    def observe_loop(self, run: Run, plain: Run) -> Run:
        """Wrap the closure of a loop; ``plain`` is the same loop whose parts are not observed."""


_FIRST_SLOT = 2


def build(root: Node, release: int, observer: Observer | None = None) -> Run:
    """Return the closure of an expression. It accepts a :func:`frame` and raises CelError or
    Halted.
    """
    return _Builder(root, release, observer).build(root)


def frame(view: Any) -> Frame:
    return [view, 0]


class _Lazy:
    """The value of a variable that is computed on first use (cel.bind)."""

    __slots__ = ("error", "run", "value")

    def __init__(self, run: Run) -> None:
        self.run: Run | None = run
        self.value: Any = None
        self.error: CelError | None = None

    def get(self, f: Frame) -> Any:
        run = self.run
        if run is not None:
            try:
                self.value = run(f)
            except CelError as error:
                self.error = error
            self.run = None
        if self.error is not None:
            raise self.error
        return self.value


class _Variable(Struct, frozen=True):
    slot: int
    kind: str
    """One of ``value``, ``accumulator`` and ``lazy``."""
    level: int
    """The level of the variable, as :mod:`dractl.cel.invariants` defines levels."""


class _Round(Struct, frozen=True):
    """The closures of one round of a loop."""

    condition: Run | None
    """The condition to continue the loop; None if it is always true, or part of the step."""
    step: Run
    decider: Decider | None
    idle: bool = False
    """The decided result with which a round leaves the accumulator unchanged."""
    elements: Elements | None = None
    """Computes the elements that all rounds append; None if rounds do anything else."""


class _Body(Struct, frozen=True):
    """The closures of a loop."""

    loop: Loop
    round: _Round
    result: Run


class _Builder:
    def __init__(self, root: Node, release: int, observer: Observer | None) -> None:
        self.release = release
        self.observer = observer
        self.scope: dict[str, _Variable] = {}
        self.slots = _FIRST_SLOT
        self.hidden: set[int] = set()
        self.dependencies = invariants.dependencies(root)
        self.remembered: list[list[int]] = []  # the slots that each of the enclosing loops keeps
        # Sub-expressions of a level below this one are worth remembering: their values change less
        # often than they are evaluated
        self.ceiling = invariants.DEVICE_LEVEL

    def build(self, node: Node) -> Run:
        if self.observer is not None:
            run = self._plain(node)
            return run if id(node) in self.hidden else self.observer.observe(node, run)
        level = self._level(node)
        if level >= self.ceiling or isinstance(node, (Const, Ident)):
            return self._share(node, self._plain(node))
        outer, self.ceiling = self.ceiling, level
        run = self._plain(node)
        self.ceiling = outer
        recall = remember_loop if self.dependencies[id(node)].loops else remember
        if level == invariants.EXPRESSION_LEVEL:
            return recall(run, 0, [None])
        slot = self._new_slot()
        # The slot belongs to the loop whose variables have the next level
        self.remembered[level - invariants.DEVICE_LEVEL].append(slot)
        return recall(run, slot, None)

    def _share(self, node: Node, run: Run) -> Run:
        """Let verdicts and explanations share the result of ``all`` and ``exists``. Other loops may
        return long lists, which would take much memory.
        """
        shared = _predicate(node) is not None and self._level(node) == invariants.DEVICE_LEVEL
        return share_loop(run, id(node)) if shared else run

    def _level(self, node: Node) -> int:
        return self._level_of(self.dependencies[id(node)].names)

    def _level_of(self, names: frozenset[str]) -> int:
        def level_of_variable(name: str) -> int | None:
            return self.scope[name].level if name in self.scope else None

        return invariants.level_of(names, level_of_variable)

    def _new_slot(self) -> int:
        # Slots are not reused, since a lazy value may be computed in any scope below its own
        self.slots += 1
        return self.slots - 1

    def _plain(self, node: Node) -> Run:
        match node:
            case Const():
                value = Uint(node.value) if node.kind == "uint" else node.value
                return lambda _: value
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case Comprehension():
                if node.binds:
                    return self._bind(node)
                return self._loop(node) if self.observer is None else self._loop_with_observer(node)
            case StructLiteral():
                built = [(name, self.build(value)) for name, value, _ in node.fields]
                return lambda f: messages.construct(
                    node.name, {name: run(f) for name, run in built}
                )
        raise TypeError(f"unknown node {node!r}")

    # -- leaves ------------------------------------------------------------------------------------

    def _ident(self, node: Ident) -> Run:
        name = node.name
        if name in self.scope:
            slot, kind = self.scope[name].slot, self.scope[name].kind
            if kind == "value":
                return self._resolve_again(lambda f: f[slot])
            if kind == "lazy":
                return self._resolve_again(lambda f: f[slot].get(f))

            def read_accumulator(f: Frame) -> Any:
                value = f[slot]
                if type(value) is CelError:
                    raise value.with_traceback(None)
                return value

            return self._resolve_again(read_accumulator)
        field = _DEVICE_FIELDS.get(name)
        if field is not None:
            return field
        constant = TypeValue(name)
        return lambda _: constant

    def _resolve_again(self, run: Run) -> Run:
        """Adapt the content of an optional again, in a variable and in a branch of ``?:``, as
        cel-go 0.26 does.
        """
        if self.release >= 37:
            return run

        def resolve(f: Frame) -> Any:
            value = run(f)
            if type(value) is Optional and type(value.value) in _NATIVE:
                try:
                    _adapt(value.value)
                except CelError as error:
                    return Optional(error)
            return value

        return resolve

    def _opener(self, container: Node) -> Open:
        """Return the function that unwraps a container that is an optional. To cel-go, a chain of
        selections is one attribute.
        """
        chained = isinstance(container, Select) or (
            isinstance(container, Call) and container.function in _ACCESS
        )
        return _identity if self.release >= 37 or chained else _adapt

    # -- access ------------------------------------------------------------------------------------

    def _select(self, node: Select) -> Run:
        name = node.field
        if self.observer is None:
            shortcut = self._entry(node.operand, name, node.test)
            if shortcut is not None:
                return shortcut
        operand, open_ = self.build(node.operand), self._opener(node.operand)
        if node.test:
            return lambda f: _has(operand(f), name, open_)
        return lambda f: _select(operand(f), name, open_)

    def _entry(self, operand: Node, name: str, test: bool) -> Run | None:
        """Build the read of ``device.attributes["domain"].name`` without building the two maps;
        None for any other expression.
        """
        entry = _domain(operand)
        if entry is None or entry[0] in self.scope:
            return None
        variable, domain = entry
        read = _READERS[variable]
        if test:

            def has(f: Frame) -> bool:
                try:
                    read(f[0], domain, name)
                except KeyError:
                    return False
                return True

            return has
        missing = f"no such key: {name}"

        def get(f: Frame) -> Any:
            try:
                return read(f[0], domain, name)
            except KeyError:
                raise CelError(missing) from None

        return get

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Run:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        operands = node.children()
        if node.function in operators.BINARY and len(operands) == 2:
            return self._binary(node)
        if node.function in operators.UNARY:
            unary = operators.UNARY[node.function]
            operand = self.build(operands[0])
            return lambda f: unary(operand(f))
        # If the pattern is constant, upstream calls the function that library/regex.go has
        # prepared. Its error does not name ``find``.
        pattern = _strip_dyn(node.args[0]) if node.function in ("find", "findAll") else None
        optimized = isinstance(pattern, Const) and pattern.kind == "string"
        run = dispatcher("matches" if optimized else node.function, node.overloads, self.release)
        built = [self.build(operand) for operand in operands]
        if node.function in _PANICKING and len(node.overloads) == 1:
            built = [_require_list(operand) for operand in built]
            if len(built) == 2:  # upstream checks the keys first
                elements, keys = built
                return _strict(lambda b, a: run(a, b), keys, elements)
        if len(built) == 1:
            (only,) = built
            return lambda f: run(only(f))
        if len(built) == 2:
            return _strict(run, *built)
        return lambda f: run(*[operand(f) for operand in built])

    def _binary(self, node: Call) -> Run:
        binary = operators.BINARY[node.function]
        left_node, right_node = node.args
        constant = (
            left_node.value if isinstance(left_node, Const) and left_node.kind == "string" else None
        )
        if binary is v.contains and self.observer is None and constant is not None:
            # "name" in device.attributes["domain"] is handled like has()
            shortcut = self._entry(right_node, constant, True)
            if shortcut is not None:
                return shortcut
        left, right = self.build(left_node), self.build(right_node)
        if binary is v.contains:
            members = _constants(right_node)
            if members is not None:
                # upstream does not search an empty list
                return (lambda f: _member(left(f), members)) if members else lambda _: False
            return _strict(v.contains, left, right)
        if self.observer is None and isinstance(right_node, Const) and right_node.kind == "string":
            text = right_node.value
            if binary is v.equal:

                def equals(f: Frame) -> bool:
                    value = left(f)
                    return value == text if type(value) is str else v.equal(value, text)

                return equals
        if node.function in operators.PLAIN_COMPARISONS:
            plain = operators.PLAIN_COMPARISONS[node.function]
            binary = operators.compare_plain(plain, binary)
        elif node.function in operators.PLAIN_ARITHMETIC:
            plain = operators.PLAIN_ARITHMETIC[node.function]
            binary = operators.compute_plain(plain, binary)
        return _strict(binary, left, right)

    def _logical(self, node: Call) -> Run:
        """Build ``&&`` and ``||``: an operand that decides hides the error of the other operand."""
        left, right = map(self.build, node.args)
        decisive = node.function == "_||_"
        other = not decisive

        def run(f: Frame) -> Any:
            error: CelError | None = None
            try:
                a = left(f)
            except CelError as e:
                error = e
            else:
                if a is decisive:
                    return decisive
                if a is not other:
                    error = v.no_overload()
            if error is None:
                b = right(f)
                if b is True or b is False:
                    return b
                raise v.no_overload()
            try:
                if right(f) is decisive:
                    return decisive
            except CelError:
                pass
            raise error

        return run

    def _conditional(self, node: Call) -> Run:
        return self._resolve_again(_choose_branch(*map(self.build, node.args)))

    def _not_strictly_false(self, node: Call) -> Run:
        operand = self.build(node.args[0])

        def run(f: Frame) -> bool:
            try:
                return operand(f) is not False
            except CelError:
                return True

        return run

    def _index(self, node: Call) -> Run:
        container_node, key_node = node.args
        if self.observer is None and isinstance(key_node, Const) and key_node.kind == "string":
            shortcut = self._entry(container_node, key_node.value, False)
            if shortcut is not None:
                return shortcut
        container, key, open_ = (
            self.build(container_node),
            self.build(key_node),
            self._opener(container_node),
        )

        def run(f: Frame) -> Any:
            value = container(f)
            if type(value) is Optional:
                return _optional_index(value, v.qualifier(key(f)), open_) if value.present else NONE
            return v.index(value, v.qualifier(key(f)))

        return run

    def _optional_access(self, node: Call) -> Run:
        if node.function == "_?._":
            self.hidden.add(id(node.args[1]))  # the name of the field, not a value
        container, key = map(self.build, node.args)
        open_ = self._opener(node.args[0])

        def run(f: Frame) -> Any:
            value = container(f)
            return NONE if value is NONE else _optional_index(value, v.qualifier(key(f)), open_)

        return run

    def _fallback(self, node: Call) -> Run:
        assert node.target is not None
        optional, other = self.build(node.target), self.build(node.args[0])
        whole = node.function == "or"
        lenient = self.release < 37  # cel-go 0.26 returns a value that is not an optional unchanged

        def run(f: Frame) -> Any:
            value = optional(f)
            if type(value) is not Optional:
                if lenient:
                    return value
                raise v.no_overload()
            if value.present:
                return value if whole else v.content_of(value)
            return other(f)

        return run

    def _map_insert(self, node: Call) -> Run:
        built = [self.build(argument) for argument in node.args]

        def run(f: Frame) -> dict[Any, Any]:
            target, *entry = [argument(f) for argument in built]
            added = {v.encode_key(entry[0]): entry[1]} if len(entry) == 2 else entry[0]
            for key in added:
                if key in target:
                    raise CelError(
                        f"insert failed: key {v.text_of_key(v.decode_key(key))} already exists"
                    )
            return {**target, **added}

        return run

    # -- literals ----------------------------------------------------------------------------------

    def _list(self, node: ListLiteral) -> Run:
        built = [self.build(element) for element in node.elements]
        if not node.optional:
            if self.observer is None and all(isinstance(e, Const) for e in node.elements):
                constant = [run([]) for run in built]
                return lambda _: constant
            return lambda f: [run(f) for run in built]
        optional = node.optional

        def run(f: Frame) -> list[Any]:
            elements = []
            for i, element in enumerate(built):
                value = element(f)
                if i not in optional:
                    elements.append(value)
                elif type(value) is not Optional:
                    raise CelError(
                        "cannot initialize optional list element from non-optional value"
                        f" {v.text_of_key(value)}"
                    )
                elif value.present:
                    elements.append(v.content_of(value))
            return elements

        return run

    def _map(self, node: MapLiteral) -> Run:
        built = [(self.build(e.key), self.build(e.value), e.optional) for e in node.entries]

        def run(f: Frame) -> dict[Any, Any]:
            entries: dict[Any, Any] = {}
            for key_run, value_run, optional in built:
                key, value = key_run(f), value_run(f)
                if optional:
                    if type(value) is not Optional:
                        raise CelError(
                            f"cannot initialize optional entry '{v.text_of_key(key)}' from"
                            f" non-optional value {v.text_of_key(value)}"
                        )
                    if not value.present:
                        continue
                    value = v.content_of(value)
                entries[v.encode_key(key)] = value
            return entries

        return run

    # -- variables ---------------------------------------------------------------------------------

    def _bind(self, node: Comprehension) -> Run:
        init = self.build(node.init)
        loops = self.dependencies[id(node.init)].loops
        level = invariants.VARYING if loops else self._level(node.init)
        (slot,), result = self._build_in_scope(
            (node.accumulator,), "lazy", level, lambda: self.build(node.result)
        )

        def run(f: Frame) -> Any:
            put(f, slot, _Lazy(init))
            return result(f)

        return run

    def _loop_with_observer(self, node: Comprehension) -> Run:
        observer, self.observer = self.observer, None
        plain = self._share(node, self._loop(node))
        self.observer = observer
        assert observer is not None
        return observer.observe_loop(self._loop(node), plain)

    def _loop(self, node: Comprehension) -> Run:
        self._hide(node)
        container = self.build(node.range)
        empty_list = isinstance(node.init, ListLiteral) and not node.init.elements
        init = (lambda _: []) if empty_list else self.build(node.init)
        names = (node.variable, node.second) if node.second else (node.variable,)
        level = invariants.DEVICE_LEVEL + len(self.remembered) + 1
        predicate = None if self.observer else self._flat_predicate(node)
        weight = _weight(node.condition) + _weight(node.step)
        same_items = self._level(node.range) == invariants.EXPRESSION_LEVEL

        def build_body() -> _Body:
            outer, self.ceiling = self.ceiling, level
            self.remembered.append([])
            slots, each = self._build_in_scope(
                names,
                "value",
                level,
                lambda: self._round(node, predicate, self._parts(node, level, same_items)),
            )
            remembered = tuple(self.remembered.pop())
            self.ceiling = outer
            loop = Loop(container, slots, remembered, weight)
            return _Body(loop, each, self.build(node.result))

        (total,), body = self._build_in_scope((node.accumulator,), "accumulator", level, build_body)
        loop, each = body.loop, body.round
        if predicate is not None:
            return quantify(loop, each.step, _has_value(node.init, False), each.decider)
        settles = self.observer is None and self._settles(node)
        return repeat(
            loop,
            Accumulation(
                total,
                init,
                each.condition,
                each.step,
                body.result,
                settles,
                each.decider,
                each.idle,
                each.elements,
            ),
        )

    def _parts(self, node: Comprehension, level: int, same_items: bool) -> Parts | None:
        """Return the functions through which bounds read the sub-expressions of a loop.

        ``same_items`` is True if the loop has the same items for all devices.
        """
        if node.second or self.observer is not None:
            return None

        def constant(part: Node) -> Run | None:
            return self.build(part) if self._level(part) < level else None

        def tabular(part: Node) -> Run | None:
            reads = self.dependencies[id(part)]
            others = reads.names - {node.variable}
            if (
                not same_items
                or reads.loops
                or self._level_of(others) > invariants.EXPRESSION_LEVEL
            ):
                return None
            return self.build(part)

        return Parts(node.variable, self.scope[node.variable].slot, constant, tabular)

    def _round(self, node: Comprehension, predicate: Node | None, parts: Parts | None) -> _Round:
        change = predicate or self._change(node)
        decider = self._decider(change, parts, ()) if change is not None and parts else None
        if predicate is not None:
            return _Round(None, self.build(predicate), decider)
        step, always = self._step(node), _has_value(node.condition, True)
        added = _find_element(node.step, node.accumulator) if always else None
        elements = int_elements(added, parts) if added is not None and parts else None
        condition = None if always else self.build(node.condition)
        return _Round(condition, step, decider, _is_all(node), elements)

    def _change(self, node: Comprehension) -> Node | None:
        """Return the condition that decides whether a round has an effect, as in filter and
        exists_one; None if there is none.
        """
        if _has_value(node.condition, True) and _may_keep(node):
            return node.step.children()[0]
        return None if self._settles(node) else _predicate(node)

    def _decider(self, node: Node, parts: Parts, loops: tuple[Inner, ...]) -> Decider | None:
        """Return the decider of the predicate of ``loops``, which may be another such loop."""
        if not self.dependencies[id(node)].loops:
            return nest_decider(node, parts, loops) if loops else _decider(node, parts)
        inner = _predicate(node)
        if (
            inner is None
            or not isinstance(node, Comprehension)
            or node.second
            or self.dependencies[id(node.range)].loops
            or node.variable in (parts.variable, *parts.inner)
        ):
            return None
        items = parts.constant(node.range)
        if items is None:
            return None
        weight = _weight(node.condition) + _weight(node.step)
        loop = Inner(items, weight, not _is_all(node))
        _, decider = self._build_in_scope(
            (node.variable,),
            "value",
            self.scope[parts.variable].level + 1,
            lambda: self._decider(
                inner,
                structs.replace(parts, inner={**parts.inner, node.variable: items}),
                (*loops, loop),
            ),
        )
        return decider

    def _flat_predicate(self, node: Comprehension) -> Node | None:
        """Return the predicate of ``all`` or ``exists``; None if it contains a loop, or if it
        always has the same value.
        """
        loops = self.dependencies[id(node.step)].loops
        return None if loops or self._settles(node) else _predicate(node)

    def _settles(self, node: Comprehension) -> bool:
        """Return True if every round with the same accumulator has the same result and cost."""
        names = self.dependencies[id(node.condition)].names | self.dependencies[id(node.step)].names
        shared = any(
            name in self.scope and self.scope[name].level == invariants.VARYING for name in names
        )
        return not shared and not names & {node.variable, node.second}

    def _step(self, node: Comprehension) -> Run:
        """Return the step of a loop; an append to the accumulator is done in place."""
        step = node.step
        if not _may_keep(node):
            return self._append(step, node.accumulator) or self.build(step)
        condition, change, accumulator = step.children()
        append = self._append(change, node.accumulator)
        if append is None:
            return self.build(step)
        return _choose_branch(self.build(condition), append, self.build(accumulator))

    def _append(self, node: Node, accumulator: str) -> Run | None:
        """Build ``accumulator + [element]``, which the macros map, filter and transformList expand
        to.
        """
        added = _find_element(node, accumulator)
        if added is None:
            return None
        whole, element = self.build(node.children()[0]), self.build(added)

        def append(f: Frame) -> Any:
            elements = whole(f)
            elements.append(element(f))
            return elements

        return append

    def _build_in_scope(
        self, names: tuple[str, ...], kind: str, level: int, inside: Callable[[], T]
    ) -> tuple[tuple[int, ...], T]:
        """Build something with variables in scope; also return the slots of these variables."""
        outer = dict(self.scope)
        slots = tuple(self._new_slot() for _ in names)
        for name, slot in zip(names, slots, strict=True):
            self.scope[name] = _Variable(slot, kind, level)
        result = inside()
        self.scope = outer
        return slots, result

    def _hide(self, node: Comprehension) -> None:
        """Mark the nodes that a macro added, so that they are not observed: nobody wrote them."""
        if self.observer is None:
            return
        stack = [node.init, node.condition, node.result]
        while stack:
            hidden = stack.pop()
            self.hidden.add(id(hidden))
            stack.extend(hidden.children())
        self._hide_step(node.step, node.accumulator)

    def _hide_step(self, node: Node, accumulator: str) -> None:
        if _is_variable(node, accumulator):
            self.hidden.add(id(node))
        if not isinstance(node, Call) or not any(_is_variable(a, accumulator) for a in node.args):
            return
        self.hidden.add(id(node))
        for argument in node.args:
            self._hide_step(argument, accumulator)
        if node.function == "_+_":
            # The node is [element] for map and filter, and 1 for exists_one
            self.hidden.add(id(node.args[1]))


_SPECIAL: dict[str, Callable[[_Builder, Call], Run]] = {
    "_&&_": _Builder._logical,
    "_||_": _Builder._logical,
    "_?_:_": _Builder._conditional,
    "@not_strictly_false": _Builder._not_strictly_false,
    "__not_strictly_false__": _Builder._not_strictly_false,
    "_[_]": _Builder._index,
    "_[?_]": _Builder._optional_access,
    "_?._": _Builder._optional_access,
    "or": _Builder._fallback,
    "orValue": _Builder._fallback,
    "cel.@mapInsert": _Builder._map_insert,
}

_ACCESS = ("_[_]", "_[?_]", "_?._")

_DEVICE_FIELDS: dict[str, Run] = {
    "device": lambda f: f[0].whole,
    "device.driver": lambda f: f[0].driver,
    "device.attributes": lambda f: f[0].attributes,
    "device.capacity": lambda f: f[0].capacity,
    "device.allowMultipleAllocations": lambda f: f[0].shared,
}
_READERS: dict[str, Callable[[Any, str, str], Any]] = {
    "device.attributes": lambda view, domain, name: view.attribute(domain, name),
    "device.capacity": lambda view, domain, name: view.quantity(domain, name),
}


# ext/lists.go assumes that the arguments are lists and does not check them.
_PANICKING = {"distinct", "sort", "@sortByAssociatedKeys"}


_ADDERS = (int, float, str, bytes, v.Duration, v.Timestamp)


def _require_list(operand: Run) -> Run:
    """Return a call that returns a list; upstream panics for any other value."""

    def call(f: Frame) -> Any:
        try:
            value = operand(f)
        except CelError:
            kind, missing = "*types.Err", "Add"
        else:
            if type(value) is list:
                return value
            kind = v.go_name(value)
            missing = (
                "Contains" if isinstance(value, _ADDERS) and not isinstance(value, bool) else "Add"
            )
        raise v.Halted(
            f"internal error: interface conversion: {kind} is not traits.Lister: missing method"
            f" {missing}"
        )

    return call


def _strict(run: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    """Return a call with two operands. The second is evaluated even if the first is an error, since
    the second may abort the evaluation.
    """

    def call(f: Frame) -> Any:
        try:
            a = left(f)
        except CelError:
            with suppress(CelError):
                right(f)
            raise
        return run(a, right(f))

    return call


def _has_value(node: Node, value: bool) -> bool:
    return isinstance(node, Const) and node.value is value


def _predicate(node: Node) -> Node | None:
    """Return the predicate of ``all`` or ``exists``; None for any other node."""
    if not isinstance(node, Comprehension):
        return None
    step = node.step
    if not (
        isinstance(step, Call)
        and step.function in ("_&&_", "_||_")
        and _is_variable(step.args[0], node.accumulator)
        and _is_variable(node.result, node.accumulator)
        and isinstance(node.init, Const)
        and node.init.value is (step.function == "_&&_")
    ):
        return None
    return step.args[1]


def _is_all(node: Comprehension) -> bool:
    return _has_value(node.init, True)


def _may_keep(node: Comprehension) -> bool:
    """Return True for the step ``condition ? change : accumulator``."""
    step = node.step
    return (
        isinstance(step, Call)
        and step.function == "_?_:_"
        and _is_variable(step.args[2], node.accumulator)
    )


def _decider(predicate: Node, parts: Parts) -> Decider | None:
    bounds = predicate_bounds(predicate, parts)
    return None if bounds is None else Decider(bounds, predicate_regions(predicate, parts))


def _find_element(node: Node, accumulator: str) -> Node | None:
    """Return the element of ``accumulator + [element]``; None for any other node."""
    if not (
        isinstance(node, Call)
        and node.function == "_+_"
        and _is_variable(node.args[0], accumulator)
    ):
        return None
    added = node.args[1]
    if not isinstance(added, ListLiteral) or len(added.elements) != 1 or added.optional:
        return None
    return added.elements[0]


def _is_variable(node: Node, name: str) -> bool:
    return isinstance(node, Ident) and node.name == name


def _domain(node: Node) -> tuple[str, str] | None:
    """Return the variable and the domain of ``device.attributes["domain"]`` or
    ``device.capacity.domain``.
    """
    if isinstance(node, Select) and not node.test:
        container, domain = node.operand, node.field
    elif isinstance(node, Call) and node.function == "_[_]" and isinstance(node.args[1], Const):
        container, domain = node.args[0], node.args[1].value
        if node.args[1].kind != "string":
            return None
    else:
        return None
    return (
        (container.name, domain)
        if isinstance(container, Ident) and container.name in _READERS
        else None
    )


def _weight(node: Node) -> int:
    """Return the approximate minimum cost of evaluating a node: its variables, selections and calls
    (interpreter/runtimecost.go).
    """
    count = 0
    stack = [node]
    while stack:
        current = stack.pop()
        free = isinstance(current, Const) or (
            isinstance(current, Call) and current.function in _FREE
        )
        count += not free
        stack.extend(
            current.children() if not isinstance(current, Comprehension) else (current.range,)
        )
    return count


_FREE = {"_&&_", "_||_", "_?_:_", "@not_strictly_false"}


def _constants(node: Node) -> frozenset[Any] | None:
    """Return the elements of a literal list of constants, which upstream turns into a hash set
    (interpreter/optimizations via planner.go maybeOptimizeSetMembership).
    """
    if not isinstance(node, ListLiteral) or node.optional:
        return None
    members = []
    for element in map(_strip_dyn, node.elements):
        if not isinstance(element, Const) or element.kind not in (
            "bool",
            "int",
            "uint",
            "double",
            "string",
        ):
            return None
        members.append(v.encode_key(element.value))
    return frozenset(members)


def _strip_dyn(node: Node) -> Node:
    while isinstance(node, Call) and node.function == "dyn":
        node = node.args[0]
    return node


def _member(value: Any, members: frozenset[Any]) -> bool:
    if type(value) in v.KEY_TYPES:
        return v.encode_key(value) in members
    if isinstance(value, v.UNHASHABLE):
        raise v.hash_panic(value)
    return False


Open = Callable[[Any], Any]
"""A function that unwraps the content of an optional when something is selected from it."""


def _identity(value: Any) -> Any:
    return value


def _adapt(value: Any) -> Any:
    """Convert a native value again as cel-go 0.26 does. CelError for Kubernetes' types, which that
    conversion does not support.
    """
    native = _NATIVE.get(type(value))
    if native:
        raise CelError(f"unsupported conversion to ref.Val: ({native}){_text_of(value)}")
    return value


_NATIVE = {
    Quantity: "*resource.Quantity",
    v.Sum: "*resource.Quantity",
    Version: "semver.Version",
    v.IP: "netip.Addr",
    v.CIDR: "netip.Prefix",
    v.URL: "*url.URL",
}


def _text_of(value: Any) -> str:
    match value:
        case v.IP():
            return str(value.address)
        case v.CIDR():
            return f"{value.address}/{value.length}"
        case v.URL():
            return str(value.text)
    return str(value)


def _select(container: Any, name: str, open_: Open) -> Any:
    if type(container) is Optional:
        return _optional_index(container, name, open_)
    return v.select(container, name)


def _has(container: Any, name: str, open_: Open) -> bool:
    if type(container) is Optional:
        return container.present and _has(open_(v.content_of(container)), name, open_)
    if isinstance(container, dict):
        return v.find(container, name)[1]
    if type(container) is list:
        v.list_index(name)
    return False


def _optional_index(container: Any, key: Any, open_: Open) -> Optional:
    """Evaluate ``container[?key]`` and ``container.?key``."""
    if type(container) is Optional:
        if not container.present:
            return NONE
        container = open_(v.content_of(container))
    if isinstance(container, dict):
        value, exists = v.find(container, key)
        return Optional(value) if exists else NONE
    if type(container) is list:
        position = v.list_index(key)
        return Optional(container[position]) if 0 <= position < len(container) else NONE
    return NONE


def _choose_branch(condition: Run, yes: Run, no: Run) -> Run:
    """Build ``condition ? yes : no``."""

    def run(f: Frame) -> Any:
        value = condition(f)
        if value is True:
            return yes(f)
        if value is False:
            return no(f)
        raise v.no_overload()

    return run
