"""A large dump is read in another way: what is equal in it is one value, by which nodes are compared. The answers about
it are those about the same objects in a small one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main
from dractl.manifests import jsontext
from tests.conftest import SAMPLE, shared_dir

if TYPE_CHECKING:
    from pathlib import Path

CLUSTERS = sorted((shared_dir() / "conformance" / "scheduling").glob("*/objects.json"))[
    :: min(SAMPLE, 4)
]
GPU = "gpu.example.com"


def answers(path: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Return the answers of explain, devices and fit about a dump."""
    asked = (["explain", "-A"], ["devices"], ["fit", "gpu=1"])
    said = []
    for words in asked:
        code = main(
            [
                *words,
                "-f",
                str(path),
                "--isolated",
                "-q",
                "-o",
                "json",
                "--kubernetes-version",
                "1.37",
            ]
        )
        said.append((code, capsys.readouterr().out))
    return said


def explain_both_sizes(
    objects: list[Any], folder: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
) -> tuple[list[Any], list[Any]]:
    """The answers about a dump as a small and as a large one."""
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    small = answers(path, capsys)
    patch.setattr(jsontext, "_MIN_LARGE_LENGTH", 0)
    return small, answers(path, capsys)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda path: path.parent.name)
def test_recorded_clusters(
    cluster: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects = json.loads(cluster.read_text())["items"]
    small, large = explain_both_sizes(objects, tmp_path, capsys, monkeypatch)
    assert large == small


@pytest.mark.parametrize("read", ["serial", "model", "taints", "capacity", "pool"])
def test_nodes_differing_in_one_fact_are_not_confused(
    read: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the devices of node b have what the claim wants: they, or their pool, differ from those of node a in that
    alone."""

    def device(name: str, *, right: bool) -> dict[str, Any]:
        model = "other" if read == "model" and not right else "gpu"
        made: dict[str, Any] = {"name": name, "attributes": {"model": {"string": model}}}
        made["attributes"]["serial"] = {
            "string": f"{'right' if right and read == 'serial' else 'x'}-{name}"
        }
        made["capacity"] = {
            "memory": {"value": "10Gi" if read == "capacity" and not right else "80Gi"}
        }
        if read == "taints" and not right:
            made["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
        return made

    wanted = {
        "serial": f"device.attributes['{GPU}'].serial.startsWith('right')",
        "model": f"device.attributes['{GPU}'].model == 'gpu'",
        "taints": "true",
        "pool": "true",
        "capacity": f"device.capacity['{GPU}'].memory.compareTo(quantity('40Gi')) >= 0",
    }[read]
    objects: list[Any] = []
    for node in "abc":
        objects.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
        count = 2 if read == "pool" and node != "b" else 1  # one of two slices is missing
        slice_ = {
            "driver": GPU,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": count},
        }
        devices = [device(f"gpu-{n}", right=node == "b") for n in range(2)]
        meta = {"name": f"{node}-gpu"}
        objects.append(
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta}
            | {"spec": {**slice_, "devices": devices}}
        )
    made = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {},
    }
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": wanted}}]},
    }
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ml"},
    }
    pod = {
        "containers": [{"name": "m", "image": "i"}],
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
    }
    objects += [made, claim | {"spec": {"devices": {"requests": [request]}}}]
    objects.append(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "ml"},
            "spec": pod,
        }
    )
    small, large = explain_both_sizes(objects, tmp_path, capsys, monkeypatch)
    assert large == small
    (subject,) = json.loads(large[0][1])["subjects"]
    assert [node["name"] for node in subject["nodes"] if node["verdict"] == "allocatable"] == ["b"]
