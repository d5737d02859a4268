"""Candidates for fixes: changes that may help, with the properties by which they are ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum, auto

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.changes import Change, Delete, Patch, parse_target
from dractl.cluster.workloads import WORKLOAD_KINDS
from dractl.explain.fixes.owners import Ending
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.phrases import join_clauses

SUBSTITUTE_EFFECT = (
    "if these devices are acceptable"  # the condition of a fix that asks for other devices
)


# The aspect of the problem that a fix changes.
Topic = Enum(
    "Topic",
    "AFFINITY ALL_MODE AMOUNT CAPACITY CLAIM CLASS CONSTRAINT CONSUMER COUNT CREATION DEVICE "
    "ENDING ENDINGS EXTENDED GANG GATE GATES LABEL NAME NAMESPACE NODE NODE_NAME POD POOL PORT "
    "QUOTA RELEASE ROLLOUT RULE SCHEDULER SELECTOR SHARING SPREAD TAINT TOGETHER TOLERATION WAIT",
)


class FixSlot(Struct, frozen=True):
    """The slot in which fixes compete: only the first proven fix of a slot is shown."""

    topic: Topic
    """The aspect that the fix changes."""
    detail: str = ""
    """Distinguishes slots of one topic: by a name, by a request, or by the kind of fix."""


class Reach(IntEnum):
    """The extent of a change, from the nearest to the farthest."""

    CLAIM = auto()
    POD = auto()
    WORKLOAD = auto()
    POLICY = auto()
    NODE = auto()
    SETTING = auto()


_REACH_BY_KIND = {
    "ResourceClaim": Reach.CLAIM,
    "ResourceClaimTemplate": Reach.CLAIM,
    "Pod": Reach.POD,
    "DeviceClass": Reach.POLICY,
    "DeviceTaintRule": Reach.POLICY,
    "ResourceSlice": Reach.POLICY,
    "ResourceQuota": Reach.POLICY,
    "Namespace": Reach.POLICY,
    "PodGroup": Reach.POD,
    "Node": Reach.NODE,
    **dict.fromkeys(WORKLOAD_KINDS, Reach.WORKLOAD),
}


class Candidate(Struct, frozen=True):
    """A change that may help."""

    title: str
    """An imperative that names the object."""
    changes: tuple[Change, ...]
    """The changes that a person applies; empty where a driver must act, or time must pass."""
    slot: FixSlot
    """The slot for which the candidate competes."""
    preference: Preference
    """The rank that an engineer would give the candidate."""
    effect: str = ""
    """Side effects and conditions, shown after the title."""
    degree: int = 0
    """The order among candidates with equal preference and reach."""
    features: Features | None = None
    """The features of the scheduler after the fix, if the fix changes them."""
    superseded_by: tuple[FixSlot | Topic, ...] = ()
    """The topics or slots whose fixes hide this candidate."""
    consequences: tuple[Change, ...] = ()
    """The changes that follow and are verified instead of ``changes``, if they differ."""
    chance: tuple[Change, ...] = ()
    """Mutually exclusive side effects: the candidate must work with each one."""
    nodes: tuple[str, ...] = ()
    """The only nodes on which it can help; empty for all."""
    corrects: bool = False
    """True if it removes the headline's cause. If that alone is not enough, the answer says so, and
    offers no other fix of its slot.
    """
    parts: tuple[Candidate, ...] = ()
    """The candidates that :func:`combine` has joined to this one."""

    @property
    def trial(self) -> tuple[Change, ...]:
        """The changes that are simulated to prove the candidate."""
        return self.consequences or self.changes

    @property
    def size(self) -> tuple[int, ...]:
        """The order of candidates, the smallest first.

        It compares preference, the number of other pods that end, changes, operations, reach and
        degree.
        """
        operations = sum(len(c.operations) if isinstance(c, Patch) else 1 for c in self.changes)
        reach = max(
            map(measure_reach, self.changes),
            default=Reach.CLAIM if self.corrects else Reach.SETTING,
        )
        ended_pods = sum(isinstance(c, Delete) and c.target.startswith("Pod/") for c in self.trial)
        if self.preference not in (Preference.END, Preference.LAST, Preference.OUTAGE):
            ended_pods = 0
        return (self.preference, ended_pods, len(self.changes), operations, reach, self.degree)


def measure_reach(change: Change) -> Reach:
    """Return how far a change reaches. The deletion of a pod or claim affects a workload."""
    kind, _ = parse_target(change.target)
    if isinstance(change, Delete) and kind in ("Pod", "ResourceClaim"):
        return Reach.WORKLOAD
    return _REACH_BY_KIND.get(kind, Reach.SETTING)


def order_parts(parts: Iterable[Candidate]) -> list[Candidate]:
    """Return the parts of one fix in the order in which its title names them.

    The pod's requests come before the parts that admit it to the nodes with the devices.
    """
    return sorted(
        parts,
        key=lambda c: (max(map(measure_reach, c.changes), default=Reach.SETTING), -c.preference),
    )


def combine(parts: Iterable[Candidate]) -> Candidate:
    """Combine candidates into one. An operation that several candidates share is made once."""
    singles: list[Candidate] = []
    for single in (single for part in parts for single in part.parts or (part,)):
        singles += [] if single in singles else [single]
    if len(singles) == 1:
        return singles[0]
    changes: tuple[Change, ...] = ()
    consequences: tuple[Change, ...] = ()
    for part in singles:
        changes += subtract_changes(part.changes, changes)
        consequences += subtract_changes(part.trial, consequences)
    return join(singles, singles, changes, consequences)


def join(
    parts: Sequence[Candidate],
    parts_in_title: Iterable[Candidate],
    changes: tuple[Change, ...],
    trial: tuple[Change, ...],
) -> Candidate:
    """Return one candidate for several parts, with the changes of all."""
    is_joint = len(parts) > 1
    return Candidate(
        ", and ".join(dict.fromkeys(part.title for part in parts_in_title)),
        changes,
        FixSlot(Topic.TOGETHER) if is_joint else parts[0].slot,
        max(part.preference for part in parts),
        effect=join_clauses(*(effect for part in parts for effect in part.effect.split("; "))),
        superseded_by=tuple(part.slot.topic for part in parts) if is_joint else (),
        consequences=trial if trial != changes else (),
        parts=tuple(parts) if is_joint else (),
    )


def correct(title: str, patch: Patch, slot: FixSlot, effect: str = "") -> Candidate:
    """Return a candidate that corrects a mistake, and removes the headline cause with it."""
    return Candidate(title, (patch,), slot, Preference.CORRECT, effect=effect, corrects=True)


def make_ending(
    ending: Ending, slot: FixSlot, effect: str, further: tuple[Change, ...] = ()
) -> Candidate:
    """Return a candidate that ends pods; ``further`` changes follow."""
    return Candidate(
        ending.title,
        (*ending.changes, *further),
        slot,
        ending.preference,
        effect=effect,
        consequences=ending.deletions,
    )


def join_patches(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return changes with one patch for each object, which has the operations of all."""
    joined: dict[object, Change] = {}
    for number, change in enumerate(changes):
        if isinstance(change, Patch):
            earlier = joined.get(change.target)
            operations = earlier.operations if isinstance(earlier, Patch) else ()
            joined[change.target] = Patch(change.target, (*operations, *change.operations))
        elif isinstance(change, Delete):
            joined.setdefault((Delete, change.target), change)
        elif change not in joined.values():
            joined[number] = change
    return tuple(joined.values())


def subtract_changes(later: Iterable[Change], earlier: Sequence[Change]) -> tuple[Change, ...]:
    """Return the later changes without the operations that earlier changes already make."""
    earlier_operations = [
        (c.target, o) for c in earlier if isinstance(c, Patch) for o in c.operations
    ]
    remaining: list[Change] = []
    for change in later:
        if not isinstance(change, Patch):
            remaining += [] if change in earlier else [change]
            continue
        operations = tuple(
            o for o in change.operations if (change.target, o) not in earlier_operations
        )
        remaining += [Patch(change.target, operations)] if operations else []
    return tuple(remaining)
