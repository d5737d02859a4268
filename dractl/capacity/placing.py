"""Copies of a pod placed one after the other as kube-scheduler would, until one stays pending.

If a copy on one node changes nothing for the others, every node is filled separately, and only one
of several nodes that the scheduler cannot tell apart is filled. Otherwise (shared claims, devices
that several nodes reach, spreading, affinity between pods) the copies are placed in the whole
cluster one after the other. In kube-scheduler, score and chance then decide which node a copy gets;
here it is the node with the fewest copies.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Features
from dractl.capacity.binding import BoundCopy, bind_copy, move_copy
from dractl.capacity.copies import Copies
from dractl.capacity.device_plugins import PluginAllocation
from dractl.capacity.inventory import take_inventory
from dractl.capacity.islands import Islands
from dractl.cluster.state import ClusterState
from dractl.model.order import natural
from dractl.model.quantity import PLENTY
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.quota import find_missing_requests, find_quota_room
from dractl.scheduler.snapshot import snapshot_of
from dractl.scheduler.stops import Stop
from dractl.scheduler.verdict import Attempt, NodeVerdict
from dractl.views import Claim, Pod, View
from dractl.views.amounts import pod_requests

ATTEMPT_BUDGET = 100_000
"""The number of attempts on one node after which placing ends undecided; they take some tens of
seconds.
"""
MAX_COPIES_PER_NODE = 600
"""The number of copies on one node after which placing ends undecided. A kubelet runs 110 pods by
default, and a few hundred at most. If the node has no limit, claims that use up nothing
(adminAccess) fit any number of times.
"""
# An attempt takes twice as long with this many devices that several nodes can use.
_DEVICES_PER_ATTEMPT = 32
# Up to this number of existing copies, the cost of an attempt hardly depends on it.
_CHEAP_COPIES_ON_NODE = 250
_CHEAP_COPIES_IN_TURN = 500


class AlignedCopies(Struct, frozen=True):
    """Copies of a shape whose devices have the same alignment."""

    alignment: str
    copies: int


class NodeFit(Struct, frozen=True):
    """Copies that one node takes."""

    name: str
    fits: int
    devices: tuple[str, ...]
    """The devices of the copies: ``driver/pool/device``."""
    alignments: tuple[AlignedCopies, ...] = ()
    """Copies of a shape by alignment, the closest first; empty if the user requests none."""


class Fit(Struct, frozen=True):
    """Copies that fit, as a whole and by node."""

    subject: Copies
    fits: int
    nodes: tuple[NodeFit, ...]
    state: ClusterState
    """The cluster with the copies in it."""
    next_attempt: Attempt
    """The attempt to place the next copy in ``state``."""
    undecided: bool = False
    """True if the budget ended before the placing did."""
    plugin_allocations: tuple[PluginAllocation, ...] = ()
    """Devices in use through device plugins, which kube-scheduler does not see."""
    scheduler_fit: Fit | None = None
    """The fit that kube-scheduler reaches without knowledge of ``plugin_allocations``. If it is
    set, this fit is a bound that leaves their devices out.
    """

    @property
    def preempts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the nodes on which kube-scheduler would preempt pods (``namespace/name``) for the
        next copy.

        Such a copy does not count in ``fits``.
        """
        return tuple(
            (node.name, node.victims)
            for node in self.next_attempt.nodes
            if node.fits and node.victims
        )


def list_remaining_resources(fit: Fit) -> dict[str, dict[str, str]]:
    """Return the CPU and memory of each node that remain after all copies, as quantities.

    Only resources that a copy requests are returned; for a described machine, only known ones.
    """
    requested = {"cpu", "memory"} & pod_requests(Pod(fit.subject.pod).spec).keys()
    nodes = snapshot_of(fit.state).nodes if requested else {}
    return {
        name: {
            resource: str(room - node.sum_requests(resource))
            for resource, room in sorted(node.allocatable.items())
            if resource in requested and str(room) != PLENTY
        }
        for name, node in nodes.items()
    }


def place_copies(
    subject: Copies,
    features: Features,
    *,
    max_count: int | None = None,
    budget: int = ATTEMPT_BUDGET,
    progress: Callable[[str], None] = lambda _: None,
) -> Fit:
    """Place copies of ``subject``, at most ``max_count``, until one stays pending."""
    scheduler = Scheduler(subject.state, features)
    first = scheduler.attempt_pod(subject.copy(1), recreated=True)
    if not free_nodes(first) or first.pre_bind_failure is not None:
        return Fit(subject, 0, _count_by_node(scheduler.nodes, {}), subject.state, first)
    limit = find_quota_limit(subject, features, first)
    if max_count is not None and max_count <= limit.copies:
        limit = QuotaLimit(max_count)
    islands = Islands.from_cluster(scheduler, subject.copy(1), first) if limit.copies else None
    filled = _FilledNodes({}, subject.state, 0, undecided=False)
    if islands is not None:
        filled_alone = _fill_nodes(subject, scheduler, first, islands, limit, budget, progress)
        if filled_alone is not None:
            filled = filled_alone
    scheduler = scheduler.with_state(filled.state)
    return _place_in_turn(subject, scheduler, filled, limit, budget, progress)


class _NodeCopy(Struct, frozen=True):
    """A copy that a node takes, before the cluster gives it a number."""

    number: int
    """The number of the copy on its node."""

    node: str

    example: str
    """The equal node on which the copy was actually placed."""

    copy: BoundCopy
    """The copy in the form in which it was bound to that node."""


class QuotaLimit(Struct, frozen=True):
    """The number of copies that quotas admit, and the refusal of the next one; None if no quota
    applies.
    """

    copies: int = sys.maxsize
    refusal: Stop | None = None


def find_quota_limit(subject: Copies, features: Features, first: Attempt) -> QuotaLimit:
    """Return the number that the quotas of the namespace admit.

    ``first`` is the attempt to place the first copy.
    """
    refusal = None if subject.is_stand_in else find_missing_requests(subject.state, subject.copy(1))
    if refusal is not None:
        return QuotaLimit(0, refusal)
    claims_of_copy = next((node.claims for node in free_nodes(first)), first.claims)
    claims = [
        claim.claim
        for claim in claims_of_copy
        if claim.claim is not None and (claim.template is not None or not claim.name)
    ]
    room = find_quota_room(subject.state, features, subject.copy(1), claims)
    return QuotaLimit() if room is None else QuotaLimit(room.copies, room.refusal)


class _FilledNodes(Struct, frozen=True):
    """A cluster with copies on its nodes."""

    nodes: dict[str, list[tuple[str, ...]]]
    """The devices of each copy, by node."""
    state: ClusterState
    copies: int
    undecided: bool


def free_nodes(attempt: Attempt) -> list[NodeVerdict]:
    """Return the nodes on which the pod fits without preemption."""
    if attempt.fatal_node is not None:
        return []
    return [node for node in attempt.nodes if node.fits and not node.victims]


def _fill_nodes(
    subject: Copies,
    scheduler: Scheduler,
    first: Attempt,
    islands: Islands,
    limit: QuotaLimit,
    budget: int,
    progress: Callable[[str], None],
) -> _FilledNodes | None:
    """Fill every node separately. Return None if an attempt fails for all nodes, so that copies
    must be placed in the whole cluster.
    """
    by_key: dict[Hashable, tuple[str, list[BoundCopy]]] = {}
    chosen: list[_NodeCopy] = []
    attempts, is_full = 0, False
    # Every node takes its first copy before any node takes a second. All these nodes have room for
    # a first one.
    free = free_nodes(first)[: limit.copies]
    for done, verdict in enumerate(free):
        key = islands.node_key(verdict)
        if key not in by_key:
            progress(f"placing copies ({done} of {len(free)} nodes)")
            alone = islands.isolate_node(verdict.name)
            filled = _fill_node(subject, scheduler, alone, budget - attempts, limit.copies)
            if filled is None:
                return None
            attempts += _cost_of_filling(len(filled))
            is_full = is_full or len(filled) == MAX_COPIES_PER_NODE
            by_key[key] = verdict.name, filled
        example, copies = by_key[key]
        chosen += [
            _NodeCopy(number, verdict.name, example, copy) for number, copy in enumerate(copies)
        ]
        if attempts >= budget:
            break
    # kube-scheduler spreads pods by score and chance; here the emptiest node is next.
    if len(chosen) > limit.copies:
        chosen = sorted(chosen, key=lambda copy: copy.number)[: limit.copies]
    bound_copies: list[BoundCopy] = []
    nodes: dict[str, list[tuple[str, ...]]] = {}
    for entry in chosen:
        pools = islands.map_pools(entry.example, entry.node)
        pod = subject.copy(len(bound_copies) + 1)
        bound_copies.append(move_copy(pod, entry.copy.claims, entry.node, pools))
        nodes.setdefault(entry.node, []).append(_device_names(bound_copies[-1].claims))
    return _FilledNodes(
        nodes,
        _add_copies(subject.state, bound_copies),
        len(bound_copies),
        undecided=is_full or attempts >= budget,
    )


def _fill_node(
    subject: Copies, scheduler: Scheduler, alone: ClusterState, budget: int, max_count: int
) -> list[BoundCopy] | None:
    """Place copies on an isolated node, at most ``max_count``, until it is full; None if an attempt
    fails for all nodes.
    """
    copies: list[BoundCopy] = []
    scheduler_of_node = scheduler.with_state(alone)
    most = min(MAX_COPIES_PER_NODE, max_count)
    while len(copies) < most and _cost_of_filling(len(copies)) <= budget:
        pod = subject.copy(len(copies) + 1)
        attempt = scheduler_of_node.attempt_pod(pod, recreated=True)
        if attempt.fatal_node is not None:
            return None
        free = free_nodes(attempt)
        if not free or attempt.pre_bind_failure is not None:
            return copies
        binding = bind_copy(scheduler_of_node, pod, free[0])
        copies.append(binding.copy)
        scheduler_of_node = scheduler_of_node.with_state(binding.state)
    return copies


def _cost_of_filling(copies: int) -> int:
    """Return the cost of filling a node: its attempts, which take longer with more copies."""
    return copies + 1 + max(0, copies - _CHEAP_COPIES_ON_NODE) ** 2


def _cost_of_attempt(state: ClusterState) -> int:
    """Return the cost of an attempt on a node.

    Devices of several nodes increase it, since the allocator examines all of them for every node.
    """
    devices = sum(len(item.spec.devices) for item in state.slices if not item.spec.node_name)
    return 1 + devices // _DEVICES_PER_ATTEMPT


def _place_in_turn(
    subject: Copies,
    scheduler: Scheduler,
    filled: _FilledNodes,
    limit: QuotaLimit,
    budget: int,
    progress: Callable[[str], None],
) -> Fit:
    """Place further copies in the whole cluster until one stays pending.

    If islands were filled before, placing ends with the first attempt.
    """
    copies, nodes = filled.copies, filled.nodes
    attempts, cost = 0, _cost_of_attempt(scheduler.state)
    while True:
        if copies >= limit.copies:
            stops = () if limit.refusal is None else (limit.refusal,)
            return Fit(
                subject,
                copies,
                _count_by_node(scheduler.nodes, nodes),
                scheduler.state,
                Attempt((), stops),
            )
        pod = subject.copy(copies + 1)
        attempt = scheduler.attempt_pod(pod, recreated=True)
        free = free_nodes(attempt)
        attempts += max(1, len(attempt.nodes)) * cost + max(
            0, copies - filled.copies - _CHEAP_COPIES_IN_TURN
        )
        if (
            filled.undecided
            or not free
            or attempt.pre_bind_failure is not None
            or (attempts > budget and copies)
        ):
            undecided = filled.undecided or bool(free and attempt.pre_bind_failure is None)
            return Fit(
                subject,
                copies,
                _count_by_node(scheduler.nodes, nodes),
                scheduler.state,
                attempt,
                undecided,
            )
        chosen = min(free, key=lambda node: (len(nodes.get(node.name, ())), node.name))
        binding = bind_copy(scheduler, pod, chosen)
        copies += 1
        nodes.setdefault(chosen.name, []).append(_device_names(binding.copy.claims))
        if copies % 20 == 0:
            progress(f"placing copies ({copies} so far)")
        scheduler = scheduler.with_state(binding.state)


def _device_names(claims: tuple[Raw, ...]) -> tuple[str, ...]:
    return tuple(str(device.id) for claim in claims for device in Claim(claim).allocated_devices)


def _count_by_node(
    names: Iterable[str], nodes: Mapping[str, list[tuple[str, ...]]]
) -> tuple[NodeFit, ...]:
    """Count the copies of every node of the cluster, including nodes without a copy."""
    return tuple(
        NodeFit(
            name,
            len(nodes.get(name, ())),
            tuple(dict.fromkeys(d for copy in nodes.get(name, ()) for d in copy)),
        )
        for name in sorted({*names, *nodes}, key=natural)
    )


def _add_copies(state: ClusterState, copies: Iterable[BoundCopy]) -> ClusterState:
    pods = {View(copy.pod).key: copy.pod for copy in copies}
    claims = {View(claim).key: claim for copy in copies for claim in copy.claims}
    return state.with_objects({"Pod": pods, "ResourceClaim": claims})


def subtract_plugin_allocations(
    fit: Fit, allocations: Sequence[PluginAllocation], features: Features
) -> Fit:
    """Limit a fit to the copies that certainly get free devices.

    It is unknown which devices the plugins handed out. So on each node, their number is subtracted
    from the number of free devices, and the difference is divided by the number of devices of a
    copy.

    kube-scheduler counts the extended resource and the slices separately
    (pkg/scheduler/framework/plugins/noderesources/fit.go,
    plugins/dynamicresources/dynamicresources.go), so it may allocate a device that a container
    already has.
    """
    drivers_in_use = {
        (node.name, device.partition("/")[0]) for node in fit.nodes for device in node.devices
    }
    allocations = tuple(
        allocation
        for allocation in allocations
        if (allocation.node, allocation.driver) in drivers_in_use
    )
    if not allocations:
        return fit
    free: Counter[tuple[str | None, str]] = Counter()
    for row in take_inventory(fit.subject.state, features).devices:
        free[row.node, row.id.driver] += row.state in ("free", "shared")
    nodes = tuple(
        _limit_node(
            node, [allocation for allocation in allocations if allocation.node == node.name], free
        )
        for node in fit.nodes
    )
    fits = sum(node.fits for node in nodes)
    return replace(fit, fits=fits, nodes=nodes, plugin_allocations=allocations, scheduler_fit=fit)


def _limit_node(
    node: NodeFit,
    allocations: Sequence[PluginAllocation],
    free: Mapping[tuple[str | None, str], int],
) -> NodeFit:
    fits = node.fits
    for allocation in allocations:
        remaining = max(0, free[node.name, allocation.driver] - allocation.used)
        devices_per_copy = (
            sum(device.startswith(f"{allocation.driver}/") for device in node.devices) // node.fits
        )
        # If a copy has no device of its own, copies share devices: one device is enough for all of
        # them.
        fits = min(
            fits, remaining // devices_per_copy if devices_per_copy else node.fits * bool(remaining)
        )
    return node if fits == node.fits else replace(node, fits=fits, devices=())
