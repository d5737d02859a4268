"""The rails and NVLink domains of a gang's pods."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.alignment import Aligner, across
from dractl.allocation import Features
from dractl.cli.main import main
from dractl.scheduler.attempt import Scheduler
from tests.alignment.machines import cluster, holding
from tests.explain.cluster import node, pod

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.alignment import Across

NICS = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]
GROUP = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "train"}}}


def gang(second: list[str], *more: dict[str, Any], known: bool = False) -> Any:
    """train-0 on node a with the NICs of rails 0 and 1, train-1 on b with others."""
    objects = []
    for name, where, nics in (("train-0", "a", NICS[:2]), ("train-1", "b", second)):
        objects.append(holding(f"claim-{name}", where, name, gpu=["gpu-0", "gpu-1"], nic=nics))
        entry = {"name": "devices", "resourceClaimName": f"claim-{name}"}
        objects.append(
            pod(name, entry, spec={"nodeName": where}, status={"phase": "Running"}, **GROUP)
        )
    return cluster("dgx-h100", *objects, *more, nodes=("a", "b"), known=known)


def found(state: Any) -> Across:
    told = across(
        Aligner(Scheduler(state, Features.for_release("1.37"))), list(state.all("Pod").values())
    )
    assert told is not None
    return told


@pytest.mark.parametrize("known", [False, True])
def test_rails_are_numbered_by_the_gpus_beside_them(known: bool) -> None:
    told = found(gang([NICS[0], NICS[5]], known=known))
    assert told.rails == {"train-0": (0, 1), "train-1": (0, 5)}
    assert told.same_rails is False
    assert found(gang(NICS[:2], known=known)).same_rails is True


def test_a_nic_that_no_slice_has_is_on_no_known_rail() -> None:
    told = found(gang([NICS[0], "pci-0000-ff-00-0"]))
    assert told.rails["train-1"] is None
    assert told.same_rails is None


def test_cliques_are_those_of_the_node_labels() -> None:
    assert found(gang(NICS[:2])).same_clique is None
    clique = {"nvidia.com/gpu.clique": "5c1f.1"}
    one = gang(NICS[:2], node("a", labels=clique), node("b", labels=clique))
    assert found(one).same_clique is True
    other = gang(
        NICS[:2], node("a", labels=clique), node("b", labels={"nvidia.com/gpu.clique": "5c1f.2"})
    )
    assert found(other).same_clique is False
    assert found(gang(NICS[:2], node("a", labels=clique))).same_clique is None


def test_explain_of_a_gang_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"minMember": 2},
    }
    state = gang([NICS[0], NICS[5]], group)
    dump = tmp_path / "dump.json"
    items = [value for kind in state.kinds for value in state.all(kind).values()]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    command = ["explain", "podgroup/train", "-n", "ml", "-f", str(dump), "--isolated"]
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "pods use different rails, so traffic crosses them: train-0 {0, 1}, train-1 {0, 5}" in said
    )
    assert main([*command, "-o", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["groups"][0]["across"]["sameRails"] is False
    assert whole["subjects"][0]["alignment"][0]["kinds"] == ["gpu", "gpu"]


@pytest.mark.parametrize(
    ("machine", "nics", "rails"),
    [
        ("a4x-highgpu-4g", ("pci-0000-03-00-0", "pci-0010-03-00-0"), [(0,), (1,)]),
        ("p5.4xlarge", ("pci-0000-25-00-0",) * 2, [None, None]),
    ],
)
def test_rails_count_from_two_on(
    machine: str, nics: tuple[str, str], rails: list[tuple[int, ...] | None]
) -> None:
    """The one has a rail for the GPUs of each half, the other one GPU and one NIC."""
    objects = []
    for number, (where, nic) in enumerate(zip("ab", nics, strict=True)):
        objects.append(holding(f"c-{number}", where, f"p-{number}", nic=[nic]))
        entry = {"name": "devices", "resourceClaimName": f"c-{number}"}
        objects.append(
            pod(f"p-{number}", entry, spec={"nodeName": where}, status={"phase": "Running"})
        )
    assert (
        list(found(cluster(machine, *objects, nodes=("a", "b"), known=True)).rails.values())
        == rails
    )
