"""Decide the reaction of a JobSet to a failed Job.

Upstream: kubernetes-sigs/jobset pkg/controllers/failure_policy.go (executeFailurePolicy,
ruleIsApplicable).
"""

from msgspec import Struct

from dractl.objects import text
from dractl.views import JobSet, Workload
from dractl.views.job_set import REPLICATED_JOB_LABEL

_DEFAULT_ACTION = "RestartJobSet"
_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


class RestartDecision(Struct, frozen=True):
    """The answer of a JobSet to a failed Job: a restart, or its own failure."""

    failure: str = ""
    """The reason why the JobSet fails with its Job; empty if it restarts."""

    whole: bool = True
    """Whether all Jobs of the set restart, instead of the failed one only."""

    remaining_restarts: int | None = None
    """The number of restarts that the JobSet still has afterwards; None if this restart does not
    count.
    """


def decide_restart(job_set: JobSet, job: Workload, reason: str) -> RestartDecision:
    """Apply the failurePolicy of a JobSet to a Job that fails for ``reason``."""
    if not job_set.has_failure_policy:
        return RestartDecision("it has no failurePolicy")
    action = _policy_action(job_set, text(job.labels.get(REPLICATED_JOB_LABEL)), reason)
    if action == "FailJobSet":
        return RestartDecision("its failurePolicy says FailJobSet")
    whole = action not in _JOB_ACTIONS
    if action.endswith("IgnoreMaxRestarts"):
        return RestartDecision(whole=whole)
    remaining_restarts = job_set.max_restarts - job_set.counted_restarts
    if remaining_restarts <= 0:
        return RestartDecision("its restarts are used up", whole)
    return RestartDecision(whole=whole, remaining_restarts=remaining_restarts - 1)


def _policy_action(job_set: JobSet, replicated_job: str, reason: str) -> str:
    """Return the action of the first rule that matches a failed Job.

    The message of the failure is unknown. To assume the worst, a rule with message patterns matches
    only if it fails the JobSet.
    """
    for rule in job_set.failure_rules if replicated_job else ():
        if rule.message_patterns and rule.action != "FailJobSet":
            continue
        reasons, targets = rule.reasons, rule.replicated_jobs
        if (not reasons or reason in reasons) and (not targets or replicated_job in targets):
            return rule.action
    return _DEFAULT_ACTION
