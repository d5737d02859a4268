"""The claims that ``--suggest`` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl import probes
from dractl.allocation import Allocated, AllocatedState, Allocator, DeviceID, Features
from dractl.capacity.candidates import prefer_alignment
from dractl.capacity.suggest import suggest
from dractl.cli.main import main
from dractl.errors import InputError, UsageError
from dractl.lint import lint
from dractl.manifests import load
from dractl.model import decode
from dractl.model.shapes import parse
from tests import sysfs_trees
from tests.rendered_nodes import TARGET

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine
    from tests.rendered_nodes import Renderer


@pytest.mark.parametrize(
    ("shape", "alignment", "constraints"),
    [
        ("gpu=2,nic=1", "all on one PCIe root", 1),
        ("gpu=2,rdma=2", "all on one PCIe root", 1),
        ("gpu=4,nic=4", "2 GPUs + 2 NICs on one PCIe root, 2 times, all on one NUMA node", 3),
        (
            "gpu=4",
            "2 GPUs on one PCIe root, 2 times, all on one NUMA node",
            3,
        ),  # gpu.nvidia.com 0.5 has numaNode
        # dra.net publishes no NUMA node: it is enough that the GPUs of one root and the other one are on the same.
        ("gpu=3,nic=1", "2 GPUs + 1 NIC on one PCIe root, the other GPU on the same NUMA node", 2),
        ("gpu=5,nic=1", "2 GPUs + 1 NIC on one PCIe root, the other 3 GPUs anywhere", 1),
        ("gpu", "one device", 0),
    ],
)
def test_the_closest_alignment_is_suggested(
    shape: str, alignment: str, constraints: int, plx: Machine, rendered: Renderer
) -> None:
    found = suggest(parse(shape), rendered(plx), TARGET)
    assert found is not None
    assert found.alignment == alignment
    assert len(found.claim["spec"]["devices"].get("constraints", [])) == constraints
    assert len(found.devices) == parse(shape).devices


def test_devices_on_different_roots_are_aligned_by_numa_node(
    plx: Machine, rendered: Renderer
) -> None:
    found = suggest(parse("gpu=3,nic=1"), rendered(plx, nvidia="0.5", dranet="main"), TARGET)
    assert found is not None
    assert found.alignment == "2 GPUs + 1 NIC on one PCIe root, the other GPU on the same NUMA node"


def test_suggestions_lint_clean(plx: Machine, rendered: Renderer, tmp_path: Path) -> None:
    found = suggest(parse("gpu=4,nic=4"), rendered(plx), TARGET)
    assert found is not None
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(found.claim))
    assert lint(load([str(file)]), TARGET).findings == ()


def test_more_devices_than_the_node_has_are_not_suggested(
    plx: Machine, rendered: Renderer, tmp_path: Path
) -> None:
    assert suggest(parse("gpu=9"), rendered(plx), TARGET) is None
    bare = probes.read(sysfs_trees.build(sysfs_trees.describe("no-pci"), tmp_path / "bare"))
    with pytest.raises(InputError, match="no driver known to dractl would publish a gpu"):
        suggest(parse("gpu=1"), rendered(bare), TARGET)


@pytest.mark.parametrize(
    "text", ["", "gpu=0", "gpu=-1", "gpus=1", "gpu=1,gpu=2", "gpu=33", "gpu=x", "gpu=20,nic=20"]
)
def test_invalid_shapes_are_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_a_suggestion_counts_the_leftover_devices(plx: Machine, rendered: Renderer) -> None:
    """Eight GPUs and eight NICs, two of each on every root; three GPUs are on no root, but on a NUMA node."""
    found = suggest(parse("gpu=2,nic=2"), rendered(plx), TARGET)
    assert found is not None
    assert (found.alignment, found.copies) == ("all on one PCIe root", 4)
    assert found.leftover["gpu.nvidia.com"] == 6
    found = suggest(parse("gpu=3"), rendered(plx, nvidia="0.5"), TARGET)
    assert found is not None
    assert (found.alignment, found.copies) == ("all on one NUMA node", 2)
    assert found.leftover["gpu.nvidia.com"] == 5


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(["discover", "--isolated", *words])
    return code, capsys.readouterr().out


def claims(text: str) -> list[dict[str, Any]]:
    return [value for value in yaml.safe_load_all(text) if value]


def test_several_shapes_are_suggested_for_a_described_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out = run(capsys, "--hardware", "dgx-h100", "--suggest", "gpu=1,nic=1; gpu=4")
    assert code == 0
    assert [value["metadata"]["name"] for value in claims(out)] == ["1-gpu-1-nic", "4-gpu"]
    assert "# 8 of these fit on the node; the first leaves 7 gpu.nvidia.com, 7 dra.net" in out
    code, out = run(capsys, "--hardware", "dgx-h100", "--suggest", "gpu=9; gpu=8")
    assert (code, [value["metadata"]["name"] for value in claims(out)]) == (1, ["8-gpu"])


def test_the_largest_claim_has_aligned_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = run(capsys, "--hardware", "dgx-h100", "--suggest", "largest")
    (value,) = claims(out)
    assert value["metadata"]["name"] == "8-gpu-8-nic"
    assert len(value["spec"]["devices"]["constraints"]) == 8
    assert "the first leaves no device" in out


def test_mig_devices_are_suggested_on_one_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    """An H100 has seven slices of compute: seven 1g, or one 3g and four 1g."""
    code, out = run(capsys, "--hardware", "dgx-h100", "--suggest", "mig=7x1g.10gb")
    (value,) = claims(out)
    assert (code, value["spec"]["devices"]["constraints"][0]["matchAttribute"]) == (
        0,
        "gpu.nvidia.com/parentUUID",
    )
    assert out.startswith("# mig=7x1g.10gb: all on one GPU\n")
    assert "# 8 of these fit on the node; the first leaves 49 gpu.nvidia.com" in out
    _, out = run(capsys, "--hardware", "dgx-h100", "--suggest", "mig=3g.40gb+2x1g.10gb")
    requests = claims(out)[0]["spec"]["devices"]["requests"]
    assert [(r["name"], r["exactly"].get("count", 1)) for r in requests] == [
        ("mig-3g-40gb", 1),
        ("mig-1g-10gb", 2),
    ]
    assert (
        main(["discover", "--hardware", "dgx-h100", "--suggest", "mig=8x1g.10gb"]) == 2
    )  # seven have room


@pytest.mark.parametrize(
    "text", ["mig=", "mig=7", "mig=7x", "mig=7xlarge", "mig=1g.10gb+1g.10gb", "mig=40x1g.10gb"]
)
def test_invalid_mig_layouts_are_errors(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


@pytest.mark.parametrize("output", ["tree", "matrix", "table", "json", "svg", "html"])
def test_a_described_machine_is_drawn(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = run(capsys, "--hardware", "dgx-h100", "-o", output)
    assert code == 0
    assert "pci0000:15" in out or output in ("matrix", "table")
    assert "1b:00.0" in out


def test_a_machine_is_named_once_and_by_a_known_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["discover", "--hardware", "dgx-h100", "--root", str(tmp_path)]) == 2
    assert "give only one of them" in capsys.readouterr().err
    assert main(["discover", "--hardware", "dgx-h1000"]) == 2
    assert "dgx-h100" in capsys.readouterr().err


# -- the claim that prefers the alignment --

ROOT = "resource.kubernetes.io/pcieRoot"


def make_slice(driver: str, *roots: str) -> dict[str, Any]:
    kind = driver.partition(".")[0]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": kind},
        "spec": {
            "driver": driver,
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"{kind}-{number}", "attributes": {ROOT: {"string": root}}}
                for number, root in enumerate(roots)
            ],
        },
    }


def make_demand(gpus: int, nics: int) -> dict[str, Any]:
    requests = [
        {"name": name, "exactly": {"deviceClassName": f"{name}.example.com", "count": count}}
        for name, count in (("gpu", gpus), ("nic", nics))
    ]
    constraint = {"matchAttribute": ROOT, "requests": ["gpu", "nic"]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "pair"},
        "spec": {"devices": {"requests": requests, "constraints": [constraint]}},
    }


def allocate_all(claim: dict[str, Any], gpus: str, nics: str) -> list[dict[str, str]]:
    """Allocate claims until none fits; return the device of each request."""
    slices = [
        decode(make_slice(f"{name}.example.com", *roots))
        for name, roots in (("gpu", gpus), ("nic", nics))
    ]
    classes = [
        decode(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{name}"'}}]},
            }
        )
        for name in ("gpu.example.com", "nic.example.com")
    ]
    node: Any = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}})
    allocator = Allocator(slices, classes, features=Features.for_release("1.37"))
    taken: set[DeviceID] = set()
    copies = []
    while True:
        state = AllocatedState(devices=frozenset(taken))
        verdict = allocator.replace(state=state).allocate(node, [decode(claim)])
        if not isinstance(verdict, Allocated):
            return copies
        results = verdict.results[0].devices.results
        taken |= {DeviceID(each.driver, each.pool, each.device) for each in results}
        copies.append({each.request: each.device for each in results})


def test_aligned_devices_are_preferred_to_the_first() -> None:
    """These are the devices that kube-scheduler 1.37.1 allocated to two pods, one after the other."""
    claim = prefer_alignment(make_demand(1, 1))
    assert claim is not None
    assert allocate_all(claim, "ba", "ac") == [
        {"gpu/aligned": "gpu-1", "nic": "nic-0"},
        {"gpu/anywhere": "gpu-0", "nic": "nic-1"},
    ]
    assert allocate_all(make_demand(1, 1), "ba", "ac") == [{"gpu": "gpu-1", "nic": "nic-0"}]


def test_several_devices_of_a_kind_need_not_match_each_other() -> None:
    claim = prefer_alignment(make_demand(2, 2))
    assert claim is not None
    devices = claim["spec"]["devices"]
    assert [each["name"] for each in devices["requests"]] == ["gpu", "nic-0", "nic-1"]
    assert [each["requests"] for each in devices["constraints"]] == [
        ["gpu/aligned", "nic-0"],
        ["gpu/aligned", "nic-1"],
    ]
    (first, second) = allocate_all(claim, "abab", "cbbd")
    assert first == {"gpu/aligned": "gpu-3", "nic-0": "nic-1", "nic-1": "nic-2"}
    assert second == {"gpu/anywhere": "gpu-2", "nic-0": "nic-0", "nic-1": "nic-3"}


@pytest.mark.parametrize(
    ("shape", "prefers"),
    [
        ("gpu=2,nic=1", True),
        ("gpu=3,nic=1", True),
        ("gpu=4,nic=4", False),  # two pairs: no request is in both constraints
        ("gpu=2,nic=1@pcieRoot", False),  # demanded
        ("gpu=2,nic=1@none", False),
        ("gpu", False),
    ],
)
def test_which_suggestions_have_a_preference(
    shape: str, prefers: bool, plx: Machine, rendered: Renderer, tmp_path: Path
) -> None:
    found = suggest(parse(shape), rendered(plx), TARGET)
    assert found is not None
    assert (found.preference is not None) == prefers
    if found.preference is not None:
        assert found.preference.aligned >= found.copies
        file = tmp_path / "claim.json"
        file.write_text(json.dumps(found.preference.claim))
        assert lint(load([str(file)]), TARGET).findings == ()


def test_the_preference_is_printed_as_comments(capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe to kubectl creates one claim."""
    assert main(["discover", "--hardware", "dgx-h100", "--suggest", "gpu=1,nic=1"]) == 0
    printed = capsys.readouterr().out
    assert len(list(yaml.safe_load_all(printed))) == 1
    comment = printed[printed.index("# spec:") :]
    spec = yaml.safe_load("".join(line[2:] + "\n" for line in comment.splitlines()))["spec"]
    assert [each["requests"] for each in spec["devices"]["constraints"]] == [["gpu/aligned", "nic"]]
    assert "&id" not in printed
