"""Fixes for pods that start together or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dractl.cluster.changes import Patch
from dractl.cluster.state import Key
from dractl.explain.answer import Fix
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import replace as replace_field
from dractl.explain.fixes.makers import fix_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.gangs import GangIncomplete, GangTooSmall
from dractl.explain.reasons.phrases import join_clauses

_MIN_COUNT = ("spec", "schedulingPolicy", "gang", "minCount")


@fix_for(GangTooSmall, GangIncomplete)
def lower_min_count(
    problem: FixProblem, cause: GangTooSmall | GangIncomplete
) -> Iterator[Candidate]:
    """Lower the number of pods that start together to as many as fit."""
    kind, _, name = cause.group.partition(" ")
    is_mutable = kind == "PodGroup" and problem.scheduler.features.has("minimum-mutable")
    if not cause.have or not is_mutable:
        return
    yield Candidate(
        f"lower minCount of {cause.group} from {cause.want} to {cause.have}",
        (Patch(f"{kind}/{name}", (replace_field(_MIN_COUNT, cause.have),)),),
        FixSlot(Topic.GANG),
        Preference.RELAX,
        effect="if its pods can work with so few of them",
    )


def name_changed_pod(fix: Fix, pod: Key) -> Fix:
    """Name the changed pod in a fix that changes another pod of the gang than the subject."""
    changes = (*fix.changes, *fix.tried)
    targets = {change.target for change in changes if isinstance(change, Patch)}
    if "/".join(("Pod", *pod)) not in targets:
        return fix
    return replace(fix, effect=join_clauses(f"of pod {pod[1]}", fix.effect))
