"""JobSets (kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go)."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.model.paths import list_at, map_at, maps_at, text_at
from dractl.views.base import View

REPLICATED_JOB_LABEL = "jobset.sigs.k8s.io/replicatedjob-name"
"""The label with the name of the replicated job to which a Job belongs."""


class FailureRule(Struct, frozen=True):
    """A rule of the ``failurePolicy`` of a JobSet."""

    action: str
    reasons: Sequence[Any]
    """The reasons for a Job's failure to which the rule applies; empty for all."""
    message_patterns: Sequence[Any]
    """Patterns for the message of the failed Job, one of which must match; empty for any
    message.
    """
    replicated_jobs: Sequence[Any]
    """The replicated jobs to which the rule applies; empty for all."""


class JobSet(View):
    """A JobSet."""

    @property
    def failure_policy(self) -> Mapping[str, Any]:
        """``spec.failurePolicy``."""
        return map_at(self.spec, "failurePolicy")

    @property
    def has_failure_policy(self) -> bool:
        """True if the JobSet has a failurePolicy, and so may restart after a failed Job; without a
        failurePolicy it fails.
        """
        return isinstance(self.spec.get("failurePolicy"), dict)

    @property
    def failure_rules(self) -> tuple[FailureRule, ...]:
        """The rules of the failurePolicy; the first one that matches applies."""
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
        """The number of restarts so far that count towards :attr:`max_restarts`."""
        counts = [self.status.get("restartsCountTowardsMax")]
        for status in maps_at(self.status, "replicatedJobsStatus"):
            counts += list_at(status, "jobRestartsCountTowardsMax")
        return sum(count for count in counts if isinstance(count, int))
