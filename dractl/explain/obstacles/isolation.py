"""One obstacle by itself: the diagnosis of a subject with all other obstacles lifted."""

from collections.abc import Sequence

from msgspec import Struct

from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState
from dractl.explain.conclude import Conclusion, conclude
from dractl.explain.context import Case, case_of
from dractl.explain.diagnosis.gangs import NO_GANG, diagnose_gang
from dractl.explain.inquire import InquiryResult, subject_of
from dractl.explain.obstacles.demands import Demand
from dractl.explain.obstacles.trial import (
    Oracle,
    find_too_few_pods_of_gang,
    lift_all,
    recreate_subject,
)
from dractl.explain.rank import diagnose
from dractl.explain.reasons.base import Cause


class Isolated(Struct, frozen=True):
    """The diagnosis of a subject with some obstacles lifted."""

    case: Case
    conclusion: Conclusion
    causes: tuple[Cause, ...]
    """The causes, the deciding one first."""


def isolate(
    oracle: Oracle, base: Case, state: ClusterState, lifted: Sequence[Demand], nodes: Sequence[str]
) -> Isolated:
    """Diagnose the subject of ``base`` in a changed cluster, with some obstacles lifted."""
    trial = lift_all(recreate_subject(state, base.state, base.question), lifted)
    attempt = oracle.attempt(trial, nodes or None)
    scheduler = oracle.scheduler.with_state(trial.state)
    devices = Devices(trial.state, scheduler.slices)
    case = case_of(scheduler, devices, trial.question, attempt)
    subject = subject_of(trial.question, attempt.claims)
    few = find_too_few_pods_of_gang(trial)
    gang = NO_GANG if few is None else diagnose_gang(few, trial.state)
    diagnosis = diagnose(InquiryResult(trial.question, subject, attempt), case, gang)
    conclusion = conclude(diagnosis)
    causes = (*conclusion.causes, *(cause for node in diagnosis.found for cause in node.causes))
    return Isolated(case, conclusion, tuple(dict.fromkeys(causes)))
