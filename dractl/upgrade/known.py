"""What is known to be broken in the versions that a cluster, its nodes and drivers run, or will run."""

from collections.abc import Container, Iterator
from typing import Literal

from dractl.cluster import ClusterState
from dractl.cluster.state import map_at, text_at
from dractl.facts.images import running
from dractl.facts.known import Breakage, breakages
from dractl.upgrade.finding import Finding, Level


def of_nodes(state: ClusterState) -> Iterator[Finding]:
    """What is broken in the kubelets, kernels and container runtimes of nodes."""
    for (_, name), node in state.all("Node").items():
        info = map_at(node, "status", "nodeInfo")
        runtime, _, version = text_at(info, "containerRuntimeVersion").partition("://")
        runs = {
            ("kubelet", ""): text_at(info, "kubeletVersion"),
            ("kernel", ""): text_at(info, "kernelVersion"),
            ("runtime", runtime): version,
        }
        for row in breakages():
            found = runs.get((row.of, row.name), "")
            if found and row.concerns(found):
                yield _finding(row, f"{row.name or row.of} {found}", "changes", f"Node/{name}")


def of_release(of: Literal["scheduler", "kubelet"], text: str) -> Iterator[Finding]:
    """What is broken in a component of a patch release; of a release, what its first patch releases have."""
    what = "kube-scheduler" if of == "scheduler" else of
    for row in breakages():
        if row.of != of:
            continue
        if text.count(".") > 1 and row.concerns(text):
            yield _finding(row, f"{what} {text}", "breaks")
        elif text.count(".") == 1 and row.begins(text):
            yield _finding(row, f"{what} before {row.fixed}", "info")


def of_drivers(state: ClusterState, upgraded: Container[str]) -> Iterator[Finding]:
    """What is broken in the drivers that run and are not ``upgraded``."""
    present = running(value for kind in state.kinds for value in state.all(kind).values())
    names = {
        text_at(value, "spec", "driver") for value in state.all("ResourceSlice").values()
    } | present.keys()
    for row in breakages():
        if (
            row.of == "driver"
            and row.name in names
            and row.name not in upgraded
            and row.concerns(present.get(row.name, ""))
        ):
            yield _finding(row, f"{row.name} {present.get(row.name, '')}".strip(), "changes")


def of_driver(name: str, version: str) -> Iterator[Finding]:
    """What is broken in the version that a driver is upgraded to."""
    for row in breakages():
        if row.of == "driver" and row.name == name and row.concerns(version):
            yield _finding(row, f"{name} {version}", "breaks")


def _finding(row: Breakage, what: str, level: Level, *objects: str) -> Finding:
    """``coming``: it depends on something that the cluster does not show."""
    level = "info" if row.coming else level
    return Finding(
        "known-problem", level, f"{what}: {row.what}", objects, None, row.fix, row.source, row.read
    )
