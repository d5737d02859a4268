"""The NodePools of a cluster, judged as Karpenter would for a pending pod.

Karpenter tries the pod on each NodePool, the heaviest first, and launches a node for the first on
which it fits (Scheduler.addToNewNodeClaim and NodeClaim.CanAdd in sigs.k8s.io/karpenter
pkg/controllers/provisioning/scheduling): limits, taints, requirements, devices, and then an
instance type's other resources. Amounts that a node keeps for itself are not known before it
exists, and not counted.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from dractl.autoscaler import find_shared_refusal, is_older
from dractl.autoscaler.requirements import (
    Requirement,
    Requirements,
    find_conflict,
    find_missing,
    merge,
    require_expressions,
    require_labels,
)
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.explain.nodes_on_the_way import count_waiting_pods, find_nodes_on_the_way
from dractl.explain.placement_attempts import Attempt, find_refused_selector, list_attempts
from dractl.explain.pool_inquiry import PoolInquiry, has_room, is_within_limits, make_pool_inquiry
from dractl.facts.autoscalers import DeviceTables, device_tables
from dractl.machines import labels_of
from dractl.model import ResourceClaim
from dractl.model.taints import format_taint
from dractl.scheduler.node_constraints import is_tolerated
from dractl.views import Pod
from dractl.views.karpenter import KARPENTER, KarpenterSettings, read_karpenter_settings
from dractl.views.node_pool import NodePool

AWS = "karpenter.k8s.aws"
EKS_AUTO_MODE = "eks.amazonaws.com"
"""The API group of EKS Auto Mode's NodeClass. awsdocs/amazon-eks-user-guide
latest/ug/automode/auto-change.adoc: "DRA is not currently supported by EKS Auto Mode" (read on
2026-11-27).
"""
MAX_POOLS = 20
"""The maximum number of NodePools that are judged for one pod."""


def judge_pools(
    state: ClusterState, pools: Sequence[NodePool], pod: Pod, claims: Sequence[ResourceClaim]
) -> tuple[ExpectedNode, ...]:
    """Judge the NodePools of a cluster for a pod with claims; return none without Karpenter's
    tables.

    The NodePool that brings a node is the last one, since Karpenter does not try the pools after
    it. If Karpenter ignores the pod, one answer without the name of a pool stands for all pools.
    """
    tables = device_tables().get(KARPENTER)
    if tables is None:
        return ()
    settings = read_karpenter_settings(state.objects("Deployment").values())
    refusal = _find_refusal(settings, tables) or _find_pod_refusal(pod, tables)
    if refusal is not None:
        return (refusal,)
    if settings is not None:
        tables = _limit_tables(tables, settings.drivers)
    inquiry = make_pool_inquiry(state, pod, claims, tables)
    # Karpenter first fills the nodes that it has already launched, so further pods get another
    # node.
    coming = tuple(find_nodes_on_the_way(state, inquiry))
    if coming and len(coming) >= count_waiting_pods(state):
        return coming
    return (*coming, *_try_pools(pools, inquiry))


def _try_pools(pools: Sequence[NodePool], inquiry: PoolInquiry) -> tuple[ExpectedNode, ...]:
    """Judge NodePools as Karpenter tries them, up to the one that brings a node."""
    # OrderByWeight in pkg/utils/nodepool/nodepool.go: among equal weights, the last name comes
    # first.
    ordered = sorted(pools, key=lambda pool: (pool.weight, pool.name), reverse=True)[:MAX_POOLS]
    has_soft_taints = any(t.effect == "PreferNoSchedule" for pool in ordered for t in pool.taints)
    answers: list[ExpectedNode] = []
    for attempt in list_attempts(inquiry.pod, has_soft_taints=has_soft_taints):
        answers = []
        for pool in ordered:
            answers.append(_judge_pool(pool, attempt, inquiry))
            if answers[-1].verdict == "comes":
                return tuple(answers)
    return tuple(answers)


def _find_refusal(settings: KarpenterSettings | None, tables: DeviceTables) -> ExpectedNode | None:
    """Return why Karpenter serves no pod with claims at all."""
    if settings is None:
        return None
    if is_older(settings.version, tables.since):
        reason = (
            f"Karpenter {settings.version} on {tables.provider} knows of no devices: its provider"
            f" declares them from {tables.since} on"
        )
        fix = f"upgrade Karpenter to {tables.since}, with {tables.enabled_by}=true"
        return ExpectedNode(KARPENTER, "", "never", (), reason, fix)
    if settings.ignores_claims:
        reason = "Karpenter passes over pods with claims: IGNORE_DRA_REQUESTS is not false"
        fix = f"install its chart with {tables.enabled_by}=true"
        return ExpectedNode(KARPENTER, "", "never", (), reason, fix)
    return None


def _limit_tables(tables: DeviceTables, drivers: frozenset[str]) -> DeviceTables:
    """Return the tables of the drivers whose gate is on (populateDynamicResources)."""
    types = {
        name: replace(kind, groups=tuple(g for g in kind.groups if g.driver in drivers))
        for name, kind in tables.types.items()
    }
    return replace(tables, types=types)


def _find_pod_refusal(pod: Pod, tables: DeviceTables) -> ExpectedNode | None:
    """Return why Karpenter ignores a pod, whatever its NodePools allow."""
    reason = find_refused_selector(pod, tables.well_known_labels)
    if reason is None:
        return None
    return ExpectedNode(KARPENTER, "", "never", (), f"Karpenter passes over the pod: {reason}")


def _judge_pool(pool: NodePool, attempt: Attempt, inquiry: PoolInquiry) -> ExpectedNode:
    """Judge a NodePool, in the order in which Karpenter looks at its parts."""
    answer = _find_pool_refusal(pool)
    if answer is not None:
        return answer
    offered = merge(require_expressions(pool.requirements), require_labels(pool.node_labels))
    allowed = [
        name
        for name, requirements in inquiry.requirements.items()
        if find_conflict(requirements, offered) is None
    ]
    within = [name for name in allowed if is_within_limits(pool, name)]
    if allowed and not within:
        return _refusal(pool, "its limits leave no room for another node", "raise its limits")
    taint = next((t for t in pool.taints if not is_tolerated(t, attempt.tolerations)), None)
    if taint is not None:
        text = format_taint(taint)
        return _refusal(pool, f"the pod does not tolerate its taint {text}", f"tolerate {text}")
    mismatch = _explain_mismatch(offered, attempt, inquiry)
    if mismatch is not None:
        return _refusal(pool, mismatch, None)
    serving = [name for name in within if inquiry.judge(name).verdict == "serves"]
    shared = find_shared_refusal(map(inquiry.judge, within))
    if serving and shared is not None:
        return _refusal(pool, shared, f"allow only {_list(serving)}")
    if not serving:
        return _explain_no_type(pool, within, inquiry)
    if sum(inquiry.judge(name).seconds for name in within) > inquiry.tables.seconds:
        reason = (
            f"Karpenter's search ends after {inquiry.tables.seconds} seconds, and those of all"
            " instance types together take longer: it depends on their order"
        )
        fix = f"allow only {_list(serving)}"
        return ExpectedNode(KARPENTER, pool.name, "unknown", tuple(serving), reason, fix)
    wanted = merge(offered, attempt.requirements)
    return _choose_types(pool, serving, wanted, inquiry)


def _choose_types(
    pool: NodePool, serving: Sequence[str], wanted: Requirements, inquiry: PoolInquiry
) -> ExpectedNode:
    """Answer with the instance types that have the devices and everything else that the pod
    needs.
    """
    fitting = [
        name for name in serving if find_conflict(inquiry.requirements[name], wanted) is None
    ]
    if not fitting:
        return _refusal(
            pool, f"the pod's node selector or affinity excludes {_list(serving)}", None
        )
    roomy = [name for name in fitting if has_room(inquiry.pod, name)]
    if not roomy:
        return _refusal(pool, f"{_list(fitting)} have too little CPU or memory for the pod", None)
    for key, least in pool.min_values.items():
        values = {labels_of(name).get(key) for name in roomy}
        if None not in values and len(values) < least:
            reason = f"it wants {least} values of {key}, and only {_list(roomy)} serve the pod"
            return _refusal(pool, reason, f"lower minValues of {key}")
    return ExpectedNode(
        KARPENTER, pool.name, "comes", tuple(roomy), f"Karpenter launches {_list(roomy)}"
    )


def _find_pool_refusal(pool: NodePool) -> ExpectedNode | None:
    """Return the answer for a NodePool that Karpenter skips, or about which nothing is known.

    Provisioner.NewScheduler in pkg/controllers/provisioning/provisioner.go.
    """
    ready = pool.condition("Ready")
    if pool.provider == EKS_AUTO_MODE:
        return _refusal(pool, "EKS Auto Mode does not support claims", None)
    if pool.provider not in ("", AWS):
        reason = f"dractl does not know which devices Karpenter expects of {pool.provider}"
        return ExpectedNode(KARPENTER, pool.name, "unknown", (), reason)
    if pool.deletion_timestamp:
        return _refusal(pool, "it is being deleted", None)
    if pool.is_static:
        return _refusal(pool, "it has a fixed number of nodes (spec.replicas)", None)
    if ready.type and ready.status != "True":
        return _refusal(pool, f"it is not ready{f': {ready.message}' * bool(ready.message)}", None)
    return None


def _refusal(pool: NodePool, reason: str, fix: str | None) -> ExpectedNode:
    return ExpectedNode(KARPENTER, pool.name, "never", (), reason, fix)


def _explain_mismatch(offered: Requirements, attempt: Attempt, inquiry: PoolInquiry) -> str | None:
    """Return a clause about the first label that the pod wants and no node of the pool has."""
    wanted = attempt.requirements
    missing = find_missing(offered, wanted, inquiry.tables.well_known_labels)
    if missing is not None:
        text = _describe(missing, wanted[missing])
        return f"the pod wants {text}, a label that its nodes do not have"
    conflict = find_conflict(offered, wanted)
    if conflict is None:
        return None
    return (
        f"the pod wants {_describe(conflict, wanted[conflict])}, and its nodes have"
        f" {_describe(conflict, offered[conflict])}"
    )


def _describe(key: str, requirement: Requirement) -> str:
    """Return a requirement as text: ``team=ml``, ``team in (a, b)``, ``no team``."""
    if requirement.is_empty:
        return f"no {key}"
    bounds = [
        *([f"{key} >= {requirement.lowest}"] if requirement.lowest is not None else ()),
        *([f"{key} <= {requirement.highest}"] if requirement.highest is not None else ()),
    ]
    values = ", ".join(sorted(requirement.values))
    if not requirement.excludes:
        return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
    if values:
        bounds.append(f"{key} not in ({values})")
    return " and ".join(bounds) or key


def _explain_no_type(pool: NodePool, allowed: Sequence[str], inquiry: PoolInquiry) -> ExpectedNode:
    """Return why no instance type of a NodePool serves the pod, and which other type would."""
    others = [
        name
        for name in inquiry.tables.types
        if name not in allowed and inquiry.judge(name).verdict == "serves"
    ]
    fix = f"allow {others[0]}, which has the devices" if others else None
    if not allowed:
        return _refusal(pool, "it allows no instance type with devices that Karpenter knows", fix)
    nearest = max(allowed, key=lambda name: inquiry.judge(name).stage)
    return _refusal(pool, inquiry.judge(nearest).reason, fix)


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" or {len(names) - 4} more types" if len(names) > 4 else "")
