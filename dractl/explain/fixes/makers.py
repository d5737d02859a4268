"""The registry of makers of candidates, by cause: importing a module registers its makers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dractl.explain.fixes.candidates import Candidate
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.base import Cause

CauseMaker = Callable[[FixProblem, Any], Iterator[Candidate]]
ProblemMaker = Callable[[FixProblem], Iterator[Candidate]]


F = TypeVar("F", bound="CauseMaker")
G = TypeVar("G", bound="ProblemMaker")

_CAUSE_MAKERS: list[tuple[tuple[type[Cause], ...], CauseMaker]] = []
_PROBLEM_MAKERS: list[tuple[tuple[type[Cause], ...], ProblemMaker]] = []


def fix_for(*causes: type[Cause]) -> Callable[[F], F]:
    """Register a maker that is called with the problem and each cause of the given classes."""

    def register(maker: F) -> F:
        _CAUSE_MAKERS.append((causes, maker))
        return maker

    return register


def fix_once_for(*causes: type[Cause]) -> Callable[[G], G]:
    """Register a maker that is called once if any cause is of the given classes.

    It looks at all claims, nodes or surveys together.
    """

    def register(maker: G) -> G:
        _PROBLEM_MAKERS.append((causes, maker))
        return maker

    return register


def make_candidates(problem: FixProblem) -> Iterator[Candidate]:
    """Yield every candidate for the causes of a problem."""
    kinds = {type(cause) for cause in problem.causes}
    for classes, make_once in _PROBLEM_MAKERS:
        if any(issubclass(kind, classes) for kind in kinds):
            yield from make_once(problem)
    for classes, make in _CAUSE_MAKERS:
        matching = {kind for kind in kinds if issubclass(kind, classes)}
        for cause in [cause for cause in problem.causes if type(cause) in matching]:
            yield from make(problem, cause)
