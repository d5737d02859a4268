"""JobSets (kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go)."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.model.paths import list_at, map_at, maps_at, text_at
from dractl.views.base import View

REPLICATED_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
"""The label with the name of the replicated job that a Job is one of."""


class FailureRule(Struct, frozen=True):
    """A rule of the ``failurePolicy`` of a JobSet."""

    action: str
    reasons: Sequence[Any]
    """The reasons of a failed Job that it is about; all if empty."""
    message_patterns: Sequence[Any]
    """The patterns, one of which the failed Job's message must match; any message if empty."""
    replicated_jobs: Sequence[Any]
    """The replicated jobs that it is about; all if empty."""


class JobSet(View):
    """A JobSet."""

    @property
    def failure_policy(self) -> Mapping[str, Any]:
        """``spec.failurePolicy``."""
        return map_at(self.spec, "failurePolicy")

    @property
    def has_failure_policy(self) -> bool:
        """True if it restarts for a failed Job; without a policy it fails."""
        return isinstance(self.spec.get("failurePolicy"), dict)

    @property
    def failure_rules(self) -> tuple[FailureRule, ...]:
        """The rules of its failurePolicy, the first one that matches counts."""
        return tuple(
            FailureRule(
                text_at(rule, "action"),
                list_at(rule, "onJobFailureReasons"),
                list_at(rule, "onJobFailureMessagePatterns"),
                list_at(rule, "targetReplicatedJobs"),
            )
            for rule in maps_at(self.failure_policy, "rules")
        )

    @property
    def max_restarts(self) -> int:
        """``spec.failurePolicy.maxRestarts``, 0 by default."""
        restarts = self.failure_policy.get("maxRestarts")
        return restarts if isinstance(restarts, int) else 0

    @property
    def counted_restarts(self) -> int:
        """The restarts so far that count towards :attr:`max_restarts`."""
        counts = [self.status.get("restartsCountTowardsMax")]
        for status in maps_at(self.status, "replicatedJobsStatus"):
            counts += list_at(status, "jobRestartsCountTowardsMax")
        return sum(count for count in counts if isinstance(count, int))
