"""Known faults of the versions that a cluster, its nodes and drivers run, or will run."""

from collections.abc import Collection, Container, Iterator
from typing import Final

from dractl.cluster import ClusterState
from dractl.facts.images import versions_that_run
from dractl.facts.known import Breakage, Component, breakages
from dractl.objects import slice_of
from dractl.upgrade.finding import Finding, Level


def faults_of_nodes(state: ClusterState) -> Iterator[Finding]:
    """Yield the known faults of the kubelets, kernels and container runtimes of nodes."""
    for (_, name), node in state.nodes.items():
        runtime, _, runtime_version = node.container_runtime.partition("://")
        versions = {
            ("kubelet", ""): node.kubelet_version,
            ("kernel", ""): node.kernel_version,
            ("runtime", runtime): runtime_version,
        }
        for row in breakages():
            version = versions.get((row.of, row.name), "")
            if version and row.concerns(version):
                yield _finding(row, f"{row.name or row.of} {version}", "changes", f"Node/{name}")


CONTROL_PLANE: Final[tuple[Component, ...]] = ("scheduler", "controller-manager", "library")
"""Components that an upgrade of the control plane replaces, with the library of the same
version.
"""

NODES: Final[tuple[Component, ...]] = ("kubelet",)
"""Components that an upgrade of the nodes replaces."""

_TITLES: Final[dict[Component, str]] = {
    "scheduler": "kube-scheduler",
    "controller-manager": "kube-controller-manager",
}


def faults_of_release(
    components: Collection[Component], text: str, start: str = "", running: Collection[str] = ()
) -> Iterator[Finding]:
    """Yield the known faults of components in a release.

    A patch release has its own faults; for a minor release, the faults of its first patch releases
    are reported. A fault that every patch release of ``start`` also has is no break. If a release
    is the first without a fault, the finding says so, unless one of the ``running`` versions has
    the fault: then it is reported of that version.
    """
    for row in breakages():
        if row.of not in components:
            continue
        title = _TITLES.get(row.of) or row.name or row.of
        if row.of == "library":
            title = f"drivers built with {title}"
        ends = row.ends(text) and not any(map(row.concerns, running))
        if ends or (text.count(".") == 1 and row.begins(text)):
            yield _finding(row, f"{title} before {row.fixed}", "info")
        elif text.count(".") > 1 and row.of != "library" and row.concerns(text):
            level: Level = "info" if start and row.lasts(start) else "breaks"
            yield _finding(row, f"{title} {text}", level)


def faults_of_drivers(state: ClusterState, upgraded: Container[str]) -> Iterator[Finding]:
    """Yield the known faults of the drivers that run and are not ``upgraded``."""
    present = versions_that_run(
        value for kind in state.kinds for value in state.objects(kind).values()
    )
    slices = map(slice_of, state.objects("ResourceSlice").values())
    names = {item.driver for item in slices} | present.keys()
    for row in breakages():
        if (
            row.of == "driver"
            and row.name in names
            and row.name not in upgraded
            and row.concerns(present.get(row.name, ""))
        ):
            yield _finding(row, f"{row.name} {present.get(row.name, '')}".strip(), "changes")


def faults_of_driver(name: str, present: Collection[str], version: str) -> Iterator[Finding]:
    """Yield the known faults of the version to which a driver is upgraded.

    A fault that each of the ``present`` versions also has is no break.
    """
    for row in breakages():
        if row.of == "driver" and row.name == name and row.concerns(version):
            is_old = bool(present) and all(map(row.concerns, present))
            yield _finding(row, f"{name} {version}", "info" if is_old else "breaks")


def _finding(row: Breakage, title: str, level: Level, *objects: str) -> Finding:
    """Return the finding about a fault; it is only information if it depends on something that the
    cluster does not show.
    """
    level = "info" if row.coming else level
    return Finding(
        "known-problem", level, f"{title}: {row.what}", objects, None, row.fix, row.source, row.read
    )
