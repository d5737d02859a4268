"""The steps of a proven candidate, and warnings to read before they are carried out."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dractl.cluster.state import ClusterState, Key
from dractl.planning.landscape import unbind
from dractl.planning.plan import Step
from dractl.planning.proof import Proof, ProvenDeparture
from dractl.simulation.controllers.replicas import is_available
from dractl.simulation.workload_pods import WorkloadKey, list_active_pods, workload_key

JOB_BACKOFF_SECONDS = 10
"""The first delay of a Job, which doubles with each failed pod (kubernetes
pkg/controller/job/job_controller.go DefaultJobPodFailureBackOff).
"""
_MAX_BACKOFF_SECONDS = 600
"""MaxJobPodFailureBackOff."""


def list_steps(proof: Proof, subjects: Sequence[Key]) -> tuple[Step, ...]:
    """Return the steps of a proof: one for each pod, the steps of a gang together."""
    state = proof.scheduler.state
    homes = {state.pod(key).node_name for key in subjects}
    steps: list[Step] = []
    evictions: Counter[WorkloadKey | None] = Counter()
    for number, proven in enumerate(proof.departures):
        later = proof.departures[number + 1 :]
        needed = homes.union(*(other.nodes for other in later))
        steps += _steps_of(proven, needed, evictions)
    return tuple(steps)


def _steps_of(
    proven: ProvenDeparture, needed: set[str], evictions: Counter[WorkloadKey | None]
) -> Iterator[Step]:
    unit, cordon = proven.departure.unit, proven.departure.cordon
    others = _list_other_nodes(proven)
    kept_free = sorted(others & needed)
    for pod, target in zip(unit.pods, proven.nodes, strict=True):
        workload = workload_key(pod)
        yield Step(
            pod.key,
            _name_workload(workload),
            pod.node_name,
            target,
            cordon=(cordon, *kept_free),
            alternatives=tuple(sorted(others - needed)) if target and not unit.gang else (),
            gang=unit.gang,
            delay=_delay(workload, evictions[workload]),
            ready_pods=_count_ready_pods(proven, workload),
        )
        evictions[workload] += 1


def _name_workload(workload: WorkloadKey | None) -> str | None:
    """Return ``KIND/NAMESPACE/NAME`` of a workload."""
    if workload is None:
        return None
    kind, key = workload
    return "/".join((kind, *key))


def _count_ready_pods(proven: ProvenDeparture, workload: WorkloadKey | None) -> int:
    """Return how many ready pods a workload has when its new pods run."""
    if workload is None:
        return 0
    pods = list_active_pods(proven.before.state, workload)
    leaving = dict(zip(proven.departure.unit.keys, proven.nodes, strict=True))
    return sum(bool(leaving[p.key]) if p.key in leaving else is_available(p) for p in pods)


def _list_other_nodes(proven: ProvenDeparture) -> frozenset[str]:
    """Return the further nodes that kube-scheduler may choose for the new pods.

    If a pod goes to one of these nodes, every later step that does not need this node can still be
    carried out.
    """
    nodes: set[str] = set()
    for pod, target in zip(proven.departure.unit.pods, proven.nodes, strict=True):
        if target:
            attempt = proven.before.attempt_pod(unbind(pod), recreated=True)
            nodes.update(node.name for node in attempt.nodes if node.fits and not node.victims)
    return frozenset(nodes.difference(proven.nodes))


def _delay(workload: WorkloadKey | None, earlier: int) -> int:
    """Return after how many seconds the owner recreates a pod."""
    if workload is None or workload[0] != "Job":
        return 0
    return min(JOB_BACKOFF_SECONDS << earlier, _MAX_BACKOFF_SECONDS)


def list_places(
    steps: Sequence[Step], subjects: Sequence[Key], state: ClusterState
) -> tuple[tuple[Key, str], ...]:
    """Return the nodes of pods that moved and of the subject's pods, in ``state``."""
    moved = [(step.pod, step.target) for step in steps if step.target]
    return (*moved, *((key, state.pod(key).node_name) for key in subjects))


def note_steps(steps: Sequence[Step]) -> Iterator[str]:
    """Yield warnings to read before the steps are carried out."""
    for owner, delays in _delays_by_owner(steps).items():
        seconds = ", then ".join(f"{delay} s" for delay in delays)
        yield f"{owner} recreates a failed pod after {seconds}: its back-off"
    for step in steps:
        if not step.target:
            end = "nothing recreates it" if step.owner is None else "its new pod stays pending"
            yield f"pod {'/'.join(step.pod)} ends: {end}"
    if any(step.alternatives for step in steps):
        yield "where several nodes have room, kube-scheduler may choose another node than the plan"


def _delays_by_owner(steps: Sequence[Step]) -> dict[str, list[int]]:
    delays: dict[str, list[int]] = {}
    for step in steps:
        if step.delay and step.owner is not None:
            delays.setdefault(step.owner, []).append(step.delay)
    return delays
