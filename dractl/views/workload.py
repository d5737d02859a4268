"""Workloads: objects whose controllers make pods from a template."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from dractl.model.paths import at, list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.views.base import View
from dractl.views.pod import Pod

_BACKOFF_LIMIT = 6
_NO_BACKOFF_LIMIT = 2**31 - 1


class PodFailureRule(Struct, frozen=True):
    """A rule of the ``podFailurePolicy`` of a Job."""

    action: str
    exit_code_operator: str
    """In or NotIn; "" for a rule that is not about exit codes."""
    exit_codes: Sequence[Any]
    pod_conditions: Sequence[Raw] = ()
    """The patterns of ``onPodConditions``, each with a type and a status."""


class Workload(View):
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, or another object from which
    pods are made.

    A field that the kind does not have reads as None.
    """

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """``spec.template``, the metadata and spec of the pods; empty for some kinds."""
        return map_at(self.spec, "template")

    @cached_property
    def template_pod(self) -> Pod:
        """A pod as the template describes it."""
        return Pod(self.template)

    @property
    def replicas(self) -> int | None:
        """``spec.replicas``."""
        return _integer(at(self.spec, "replicas"))

    @property
    def parallelism(self) -> int | None:
        """``spec.parallelism`` of a Job."""
        return _integer(at(self.spec, "parallelism"))

    @property
    def completions(self) -> int | None:
        """``spec.completions`` of a Job."""
        return _integer(at(self.spec, "completions"))

    @property
    def completion_mode(self) -> str:
        """``spec.completionMode`` of a Job."""
        return text_at(self.spec, "completionMode")

    @property
    def succeeded(self) -> int | None:
        """``status.succeeded`` of a Job: the number of its pods that have succeeded."""
        return _integer(at(self.status, "succeeded"))

    @property
    def desired_number_scheduled(self) -> int | None:
        """``status.desiredNumberScheduled`` of a DaemonSet."""
        return _integer(at(self.status, "desiredNumberScheduled"))

    @property
    def failure_rules(self) -> tuple[PodFailureRule, ...]:
        """``spec.podFailurePolicy.rules`` of a Job."""
        return tuple(
            PodFailureRule(
                text_at(rule, "action"),
                text_at(rule, "onExitCodes", "operator"),
                list_at(rule, "onExitCodes", "values"),
                maps_at(rule, "onPodConditions"),
            )
            for rule in maps_at(self.spec, "podFailurePolicy", "rules")
        )

    @property
    def backoff_limit(self) -> int:
        """``spec.backoffLimit`` of a Job, or its default (pkg/apis/batch/v1/defaults.go)."""
        limit = _integer(at(self.spec, "backoffLimit"))
        if limit is not None:
            return limit
        return _BACKOFF_LIMIT if self.backoff_limit_per_index is None else _NO_BACKOFF_LIMIT

    @property
    def backoff_limit_per_index(self) -> int | None:
        """``spec.backoffLimitPerIndex`` of a Job."""
        return _integer(at(self.spec, "backoffLimitPerIndex"))

    @property
    def failed(self) -> int:
        """``status.failed`` of a Job: the number of its pods that have failed."""
        return _integer(at(self.status, "failed")) or 0

    @property
    def schedule(self) -> str:
        """``spec.schedule`` of a CronJob."""
        return text_at(self.spec, "schedule")

    @property
    def has_active_jobs(self) -> bool:
        """True if Jobs of a CronJob run."""
        return bool(maps_at(self.status, "active"))

    @property
    def strategy_type(self) -> str:
        """``spec.strategy.type`` of a Deployment."""
        return text_at(self.spec, "strategy", "type")

    @property
    def update_strategy_type(self) -> str:
        """``spec.updateStrategy.type`` of a DaemonSet or StatefulSet."""
        return text_at(self.spec, "updateStrategy", "type")

    @property
    def update_surge(self) -> int | str | None:
        """``spec.updateStrategy.rollingUpdate.maxSurge`` of a DaemonSet."""
        surge = at(self.spec, "updateStrategy", "rollingUpdate", "maxSurge")
        return surge if isinstance(surge, int | str) else None

    @property
    def update_partition(self) -> int | None:
        """``spec.updateStrategy.rollingUpdate.partition`` of a StatefulSet: the lowest ordinal that
        is updated.
        """
        return _integer(at(self.spec, "updateStrategy", "rollingUpdate", "partition"))

    @property
    def update_revision(self) -> str:
        """``status.updateRevision`` of a StatefulSet."""
        return text_at(self.status, "updateRevision")

    @property
    def rolling_update(self) -> Mapping[str, Any]:
        """``spec.strategy.rollingUpdate`` of a Deployment."""
        return map_at(self.spec, "strategy", "rollingUpdate")

    @property
    def pod_management_policy(self) -> str:
        """``spec.podManagementPolicy`` of a StatefulSet."""
        return text_at(self.spec, "podManagementPolicy")

    @property
    def first_ordinal(self) -> int:
        """``spec.ordinals.start`` of a StatefulSet, 0 by default."""
        return _integer(at(self.spec, "ordinals", "start")) or 0

    @property
    def volume_claim_templates(self) -> Mapping[str, Raw]:
        """``spec.volumeClaimTemplates`` of a StatefulSet, by name."""
        templates = maps_at(self.spec, "volumeClaimTemplates")
        return {text_at(template, "metadata", "name"): template for template in templates}

    @property
    def group_size(self) -> int | None:
        """``spec.leaderWorkerTemplate.size`` of a LeaderWorkerSet."""
        return _integer(at(self.spec, "leaderWorkerTemplate", "size"))

    @property
    def group_restart_policy(self) -> str:
        """``spec.leaderWorkerTemplate.restartPolicy`` of a LeaderWorkerSet."""
        return text_at(self.spec, "leaderWorkerTemplate", "restartPolicy")

    @property
    def ready_number(self) -> int | None:
        """``status.numberReady`` of a DaemonSet."""
        return _integer(at(self.status, "numberReady"))

    @property
    def is_suspended(self) -> bool:
        """``spec.suspend``."""
        return self.spec.get("suspend") is True

    @property
    def is_paused(self) -> bool:
        """``spec.paused`` of a Deployment."""
        return self.spec.get("paused") is True


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
