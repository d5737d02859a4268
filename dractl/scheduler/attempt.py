"""kube-scheduler's attempts to place a pod or a claim in a cluster."""

from collections.abc import Collection

from dractl.allocation import Verdict
from dractl.cluster.state import ClusterState
from dractl.objects import Raw
from dractl.scheduler import cycle
from dractl.scheduler.cache import SchedulerCache
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.cycle import SchedulingCycle
from dractl.scheduler.pre_enqueue import PreEnqueueResult, pre_enqueue
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.verdict import Attempt
from dractl.scheduler.volumes import Volumes
from dractl.views import Node, Pod


class Scheduler(SchedulerCache):
    """kube-scheduler of one release, in one cluster. Attempts do not change the cluster."""

    def with_state(self, state: ClusterState) -> "Scheduler":
        """Return the scheduler of the same release in a changed cluster."""
        return Scheduler(state, self.features)

    def attempt_pod(
        self, pod: Raw, *, recreated: bool = False, node_names: Collection[str] | None = None
    ) -> Attempt:
        """Attempt to place a pod; with ``recreated``, as if it were created again.

        Only the nodes ``node_names`` are tried, as if no other node of the cluster fitted.
        """
        entry = pre_enqueue(self.state, pod, recreated=recreated)
        return self.attempt_after_pre_enqueue(self.snapshot.pod(pod), entry, node_names)

    def attempt_after_pre_enqueue(
        self, pod: Pod, entry: PreEnqueueResult, node_names: Collection[str] | None = None
    ) -> Attempt:
        """Attempt to place a pod with the result that PreEnqueue had for it."""
        if entry.stops:
            return Attempt(entry.claims, entry.stops, message=entry.condition)
        return SchedulingCycle(self, pod, entry.claims, node_names).run()

    def attempt_claim(self, claim: PodClaim) -> Attempt:
        """Attempt to allocate a claim as if a pod without any other requirements used it."""
        return SchedulingCycle(self, None, (claim,)).run()

    def attempt_without_open_claims(self, pod: Pod, claims: tuple[PodClaim, ...]) -> Attempt:
        """Attempt to place a pod as if every open claim could be allocated on any node.

        The attempt then covers its volumes, the node filters, and the nodes where allocated claims
        can be used.
        """
        unusable = self.volumes_of(pod).stop
        if unusable is not None:
            return Attempt(claims, (unusable,), message=unusable.text)
        if not self.nodes:
            return Attempt(claims)
        allocated = tuple(claim for claim in claims if claim.allocated)
        return SchedulingCycle(self, pod, allocated).run()

    def find_rejections(self, pod: Pod, node: str) -> tuple[Rejection, ...]:
        """Return the rejections of all filters before DRA; the scheduler reports the first."""
        if node not in self.snapshot.nodes:
            return ()
        return tuple(self.filters(pod).filters.rejections(self.snapshot.nodes[node]))

    def volumes_of(self, pod: Pod) -> Volumes:
        """Return the PersistentVolumeClaims of a pod."""
        return self.filters(pod).filters.volumes

    def allocate(self, node: Node, claims: tuple[PodClaim, ...]) -> Verdict | None:
        """Return the allocator's verdict on one node; None if there is nothing to allocate."""
        return cycle.allocate(self, node, claims)

    def is_fatal(self, verdict: Verdict | None) -> bool:
        """Decide whether a verdict ends the attempt for all nodes."""
        return cycle.is_fatal(self.features, verdict)
