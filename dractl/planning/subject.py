"""The subject of a plan: pods that wait, or that would be created."""

from collections.abc import Sequence

from msgspec import Struct

from dractl.capacity.copies import Copies
from dractl.cluster.changes import Delete, apply
from dractl.cluster.state import ClusterState, Key
from dractl.views import Pod


class Subject(Struct, frozen=True):
    """Pods for which room is to be found."""

    name: str
    """``KIND/NAMESPACE/NAME``, or the shape as the user wrote it."""

    state: ClusterState
    """The cluster with the pods."""

    pods: tuple[Key, ...]
    """The pods, in the order of kube-scheduler's queue."""


def subject_of_pods(state: ClusterState, name: str, pods: Sequence[Key]) -> Subject:
    """Return waiting pods of a cluster as a subject."""
    return Subject(name, state, tuple(sorted(pods, key=lambda key: _queue_position(state, key))))


def _queue_position(state: ClusterState, key: Key) -> tuple[tuple[int, str, str], Key]:
    return state.pod(key).queue_key or (0, "", ""), key


def subject_of_copies(copies: Copies, number: int) -> Subject:
    """Return ``number`` new pods of a template, a workload or a shape as a subject."""
    pods = [Pod(copies.copy(index + 1)) for index in range(number)]
    state = copies.state.with_objects({"Pod": {pod.key: pod.raw for pod in pods}})
    return Subject(copies.name, state, tuple(pod.key for pod in pods))


def empty_cluster(state: ClusterState) -> ClusterState:
    """Return the cluster without its running pods and without any allocation."""
    running = [key for key, pod in state.pods.items() if pod.node_name]
    return apply(state, [Delete("/".join(("Pod", *key))) for key in running])
