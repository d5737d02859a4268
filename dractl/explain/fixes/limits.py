"""Fixes for pods that a LimitRange refuses."""

from collections.abc import Iterator

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.explain.fixes.candidates import Candidate, FixProblem, FixSlot, Topic
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.registry import fix_for
from dractl.reasons.between import PodsNotCreated
from dractl.scheduler.snapshot import quantity

_CONTAINERS = ("spec", "template", "spec", "containers")


@fix_for(PodsNotCreated)
def within(problem: FixProblem, cause: PodsNotCreated) -> Iterator[Candidate]:
    """Requests and limits of the containers as the LimitRange lets them be, written where the pods are."""
    kind, key = problem.question.kind, problem.question.key
    value, bound = problem.state.get(kind, key), cause.bound
    if value is None or bound is None or bound.of != "Container":
        return
    operations, told = [], []
    for index, container in enumerate(maps_at(value, *_CONTAINERS)):
        for field in ("limits", "requests"):
            amount = map_at(container, "resources", field).get(bound.resource)
            wrong = amount is not None and (
                quantity(amount) < quantity(bound.amount) if bound.least else quantity(bound.amount) < quantity(amount)
            )
            if wrong:
                path = pointer(*_CONTAINERS, index, "resources", field, bound.resource)
                operations.append({"op": "replace", "path": path, "value": bound.amount})
                told.append(f"{field}.{bound.resource} of container {text_at(container, 'name')} from {amount}")
    if operations:
        ranges = " or ".join(_ranges(problem, key[0], bound.resource))
        yield Candidate(
            f"{'raise' if bound.least else 'lower'} {' and '.join(told)} to {bound.amount}",
            (Patch("/".join((kind, *key)), tuple(operations)),),
            FixSlot(Topic.AMOUNT, bound.resource),
            Preference.LESS,
            effect=f"LimitRange {ranges} allows no {'less' if bound.least else 'more'}" if ranges else "",
        )


def _ranges(problem: FixProblem, namespace: str, resource: str) -> list[str]:
    """The LimitRanges of a namespace that limit a resource of containers."""
    return [
        "/".join(key)
        for key, value in problem.state.all("LimitRange").items()
        if key[0] == namespace
        and any(resource in {**map_at(of, "min"), **map_at(of, "max")} for of in maps_at(value, "spec", "limits"))
    ]
