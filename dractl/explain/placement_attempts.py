"""A pod as Karpenter tries to place it: first with all preferences, then with one preference fewer
in each attempt.

Preferences.Relax in sigs.k8s.io/karpenter pkg/controllers/provisioning/scheduling/preferences.go.
Pod affinity and topology spread are not judged here.
"""

from collections.abc import Collection, Iterator

from msgspec import Struct

from dractl.autoscaler.requirements import Requirements, merge, require_expressions, require_labels
from dractl.model import NodeSelectorRequirement, Toleration
from dractl.model.paths import integer_at, maps_at
from dractl.views import Pod
from dractl.views.node_pool import POOL_LABEL
from dractl.views.selectors import requirement

CAPACITY_TYPE = "karpenter.sh/capacity-type"
CAPACITY_TYPES = frozenset(("on-demand", "spot", "reserved"))
_RESTRICTED_DOMAINS = ("karpenter.sh", "karpenter.k8s.aws")
_HOSTNAME = "kubernetes.io/hostname"
_ANY_PREFERENCE = Toleration(operator="Exists", effect="PreferNoSchedule")


class Attempt(Struct, frozen=True):
    """The labels that a node must have, and the taints that it may have."""

    requirements: Requirements
    tolerations: tuple[Toleration, ...]


def list_attempts(pod: Pod, *, has_soft_taints: bool) -> Iterator[Attempt]:
    """Yield the attempts in their order, the last one without preferences.

    ``has_soft_taints`` is True if a NodePool has a taint with the effect PreferNoSchedule.
    """
    terms = (
        [term.match_expressions for term in pod.node_affinity.node_selector_terms]
        if (pod.node_affinity is not None)
        else []
    )
    preferences = _list_preferences(pod)
    stages = [(term, preferences[:1]) for term in terms[:-1]]
    last = terms[-1] if terms else ()
    stages += [(last, preferences[number : number + 1]) for number in range(len(preferences) + 1)]
    selector = require_labels(pod.node_selector)
    for term, preferred in stages:
        wanted = merge(selector, *map(require_expressions, preferred), require_expressions(term))
        yield Attempt(wanted, pod.tolerations)
    if has_soft_taints:
        wanted = merge(selector, require_expressions(last))
        yield Attempt(wanted, (*pod.tolerations, _ANY_PREFERENCE))


def _list_preferences(pod: Pod) -> list[tuple[NodeSelectorRequirement, ...]]:
    """Return the terms of preferred node affinity, the heaviest first."""
    terms = maps_at(pod.affinity, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    ordered = sorted(terms, key=lambda term: integer_at(term, "weight") or 0, reverse=True)
    return [
        tuple(map(requirement, maps_at(term, "preference", "matchExpressions"))) for term in ordered
    ]


def find_refused_selector(pod: Pod, well_known: Collection[str]) -> str | None:
    """Return a clause about a node selector or affinity for which Karpenter ignores the pod.

    Provisioner.Validate in pkg/controllers/provisioning/provisioner.go, ValidateRequirement in
    pkg/apis/v1/nodeclaim_validation.go.
    """
    terms = pod.node_affinity.node_selector_terms if pod.node_affinity is not None else ()
    if any(term.match_fields for term in terms):
        return "its affinity has matchFields, which Karpenter does not support"
    # validateKarpenterManagedLabelCanExist looks at the heaviest preference, too.
    first = next(list_attempts(pod, has_soft_taints=False)).requirements.get(POOL_LABEL)
    if first is not None and first.is_empty:
        return f"its node selector and affinity leave no value of {POOL_LABEL}"
    selected = [
        *(NodeSelectorRequirement(key, "In", (value,)) for key, value in pod.node_selector.items()),
        *(expression for term in terms for expression in term.match_expressions),
    ]
    for item in selected:
        domain = item.key.rpartition("/")[0]
        is_restricted = item.key == _HOSTNAME or any(
            domain == restricted or domain.endswith(f".{restricted}")
            for restricted in _RESTRICTED_DOMAINS
        )
        if is_restricted and item.key not in well_known:
            return f"it selects nodes by {item.key}, which Karpenter does not allow"
        if (
            item.key == CAPACITY_TYPE
            and item.operator == "In"
            and not (CAPACITY_TYPES & set(item.values))
        ):
            return f"{CAPACITY_TYPE} is never {', '.join(item.values)}"
    return None
