"""Fixes in the cluster itself: a feature gate, a newer release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.explain.fixes.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.explain.fixes.candidates import Case


def wait(case: Case) -> Iterator[Candidate]:
    """Nothing to change: the scheduler, or the claim controller, has to try again."""
    if any(r.code == "would-fit-now" for r in case.reasons):
        title = "wait until the scheduler tries again, five minutes at most; or delete and create the pod"
        yield Candidate(title, (), "wait", effect="if nothing happens: does kube-scheduler run?", corrects=True)
    for reason in case.reasons:
        if reason.code == "binding-pending" and reason.driver:
            title = f"wait until driver {reason.driver} sets {', '.join(reason.found)}"
            effect = "if nothing happens: does the driver's controller run?"
            yield Candidate(title, (), "wait", effect=effect, corrects=True)
    if any(r.code == "claim-missing" and r.template and not _refused(r.message) for r in case.reasons):
        title = "wait until the claim controller tries again; or delete and create the pod"
        effect = "if nothing happens: does kube-controller-manager run?"
        yield Candidate(title, (), "wait", effect=effect, corrects=True)


def _refused(text: str) -> bool:
    """True if the claim controller was refused, which trying again does not change."""
    return any(word in text for word in ("denied", "forbidden", "is invalid"))


def features(case: Case) -> Iterator[Candidate]:
    """The gate that a reason names, or the release in which a known fault is mended."""
    from dractl.allocation import Features
    from dractl.model.releases import DEPENDENCIES, GATES, NEWEST, stage

    now = case.judge.features
    for gate in dict.fromkeys(r.gate for r in case.reasons if r.gate):
        if gate in GATES and stage(gate, now.release) is not None and gate not in now.on:
            # A server that has a gate on without those that it needs does not start (from 1.35).
            wanted = {gate, *(name for name in DEPENDENCIES.get(gate, ()) if name not in now.on)}
            other = Features(now.release, now.on | wanted, (now.cel_on or now.on) | wanted)
            names = " and ".join([gate, *sorted(wanted - {gate})])
            yield Candidate(
                f"enable the feature gate{'s' if len(wanted) > 1 else ''} {names}",
                (),
                f"gate {gate}",
                features=other,
                effect="API server, scheduler, controller manager",
            )
    if now.release != NEWEST and any(r.code == "upstream-bug" for r in case.reasons):
        yield Candidate(
            f"Kubernetes {NEWEST}",
            (),
            "release",
            features=Features.for_release(NEWEST),
            effect="the fault is mended there",
        )
