"""Causes in the group that kube-scheduler places a pod with: PodGroups, and the Workloads of 1.35 (kubernetes
pkg/scheduler/framework/plugins/gangscheduling, pkg/scheduler/schedule_one_podgroup.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from dractl.explain.causes.base import STOPPED, Cause, ReasonPage

if TYPE_CHECKING:
    from collections.abc import Mapping

_SEE = "kubectl get podgroups.scheduling.k8s.io -n NS NAME -o yaml; dractl explain podgroup/NAME -n NS"


class GangTooSmall(Cause, frozen=True, kw_only=True):
    """Of the gang ``group`` (``PodGroup namespace/name``) ``have`` pods fit and ``want`` start at once. ``placed`` of
    them have a node. The next one is ``pod``, which stops at ``why``. ``domain`` (``key=value``) is where they fit, if
    a topology constraint keeps them together."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "gang-waits",
        "the pod fits, but not with its gang",
        "The pods of a gang start together or not at all: spec.schedulingPolicy.gang.minCount of a PodGroup says how "
        "many. kube-scheduler places one after the other, and if fewer than minCount have a node in the end, it takes "
        "all back. From 1.37 on a single pod that is held back before scheduling (a gate, a claim that does not "
        "exist) holds back its whole PodGroup, gang or not.",
        _SEE,
        "Free devices or add nodes until minCount pods fit, let each pod ask for less, or lower minCount (from 1.37 "
        "on it can be changed). Create the pods that are missing, and release those that are held back.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("group",)

    group: str
    want: int
    have: int
    placed: int = 0
    pod: str = ""
    why: str = ""
    domain: str = ""


class GangIncomplete(Cause, frozen=True, kw_only=True):
    """The gang ``group`` has ``have`` pods, and ``want`` start at once."""

    page: ClassVar[ReasonPage] = GangTooSmall.page
    identity: ClassVar[tuple[str, ...]] = ("group",)

    group: str
    want: int
    have: int


class GangHeldBack(Cause, frozen=True, kw_only=True):
    """``pod`` of ``group`` is held back before scheduling, by ``why``, and the others wait for it."""

    page: ClassVar[ReasonPage] = GangTooSmall.page
    identity: ClassVar[tuple[str, ...]] = ("group",)

    group: str
    pod: str
    why: str


class PodGroupMissing(Cause, frozen=True, kw_only=True):
    """The PodGroup (or Workload) that the pod names does not exist."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "podgroup-missing",
        "the PodGroup that the pod names does not exist",
        "spec.schedulingGroup of the pod names a PodGroup (in 1.35 spec.workloadRef a Workload) that is not in its "
        "namespace. The scheduler does not try the pod until it is created: the pod has no condition and no event.",
        "kubectl get podgroups.scheduling.k8s.io -n NS",
        "Create the PodGroup. The group of a pod cannot be changed: recreate pods that name the wrong one.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("group",)
    shown: ClassVar[Mapping[str, str]] = {"known": "found"}

    group: str
    nearest: str | None = None
    known: tuple[str, ...] = ()


class PodGroupRefused(Cause, frozen=True, kw_only=True):
    """kube-scheduler tries no pod of ``group``: ``text`` is its message."""

    page: ClassVar[ReasonPage] = ReasonPage(
        "podgroup-refused",
        "kube-scheduler tries no pod of the PodGroup",
        "All pods of a PodGroup must have its priority, and one schedulerName and preemptionPolicy (from 1.37 on). A "
        "topology constraint names a node label, and the pods only run on nodes that have it.",
        "kubectl get podgroups.scheduling.k8s.io -n NS NAME -o yaml (condition PodGroupInitiallyScheduled)",
        "Give PodGroup and pods the same priorityClassName and recreate them; label the nodes.",
        STOPPED,
    )
    identity: ClassVar[tuple[str, ...]] = ("group",)

    group: str
    text: str
