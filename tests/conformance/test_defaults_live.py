"""The recorded defaults of objects beside what a running kube-apiserver 1.37 stores in a dry run.

Marked ``oracle``: it runs where ``$DRACTL_SHARED/oracle/kube`` is built for the release.
tests/objects/test_defaults.py holds dractl's own defaults to the recording, field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import CLUSTER_SCOPED, PLURALS, control_plane

pytestmark = [pytest.mark.conformance, pytest.mark.oracle, pytest.mark.live]

RECORDED = Path(__file__).parents[1] / "data" / "defaults-1.37.json"
GATES = "DRADeviceTaintRules=true,DRAConsumableCapacity=true,DRADeviceTaints=true"
INVENTED = (
    *("uid", "creationTimestamp", "generation", "managedFields"),
    *("timeAdded", "lastPhaseTransitionTime"),
    *("controller-uid", "batch.kubernetes.io/controller-uid"),
)
"""Fields that differ from request to request; the recording lacks most of them."""
OWN_PLURALS = {
    **PLURALS,
    "StorageClass": "storageclasses",
    "PriorityClass": "priorityclasses",
    "PersistentVolumeClaim": "persistentvolumeclaims",
}
WITHOUT_NAMESPACE = {*CLUSTER_SCOPED, "PersistentVolume", "StorageClass", "PriorityClass"}


def store(cluster: Any, value: dict[str, Any]) -> dict[str, Any]:
    """Return an object as the server stores it in a dry run."""
    version, kind = value["apiVersion"], value["kind"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = OWN_PLURALS.get(kind, f"{kind.lower()}s")
    namespace = value["metadata"].get("namespace", "default")
    place = plural if kind in WITHOUT_NAMESPACE else f"namespaces/{namespace}/{plural}"
    status, _, body = cluster.request("POST", f"{base}/{place}?dryRun=All", json.dumps(value))
    assert status == 201, (kind, value["metadata"]["name"], body)
    assert isinstance(body, dict)
    return body


def differing(stored: Any, recorded: Any, place: str = "") -> Iterator[str]:
    """Yield the fields that differ, but those that the server invents for each request."""
    if isinstance(stored, dict) and isinstance(recorded, dict):
        for key in sorted({*stored, *recorded} - set(INVENTED)):
            yield from differing(stored.get(key), recorded.get(key), f"{place}.{key}")
    elif isinstance(stored, list) and isinstance(recorded, list) and len(stored) == len(recorded):
        for number, (one, other) in enumerate(zip(stored, recorded, strict=True)):
            yield from differing(one, other, f"{place}[{number}]")
    elif stored != recorded:
        yield f"{place}: {stored!r}, recorded {recorded!r}"


def test_a_running_server_stores_what_is_recorded(whole: Path, tmp_path: Path) -> None:
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))["objects"]
    with control_plane(whole, "1.37", tmp_path, GATES) as cluster:
        differences = {
            row["object"]["metadata"]["name"]: list(differing(stored, row["stored"]))
            for row in rows
            if (stored := store(cluster, row["object"])) != row["stored"]
        }
    assert not {name: fields for name, fields in differences.items() if fields}
