"""Runs a Kubernetes control plane to compare with, if the programs of ``$DRACTL_SHARED/oracle`` are
built.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from contextlib import contextmanager
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


# Starts cluster.py with further API versions switched on.
_WITH_APIS = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import cluster
apis, start = sys.argv.pop(1), cluster.Cluster._start
cluster.Cluster._start = lambda self, part, *arguments: start(
    self, part, *(a + "," + apis if a.startswith("--runtime-config=") else a for a in arguments)
)
raise SystemExit(cluster.main())
"""


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

    With ``scheduler``, kube-scheduler and the controllers of claims run too. ``apis`` are further
    API versions, such as ``scheduling.k8s.io/v1beta1=true``.
    """
    program = shared / "oracle" / "cluster.py"
    spec = importlib.util.spec_from_file_location("oracle_cluster", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not module.program(release).exists():
        pytest.skip(f"{module.program(release)} is not built")
    place = ["--dir", str(folder / "cluster")]
    switches = ["--feature-gates", gates] if gates else []
    parts = [] if scheduler else ["--no-scheduler"]
    run = (
        [sys.executable, "-c", _WITH_APIS, str(program.parent), apis]
        if apis
        else [sys.executable, str(program)]
    )
    up = [*run, "up", "--release", release, *parts, *switches, *place]
    subprocess.run(up, check=True)
    try:
        yield module.attach(folder / "cluster")
    finally:
        subprocess.run([sys.executable, program, "down", *place], check=True)


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
