"""The namespaces, workloads and owners that hold devices."""

from collections.abc import Iterable

from dractl.capacity.inventory import DeviceRow
from dractl.cluster import ClusterState
from dractl.cluster.devices import Holder
from dractl.cluster.state import parse_key
from dractl.cluster.workloads import topmost


def find_owners(state: ClusterState, rows: Iterable[DeviceRow]) -> dict[str, str]:
    """Return the topmost owner of each workload that holds devices.

    Workload and owner are both ``Kind namespace/name``.
    """
    workloads = dict.fromkeys(
        holder.workload for row in rows for holder in row.holders if holder.workload
    )
    return {workload: _find_owner(state, workload) for workload in workloads}


def _find_owner(state: ClusterState, workload: str) -> str:
    kind, _, address = workload.partition(" ")
    kind, key = topmost(state, kind, parse_key(address))
    return f"{kind} {'/'.join(key)}"


def namespace_of(holder: Holder) -> str:
    """Return the namespace of a holder's claim."""
    return holder.claim.partition("/")[0]


def workload_of(holder: Holder) -> str:
    """Return the workload of a holder, or else its pod or other consumer, or else its claim."""
    if holder.workload is not None:
        return holder.workload
    if holder.pod is not None:
        return f"Pod {holder.pod}"
    return holder.consumer or f"ResourceClaim {holder.claim}"
