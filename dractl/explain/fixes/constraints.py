"""Fixes in a constraint: a coarser attribute, the name that is published, fewer requests, no constraint."""

from collections.abc import Iterator, Sequence

from dractl.cluster.changes import Patch
from dractl.cluster.state import maps_at, text_at
from dractl.explain.fixes.candidates import (
    Candidate,
    EditablePart,
    FixProblem,
    FixSlot,
    Topic,
    fix_once_for,
)
from dractl.explain.fixes.edits import Operation, remove
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.base import OfRequest, OfRequests
from dractl.explain.reasons.constraints import AttributeMissing, AttributeType
from dractl.explain.reasons.scheduling import SchedulerError, TimeoutRisk, UpstreamBug
from dractl.objects import Constraint
from dractl.scheduler.claims import PodClaim

_COARSER_ATTRIBUTES = {
    "resource.kubernetes.io/pcieRoot": ("resource.kubernetes.io/numaNode",),
    "resource.kubernetes.io/numaNode": ("resource.kubernetes.io/cpuSocketID",),
}


@fix_once_for(OfRequest, OfRequests, SchedulerError, TimeoutRisk, UpstreamBug)
def relax_constraints(problem: FixProblem) -> Iterator[Candidate]:
    """Every way to relax every constraint of the claims that cannot be allocated."""
    for claim in problem.claims:
        constraints = problem.editable_constraints(claim) if not claim.allocated else []
        for index, written in enumerate(constraints):
            kind, attribute = written.part.kind, written.part.attribute
            where = f"{written.target} {index}"
            for other in _alternative_attributes(problem, attribute):
                corrects = other in _nearest_published(problem, attribute)
                yield Candidate(
                    f"change the {_short_name(attribute)} constraint to {other}",
                    (written.put(kind, value=other),),
                    FixSlot(Topic.CONSTRAINT, f"{where} attribute"),
                    Preference.CORRECT if corrects else Preference.LESS,
                    effect=""
                    if corrects
                    else f"the devices then share only the {_short_name(other)}",
                    corrects=corrects,
                )
            yield from _limit_requests(claim, written, where)
            removed = written.part.path if len(constraints) > 1 else written.part.path[:-1]
            yield Candidate(
                f"remove the {_short_name(attribute)} constraint",
                (
                    Patch(
                        written.target,
                        (remove(*removed), *_remove_unused_attributes(claim, constraints, index)),
                    ),
                ),
                FixSlot(Topic.CONSTRAINT, f"{where} removed"),
                Preference.DROP,
                effect="the devices may not be aligned"
                if kind == "matchAttribute"
                else "the devices may be alike",
            )


def _remove_unused_attributes(
    claim: PodClaim, constraints: Sequence[EditablePart[Constraint]], index: int
) -> Iterator[Operation]:
    """Removals of the derived attributes that only this constraint reads: the API server wants each to be read."""
    own = constraints[index].part
    devices, attribute = own.path[:-2], own.attribute
    if any(
        other.part.attribute == attribute for at, other in enumerate(constraints) if at != index
    ):
        return
    for number, request in enumerate(maps_at(claim.value, "spec", "devices", "requests")):
        alternatives = (
            ("firstAvailable", i) for i, _ in enumerate(maps_at(request, "firstAvailable"))
        )
        for option in (("exactly",), *alternatives):
            path = (*devices, "requests", number, *option, "derivedAttributes")
            derived = maps_at(request, *option, "derivedAttributes")
            there = [i for i, one in enumerate(derived) if text_at(one, "name") == attribute]
            if there:
                yield remove(*path) if len(derived) == 1 else remove(*path, there[0])


def _nearest_published(problem: FixProblem, attribute: str) -> list[str]:
    """The published names that a constraint's attribute was probably meant to be."""
    missing = [
        c for c in problem.causes if isinstance(c, AttributeMissing) and c.attribute == attribute
    ]
    return [
        c.nearest
        for c in missing
        if c.nearest and all(o.nearest in (c.nearest, None) for o in missing)
    ]


def _alternative_attributes(problem: FixProblem, attribute: str) -> Iterator[str]:
    """Attributes to constrain by instead."""
    yield from _COARSER_ATTRIBUTES.get(attribute, ())
    yield from _nearest_published(problem, attribute)
    if any(
        isinstance(c, AttributeMissing | AttributeType) and c.attribute == attribute
        for c in problem.causes
    ):
        for standard in ("resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"):
            if standard != attribute:
                yield standard


def _limit_requests(
    claim: PodClaim, written: EditablePart[Constraint], where: str
) -> Iterator[Candidate]:
    """The constraint over fewer requests, or over one alternative of a request only."""
    if claim.claim is None:
        return
    requests = claim.claim.spec.devices.requests
    names = written.part.requests or [r.name for r in requests]

    def candidate(left: list[str], to: str, degree: int) -> Candidate:
        return Candidate(
            f"limit the {_short_name(written.part.attribute)} constraint to {to}",
            (written.put("requests", value=left),),
            FixSlot(Topic.CONSTRAINT, f"{where} requests"),
            Preference.RELAX,
            degree=degree,
        )

    for request in requests:
        if request.name not in names or not request.first_available:
            continue
        for sub in request.first_available:
            left = [f"{request.name}/{sub.name}" if n == request.name else n for n in names]
            yield candidate(left, f"the alternative {request.name}/{sub.name}", 0)
    counts = {r.name: r.exactly.count or 1 if r.exactly else 1 for r in requests}
    for name in names if len(names) > 1 else ():
        left = [n for n in names if n != name]
        if len(left) > 1 or counts.get(left[0], 1) > 1:  # else it is the same as no constraint
            yield candidate(left, f"request{'s' if len(left) > 1 else ''} {', '.join(left)}", 1)


def _short_name(attribute: str) -> str:
    return attribute.rpartition("/")[2]
