"""The NodePools of a cluster, judged as Karpenter would for a pending pod.

Karpenter's order is that of NodeClaim.CanAdd (sigs.k8s.io/karpenter
pkg/controllers/provisioning/scheduling/nodeclaim.go): taints, requirements, devices, and then what
an instance type has of other resources. Amounts that a node keeps for itself are not known before
it exists, and not counted.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dractl.allocation.nodes import label_matches
from dractl.autoscaler import Judgement, is_older, judge
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.facts.autoscalers import DeviceTables, device_tables
from dractl.machines import labels_of, room_of
from dractl.model import DeviceClass, NodeSelectorRequirement, Quantity, ResourceClaim
from dractl.model.taints import format_taint
from dractl.scheduler.node_constraints import is_tolerated
from dractl.views import Pod
from dractl.views.karpenter import KARPENTER, KarpenterSettings, read_karpenter_settings
from dractl.views.node_pool import NodePool

AWS = "karpenter.k8s.aws"
EKS_AUTO_MODE = "eks.amazonaws.com"
"""The group of its NodeClass. awsdocs/amazon-eks-user-guide latest/ug/automode/auto-change.adoc:
"DRA is not currently supported by EKS Auto Mode" (read on 2026-11-27).
"""
MAX_POOLS = 20
"""NodePools that are judged for one pod."""

_OWN_DOMAINS = (
    "karpenter.sh/",
    "karpenter.k8s.aws/",
    "topology.kubernetes.io/",
    "topology.k8s.aws/",
)
_WELL_KNOWN = ("kubernetes.io/hostname", "node.kubernetes.io/windows-build")
"""Labels that a node gets when it is launched: nothing is known of them before."""


def judge_pools(
    state: ClusterState, pools: Sequence[NodePool], pod: Pod, claims: Sequence[ResourceClaim]
) -> tuple[ExpectedNode, ...]:
    """Judge the NodePools of a cluster for a pod with claims; none without Karpenter's tables.

    One answer, without the name of a pool, stands for all of them if Karpenter serves no claims.
    """
    tables = device_tables().get(KARPENTER)
    if tables is None:
        return ()
    settings = read_karpenter_settings(state.objects("Deployment").values())
    refusal = _find_refusal(settings, tables)
    if refusal is not None:
        return (refusal,)
    if settings is not None:
        tables = _limit_tables(tables, settings.drivers)
    return tuple(_judge_pool(state, pool, pod, claims, tables) for pool in pools[:MAX_POOLS])


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


def _judge_pool(
    state: ClusterState,
    pool: NodePool,
    pod: Pod,
    claims: Sequence[ResourceClaim],
    tables: DeviceTables,
) -> ExpectedNode:
    """Judge a NodePool, in the order in which Karpenter looks at its parts."""
    if pool.provider == EKS_AUTO_MODE:
        return _refusal(pool, "EKS Auto Mode does not support claims", None)
    if pool.provider not in ("", AWS):
        reason = f"dractl does not know which devices Karpenter expects of {pool.provider}"
        return ExpectedNode(KARPENTER, pool.name, "unknown", (), reason)
    taint = next((t for t in pool.taints if not is_tolerated(t, pod.tolerations)), None)
    if taint is not None:
        text = format_taint(taint)
        return _refusal(pool, f"the pod does not tolerate its taint {text}", f"tolerate {text}")
    missing = _label_that_pool_lacks(pool, pod)
    if missing is not None:
        return _refusal(pool, missing, None)
    allowed = [name for name in tables.types if _allows(pool, name)]
    classes = {item.metadata.name: item for item in state.classes}
    judgements = {name: judge(claims, classes, name, tables) for name in allowed}
    serving = [name for name in allowed if judgements[name].verdict == "serves"]
    if not serving:
        return _explain_no_type(pool, allowed, judgements, claims, tables, classes)
    if sum(item.seconds for item in judgements.values()) > tables.seconds:
        reason = (
            f"Karpenter's search ends after {tables.seconds} seconds, and those of all instance"
            " types together take longer: it depends on their order"
        )
        fix = f"allow only {_list(serving)}"
        return ExpectedNode(KARPENTER, pool.name, "unknown", tuple(serving), reason, fix)
    fitting = [name for name in serving if _matches_pod(pod, pool, name)]
    if not fitting:
        return _refusal(
            pool, f"the pod's node selector or affinity excludes {_list(serving)}", None
        )
    roomy = [name for name in fitting if _has_room(pod, name)]
    if not roomy:
        return _refusal(pool, f"{_list(fitting)} have too little CPU or memory for the pod", None)
    within = [name for name in roomy if _is_within_limits(pool, name)]
    if not within:
        return _refusal(pool, "its limits leave no room for another node", "raise its limits")
    reason = f"Karpenter launches {_list(within)}"
    return ExpectedNode(KARPENTER, pool.name, "comes", tuple(within), reason)


def _refusal(pool: NodePool, reason: str, fix: str | None) -> ExpectedNode:
    return ExpectedNode(KARPENTER, pool.name, "never", (), reason, fix)


def _explain_no_type(
    pool: NodePool,
    allowed: Sequence[str],
    judgements: Mapping[str, Judgement],
    claims: Sequence[ResourceClaim],
    tables: DeviceTables,
    classes: Mapping[str, DeviceClass],
) -> ExpectedNode:
    """Return why no type of a NodePool serves, and which other type would."""
    others = [
        name
        for name in tables.types
        if name not in allowed and judge(claims, classes, name, tables).verdict == "serves"
    ]
    fix = f"allow {others[0]}, which has the devices" if others else None
    if not allowed:
        return _refusal(pool, "it allows no instance type with devices that Karpenter knows", fix)
    nearest = max(allowed, key=lambda name: judgements[name].stage)
    return _refusal(pool, judgements[nearest].reason, fix)


def _allows(pool: NodePool, name: str) -> bool:
    """Return True if a NodePool's requirements allow an instance type."""
    labels = {**labels_of(name), **pool.node_labels}
    return all(
        label_matches(requirement, labels)
        for requirement in pool.requirements
        if requirement.key in labels or not _is_open(requirement)
    )


def _is_open(requirement: NodeSelectorRequirement) -> bool:
    """Return True for a label that a node gets from the requirement, or when it is launched."""
    return requirement.operator in ("In", "Exists", "NotIn") or requirement.key in _WELL_KNOWN


def _label_that_pool_lacks(pool: NodePool, pod: Pod) -> str | None:
    """Return a clause about the first label of the pod's node selector that no node of the pool
    has.
    """
    offered = {r.key: r.values for r in pool.requirements if r.operator == "In"}
    for key, value in pod.node_selector.items():
        if key in pool.node_labels:
            if pool.node_labels[key] != value:
                return (
                    f"the pod wants {key}={value}, and its nodes have {key}={pool.node_labels[key]}"
                )
        elif key in offered:
            if value not in offered[key]:
                return f"the pod wants {key}={value}, and it allows {', '.join(offered[key])}"
        elif not _is_well_known(key):
            return f"the pod wants {key}={value}, a label that its nodes do not have"
    return None


def _is_well_known(key: str) -> bool:
    node_labels = ("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type")
    return key.startswith(_OWN_DOMAINS) or key in (*_WELL_KNOWN, *node_labels)


def _matches_pod(pod: Pod, pool: NodePool, name: str) -> bool:
    """Return True if what is known of an instance type's labels meets the pod's node selector."""
    labels = {**labels_of(name), **pool.node_labels}
    wanted = {key: value for key, value in pod.node_selector.items() if key in labels}
    if any(labels[key] != value for key, value in wanted.items()):
        return False
    affinity = pod.node_affinity
    if affinity is None:
        return True
    return any(
        all(
            label_matches(requirement, labels)
            for requirement in term.match_expressions
            if requirement.key in labels
        )
        for term in affinity.node_selector_terms
    )


def _has_room(pod: Pod, name: str) -> bool:
    """Return True if an instance type has as much CPU and memory as the pod requests."""
    room = room_of(name)
    return all(
        Quantity.parse(room[resource]) >= pod.requests[resource]
        for resource in ("cpu", "memory")
        if resource in room and resource in pod.requests
    )


def _is_within_limits(pool: NodePool, name: str) -> bool:
    """Return True if a NodePool's limits allow one more node of an instance type."""
    added = {**room_of(name), "nodes": "1"}
    return all(
        _value(pool.resources.get(resource)) + Quantity.parse(added[resource]).value()
        <= limit.value()
        for resource, limit in pool.limits.items()
        if resource in ("cpu", "memory", "nodes") and resource in added
    )


def _value(amount: Quantity | None) -> int:
    return 0 if amount is None else amount.value()


def _list(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" or {len(names) - 4} more types" if len(names) > 4 else "")
