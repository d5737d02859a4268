"""Fixes in the cluster itself: another attempt, a feature gate, a newer release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.changes import Create, Delete
from dractl.explain.fixes.candidates import Candidate, Preference, Slot, Topic
from dractl.explain.fixes.owners import name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.cluster.changes import Change
    from dractl.explain.fixes.candidates import Case

_WAIT = Slot(Topic.WAIT)
# What the API server adds to a pod, or writes for itself, and a new pod does not have.
_GENERATED = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")


def wait(case: Case) -> Iterator[Candidate]:
    """Nothing to change: the scheduler, the driver or the claim controller has to try again."""
    if any(r.code == "would-fit-now" for r in case.reasons):
        title = "wait until the scheduler tries again, for five minutes at most, or recreate the pod"
        yield _again(title, "if nothing happens: does kube-scheduler run?")
    for reason in case.reasons:
        if reason.code == "binding-pending" and reason.driver:
            title = f"wait until driver {reason.driver} sets {', '.join(reason.found)}"
            yield _again(title, "if nothing happens: does the driver's controller run?")
    if any(r.code == "claim-missing" and r.template and not _refused(r.message) for r in case.reasons):
        title = "wait until the claim controller tries again, or recreate the pod"
        yield _again(title, "if nothing happens: does kube-controller-manager run?")


def _again(title: str, effect: str) -> Candidate:
    return Candidate(title, (), _WAIT, Preference.AGAIN, effect=effect, corrects=True)


def _refused(text: str) -> bool:
    """True if the claim controller was refused, which trying again does not change."""
    return any(word in text for word in ("denied", "forbidden", "is invalid"))


def recreated(case: Case) -> tuple[Change, ...]:
    """The changes after which the asked pod is a new one: its controller recreates a pod that is deleted."""
    name = "/".join(case.question.key)
    pod = case.state.get("Pod", case.question.key)
    gone: tuple[Change, ...] = (Delete(f"Pod/{name}"),)
    if pod is None or name_of(pod, case.question.key[0]) is not None:
        return gone
    metadata = {k: v for k, v in pod["metadata"].items() if k not in _GENERATED}
    return (*gone, Create({**{k: v for k, v in pod.items() if k != "status"}, "metadata": metadata}))


def features(case: Case) -> Iterator[Candidate]:
    """The gate that a reason names, or the release in which a known fault is fixed."""
    from dractl.allocation import Features
    from dractl.model.releases import DEPENDENCIES, GATES, NEWEST, stage

    now = case.judge.features
    for gate in dict.fromkeys(r.gate for r in case.reasons if r.gate):
        if gate in GATES and stage(gate, now.release) is not None and gate not in now.on:
            # A server that has a gate on without those that it needs does not start (from 1.35).
            wanted = {gate, *(name for name in DEPENDENCIES.get(gate, ()) if name not in now.on)}
            names = " and ".join([gate, *sorted(wanted - {gate})])
            yield Candidate(
                f"enable feature gate{'s' if len(wanted) > 1 else ''} {names}",
                (),
                Slot(Topic.GATE, gate),
                Preference.CLUSTER,
                features=Features(now.release, now.on | wanted, (now.cel_on or now.on) | wanted),
                effect="in kube-apiserver, kube-scheduler and kube-controller-manager",
            )
    if now.release != NEWEST and any(r.code == "upstream-bug" for r in case.reasons):
        yield Candidate(
            f"upgrade to Kubernetes {NEWEST}",
            (),
            Slot(Topic.RELEASE),
            Preference.CLUSTER,
            features=Features.for_release(NEWEST),
            effect="the bug is fixed there",
        )
