"""Runs a Kubernetes control plane to compare with, if the programs of ``$DRACTL_SHARED/oracle`` are
built.
"""

from __future__ import annotations

import importlib.util
import json
import random
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CLUSTER_SCOPED = {
    "DeviceClass",
    "ResourceSlice",
    "DeviceTaintRule",
    "ResourcePoolStatusRequest",
    "Node",
    "Namespace",
}
PLURALS = {"DeviceClass": "deviceclasses"}


def cluster_module(shared: Path) -> Any:
    """Load the module that starts control planes; see :func:`free_port` and :func:`start_part`."""
    program = shared / "oracle" / "cluster.py"
    spec = importlib.util.spec_from_file_location("oracle_cluster", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.__dict__["free_port"] = free_port
    module.Cluster._start = start_part
    return module


def free_port() -> int:
    """Choose a port that no connection takes before the server is started.

    The kernel gives connections ports from 32768 on (``net.ipv4.ip_local_port_range``). The choice
    is random, since several workers start control planes at once.
    """
    while True:
        port = random.randrange(16384, 32768)
        with socket.socket() as candidate, suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            return port


def start_part(cluster: Any, part: str, *flags: str) -> None:
    """Start a part of a control plane in the background, with its output in a file."""
    with (cluster.dir / f"{part}.log").open("ab") as log:
        process = subprocess.Popen(
            [str(cluster.kube), part, *flags],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=cluster.dir,
        )
    cluster.pids[part] = process.pid
    process.returncode = 0  # the cluster ends it by its pid, and no warning says that it still runs


def serve(cluster: Any, apis: str) -> None:
    """Add API versions, such as ``scheduling.k8s.io/v1beta1=true``, to those that will be served."""
    start = cluster._start

    def start_with_apis(part: str, *flags: str) -> None:
        served = "--runtime-config="
        start(part, *(f"{flag},{apis}" if flag.startswith(served) else flag for flag in flags))

    cluster._start = start_with_apis


@contextmanager
def control_plane(
    shared: Path,
    release: str,
    folder: Path,
    gates: str = "",
    *,
    scheduler: bool = False,
    apis: str = "",
) -> Iterator[Any]:
    """Start a kube-apiserver of a release with all its API versions; skip the test if it is not
    built.

    ``gates`` are feature gates as the API server's flag has them, ``apis`` further API versions.
    With ``scheduler``, kube-scheduler and the controllers of claims run too.
    """
    module = cluster_module(shared)
    if not module.program(release).exists():
        pytest.skip(f"{module.program(release)} is not built")
    switches = {
        name: value == "true"
        for name, _, value in (gate.partition("=") for gate in gates.split(",") if gate)
    }
    cluster = module.Cluster(release, switches, scheduler, folder / "cluster")
    if apis:
        serve(cluster, apis)
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def create(cluster: Any, document: dict[str, Any]) -> tuple[int, set[tuple[str, str]], str]:
    """Create a document, and return the API server's status, causes (type, field) and message."""
    version, kind = document["apiVersion"], document["kind"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = PLURALS.get(kind, f"{kind.lower()}s")
    where = plural if kind in CLUSTER_SCOPED else f"namespaces/default/{plural}"
    path = f"{base}/{where}?dryRun=All&fieldValidation=Strict"
    status, _, body = cluster.request("POST", path, json.dumps(document), "application/yaml")
    if not isinstance(body, dict):
        return status, set(), str(body)
    causes = (body.get("details") or {}).get("causes") or []
    return (
        status,
        {(cause["reason"], cause.get("field", "")) for cause in causes},
        body.get("message", ""),
    )
