"""Causes that keep a pod's group from starting, although its pods fit one by one."""

from msgspec import Struct
from msgspec.structs import replace

from dractl.capacity import gangs
from dractl.capacity.gangs import GangWait
from dractl.cluster.state import ClusterState, parse_key
from dractl.explain.context import Case
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.gangs import (
    GangHeldBack,
    GangIncomplete,
    GangTooSmall,
    PodGroupMissing,
    PodGroupRefused,
)
from dractl.explain.reasons.headline import Headline
from dractl.explain.reasons.phrases import Names
from dractl.model.nearest import nearest
from dractl.views import Pod


class GangDiagnosis(Struct, frozen=True):
    """The causes that keep a pod's group from starting; none if the group can start."""

    causes: tuple[Cause, ...] = ()
    """The group's own cause, then the causes of the pod at which the group stops."""
    case: Case | None = None
    """The case of the pod at which the group stops."""
    notes: tuple[str, ...] = ()
    """Notes on a group that can start."""


NO_GANG = GangDiagnosis()


def diagnose_gang(
    waiting: GangWait,
    state: ClusterState,
    case: Case | None = None,
    causes: tuple[Cause, ...] = (),
    why: Headline = Headline(),  # noqa: B008
) -> GangDiagnosis:
    """Diagnose a waiting group from the case, the causes and the headline of the pod at which it
    stops.
    """
    member_causes = tuple(_drop_assumed_holders(cause, state) for cause in causes)
    return GangDiagnosis(
        (
            _cause_of_wait(waiting, state, why, Names() if case is None else case.names),
            *member_causes,
        ),
        case,
    )


def _drop_assumed_holders(cause: Cause, state: ClusterState) -> Cause:
    """Drop the holders that exist only in the simulation: pods of the group that fit, with claims
    that are not created yet.
    """
    holders = cause.holders
    existing = tuple(
        h for h in holders if state.get("ResourceClaim", parse_key(h.claim)) is not None
    )
    changes: dict[str, object] = {} if len(existing) == len(holders) else {"holders": existing}
    return replace(cause, **changes)


def _cause_of_wait(waiting: GangWait, state: ClusterState, why: Headline, called: Names) -> Cause:
    """Return the cause for a waiting group. ``why`` and ``called`` are the headline and the names
    of the pod at which it stops.
    """
    kind, _, name = waiting.group.partition("/")
    group = f"{kind} {name}"
    match waiting:
        case gangs.GroupMissing():
            namespace, _, group_name = name.partition("/")
            group_names = sorted(
                other for where, other in state.objects(kind) if where == namespace
            )
            near = nearest(group_name, group_names)
            return PodGroupMissing(
                group=group, nearest=near, groups=tuple(group_names), unseen=waiting.is_kind_unknown
            )
        case gangs.TooFewPods():
            return GangIncomplete(group=group, want=waiting.minimum, have=waiting.pods)
        case gangs.MemberBlocked():
            return GangHeldBack(group=group, pod=Pod(waiting.pod).name, why=why, names=called)
        case gangs.UnequalPods():
            return PodGroupRefused(group=group, text=waiting.text)
        case gangs.NoTopologyDomain():
            return PodGroupRefused(
                group=group, text=f"no node for them has the label {waiting.key}"
            )
        case gangs.TooFewFit():
            return GangTooSmall(
                group=group,
                want=waiting.minimum,
                have=waiting.placed + waiting.fits,
                placed=waiting.placed,
                pod=Pod(waiting.pod).name,
                why=why,
                names=called,
                domain=waiting.domain,
            )
