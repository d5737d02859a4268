"""Known faults because of which a drain, a reboot or the restart of a driver never ends.

Each fault is an entry of known.json with a source and the key ``hinders``. It applies to versions
that the input shows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from dractl.cluster.state import ClusterState
from dractl.facts.images import versions_that_run
from dractl.facts.known import Breakage, Operation, breakages
from dractl.impact.plugins import PluginOnNode
from dractl.views import Pod

__all__ = ["Operation", "note_deadlocks"]


def note_deadlocks(
    state: ClusterState,
    nodes: Collection[str],
    plugins: Sequence[PluginOnNode],
    operation: Operation,
) -> Iterator[str]:
    """Yield a note on each known fault that hinders an operation on nodes.

    ``plugins`` are the plug-ins of the drivers on these nodes, each driver once.
    """
    for row in breakages():
        if operation in row.hinders:
            for version in _list_versions(state, nodes, plugins, row):
                if row.concerns(version):
                    yield f"{row.name or row.of} {version}: {row.what}; {row.fix} ({row.source})"
                    break


def _list_versions(
    state: ClusterState, nodes: Collection[str], plugins: Sequence[PluginOnNode], row: Breakage
) -> Iterator[str]:
    """Yield the versions in which a component runs on the nodes, as far as the input shows them."""
    if row.of == "kubelet":
        versions = (state.node(node).kubelet_version for node in nodes)
        yield from dict.fromkeys(filter(None, versions))
    elif row.of == "driver":
        for plugin in plugins:
            if plugin.driver == row.name:
                yield from filter(None, (_version_of(plugin),))
    elif row.of == "image":
        pods = [pod for pod in state.pods.values() if pod.node_name in nodes]
        yield from _list_tags(pods, row.name)


def _version_of(plugin: PluginOnNode) -> str:
    objects = [one.raw for one in (*plugin.workloads.pods, *plugin.workloads.daemon_sets)]
    return versions_that_run(objects).get(plugin.driver, "")


def _list_tags(pods: Iterable[Pod], image: str) -> Iterator[str]:
    for pod in pods:
        for name, tag in pod.image_tags:
            if name == image and tag:
                yield tag
