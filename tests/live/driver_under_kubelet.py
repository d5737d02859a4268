"""The life of a driver under a real kubelet: it starts, a pod gets a device, it restarts, another pod gets one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Self

from tests.live.driver_programs import check_driver, check_snapshots
from tests.live.node import CDI, DRIVER, Node, claim, pod

if TYPE_CHECKING:
    from pathlib import Path

_REGISTERED = "Registered DRA plugin"
"""kubernetes/kubernetes pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go."""
_HAS_FAILED = ("Failed", "FailedPrepareDynamicResources")
_PUBLISH_SECONDS = 10
_POD_SECONDS = 60
"""More than the 45 s that a kubelet waits for an answer."""


class Run:
    """A driver in place of the node's own, until the end of the block."""

    def __init__(self, node: Node, program: Path, folder: Path) -> None:
        self._node = node
        self._program = program
        self._snapshots = folder / "under-kubelet"
        self._snapshots.mkdir()

    def __enter__(self) -> Self:
        self._remove_driver()
        return self

    def __exit__(self, *_: object) -> None:
        # What the driver does not give back, the one without a fault does.
        self._node.part("stop", "lab")
        self._node.run_driver(self._node.own_driver)
        self._node.clean()
        self._remove_driver()

    def _remove_driver(self) -> None:
        """Remove the driver that runs, and all that it left."""
        self._node.part("stop", "lab")
        remove_remains()
        self._node.kubectl("delete", "resourceslices,events", "--all", "-A")

    def list_codes(self) -> set[str]:
        """Return what check-driver reports of the driver at work; nothing if it does not publish."""
        self._start()
        if not self._publishes():
            return set()
        self._create_pod("before")
        self._write_snapshot("0")
        self._node.part("stop", "lab")
        self._start()
        self._create_pod("after")
        self._publishes()
        self._write_snapshot("1")
        kubectl = f"{self._node.folder}{os.pathsep}{os.environ['PATH']}"
        words = ("--cluster", "--driver", DRIVER)
        codes = check_driver(*words, environment={**os.environ, "PATH": kubectl})
        return codes | check_snapshots(list(self._snapshots.glob("*.yaml")))

    def _start(self) -> None:
        """Start the driver, and wait until the kubelet has registered it."""
        count = self._node.log("kubelet").count(_REGISTERED)
        self._node.run_driver(self._program)
        self._node.until(
            "the driver is registered", lambda: self._node.log("kubelet").count(_REGISTERED) > count
        )

    def _publishes(self) -> bool:
        """Wait for the slices of the driver; return False if it publishes none."""
        names = ("get", "resourceslices", "-o", "jsonpath={.items[*].spec.driver}")
        try:
            self._node.until(
                "slices", lambda: DRIVER in self._node.kubectl(*names), _PUBLISH_SECONDS
            )
        except TimeoutError:
            return False
        return True

    def _create_pod(self, name: str) -> None:
        """Create a pod with a device, and wait until it runs or the kubelet says why not."""
        metadata = {"name": name, "namespace": "default"}
        references = [{"name": "c", "resourceClaimName": name}]
        wanted: dict[str, Any] = pod(resourceClaims=references)
        self._node.apply({**claim(), "metadata": metadata}, {**wanted, "metadata": metadata})

        def has_ended() -> bool:
            reasons = {reason for reason, _ in self._node.events(name)}
            return self._node.phase(name) == "Running" or not reasons.isdisjoint(_HAS_FAILED)

        self._node.until(f"pod {name} runs or fails", has_ended, _POD_SECONDS)

    def _write_snapshot(self, name: str) -> None:
        text = self._node.kubectl("get", "resourceslices", "-o", "yaml")
        (self._snapshots / f"{name}.yaml").write_text(text, encoding="utf-8")


def remove_remains() -> None:
    """Remove the files that drivers of this name leave on the node."""
    for path in CDI.glob(f"{DRIVER.replace('.', '_')}*"):
        path.unlink()
