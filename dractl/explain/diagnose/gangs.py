"""Causes that keep a pod's group from starting, although its pods fit one by one."""

from msgspec import Struct
from msgspec.structs import replace

from dractl.capacity import gangs
from dractl.capacity.gangs import Waiting
from dractl.cluster.state import ClusterState, key_of, text_at
from dractl.explain.case import Case
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


class Gang(Struct, frozen=True):
    """What keeps the group that kube-scheduler places a pod with: its own cause, then those of the pod at which it
    stops, whose case is ``case``. No causes: nothing does, but for what ``notes`` say."""

    causes: tuple[Cause, ...] = ()
    case: Case | None = None
    notes: tuple[str, ...] = ()


NO_GANG = Gang()


def group_of(
    waiting: Waiting,
    state: ClusterState,
    case: Case | None = None,
    causes: tuple[Cause, ...] = (),
    why: Headline = Headline(),  # noqa: B008
) -> Gang:
    """The group, from why it waits, and the case, the causes and the headline of the pod at which it stops."""
    own = tuple(_in_cluster(cause, state) for cause in causes)
    return Gang(
        (_of_waiting(waiting, state, why, Names() if case is None else case.names), *own), case
    )


def _in_cluster(cause: Cause, state: ClusterState) -> Cause:
    """The cause without holders that are only assumed: the pods of the group that fit."""
    holders = getattr(cause, "holders", ())
    real = tuple(h for h in holders if state.get("ResourceClaim", key_of(h.claim)) is not None)
    changed: dict[str, object] = {} if len(real) == len(holders) else {"holders": real}
    return replace(cause, **changed)


def _of_waiting(waiting: Waiting, state: ClusterState, why: Headline, called: Names) -> Cause:
    """The cause for a group that waits. ``why`` is the headline of the pod at which it stops, ``called`` its names."""
    kind, _, name = waiting.group.partition("/")
    group = f"{kind} {name}"
    match waiting:
        case gangs.NoGroup():
            namespace, _, own = name.partition("/")
            known = sorted(other for where, other in state.all(kind) if where == namespace)
            near = nearest(own, known)
            return PodGroupMissing(
                group=group, nearest=near, known=tuple(known), unseen=waiting.unseen
            )
        case gangs.TooFewPods():
            return GangIncomplete(group=group, want=waiting.minimum, have=waiting.pods)
        case gangs.HeldBack():
            return GangHeldBack(
                group=group, pod=text_at(waiting.pod, "metadata", "name"), why=why, called=called
            )
        case gangs.Unequal():
            return PodGroupRefused(group=group, text=waiting.text)
        case gangs.NoGroupDomain():
            return PodGroupRefused(
                group=group, text=f"no node for them has the label {waiting.key}"
            )
        case gangs.TooFewFit():
            return GangTooSmall(
                group=group,
                want=waiting.minimum,
                have=waiting.placed + waiting.fits,
                placed=waiting.placed,
                pod=text_at(waiting.pod, "metadata", "name"),
                why=why,
                called=called,
                domain=waiting.domain,
            )
