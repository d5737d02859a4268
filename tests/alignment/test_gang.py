"""Rails and NVLink domains of a gang's pods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.alignment import Aligner, align_gang
from dractl.cli.main import main
from tests.alignment.machines import DGX_NICS, allocated_claim, cluster, scheduler_of
from tests.explain.cluster import node, pod

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.alignment import GangAlignment
    from dractl.cluster.state import ClusterState

GROUP_LABEL = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}}
CLIQUE = "nvidia.com/gpu.clique"


def gang(nics: list[str], *objects: dict[str, Any], with_snapshots: bool = False) -> ClusterState:
    """Return pod train-0 on node a with the NICs of rails 0 and 1, and train-1 on b with others."""
    pods: list[dict[str, Any]] = []
    for name, node_name, pod_nics in (("train-0", "a", DGX_NICS[:2]), ("train-1", "b", nics)):
        claim = f"claim-{name}"
        pods += [
            allocated_claim(claim, node_name, name, gpu=["gpu-0", "gpu-1"], nic=pod_nics),
            make_running_pod(name, claim, node_name, **GROUP_LABEL),
        ]
    return cluster("dgx-h100", *pods, *objects, nodes=("a", "b"), with_snapshots=with_snapshots)


def make_running_pod(name: str, claim: str, node_name: str, **fields: Any) -> dict[str, Any]:
    entry = {"name": "devices", "resourceClaimName": claim}
    status = {"phase": "Running"}
    return pod(name, entry, spec={"nodeName": node_name}, status=status, **fields)


def align_pods(state: ClusterState) -> GangAlignment:
    """Return the alignment of all pods of a cluster."""
    alignment = align_gang(Aligner(scheduler_of(state)), list(state.objects("Pod").values()))
    assert alignment is not None
    return alignment


@pytest.mark.parametrize("with_snapshots", [False, True])
def test_rails_are_numbered_by_the_gpus_beside_them(with_snapshots: bool) -> None:
    nics = [DGX_NICS[0], DGX_NICS[5]]
    alignment = align_pods(gang(nics, with_snapshots=with_snapshots))
    assert alignment.rails == {"train-0": (0, 1), "train-1": (0, 5)}
    assert alignment.same_rails is False


@pytest.mark.parametrize("with_snapshots", [False, True])
def test_pods_with_the_same_nics_use_the_same_rails(with_snapshots: bool) -> None:
    assert align_pods(gang(DGX_NICS[:2], with_snapshots=with_snapshots)).same_rails is True


def test_the_rail_of_a_nic_without_a_slice_is_unknown() -> None:
    alignment = align_pods(gang([DGX_NICS[0], "pci-0000-ff-00-0"]))
    assert alignment.rails["train-1"] is None
    assert alignment.same_rails is None


@pytest.mark.parametrize(
    ("cliques", "same_clique"),
    [
        ({}, None),
        ({"a": "5c1f.1"}, None),
        ({"a": "5c1f.1", "b": "5c1f.1"}, True),
        ({"a": "5c1f.1", "b": "5c1f.2"}, False),
    ],
)
def test_cliques_are_read_from_node_labels(
    cliques: dict[str, str], same_clique: bool | None
) -> None:
    nodes = [node(name, labels={CLIQUE: clique}) for name, clique in cliques.items()]
    assert align_pods(gang(DGX_NICS[:2], *nodes)).same_clique is same_clique


def test_a_single_pod_is_not_compared() -> None:
    state = gang(DGX_NICS[:2])
    first_pod = next(iter(state.objects("Pod").values()))
    assert align_gang(Aligner(scheduler_of(state)), [first_pod]) is None


def test_a_pod_without_a_node_is_not_compared() -> None:
    waiting = make_running_pod("train-2", "claim-train-2", "")
    claim = allocated_claim("claim-train-2", "a", "train-2", gpu=["gpu-2"], nic=DGX_NICS[2:3])
    assert align_pods(gang(DGX_NICS[2:4], waiting, claim)).rails.keys() == {"train-0", "train-1"}


def test_explain_reports_the_rails_of_a_gang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"minMember": 2},
    }
    state = gang([DGX_NICS[0], DGX_NICS[5]], group)
    dump = tmp_path / "dump.json"
    items = [value for kind in state.kinds for value in state.objects(kind).values()]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    command = ["explain", "podgroup/train", "-n", "ml", "-f", str(dump), "--isolated"]
    assert main(command) == 0
    text = " ".join(capsys.readouterr().out.split())
    rails = "train-0 {0, 1}, train-1 {0, 5}"
    assert f"pods use different rails, so traffic crosses them: {rails}" in text
    assert main([*command, "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["groups"][0]["across"]["sameRails"] is False
    assert answer["subjects"][0]["alignment"][0]["kinds"] == ["gpu", "gpu"]


@pytest.mark.parametrize(
    ("machine", "nics", "rails"),
    [
        # A rail for the GPUs of each half of the machine.
        ("a4x-highgpu-4g", ("pci-0000-03-00-0", "pci-0010-03-00-0"), [(0,), (1,)]),
        # One GPU and one NIC.
        ("p5.4xlarge", ("pci-0000-25-00-0",) * 2, [None, None]),
    ],
)
def test_a_single_rail_is_not_numbered(
    machine: str, nics: tuple[str, str], rails: list[tuple[int, ...] | None]
) -> None:
    objects: list[dict[str, Any]] = []
    for number, (node_name, nic) in enumerate(zip("ab", nics, strict=True)):
        objects += [
            allocated_claim(f"c-{number}", node_name, f"p-{number}", nic=[nic]),
            make_running_pod(f"p-{number}", f"c-{number}", node_name),
        ]
    state = cluster(machine, *objects, nodes=("a", "b"), with_snapshots=True)
    assert list(align_pods(state).rails.values()) == rails
