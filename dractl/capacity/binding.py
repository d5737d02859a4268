"""A placed copy as the API server would store it: the pod on its node, with its claims
allocated.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from dractl.allocation import Allocated, as_json
from dractl.cluster.podgroups import claims_of_group
from dractl.cluster.state import ClusterState, Key
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.pre_enqueue import pre_enqueue
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import AllocatedDevice, Claim, Pod, View

# A scheduler with binding conditions writes the time of the allocation; dractl only needs its
# presence.
_ALLOCATION_TIMESTAMP = "2000-01-01T00:00:00Z"


class BoundCopy(Struct, frozen=True):
    """A pod on a node, as the API server would store it."""

    pod: Raw
    """The pod, which names its node."""

    claims: tuple[Raw, ...]
    """The claims that were allocated for the pod, without existing claims that it shares."""


class Binding(Struct, frozen=True):
    """A bound copy and the cluster that contains it."""

    copy: BoundCopy

    objects: Mapping[str, Mapping[Key, Raw]]
    """The objects that binding writes, by kind: the pod, and the claims that it uses."""

    state: ClusterState


def bind_copy(scheduler: Scheduler, pod: dict[str, Any], node: NodeVerdict) -> Binding:
    """Bind a pod to the node that an attempt chose, with its claims allocated there."""
    state = scheduler.state
    # Nodes that the allocator cannot tell apart share the verdict of one of them, so the claims are
    # allocated again with the devices of this node.
    outcome = scheduler.allocate(node.node, node.claims)
    results = outcome.results if isinstance(outcome, Allocated) else ()
    bound_pod = Pod(_assign_node(pod, node.name))
    claims = [
        _allocate_claim(
            claim, as_json(result), bound_pod, _consumer_reference(state, bound_pod, claim.name)
        )
        for claim, result in zip(node.claims, results, strict=True)
    ]
    joined_claims = [
        _reserve_claim(claim.value, _consumer_reference(state, bound_pod, claim.name))
        for claim in _list_joined_claims(state, pod, claims)
    ]
    objects: dict[str, dict[Key, Raw]] = {
        "Pod": {bound_pod.key: bound_pod.raw},
        "ResourceClaim": {View(claim).key: claim for claim in [*claims, *joined_claims]},
    }
    copy = BoundCopy(bound_pod.raw, tuple(claims))
    return Binding(copy, objects, state.with_objects(objects))


def move_copy(
    pod: dict[str, Any], claims: tuple[Raw, ...], node: str, pools: Mapping[tuple[str, str], str]
) -> BoundCopy:
    """Bind another pod to an equal node, with claims for the devices that have the same names
    there.

    ``pools`` maps each driver and pool of the filled node to the corresponding pool of ``node``.
    """
    bound_pod = Pod(_assign_node(pod, node))
    return BoundCopy(
        bound_pod.raw,
        tuple(
            _move_claim(Claim(claim), bound_pod, node, pools, number)
            for number, claim in enumerate(claims)
        ),
    )


def _move_claim(
    claim: Claim, pod: Pod, node: str, pools: Mapping[tuple[str, str], str], number: int
) -> Raw:
    results = [
        {**result, "pool": _pool_on_node(device, pools)}
        for result, device in zip(claim.results, claim.allocated_devices, strict=True)
    ]
    changed = {**claim.allocation}
    changed["devices"] = {**claim.allocation.get("devices", {}), "results": results}
    if "nodeSelector" in changed:
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        changed["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    metadata = {**claim.metadata, "name": f"{pod.name}-{number}"}
    status = {"allocation": changed, "reservedFor": [_pod_reference(pod)]}
    return {**claim.raw, "metadata": metadata, "status": status}


def _pool_on_node(device: AllocatedDevice, pools: Mapping[tuple[str, str], str]) -> str:
    return pools.get((device.driver, device.pool), device.pool)


def _assign_node(pod: dict[str, Any], node: str) -> dict[str, Any]:
    return {**pod, "spec": {**Pod(pod).spec, "nodeName": node}, "status": {"phase": "Running"}}


def _allocate_claim(
    claim: PodClaim, allocation: dict[str, Any], pod: Pod, user: Raw
) -> dict[str, Any]:
    value = dict(claim.value or {})
    metadata = dict(View(value).metadata)
    # The claim is generated for this pod: from a template, or for its extended resources.
    if claim.template is not None or not claim.name:
        metadata["name"] = f"{pod.name}-{claim.name or 'extended-resources'}"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
        metadata["ownerReferences"] = [owner]
    allocation = {**allocation, "allocationTimestamp": _ALLOCATION_TIMESTAMP}
    value["metadata"] = metadata
    value["status"] = {"allocation": allocation, "reservedFor": [user]}
    return value


def _list_joined_claims(
    state: ClusterState, pod: Raw, new_claims: list[dict[str, Any]]
) -> list[PodClaim]:
    new_keys = {View(claim).key for claim in new_claims}
    return [
        claim
        for claim in pre_enqueue(state, pod, recreated=True).claims
        if claim.allocated and claim.key not in new_keys
    ]


def _reserve_claim(claim: Raw | None, user: Raw) -> dict[str, Any]:
    view = Claim(claim)
    users = view.reserved_for
    reserved_for = users if user in users else [*users, user]
    return {**view.raw, "status": {**view.status, "reservedFor": reserved_for}}


def _consumer_reference(state: ClusterState, pod: Pod, pod_claim: str) -> dict[str, Any]:
    """Return the consumer for which a pod's claim is reserved: its PodGroup if the group shares the
    claim, or else the pod.
    """
    group_claim = claims_of_group(state, pod).get(pod_claim)
    if group_claim is None:
        return _pod_reference(pod)
    group = group_claim.group.metadata
    reference = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group["name"]}
    return {**reference, **({"uid": group["uid"]} if "uid" in group else {})}


def _pod_reference(pod: Pod) -> dict[str, Any]:
    return {"resource": "pods", "name": pod.name, "uid": pod.uid}
