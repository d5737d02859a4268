"""Groups of devices that claims can align on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dractl.drivers.aligned_groups import AlignedGroup, list_aligned_groups, list_obstacles
from dractl.drivers.publication import publication
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT

if TYPE_CHECKING:
    from dractl.topology.machine import Machine
    from tests.rendered_nodes import Renderer


def test_groups_are_counted_at_once_and_as_combinations(plx: Machine, rendered: Renderer) -> None:
    """Four roots have two GPUs and two NICs each; onboard ports are not published.

    So 8 pairs can run at the same time. Each root has 2 x 2 choices for one pair, and two GPUs take
    a whole root.
    """
    groups = list_aligned_groups(publication(rendered(plx), plx).devices)
    numbers = {
        (group.gpus, group.nics): (group.max_groups, group.combinations, group.domains)
        for group in groups
        if group.attribute == PCIE_ROOT
    }
    assert numbers == {(1, 1): (8, 16, 4), (2, 0): (4, 4, 4), (2, 1): (4, 8, 4), (2, 2): (4, 4, 4)}


def test_a_group_is_described_in_words() -> None:
    assert (
        AlignedGroup(PCIE_ROOT, gpus=2, nics=1, max_groups=4, combinations=8, domains=4).text
        == "2 GPUs + 1 NIC on one PCIe root: up to 4 at once (8 combinations), on 4 PCIe roots"
    )
    assert (
        AlignedGroup(NUMA_NODE, gpus=1, nics=1, max_groups=1, combinations=1, domains=1).text
        == "1 GPU + 1 NIC on one NUMA node: up to 1 at once (1 combination)"
    )


def test_claims_can_match_numa_nodes_of_both_drivers(plx: Machine, rendered: Renderer) -> None:
    old = publication(rendered(plx, nvidia="0.4", dranet="1.4"), plx).devices
    (text,) = list_obstacles(old)
    assert text.startswith(
        "claims cannot match resource.kubernetes.io/numaNode: dra.net and gpu.nvidia.com do not "
    )
    new = publication(rendered(plx, nvidia="0.5", dranet="main"), plx).devices
    assert list_obstacles(new) == ()
    assert (4, 4, NUMA_NODE) in {(a.gpus, a.nics, a.attribute) for a in list_aligned_groups(new)}


def test_claims_cannot_align_devices_without_published_roots(
    hyperv: Machine, rendered: Renderer
) -> None:
    devices = publication(rendered(hyperv), hyperv).devices
    assert list_aligned_groups(devices) == ()
    assert list_obstacles(devices)[0].startswith(
        "claims cannot match resource.kubernetes.io/pcieRoot: "
    )


def test_roots_with_gpus_alone_are_an_obstacle(plx: Machine, rendered: Renderer) -> None:
    elsewhere = tuple(
        replace(d, path="pci0000:aa/" + d.bdf, pcie_root="pci0000:aa") if d.kind == "nic" else d
        for d in plx.pci_devices
    )
    machine = replace(plx, pci_devices=elsewhere)
    assert "no PCIe root has both a GPU and a NIC" in list_obstacles(
        publication(rendered(machine), machine).devices
    )
