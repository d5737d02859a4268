"""Notes on kinds that the input lacks and that would affect the report."""

from collections.abc import Iterable, Iterator

from dractl.cluster.coverage import RESOURCES, command_for
from dractl.cluster.shell import quote_command
from dractl.cluster.state import ClusterState

_EFFECTS = {
    "Pod": "who runs on the devices is unknown",
    "ResourceClaim": "who holds the devices is unknown",
    "ResourceSlice": "which devices there are is unknown",
    "PodDisruptionBudget": "whether one forbids an eviction is unknown",
    "DaemonSet": "whether a DaemonSet of a pod still exists is unknown",
}
_RESOURCES = {"PodDisruptionBudget": "poddisruptionbudgets", "DaemonSet": "daemonsets"}


def note_missing_kinds(state: ClusterState, kinds: Iterable[str]) -> Iterator[str]:
    """Yield a note for each of the kinds that the input lacks although the cluster may have such
    objects.
    """
    for kind in kinds:
        has_some = kind in RESOURCES and state.extent(kind) == "part"
        if not has_some and (state.has(kind) or state.covers(kind)):
            continue
        command = (
            quote_command("kubectl get {} -A -o yaml", _RESOURCES[kind])
            if kind in _RESOURCES
            else command_for((kind,))
        )
        shown = "only some" if has_some else "no"
        yield f"the input has {shown} {kind}s: {_EFFECTS[kind]}; add `{command}`"
