"""Published devices, joined to the functions that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.drivers import Rendering
from dractl.drivers.publication import Publication, Published, publication

if TYPE_CHECKING:
    from dractl.topology.machine import Machine
    from tests.rendered_nodes import Renderer


def test_every_gpu_and_nic_has_its_published_name(plx: Machine, rendered: Renderer) -> None:
    found = publication(rendered(plx), plx)
    assert found.name_of("0000:18:00.0") == "pci-0000-18-00-0"
    named = {d.bdf: found.name_of(d.bdf) for d in plx.pci_devices if d.kind == "gpu"}
    assert sorted(str(name) for name in named.values()) == [
        f"gpu-{n}?" for n in range(8)
    ]  # NVML was not asked
    assert found.name_of("0000:1c:00.0") is None  # no driver publishes NVMe unless it is named


def test_a_mig_gpu_is_named_by_its_parts() -> None:
    """mig.go, ToCanonicalName: ``gpu-<minor>-mig-<profile>-<id>-<start>``."""
    parts = tuple(
        Published("gpu.nvidia.com", f"gpu-3-mig-1g10gb-19-{start}", "mig", "0000:19:00.0")
        for start in (0, 4)
    )
    assert Publication(devices=parts).name_of("0000:19:00.0") == "gpu-3-mig-*"


def test_uplinks_have_a_reason(plx: Machine, rendered: Renderer) -> None:
    found = publication(rendered(plx), plx)
    assert (
        found.left_out["0000:02:00.0"]
        == "eno1 carries the node's default route, so dra.net leaves it out"
    )
    assert "0000:18:00.0" not in found.left_out


def test_notices_about_a_function_are_its_reason(mi300x: Machine, rendered: Renderer) -> None:
    """0000:61:00.0 has no amdgpu driver, so gpu.amd.com has nothing to publish of it."""
    found = publication(rendered(mi300x), mi300x)
    assert found.devices_of("0000:61:00.0") == ()
    assert "amdgpu" in found.left_out["0000:61:00.0"]


def test_partitions_of_an_amd_gpu_are_not_gpus(mi300x: Machine, rendered: Renderer) -> None:
    found = publication(rendered(mi300x), mi300x)
    assert [
        (device.name, device.kind) for device in found.devices if device.driver == "gpu.amd.com"
    ] == [("gpu-1-128", "gpu"), ("gpu-2-129", "partition")]


def test_reasons_and_notices_are_the_drivers(plx: Machine) -> None:
    left_out = {"gpu.nvidia.com": {"0000:19:00.0": "NVML does not list this GPU"}}
    found = publication(
        Rendering(left_out=left_out, notices=("dra.cpu: CPUs 0-1 are not published",)), plx
    )
    assert found.left_out["0000:19:00.0"] == "NVML does not list this GPU"
    assert found.notices == ("dra.cpu: CPUs 0-1 are not published",)


def test_addresses_come_from_attributes_names_or_kernel_names(plx: Machine) -> None:
    def device(name: str, **attributes: str) -> dict[str, object]:
        return {
            "name": name,
            "attributes": {key: {"string": value} for key, value in attributes.items()},
        }

    spec = {
        "driver": "gpu.example.com",
        "devices": [
            device("a", pciAddress="0000:19:00.0"),
            device("0000-1a-00-0-0x1020"),
            device("nvme0"),
            device("b", pciAddress="0000:ff:00.0"),
        ],
    }
    found = publication(Rendering(slices=({"spec": spec},)), plx)
    assert [d.bdf for d in found.devices] == ["0000:19:00.0", "0000:1a:00.0", "0000:1c:00.0", None]
