"""Workloads: objects whose controllers make pods from a template."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dractl.model.paths import at, map_at
from dractl.views.base import View
from dractl.views.pod import Pod


class Workload(View):
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob, or another maker of pods.

    A field that the kind does not have reads as None.
    """

    @cached_property
    def template(self) -> Mapping[str, Any]:
        """``spec.template``, the metadata and spec of the pods; empty for some kinds."""
        return map_at(self.spec, "template")

    @cached_property
    def template_pod(self) -> Pod:
        """A pod as the template has it."""
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
    def succeeded(self) -> int | None:
        """``status.succeeded`` of a Job: its pods that have."""
        return _integer(at(self.status, "succeeded"))

    @property
    def desired_number_scheduled(self) -> int | None:
        """``status.desiredNumberScheduled`` of a DaemonSet."""
        return _integer(at(self.status, "desiredNumberScheduled"))

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
