"""Decide what a JobSet does about a failed Job.

Upstream: kubernetes-sigs/jobset pkg/controllers/failure_policy.go (executeFailurePolicy,
ruleIsApplicable).
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.cluster.state import list_at, maps_at, text_at
from dractl.views import View, Workload

_REPLICATED_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
_DEFAULT_ACTION = "RestartJobSet"
_JOB_ACTIONS = ("RestartJob", "RestartJobAndIgnoreMaxRestarts")


class RestartDecision(Struct, frozen=True):
    """The answer of a JobSet to a failed Job: a restart, or its own failure."""

    failure: str = ""
    """Why the JobSet fails with its Job; empty if it restarts."""

    whole: bool = True
    """Whether all its Jobs restart, not the failed one alone."""

    remaining_restarts: int | None = None
    """Restarts that the JobSet has left afterwards; None if this one does not count."""


def decide_restart(job_set: View, job: Workload, reason: str) -> RestartDecision:
    """Apply the failurePolicy of a JobSet to a Job that fails for ``reason``."""
    policy = job_set.spec.get("failurePolicy")
    if not isinstance(policy, dict):
        return RestartDecision("it has no failurePolicy")
    action = _policy_action(policy, text_at(job.labels, _REPLICATED_JOB_LABEL), reason)
    if action == "FailJobSet":
        return RestartDecision("its failurePolicy says FailJobSet")
    whole = action not in _JOB_ACTIONS
    if action.endswith("IgnoreMaxRestarts"):
        return RestartDecision(whole=whole)
    remaining_restarts = _count_remaining_restarts(job_set, policy)
    if remaining_restarts <= 0:
        return RestartDecision("its restarts are used up", whole)
    return RestartDecision(whole=whole, remaining_restarts=remaining_restarts - 1)


def _policy_action(policy: Mapping[str, Any], replicated_job: str, reason: str) -> str:
    """Return the action of the first rule that matches a failed Job.

    The message of the failure is unknown. A rule with message patterns is taken to match if it
    fails the JobSet, which is the worst outcome, and not to match otherwise.
    """
    for rule in maps_at(policy, "rules") if replicated_job else ():
        action = text_at(rule, "action")
        if list_at(rule, "onJobFailureMessagePatterns") and action != "FailJobSet":
            continue
        reasons = list_at(rule, "onJobFailureReasons")
        targets = list_at(rule, "targetReplicatedJobs")
        if (not reasons or reason in reasons) and (not targets or replicated_job in targets):
            return action
    return _DEFAULT_ACTION


def _count_remaining_restarts(job_set: View, policy: Mapping[str, Any]) -> int:
    """Return ``maxRestarts`` less the restarts that count towards it."""
    counts = [job_set.status.get("restartsCountTowardsMax")]
    for status in maps_at(job_set.status, "replicatedJobsStatus"):
        counts += list_at(status, "jobRestartsCountTowardsMax")
    max_restarts = policy.get("maxRestarts")
    used = sum(count for count in counts if isinstance(count, int))
    return (max_restarts if isinstance(max_restarts, int) else 0) - used
