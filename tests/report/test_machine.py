"""Reports of a machine with eight GPUs that NVML describes: two MIG devices, NVSwitch, a link with half its lanes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.drivers import Options, render
from dractl.drivers.publication import Publication, publication
from dractl.machines import machine as described_machine
from dractl.model.releases import Target
from dractl.report.canvas import Canvas
from dractl.report.machine import (
    html as machine_html,
    matrix as machine_matrix,
    svg as machine_svg,
    table as machine_table,
    text as machine_text,
    tree as machine_tree,
)
from dractl.topology.levels import endpoints
from tests import nvml, sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine

SVG = "{http://www.w3.org/2000/svg}"


def published(machine: Machine) -> Publication:
    return publication(render(machine, Options("node-1", Target.of("1.37"))), machine)


@pytest.fixture(scope="module")
def plx(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """NVML lists the GPUs by address; the kernel gives them minor numbers the other way round."""
    tree = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path_factory.mktemp("plx"))
    addresses = [device.bdf for device in probes.read(tree).pci_devices if device.kind == "gpu"]
    library = nvml.build(tmp_path_factory.mktemp("nvml"))
    return nvml.probe(tree, library, bus_ids=",".join(addresses), mig="on", links="switch")


@pytest.fixture(scope="module")
def dgx(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return probes.read(
        sysfs_trees.build(sysfs_trees.describe("dgx-nvswitch"), tmp_path_factory.mktemp("dgx"))
    )


def all_reports(machine: Machine, width: int) -> dict[str, str]:
    canvas, devices = Canvas(width), published(machine)
    return {
        "tree": machine_tree.render(machine, canvas, publication=devices),
        "matrix": machine_matrix.render(machine, canvas, publication=devices),
        "table": machine_table.render(machine, canvas, publication=devices),
        "svg": machine_svg.render(machine, devices),
        "html": machine_html.render(machine, devices),
    }


def test_every_report_names_a_gpu_as_claims_do(plx: Machine) -> None:
    for name, text in all_reports(plx, 200).items():
        for number in range(7):
            assert re.search(rf"\bgpu-{number}\b", text), name
        assert not re.search(r"\bGPU\d", text), name


def test_every_report_but_the_matrix_lists_mig_devices(plx: Machine) -> None:
    for name, text in all_reports(plx, 200).items():
        if name != "matrix":
            assert "gpu-7-mig-3g40gb-9-0" in text, name
            assert "1g.10gb, memory slice 4" in text, name


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_a_narrow_tree_loses_nothing(width: int, plx: Machine) -> None:
    """Each description is there in full, on the device's line or the next one, and so is the slow link."""
    text = machine_tree.render(plx, Canvas(width), publication=published(plx))
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(re.sub("[│├└─]", " ", text).split())
    assert words.count("Mellanox ConnectX-7 (mlx5_core)") == 8
    assert words.count("NVIDIA H100 80GB HBM3, 79.65 GiB") == 8
    assert "MIG on, 2 MIG devices" in words
    assert "×8/16 32 GT/s" in words
    assert "…" not in words


def test_the_fabric_is_named(plx: Machine) -> None:
    names = {bdf: name for bdf in plx.pci if (name := published(plx).name_of(bdf))}
    mesh, clique = machine_text.fabric_lines(plx, names)
    assert (
        mesh
        == "NV18 from each to every other: gpu-7-mig-* gpu-6 gpu-5 gpu-4 gpu-3 gpu-2 gpu-1 gpu-0"
    )
    assert clique.startswith(
        "clique a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf.7 (label nvidia.com/gpu.clique): gpu-7-mig-* "
    )


def test_verbose_trees_have_uuids_and_profiles(plx: Machine) -> None:
    text = machine_tree.render(plx, Canvas(120), publication=published(plx), verbose=True)
    assert "GPU-00000000-0000-0000-0000-000000000000" in text
    profiles = next(line for line in text.splitlines() if "MIG profiles:" in line)
    assert {"1g.10gb ×7", "2g.20gb ×3", "3g.40gb ×2"} <= set(
        profiles.partition(": ")[2].split(", ")
    )


@pytest.mark.parametrize(
    ("product", "profiles"),
    [
        # NVIDIA MIG user guide 580, table 6; 1g.5gb has no media engine.
        (
            "A100-40GB",
            "1g.5gb ×7, 1g.5gb+me ×1, 1g.10gb ×4, 2g.10gb ×3, 3g.20gb ×2, 4g.20gb ×1, 7g.40gb ×1",
        ),
        # Table 11 of the same.
        (
            "RTX-PRO-6000",
            (
                "1g.24gb ×4, 1g.24gb+me ×1, 1g.24gb+gfx ×4, 1g.24gb+me.all ×1, 1g.24gb-me ×4,"
                " 2g.48gb ×2, 2g.48gb+gfx ×2, 2g.48gb+me.all ×1, 2g.48gb-me ×2, 4g.96gb ×1,"
                " 4g.96gb+gfx ×1"
            ),
        ),
    ],
)
def test_profiles_are_as_many_as_fit(product: str, profiles: str) -> None:
    (gpu,) = described_machine(f"{product},mig=on").gpus
    assert machine_text.profiles(gpu) == f"MIG profiles: {profiles}"


def test_unpublished_gpu_has_its_index_and_the_reason(plx: Machine) -> None:
    devices = published(plx)
    without = replace(
        devices,
        devices=tuple(device for device in devices.devices if device.bdf != "0000:3b:00.0"),
        left_out={"0000:3b:00.0": "it is bound to vfio-pci"},
    )
    assert machine_text.labels(plx, endpoints(plx), without)["0000:3b:00.0"] == "GPU2"
    assert "  0000:3b:00.0: it is bound to vfio-pci" in machine_tree.render(
        plx, Canvas(), publication=without
    )
    assert "not published: it is bound to vfio-pci" in machine_svg.render(plx, without)
    assert "not published: it is bound to vfio-pci" in machine_html.render(plx, without)


def test_driver_without_slices_is_named(plx: Machine) -> None:
    silent = Publication(silent={"gpu.nvidia.com": "a GPU is lost"})
    assert "  gpu.nvidia.com: publishes nothing: a GPU is lost" in machine_tree.render(
        plx, Canvas(), publication=silent
    )
    assert "gpu.nvidia.com publishes nothing: a GPU is lost" in machine_svg.render(plx, silent)


def test_a_lost_gpu_silences_its_driver(plx: Machine) -> None:
    """Neither of NVIDIA's drivers starts with a lost GPU, so no GPU is published, and none can be aligned."""
    lost = replace(plx, gpus=(replace(plx.gpus[0], health="lost"), *plx.gpus[1:]))
    text = machine_tree.render(lost, Canvas(200), publication=published(lost))
    assert (
        "  gpu.nvidia.com: publishes nothing: it does not start: GPU 0000:19:00.0 is lost" in text
    )
    assert text.count("gpu.nvidia.com: publishes nothing") == 1
    assert text.count("compute-domain.nvidia.com: publishes nothing") == 1
    assert "on one PCIe root" not in text
    assert (
        machine_html.render(lost, published(lost)).count(
            "gpu.nvidia.com publishes nothing on this node"
        )
        == 16
    )


def test_every_block_of_a_matrix_has_devices(plx: Machine) -> None:
    text = machine_matrix.render(plx, Canvas(80), publication=published(plx))
    heads = [
        line.split()
        for line in text.splitlines()
        if line.startswith("       ") and "gpu" + "-" not in line[:6]
    ]
    blocks = [head for head in heads if head[0].startswith(("gpu-", "NIC", "NVME", "CPU"))]
    assert len(blocks) > 1
    assert all(any(name.startswith(("gpu-", "NIC", "NVME")) for name in block) for block in blocks)


def test_pictures_have_every_numa_node(dgx: Machine) -> None:
    """Five of the eight nodes have no PCI function."""
    root = ElementTree.fromstring(machine_svg.render(dgx))
    titles = {
        span.text for span in root.iter(f"{SVG}tspan") if (span.text or "").startswith("NUMA node")
    }
    assert titles == {f"NUMA node {number}" for number in range(8)}
    assert all(f"<h3>NUMA node {number}</h3>" in machine_html.render(dgx) for number in range(8))


def test_an_svg_scales_and_is_reachable_by_keyboard(plx: Machine) -> None:
    root = ElementTree.fromstring(machine_svg.render(plx, published(plx)))
    assert re.fullmatch(r"0 0 \d+ [\d.]+", root.get("viewBox") or "")
    assert "max-width: 100%" in "".join(root.itertext())
    devices = [group for group in root.iter(f"{SVG}g") if group.get("class") == "device"]
    assert {d.bdf for d in endpoints(plx)} <= {group.get("data-bdf") for group in devices}
    for group in devices:
        assert group.get("tabindex") == "0"
        assert group.get("aria-label")
        assert group.findtext(f"{SVG}title")


def test_boxes_of_a_picture_say_how_far_apart_devices_are(plx: Machine) -> None:
    root = ElementTree.fromstring(machine_svg.render(plx, published(plx)))
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert sum(text.endswith("within: PIX") for text in texts) == 4  # the switches
    assert any(
        " and " in text and text.endswith(": PIX") for text in texts
    )  # a card with two ports, beside a BMC
    assert sum(text.endswith("within: NODE") for text in texts) == 2
    assert "Between NUMA nodes: SYS" in texts
    assert not any(text.startswith("PXB") for text in texts)  # a legend of what is there


def test_a_page_shows_distances_in_words_and_to_the_keyboard(plx: Machine) -> None:
    page = machine_html.render(plx, published(plx))
    cards = re.findall(r'<div class="device [a-z]+" tabindex="0"[^>]*data-bdf="([^"]+)"', page)
    assert {d.bdf for d in endpoints(plx)} <= set(cards)
    assert page.count('<span class="level"></span>') == len(cards)  # filled by the script
    assert 'addEventListener("focus"' in page
    heads = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', page)
    assert heads[:8] == ["gpu-7-mig-*", *(f"gpu-{number}" for number in range(6, -1, -1))]
    assert heads[8] == "NIC0"


def test_a_page_names_the_node_only_with_identity(plx: Machine) -> None:
    assert "<h1>PCI topology of secret-host-name</h1>" in machine_html.render(plx)
    assert "<h1>PCI topology of this node</h1>" in machine_html.render(plx.drop_identity())


def test_pictures_name_published_virtual_functions(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("sriov"), tmp_path))
    line = "+ 4 virtual functions of 0000:3b:00.0, published as pci-0000-3b-00-2, pci-0000-3b-00-3"
    texts = ElementTree.fromstring(machine_svg.render(machine, published(machine))).iter(
        f"{SVG}text"
    )
    assert line in " ".join("".join(text.itertext()) for text in texts)
    assert line in machine_html.render(machine, published(machine))


def test_long_lists_of_names_are_shortened() -> None:
    assert machine_text.span(["a", "b"]) == "a, b"
    assert machine_text.span(list("abcdefg")) == "a to g (7)"


def test_paper_has_the_whole_matrix_and_nothing_to_point_at(plx: Machine) -> None:
    """Chromium 156: the matrix was cut at the sixth NIC, and boxes were split over pages."""
    page = machine_html.render(plx, published(plx))
    columns = page[page.index('<table class="matrix"') :].partition("</tr>")[0].count("<th ") + 1
    assert f'<table class="matrix" style="--columns: {columns}">' in page
    assert '<p class="soft screen">Point at a device' in page
    printed = page[page.rindex("@media print") :]
    assert ".box.root, .device { break-inside: avoid; }" in printed
    assert ".screen { display: none !important; }" in page
