"""The makers of fixes and the causes that they are for. Importing a module registers its makers."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dractl.explain.fixes.candidates import Candidate, FixProblem
from dractl.reasons.base import Cause

ForCause = Callable[[FixProblem, Any], Iterator[Candidate]]
Once = Callable[[FixProblem], Iterator[Candidate]]


F = TypeVar("F", bound="ForCause")
G = TypeVar("G", bound="Once")

_BY_CAUSE: list[tuple[tuple[type[Cause], ...], ForCause]] = []
_ONCE: list[tuple[tuple[type[Cause], ...], Once]] = []


def fix_for(*causes: type[Cause]) -> Callable[[F], F]:
    """Registers a maker that is called with the problem and each cause of these classes."""

    def register(maker: F) -> F:
        _BY_CAUSE.append((causes, maker))
        return maker

    return register


def fix_once_for(*causes: type[Cause]) -> Callable[[G], G]:
    """Registers a maker that is called once if any cause is of these classes: it looks at all claims, nodes or surveys
    together."""

    def register(maker: G) -> G:
        _ONCE.append((causes, maker))
        return maker

    return register


def candidates(problem: FixProblem) -> Iterator[Candidate]:
    """Every candidate for the causes of a problem."""
    for classes, once in _ONCE:
        if any(isinstance(cause, classes) for cause in problem.causes):
            yield from once(problem)
    for classes, maker in _BY_CAUSE:
        for cause in problem.causes:
            if isinstance(cause, classes):
                yield from maker(problem, cause)
