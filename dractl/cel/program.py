"""A compiled expression: its verdict at admission, its result on devices, the parts it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from dractl.cel import conditions, decisions, lookups, tautologies, tracing
from dractl.cel.ast import Checked
from dractl.cel.closures import Outcome
from dractl.cel.conditions import Comparison, Excerpt
from dractl.cel.decisions import Decision
from dractl.cel.declarations import Declarations
from dractl.cel.device import DeviceLike, Field, View
from dractl.cel.evaluation import build, frame
from dractl.cel.issues import Issue
from dractl.cel.lookups import Lookup
from dractl.cel.spans import Spans
from dractl.cel.tokens import Token, tokenize
from dractl.cel.tracing import Trace
from dractl.cel.values import CelError, Halted, to_bool
from dractl.properties import cached_property

Admission = Literal["ok", "invalid", "tooComplex", "tooLong", "unchecked"]


class EvalError(Struct, frozen=True):
    """An evaluation that failed."""

    text: str
    """Upstream's text, without the names of selector and device."""


_MAX_REMEMBERED = 65536  # number of results that are cached for one expression


class Program(Struct, frozen=True, eq=False, dict=True):
    """The result of ``Environment.compile``. A program that is :attr:`ok` can be evaluated, even if
    ``admission`` is a refusal.
    """

    text: str
    declarations: Declarations
    admission: Admission
    """The server's answer: ``invalid``, ``tooComplex`` (``max_cost`` above 1,000,000), ``tooLong``
    (more than 10,240 bytes), else ``ok``; or ``unchecked`` if the library that compiles
    expressions is missing (:mod:`dractl.cel_library`).
    """
    issues: tuple[Issue, ...] = ()
    error: str | None = None
    """The error that the API server reports; None if the expression compiles."""
    error_type: Literal["RuleInvalid", "InternalError"] | None = None
    output_type: str | None = None
    """The type of the result; None if the expression does not compile."""
    max_cost: int | None = None
    """The estimated cost; None if the expression does not compile."""
    checked: Checked | None = None
    _memory: dict[Any, bool | EvalError] = field(default_factory=dict)
    _outcomes: dict[Any, dict[int, Outcome]] = field(default_factory=dict)
    _implications: dict[tuple[Program, ...], bool] = field(default_factory=dict)
    _decisions: dict[Any, Decision] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Program({self.text!r}, {self.admission})"

    @property
    def ok(self) -> bool:
        """True if the expression compiles."""
        return self.error is None

    @cached_property
    def reads(self) -> frozenset[Field] | None:
        """The parts of a device that the result depends on; None if it may depend on all of them,
        or does not compile.
        """
        return None if self.checked is None else lookups.reads(self.checked.root)

    @cached_property
    def outcomes(self) -> frozenset[bool | None]:
        """The results that are possible on any device, with None for a failure; a result that is
        not in the set never occurs. The set has all results if the expression does not compile.
        """
        return (
            frozenset((True, False, None))
            if self.checked is None
            else tautologies.outcomes(self.checked.root)
        )

    def excludes(self, others: Sequence[Program]) -> bool:
        """Return True if no device satisfies this expression and all the others. ValueError if one
        of the expressions does not compile.
        """
        return True not in tautologies.outcomes(
            *(program._tree.root for program in (*others, self))
        )

    def follows_from(self, others: Sequence[Program]) -> bool:
        """Return True if this expression is true on every device that satisfies all the others.
        ValueError if one of the expressions does not compile.
        """
        key = tuple(others)
        if key not in self._implications:
            self._implications[key] = tautologies.is_implied(
                self._tree.root, *(program._tree.root for program in key)
            )
        return self._implications[key]

    def evaluate(self, driver: str, device: DeviceLike) -> bool | EvalError:
        """Return the result that kube-scheduler gets for this device; it is cached by the fields
        that the expression reads.

        ValueError if the expression does not compile (:attr:`ok`).
        """
        view = View(driver, device)
        fault = view.fault(self.declarations.list_values)
        if fault is not None:
            return EvalError(fault)
        fields = self._fields
        if fields is None:
            return self._verdict(view)
        key = view.memory_key(fields)
        result = self._memory.get(key)
        if result is None:
            result = self._verdict(view)
            if len(self._memory) < _MAX_REMEMBERED:
                self._memory[key] = result
                if view.outcomes:
                    self._outcomes[key] = view.outcomes
        return result

    def memory_key(self, driver: str, device: DeviceLike) -> tuple[Any, ...] | None:
        """Return a key that is equal for devices on which each expression with the same reads has
        one result; None if a device has no such key.
        """
        view, fields = View(driver, device), self._fields
        if fields is None or view.fault(self.declarations.list_values) is not None:
            return None
        return view.memory_key(fields)

    def value(self, driver: str, device: DeviceLike) -> Any:
        """Return the value of the expression, of any type (:mod:`dractl.cel.values`), or an
        EvalError; this is for derived attributes.
        """
        view = View(driver, device)
        fault = view.fault(self.declarations.list_values)
        return self._run(view) if fault is None else EvalError(fault)

    def trace(self, driver: str, device: DeviceLike) -> Trace:
        """Return the evaluation, sub-expression by sub-expression. ValueError when the expression
        does not compile.
        """
        return tracing.Tracer(self._tree, self.declarations, tracing.MAX_TRACES).trace(
            View(driver, device)
        )

    def decision(self, driver: str, device: DeviceLike) -> Decision:
        """Return the part of the expression that made it true, false or an error on a device, and
        the values it saw. ValueError if the expression does not compile.
        """
        view = View(driver, device)
        fields = None if view.fault(self.declarations.list_values) else self._fields
        key = None if fields is None else view.memory_key(fields)
        decision = None if key is None else self._decisions.get(key)
        if decision is None:
            view = View(driver, device, self._outcomes.get(key))
            decision = decisions.decision(self._tracer.trace(view), self.lookups)
            if key is not None and len(self._decisions) < _MAX_REMEMBERED:
                self._decisions[key] = decision
        return decision

    # -- contents, for people and rules; from the tokens if the expression does not compile --------

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        """The attributes and capacities that the expression names, in the order of its text."""
        if self.checked is None:
            return lookups.from_tokens(self.text)
        return lookups.from_tree(self.checked.root, self.spans)

    @cached_property
    def conjuncts(self) -> tuple[Excerpt, ...]:
        """The conditions that must all hold; the whole expression if it does not compile."""
        if self.checked is None:
            return (Excerpt(0, len(self.text), self.text),)
        return conditions.conjuncts(self.checked.root, self.spans)

    @cached_property
    def conjunct_programs(self) -> tuple[Program, ...]:
        """Each of :attr:`conjuncts` as a program, with places in the whole text; the program itself
        if it does not compile.

        Compiling the text of a part again would take an environment of its own, which costs 6 ms.
        """
        if self.checked is None:
            return (self,)
        return tuple(
            Program(
                self.text,
                self.declarations,
                self.admission,
                output_type=node.type,
                checked=Checked(node, self.checked.source),
            )
            for node in conditions.walk_conjuncts(self.checked.root)
        )

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The comparisons of a lookup, or of the driver, with literals. If the expression does not
        compile, only comparisons of the driver are included.
        """
        if self.checked is None:
            return conditions.driver_comparisons(self.text)
        return conditions.comparisons(self.checked.root, self.spans, self.lookups)

    @cached_property
    def spans(self) -> Spans:
        """The places of the sub-expressions. ValueError when the expression does not compile."""
        return Spans(self._tree)

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens without spaces and comments."""
        return tokenize(self.text) if self.checked is None else self.spans.tokens

    @cached_property
    def mentions_driver(self) -> bool:
        """True if ``device.driver`` occurs in the expression, outside comments and strings."""
        words = [token.text for token in self.tokens]
        return any(words[i : i + 3] == ["device", ".", "driver"] for i in range(len(words) - 2))

    @cached_property
    def drivers(self) -> frozenset[str]:
        """The drivers that the expression names: ``device.driver == "..."``, or ``in [...]``."""
        return frozenset(
            literal.value
            for comparison in self.comparisons
            if comparison.lookup is None
            and comparison.operator in ("==", "in")
            and not comparison.negated
            for literal in comparison.literals
        )

    @cached_property
    def driver(self) -> str | None:
        """The one driver that the expression requires of a device; None if it requires none, or
        allows several.
        """
        for comparison in self.comparisons:
            decides = (
                comparison.lookup is None
                and comparison.required
                and comparison.operator in ("==", "in")
            )
            if decides and len(comparison.literals) == 1:
                return str(comparison.literals[0].value)
        return None

    @property
    def _tree(self) -> Checked:
        if self.checked is None:
            raise ValueError(f"this expression does not compile: {self.error}")
        return self.checked

    @cached_property
    def _fields(self) -> tuple[Field, ...] | None:
        return None if self.reads is None else tuple(sorted(self.reads, key=str))

    @cached_property
    def _run(self) -> Callable[[View], Any]:
        run = build(self._tree.root, self.declarations.release)

        def value(view: View) -> Any:
            try:
                return run(frame(view))
            except (CelError, Halted) as error:
                return EvalError(str(error))

        return value

    @cached_property
    def _tracer(self) -> tracing.Tracer:
        return tracing.Tracer(self._tree, self.declarations, decisions.MAX_TRACES)

    def _verdict(self, view: View) -> bool | EvalError:
        result = self._run(view)
        if result is True or result is False or type(result) is EvalError:
            return result
        try:
            return to_bool(result)
        except CelError as error:
            return EvalError(str(error))
