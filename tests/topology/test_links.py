"""Links that run below what both ends can do."""

from __future__ import annotations

import pytest

from dractl.topology.links import slow_links
from dractl.topology.machine import Kind, Machine, PciDevice


def machine(
    link: tuple[int, float],
    most: tuple[int, float],
    port: tuple[int, float] | None,
    kind: Kind = "nic",
) -> Machine:
    device = PciDevice(
        bdf="0000:11:00.0",
        path="pci0000:10/0000:10:01.0/0000:11:00.0",
        kind=kind,
        pcie_root="pci0000:10",
        bridges=("0000:10:01.0",),
        link_width=link[0],
        link_speed=link[1],
        max_link_width=most[0],
        max_link_speed=most[1],
    )
    if port is None:
        return Machine(pci_devices=(device,))
    bridge = PciDevice(
        bdf="0000:10:01.0",
        path="pci0000:10/0000:10:01.0",
        kind="bridge",
        max_link_width=port[0],
        max_link_speed=port[1],
    )
    return Machine(pci_devices=(bridge, device))


@pytest.mark.parametrize(
    ("link", "most", "port", "slow"),
    [
        ((16, 32.0), (16, 32.0), (16, 32.0), None),
        ((8, 32.0), (16, 32.0), (16, 32.0), "x8, although the device and its slot can do x16"),
        ((8, 32.0), (16, 32.0), None, "x8, although the device and its slot can do x16"),
        ((8, 32.0), (16, 32.0), (8, 32.0), None),  # the slot has no more lanes
        ((16, 16.0), (16, 32.0), (16, 16.0), None),  # the slot is of an older generation
        (
            (16, 2.5),
            (16, 32.0),
            (16, 16.0),
            "2.5 GT/s, although the device and its slot can do 16 GT/s",
        ),
    ],
)
def test_a_link_is_slow_only_where_both_ends_can_do_more(
    link: tuple[int, float],
    most: tuple[int, float],
    port: tuple[int, float] | None,
    slow: str | None,
) -> None:
    found = slow_links(machine(link, most, port))
    assert len(found) == (slow is not None)
    assert slow is None or f"runs at {slow};" in found[0].text


def test_advice_depends_on_the_kind_of_device() -> None:
    """GPUs slow their links down when idle (nvidia-smi(1)); NICs and disks do not."""
    (gpu,) = slow_links(machine((8, 32.0), (16, 32.0), None, "gpu"))
    (nic,) = slow_links(machine((8, 32.0), (16, 32.0), None, "nic"))
    assert "under load" in gpu.text
    assert "reseat" in nic.text


def test_an_unknown_link_is_not_slow() -> None:
    device = PciDevice(
        bdf="0000:11:00.0", path="pci0000:10/0000:11:00.0", kind="nvme", max_link_width=4
    )
    assert slow_links(Machine(pci_devices=(device,))) == ()
