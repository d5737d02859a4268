"""Relax a constraint: a coarser attribute, the published name, fewer requests, no constraint."""

from collections.abc import Iterator, Sequence

from dractl.cluster.changes import Patch
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import Operation, remove
from dractl.explain.fixes.makers import fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import EditablePart, FixProblem
from dractl.explain.reasons.base import RequestCause, RequestsCause
from dractl.explain.reasons.constraints import AttributeMissing, AttributeType
from dractl.explain.reasons.scheduling import SchedulerError, TimeoutRisk, UpstreamBug
from dractl.objects import Constraint
from dractl.scheduler.claims import PodClaim
from dractl.views import Claim

_COARSER_ATTRIBUTES = {
    "resource.kubernetes.io/pcieRoot": ("resource.kubernetes.io/numaNode",),
    "resource.kubernetes.io/numaNode": ("resource.kubernetes.io/cpuSocketID",),
}


@fix_once_for(RequestCause, RequestsCause, SchedulerError, TimeoutRisk, UpstreamBug)
def relax_constraints(problem: FixProblem) -> Iterator[Candidate]:
    """Relax each constraint of the claims that cannot be allocated, in every way."""
    for claim in problem.claims:
        constraints = problem.editable_constraints(claim) if not claim.allocated else []
        for index, constraint in enumerate(constraints):
            yield from _replace_attribute(problem, constraint, index)
            if problem.case.has_enough_devices:
                yield from _limit_requests(claim, constraint, index)
                yield _remove_constraint(claim, constraints, index)


def _slot(constraint: EditablePart[Constraint], index: int, aspect: str) -> FixSlot:
    """Return the slot of fixes that change one aspect of a constraint."""
    return FixSlot(Topic.CONSTRAINT, f"{constraint.target} {index} {aspect}")


def _replace_attribute(
    problem: FixProblem, constraint: EditablePart[Constraint], index: int
) -> Iterator[Candidate]:
    """Replace the attribute of a constraint by the one that was meant, or by a coarser one."""
    attribute = constraint.part.attribute
    nearest_attributes = _find_nearest(problem, attribute)
    enough = problem.case.has_enough_devices
    for alternative in _list_alternatives(problem, attribute) if enough else nearest_attributes:
        corrects = alternative in nearest_attributes
        effect = f"the devices then share only the {_short_name(alternative)}"
        yield Candidate(
            f"change the {_short_name(attribute)} constraint to {alternative}",
            (constraint.put((constraint.part.kind,), alternative),),
            _slot(constraint, index, "attribute"),
            Preference.CORRECT if corrects else Preference.LESS,
            effect="" if corrects else effect,
            corrects=corrects,
        )


def _remove_constraint(
    claim: PodClaim, constraints: Sequence[EditablePart[Constraint]], index: int
) -> Candidate:
    """Remove a constraint, or the whole list if it is the only one."""
    constraint = constraints[index]
    path = constraint.part.path if len(constraints) > 1 else constraint.part.path[:-1]
    operations = (remove(path), *_remove_unused_attributes(claim, constraints, index))
    is_match = constraint.part.kind == "matchAttribute"
    return Candidate(
        f"remove the {_short_name(constraint.part.attribute)} constraint",
        (Patch(constraint.target, operations),),
        _slot(constraint, index, "removed"),
        Preference.DROP,
        effect="the devices may not be aligned" if is_match else "the devices may be alike",
    )


def _remove_unused_attributes(
    claim: PodClaim, constraints: Sequence[EditablePart[Constraint]], index: int
) -> Iterator[Operation]:
    """Remove the derived attributes that only this constraint reads.

    The API server requires that a constraint reads each derived attribute.
    """
    constraint = constraints[index].part
    others = (*constraints[:index], *constraints[index + 1 :])
    if any(other.part.attribute == constraint.attribute for other in others):
        return
    for number, request in enumerate(Claim(claim.value).requests):
        for option in request.options:
            names = option.derived_attributes
            if constraint.attribute in names:
                request_path = (*constraint.path[:-2], "requests", number)
                path = (*request_path, *option.path, "derivedAttributes")
                position = names.index(constraint.attribute)
                yield remove(path) if len(names) == 1 else remove((*path, position))


def _find_nearest(problem: FixProblem, attribute: str) -> list[str]:
    """Return the published names that resemble the attribute of a constraint."""
    names = [
        cause.nearest
        for cause in problem.causes
        if isinstance(cause, AttributeMissing) and cause.attribute == attribute and cause.nearest
    ]
    return names if len(set(names)) == 1 else []


def _list_alternatives(problem: FixProblem, attribute: str) -> Iterator[str]:
    """Yield other attributes that the constraint could use."""
    yield from _COARSER_ATTRIBUTES.get(attribute, ())
    yield from _find_nearest(problem, attribute)
    if any(
        isinstance(cause, AttributeMissing | AttributeType) and cause.attribute == attribute
        for cause in problem.causes
    ):
        standards = ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode")
        yield from (standard for standard in standards if standard != attribute)


def _limit_requests(
    claim: PodClaim, constraint: EditablePart[Constraint], index: int
) -> Iterator[Candidate]:
    """Limit a constraint to fewer requests, or to one alternative of a request."""
    if claim.claim is None:
        return
    requests = claim.claim.spec.devices.requests
    names = constraint.part.requests or [request.name for request in requests]

    def limit(remaining: list[str], noun: str, degree: int) -> Candidate:
        return Candidate(
            f"limit the {_short_name(constraint.part.attribute)} constraint to {noun}",
            (constraint.put(("requests",), remaining),),
            _slot(constraint, index, "requests"),
            Preference.RELAX,
            degree=degree,
        )

    for request in requests:
        for alternative in request.first_available or () if request.name in names else ():
            full_name = f"{request.name}/{alternative.name}"
            remaining = [full_name if name == request.name else name for name in names]
            yield limit(remaining, f"the alternative {full_name}", 0)
    counts = {r.name: r.exactly.count or 1 if r.exactly else 1 for r in requests}
    for name in names if len(names) > 1 else ():
        remaining = [other for other in names if other != name]
        # A constraint over a single device has no effect.
        if len(remaining) > 1 or counts.get(remaining[0], 1) > 1:
            noun = "requests" if len(remaining) > 1 else "request"
            yield limit(remaining, f"{noun} {', '.join(remaining)}", 1)


def _short_name(attribute: str) -> str:
    """Return the name of an attribute without its domain."""
    return attribute.rpartition("/")[2]
