"""Fixes for pods that start together or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import Key
from dractl.explain.answer import Fix
from dractl.explain.fixes.candidates import Candidate, FixProblem, FixSlot, Topic, fix_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.gangs import GangIncomplete, GangTooSmall

_MIN_COUNT = ("spec", "schedulingPolicy", "gang", "minCount")


@fix_for(GangTooSmall, GangIncomplete)
def lower_min_count(
    problem: FixProblem, cause: GangTooSmall | GangIncomplete
) -> Iterator[Candidate]:
    """Fewer pods that start together: as many as fit."""
    kind, _, name = cause.group.partition(" ")
    if (
        kind != "PodGroup"
        or not cause.have
        or not problem.scheduler.features.has("minimum-mutable")
    ):
        return
    lower = {"op": "replace", "path": pointer(*_MIN_COUNT), "value": cause.have}
    yield Candidate(
        f"lower minCount of {cause.group} from {cause.want} to {cause.have}",
        (Patch(f"{kind}/{name}", (lower,)),),
        FixSlot(Topic.GANG),
        Preference.RELAX,
        effect="if its pods can work with so few of them",
    )


def name_changed_pod(fix: Fix, pod: Key) -> Fix:
    """A fix that says which pod it changes, where that is another one of the group that is asked about."""
    target = "/".join(("Pod", *pod))
    changed = {c.target for c in (*fix.changes, *fix.tried) if isinstance(c, Patch)}
    return (
        replace(fix, effect="; ".join(filter(None, (f"of pod {pod[1]}", fix.effect))))
        if target in changed
        else fix
    )
