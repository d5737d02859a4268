"""PodDisruptionBudgets, applied as by the eviction API.

Upstream: kubernetes pkg/registry/core/pod/storage/eviction.go. A budget applies to pods that run; a
pod that is not ready may be evicted if its budget permits it, or if enough other pods are ready.
"""

from collections.abc import Iterable

from dractl.cluster.state import ClusterState, Key
from dractl.views import Pod
from dractl.views.quota import DisruptionBudget

_PENDING = "Pending"


class Budgets:
    """The budgets of a cluster, with their state while pods are evicted one after the other."""

    def __init__(self, state: ClusterState) -> None:
        self._budgets = {
            key: DisruptionBudget(raw, key)
            for key, raw in state.objects("PodDisruptionBudget").items()
        }
        self._allowed = {key: one.allowed_disruptions for key, one in self._budgets.items()}
        self._healthy = {key: one.current_healthy for key, one in self._budgets.items()}

    def list_budgets(self, pod: Pod) -> list[DisruptionBudget]:
        """Return the budgets that apply to a pod."""
        if pod.phase == _PENDING or pod.has_ended or pod.deletion_timestamp:
            return []
        return [one for one in self._budgets.values() if one.selects(pod)]

    def find_refusal(self, pod: Pod) -> str:
        """Return why the API server refuses to evict a pod now; "" if it does not refuse."""
        budgets = self.list_budgets(pod)
        if len(budgets) > 1:
            names = ", ".join("/".join(one.key) for one in budgets)
            return (
                f"{len(budgets)} PodDisruptionBudgets select it ({names}), which eviction refuses"
            )
        for budget in budgets:
            if self._may_leave_unready(budget, pod):
                continue
            name = "/".join(budget.key)
            if not budget.is_observed:
                return f"the status of PodDisruptionBudget {name} is not yet about its spec"
            if self._allowed[budget.key] <= 0:
                return (
                    f"PodDisruptionBudget {name} needs {budget.desired_healthy} healthy pods and"
                    f" has {self._healthy[budget.key]}"
                )
        return ""

    def subtract(self, pod: Pod) -> None:
        """Subtract the eviction of a pod from its budgets."""
        for budget in self.list_budgets(pod):
            if not self._may_leave_unready(budget, pod):
                self._allowed[budget.key] -= 1
                self._healthy[budget.key] -= 1

    def add(self, pod: Pod) -> None:
        """Add the ready successor of an evicted pod to its budgets."""
        for budget in self.list_budgets(pod):
            if not self._may_leave_unready(budget, pod):
                self._allowed[budget.key] += 1
                self._healthy[budget.key] += 1

    def _may_leave_unready(self, budget: DisruptionBudget, pod: Pod) -> bool:
        if pod.is_ready:
            return False
        has_enough = self._healthy[budget.key] >= budget.desired_healthy > 0
        return budget.always_evicts_unhealthy or has_enough


def list_idle_budgets(state: ClusterState, pods: Iterable[Pod]) -> list[Key]:
    """Return the budgets in the namespaces of ``pods`` that select no pod of the cluster."""
    namespaces = {pod.key[0] for pod in pods}
    return [
        key
        for key, raw in state.objects("PodDisruptionBudget").items()
        if key[0] in namespaces
        and not any(DisruptionBudget(raw, key).selects(pod) for pod in state.pods.values())
    ]
