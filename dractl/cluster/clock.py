"""The time at which the objects of a cluster were read, or last changed."""

from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.objects import text
from dractl.views import View, parse_timestamp


def read_time(state: ClusterState) -> float | None:
    """Return the time at which the cluster was read, in seconds since 1970.

    For a dump it is the newest time in its leases, events and nodes; None if it has no such object.
    """
    return state.read_at if state.read_at is not None else _newest_report(state)


@derive_from("Lease", "Event", "Node")
def _newest_report(state: ClusterState) -> float | None:
    times = {text(View(lease).spec.get("renewTime")) for lease in state.objects("Lease").values()}
    times.update(event.last_seen for event in state.events.values())
    for node in state.nodes.values():
        times.update(node.heartbeats)
    return max(filter(None, map(parse_timestamp, times)), default=None)


def newest_change(state: ClusterState) -> str:
    """Return the newest known time of a change to an object that kube-scheduler looks at (RFC
    3339); "" if no time is known.

    Changes that kube-scheduler itself makes to pods do not count. A deletion leaves no trace of its
    time.
    """
    times = {""}
    for kind in ("ResourceSlice", "DeviceClass", "DeviceTaintRule"):
        times.update(View(raw).creation_timestamp for raw in state.objects(kind).values())
    for claim in state.claims.values():
        times |= {claim.creation_timestamp, claim.allocation_timestamp}
    for node in state.nodes.values():
        times.add(node.creation_timestamp)
        times.update(condition.last_transition for condition in node.conditions.values())
    for pod in state.pods.values():
        times.add(pod.creation_timestamp)
        if pod.node_name:
            times.add(pod.condition("PodScheduled").last_transition)
            times.update(container.last_change for container in pod.container_statuses)
    return max(times)


def newest_time(state: ClusterState) -> float | None:
    """Return the time up to which ages are counted, in seconds since 1970.

    This is the time at which the cluster was read. For a dump it is the newest time in it, which
    may be the creation of a pod or claim; None if the dump has no time.
    """
    times = (read_time(state), _newest_creation(state))
    return max((time for time in times if time is not None), default=None)


@derive_from("Pod", "ResourceClaim")
def _newest_creation(state: ClusterState) -> float | None:
    views = (*state.pods.values(), *state.claims.values())
    times = map(parse_timestamp, {view.creation_timestamp for view in views})
    return max((time for time in times if time is not None), default=None)
