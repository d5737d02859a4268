"""The proof of a candidate: its departures one after the other, each in the cluster after the
earlier ones.

A departure consists of the steps that a person takes: cordon the node, evict the pods, wait until
the new pods of their owner have a node, uncordon.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from dractl.cluster.changes import Change, Delete, Patch, PatchError, apply
from dractl.cluster.state import Key
from dractl.planning.search import Candidate, Departure
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import SimulationOptions, SimulationResult, simulate
from dractl.simulation.evicted_pods import mark_evicted

MAX_ORDERS = 24
"""The maximum number of orders of departures that are tried: all orders of up to four
departures.
"""


class ProvenDeparture(Struct, frozen=True):
    """A departure that was proven to work in the cluster before it."""

    departure: Departure

    before: Scheduler
    """The scheduler of the cluster before the eviction, with the node cordoned."""

    nodes: tuple[str, ...]
    """The nodes of the departing pods, in the order of the pods; "" for a pod that ends."""


class Proof(Struct, frozen=True):
    """A candidate that works, with its departures in an order that works."""

    departures: tuple[ProvenDeparture, ...]

    scheduler: Scheduler
    """The scheduler of the cluster at the end."""


class Prover:
    """Tries candidates in a cluster until the pods that wait have a node."""

    def __init__(self, scheduler: Scheduler, subjects: Sequence[Key]) -> None:
        self.scheduler = scheduler
        self.subjects = subjects
        """The pods that wait, in the order of the queue."""
        self.failures = 0
        """The number of candidates that did not work."""

    def prove(self, candidate: Candidate) -> Proof | None:
        """Return the candidate in an order that works; None if there is no such order."""
        orders = self._try_orders(self.scheduler, tuple(reversed(candidate)), ())
        proof = next(filter(None, islice(orders, MAX_ORDERS)), None)
        self.failures += proof is None
        return proof

    def _try_orders(
        self, scheduler: Scheduler, remaining: Candidate, proven: tuple[ProvenDeparture, ...]
    ) -> Iterator[Proof | None]:
        """Yield a proof, or None for each order that ends without one."""
        if not remaining:
            yield Proof(proven, scheduler) if self._all_placed(scheduler) else None
            return
        for departure in remaining:
            outcome = self._depart(scheduler, departure)
            if outcome is None:
                yield None
                continue
            after, step = outcome
            others = tuple(other for other in remaining if other is not departure)
            yield from self._try_orders(after, others, (*proven, step))

    def _all_placed(self, scheduler: Scheduler) -> bool:
        return all(scheduler.state.pod(key).node_name for key in self.subjects)

    def _depart(
        self, scheduler: Scheduler, departure: Departure
    ) -> tuple[Scheduler, ProvenDeparture] | None:
        """Cordon, evict, wait and uncordon; None if the pods do not get their nodes."""
        is_cordoned = scheduler.state.node(departure.cordon).unschedulable
        before = _mark(_cordon(scheduler, departure.cordon), departure)
        evictions = [Delete("/".join(("Pod", *key))) for key in departure.unit.keys]
        result = self._simulate(before, evictions, frozenset(filter(None, departure.nodes)))
        if result is None:
            return None
        step = _match_placements(before, departure, result)
        if step is None:
            return None
        uncordon = (
            [] if is_cordoned else [_patch_cordon(result.scheduler, departure.cordon, value=False)]
        )
        done = self._simulate(result.scheduler, uncordon, frozenset({departure.cordon}))
        return None if done is None else (done.scheduler, step)

    def _simulate(
        self, scheduler: Scheduler, changes: Sequence[Change], nodes: frozenset[str]
    ) -> SimulationResult | None:
        options = SimulationOptions(candidate_nodes=nodes)
        try:
            return simulate(scheduler, changes, self.subjects[-1], options)
        except PatchError:
            return None


def _cordon(scheduler: Scheduler, node: str) -> Scheduler:
    return scheduler.with_state(
        apply(scheduler.state, [_patch_cordon(scheduler, node, value=True)])
    )


def _patch_cordon(scheduler: Scheduler, name: str, *, value: bool) -> Patch:
    """Return the change that `kubectl cordon` makes, or `uncordon` if ``value`` is False."""
    spec = {**scheduler.state.node(name).spec, "unschedulable": value}
    return Patch(f"Node/{name}", ({"op": "add", "path": "/spec", "value": spec},))


def _mark(scheduler: Scheduler, departure: Departure) -> Scheduler:
    """Return the cluster with the condition that the eviction API sets before it deletes the
    pods.
    """
    marked = {pod.key: mark_evicted(pod).raw for pod in departure.unit.pods}
    return scheduler.with_state(scheduler.state.with_objects({"Pod": marked}))


def _match_placements(
    before: Scheduler, departure: Departure, result: SimulationResult
) -> ProvenDeparture | None:
    """Return the departure with its nodes if exactly its pods have moved, and to the planned nodes;
    otherwise return None.
    """
    keys = departure.unit.keys
    existing = before.state.objects("Pod").keys() - set(keys)
    placements = [(key, node) for key, node in result.placements if key not in existing]
    if Counter(node for _, node in placements) != Counter(filter(None, departure.nodes)):
        return None
    if result.failed_jobs or result.rejections or not set(result.ended_pods) <= set(keys):
        return None
    return ProvenDeparture(departure, before, _sort_nodes(departure, placements))


def _sort_nodes(departure: Departure, placements: Sequence[tuple[Key, str]]) -> tuple[str, ...]:
    """Return the nodes that the pods got in the simulation, in the order of the pods.

    A new pod is named after the one that it replaces; equal pods of a gang may swap their nodes.
    """
    names = [pod.name for pod in departure.unit.pods]
    nodes = {
        name: node
        for (_, new_name), node in placements
        for name in names
        if new_name == name or new_name.removeprefix(f"{name}-").partition("-")[2] == "new"
    }
    return tuple(nodes.get(name, "") for name in names)
