"""Known faults of the versions that a node and its drivers run, recognised by the text of a pod's
events and conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.facts.images import versions_that_run as running_versions
from dractl.facts.known import Breakage, breakages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.cluster.state import ClusterState

_IMAGE_KINDS = ("DaemonSet", "Deployment", "StatefulSet", "Pod")


class KnownFault(Struct, frozen=True):
    """A known fault in a version that runs."""

    component: str
    """The component with its version, such as ``gpu.nvidia.com v0.4.0``."""
    breakage: Breakage

    @property
    def sentence(self) -> str:
        """``gpu.nvidia.com v0.4.0 has a known fault with this message: ...; take ... (SOURCE)``."""
        row = self.breakage
        return (
            f"{self.component} has a known fault with this message: {row.what}; "
            f"{row.fix} ({row.source})"
        )


def find_faults_of_driver(words: str, state: ClusterState, driver: str) -> tuple[KnownFault, ...]:
    """Return the known faults of the driver's running version; none if the input does not show
    it.
    """
    version = driver_version(state, driver)
    return _find_faults(words, {("driver", driver): version} if version else {})


def find_faults_of_node(words: str, state: ClusterState, node: str) -> tuple[KnownFault, ...]:
    """Return the known faults of a node's kubelet, kernel and container runtime."""
    view = state.node(node)
    runtime, _, version = view.container_runtime.partition("://")
    return _find_faults(
        words,
        {
            ("kubelet", ""): view.kubelet_version,
            ("kernel", ""): view.kernel_version,
            ("runtime", runtime): version,
        },
    )


def driver_version(state: ClusterState, driver: str) -> str:
    """Return the version of a driver by the tags of images in the input; "" if none shows it."""
    objects = [item for kind in _IMAGE_KINDS for item in state.objects(kind).values()]
    return running_versions(objects).get(driver, "")


def _find_faults(words: str, versions: Mapping[tuple[str, str], str]) -> tuple[KnownFault, ...]:
    faults = []
    for row in breakages():
        version = versions.get((row.of, row.name), "")
        if version and row.words and row.concerns(version) and row.has_words(words):
            faults.append(KnownFault(f"{row.name or row.of} {version}", row))
    return tuple(faults)
