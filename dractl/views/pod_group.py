"""PodGroups, of Kubernetes and of scheduler-plugins.

kubernetes staging/src/k8s.io/api/scheduling (v1alpha2 of 1.36, v1alpha3 and v1beta1 of 1.37);
kubernetes-sigs/scheduler-plugins apis/scheduling/v1alpha1/types.go.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from dractl.model.paths import at, maps_at, text_at
from dractl.properties import cached_property
from dractl.redaction import redact
from dractl.views.base import Condition, View, read_conditions
from dractl.views.pod import ClaimReference, read_claim_references, read_claim_statuses


class PodGroup(View):
    """A group of pods that are scheduled together."""

    @property
    def min_count(self) -> int | None:
        """The minimum number of pods that must start together; None if the group is not a gang."""
        count = at(self.spec, "schedulingPolicy", "gang", "minCount") or self.spec.get("minMember")
        return count if isinstance(count, int) and count > 0 else None

    @property
    def priority(self) -> int:
        """``spec.priority``, which the admission plugin writes; 0 for a manifest."""
        priority = self.spec.get("priority")
        return priority if isinstance(priority, int) else 0

    @property
    def topology_key(self) -> str:
        """The node label whose value must be the same for all pods of the group, "" if there is
        none.
        """
        constraints = maps_at(self.spec, "schedulingConstraints", "topology")
        return text_at(constraints, 0, "key")

    @property
    def composite_group_name(self) -> str:
        """The CompositePodGroup to which the group belongs, "" if none."""
        return text_at(self.spec, "parentCompositePodGroupName")

    @property
    def workload_names(self) -> tuple[str, ...]:
        """The name of the Workload from which the group was made, from the field of 1.37 and the
        field of 1.36; empty if neither is set.
        """
        names = (
            text_at(self.spec, "workloadRef", "workloadName"),
            text_at(self.spec, "podGroupTemplateRef", "workload", "workloadName"),
        )
        return tuple(filter(None, names))

    @cached_property
    def claim_references(self) -> tuple[ClaimReference, ...]:
        """``spec.resourceClaims``: claims that the pods of the group share."""
        return read_claim_references(self.spec)

    @cached_property
    def claim_statuses(self) -> Mapping[str, str]:
        """The claims that were created from templates, by the name of the reference."""
        return read_claim_statuses(self.status)


class SchedulerGroup(View):
    """The object with which another scheduler groups pods: a PodGroup of Volcano, of KAI ..."""

    @property
    def phase(self) -> str:
        """``status.phase``."""
        return text_at(self.status, "phase")

    def last_condition(self, field: str) -> Condition:
        """Return the last condition in a field of the status.

        If a condition has no message, the messages of its ``reasons`` take its place.
        """
        *_, condition = (Condition(), *read_conditions(self.status, field))
        if condition.message:
            return condition
        reasons = maps_at(self.status, field)[-1:]
        messages = (text_at(reason, "message") for c in reasons for reason in maps_at(c, "reasons"))
        return replace(condition, message=redact(", ".join(filter(None, messages))))


class GangWorkload(View):
    """A Workload of scheduling.k8s.io. In Kubernetes 1.35, a pod names the Workload and one of its
    pod groups.
    """

    def min_count(self, group_name: str) -> int | None:
        """Return how many pods of one of its groups must start together; None if the group is not a
        gang.
        """
        for group in maps_at(self.spec, "podGroups"):
            if group.get("name") == group_name:
                count = at(group, "policy", "gang", "minCount")
                return count if isinstance(count, int) and count > 0 else None
        return None
