"""ResourceQuotas, LimitRanges and PodDisruptionBudgets."""

from collections.abc import Container, Mapping
from typing import Any

from msgspec import Struct

from dractl.model import Quantity
from dractl.model.paths import at, integer_at, list_at, map_at, maps_at, text_at
from dractl.properties import cached_property
from dractl.views.amounts import quantity
from dractl.views.base import View
from dractl.views.pod import Pod
from dractl.views.selectors import LabelSelector, label_selector


class QuotaScope(Struct, frozen=True):
    """A scope of a quota, which selects the pods that the quota counts."""

    name: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


class ResourceQuota(View):
    """A ResourceQuota."""

    @cached_property
    def hard(self) -> Mapping[str, Quantity]:
        """``spec.hard``: the limits, by the name of the resource."""
        return {name: quantity(limit) for name, limit in map_at(self.spec, "hard").items()}

    @cached_property
    def scopes(self) -> tuple[QuotaScope, ...]:
        """``spec.scopes`` and ``spec.scopeSelector``."""
        return (
            *(QuotaScope(str(name)) for name in list_at(self.spec, "scopes")),
            *(
                QuotaScope(
                    text_at(scope, "scopeName"),
                    text_at(scope, "operator"),
                    tuple(v for v in list_at(scope, "values") if isinstance(v, str)),
                )
                for scope in maps_at(self.spec, "scopeSelector", "matchExpressions")
            ),
        )

    @property
    def has_scopes(self) -> bool:
        """True if the quota counts only some pods. No claim is in a scope, so such a quota does not
        count claims.
        """
        return bool(self.scopes or map_at(self.spec, "scopeSelector"))


class ContainerLimit(Struct, frozen=True):
    """An entry of a LimitRange that is about containers."""

    minimum: Mapping[str, Any]
    """``min``: the smallest amounts that a container must ask for, by the name of the resource."""
    maximum: Mapping[str, Any]
    """``max``: the largest amounts that a container may ask for."""


class LimitRange(View):
    """A LimitRange."""

    @property
    def container_limits(self) -> tuple[ContainerLimit, ...]:
        """The entries of ``spec.limits`` with ``type: Container``."""
        return tuple(
            ContainerLimit(map_at(limit, "min"), map_at(limit, "max"))
            for limit in maps_at(self.spec, "limits")
            if limit.get("type") == "Container"
        )


class DisruptionBudget(View):
    """A PodDisruptionBudget."""

    @cached_property
    def selector(self) -> LabelSelector | None:
        """The pods that the budget protects."""
        return label_selector(at(self.spec, "selector"))

    @cached_property
    def allowed_disruptions(self) -> int:
        """The number of protected pods that may be evicted."""
        return integer_at(self.status, "disruptionsAllowed") or 0

    @property
    def current_healthy(self) -> int:
        """``status.currentHealthy``: the number of pods that are ready."""
        return integer_at(self.status, "currentHealthy") or 0

    @property
    def desired_healthy(self) -> int:
        """``status.desiredHealthy``: the number of pods that must be ready."""
        return integer_at(self.status, "desiredHealthy") or 0

    @property
    def always_evicts_unhealthy(self) -> bool:
        """True if the budget never protects pods that are not ready from eviction."""
        return text_at(self.spec, "unhealthyPodEvictionPolicy") == "AlwaysAllow"

    @property
    def is_observed(self) -> bool:
        """True if the status is about the present spec; before that, the API server refuses
        evictions.
        """
        observed = integer_at(self.status, "observedGeneration") or 0
        return observed >= (integer_at(self.metadata, "generation") or 0)

    @property
    def disrupted_pods(self) -> Container[str]:
        """The names of pods that have been evicted but still exist."""
        return map_at(self.status, "disruptedPods")

    def selects(self, pod: Pod) -> bool:
        """Decide whether the eviction API applies this budget to a pod.

        An empty selector selects every pod of the namespace, including pods without labels, and a
        missing selector selects none, as in kubernetes pkg/registry/core/pod/storage/eviction.go
        and on a server of 1.37.
        """
        selector = self.selector
        return selector is not None and self.key[0] == pod.key[0] and selector.matches(pod.labels)

    def protects(self, pod: Pod) -> bool:
        """Decide whether a preemption of the pod counts against the budget
        (filterPodsWithPDBViolation).

        A selector without requirements matches nothing.
        """
        selector = self.selector
        if selector is None or not (selector.match_labels or selector.match_expressions):
            return False
        if self.key[0] != pod.namespace or not pod.labels or not selector.matches(pod.labels):
            return False
        return pod.name not in self.disrupted_pods
