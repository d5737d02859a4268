"""What is known to be broken in the versions that the nodes and drivers of a cluster run, or will run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import text_at
from dractl.facts.images import running
from dractl.facts.known import breakages
from dractl.upgrade.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.cluster import ClusterState
    from dractl.facts.known import Breakage
    from dractl.upgrade.finding import Level


def of_nodes(state: ClusterState) -> Iterator[Finding]:
    """What is broken in the kubelets and container runtimes of nodes."""
    for (_, name), node in state.all("Node").items():
        info = ("status", "nodeInfo")
        kubelet = text_at(node, *info, "kubeletVersion")
        runtime, _, version = text_at(node, *info, "containerRuntimeVersion").partition("://")
        for row in breakages():
            found = kubelet if row.of == "kubelet" else version if (row.of, row.name) == ("runtime", runtime) else ""
            if found and row.concerns(found):
                yield _finding(row, f"{row.name or 'kubelet'} {found}", "changes", f"Node/{name}")


def of_release(text: str) -> Iterator[Finding]:
    """What is broken in the kubelet of a patch release."""
    for row in breakages():
        if row.of == "kubelet" and text.count(".") > 1 and row.concerns(text):
            yield _finding(row, f"kubelet {text}", "breaks")


def of_drivers(state: ClusterState) -> Iterator[Finding]:
    """What is broken in the drivers that run."""
    present = running(value for kind in state.kinds for value in state.all(kind).values())
    names = {text_at(value, "spec", "driver") for value in state.all("ResourceSlice").values()} | present.keys()
    for row in breakages():
        if row.of == "driver" and row.name in names and row.concerns(present.get(row.name, "")):
            yield _finding(row, f"{row.name} {present.get(row.name, '')}".strip(), "changes")


def of_driver(name: str, version: str) -> Iterator[Finding]:
    """What is broken in the version that a driver is upgraded to."""
    for row in breakages():
        if row.of == "driver" and row.name == name and row.concerns(version):
            yield _finding(row, f"{name} {version}", "breaks")


def _finding(row: Breakage, what: str, level: Level, *objects: str) -> Finding:
    """``coming``: it depends on something that the cluster does not show."""
    level = "info" if row.coming else level
    return Finding("known-problem", level, f"{what}: {row.what}", objects, None, row.fix, row.source, row.read)
