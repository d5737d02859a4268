"""Gaudi, QuickAssist, Spyre, HAMi: read from the hardware. Expectations are those of the drivers' code."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl import machines as hardware
from dractl.drivers import Options, find
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Machine, PciDevice, SrIov


def inventory(driver: str, *functions: PciDevice, **settings: str):
    chosen = Options("node-1", Target.of("1.37"), settings={driver: settings})
    return find(driver).inventory(Machine(pci_devices=functions), chosen)


GAUDI = PciDevice(
    "0000:19:00.0",
    "pci0000:17/0000:17:00.0/0000:19:00.0",
    vendor="0x1da3",
    device="0x1020",
    driver="habanalabs",
    names=("accel3",),
)


def test_a_gaudi() -> None:
    assert inventory("gaudi.intel.com", GAUDI).devices == (
        {
            "name": "0000-19-00-0-0x1020",
            "attributes": {
                "model": {"string": "Gaudi2"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:17"},
                "serial": {"string": ""},
                "healthy": {"bool": True},
                "pciRoot": {"string": "17"},
            },
        },
    )


def test_gaudis_in_the_classic_style() -> None:
    without = replace(GAUDI, bdf="0000:1a:00.0", names=())
    found = inventory("gaudi.intel.com", GAUDI, without, namingStyle="classic")
    assert [device["name"] for device in found.devices] == ["accel3"]
    assert found.left_out == {"0000:1a:00.0": "it has no accel device"}
    with pytest.raises(UsageError, match="namingStyle must be machine or classic, not 'old'"):
        inventory("gaudi.intel.com", GAUDI, namingStyle="old")


def test_an_unknown_gaudi_without_a_root() -> None:
    found = inventory("gaudi.intel.com", replace(GAUDI, device="0x1099", path="")).devices[0][
        "attributes"
    ]
    assert (found["model"], found["resource.kubernetes.io/pcieRoot"]) == (
        {"string": "0x1099"},
        {"string": ""},
    )
    assert "pciRoot" not in found


CARD = PciDevice(
    "0000:6b:00.0",
    "pci0000:6b/0000:6b:00.0",
    device="0x4940",
    driver="4xxx",
    qat_services="asym;sym",
)
FUNCTION = PciDevice(
    "0000:6b:00.1",
    "pci0000:6b/0000:6b:00.1",
    device="0x4941",
    sriov=SrIov(physical_function=CARD.bdf, vf_index=0),
)


def test_quickassist_functions_have_the_services_of_their_card() -> None:
    assert inventory("qat.intel.com", CARD, FUNCTION).devices == (
        {"name": "qatvf-0000-6b-00-1", "attributes": {"services": {"string": "sym;asym"}}},
    )
    nothing = inventory("qat.intel.com", replace(CARD, qat_services=""), FUNCTION).devices
    assert nothing[0]["attributes"] == {"services": {"string": ""}}


def test_quickassist_driver_leaves_out_cards_of_unknown_services() -> None:
    strange = inventory("qat.intel.com", replace(CARD, qat_services="sym;decomp"), FUNCTION)
    assert (strange.devices, strange.left_out) == (
        (),
        {"0000:6b:00.0": "its services are sym;decomp"},
    )
    assert inventory("qat.intel.com", CARD).notices == (
        "qat.intel.com: 0000:6b:00.0 has no virtual functions; the driver creates them when it starts",
    )


SPYRE = PciDevice(
    "0000:1a:00.0",
    "pci0000:17/0000:1a:00.0",
    class_code="0x120000",
    vendor="0x1014",
    device="0x06a7",
    driver="vfio-pci",
    numa_node=1,
)


def test_a_spyre_card() -> None:
    assert inventory("spyre.ibm.com", SPYRE).devices == (
        {
            "name": "0000-1a-00-0",
            "attributes": {
                "index": {"int": 0},
                "driverVersion": {"string": "0.0.1"},
                "vendor": {"string": "1014"},
                "driver": {"string": "vfio-pci"},
                "productId": {"string": "06a7"},
                "pciAddress": {"string": "0000:1a:00.0"},
                "pfPciAddress": {"string": ""},
                "isPf": {"bool": False},
                "subClass": {"string": "00"},
                "vfId": {"int": -1},
                "numaInfo": {"string": "1"},
            },
        },
    )


def test_spyre_card_without_passthrough_is_left_out() -> None:
    found = inventory("spyre.ibm.com", replace(SPYRE, driver=None))
    assert found.left_out == {"0000:1a:00.0": "it is bound to no driver, not to vfio-pci"}


def test_hami_does_not_start_beside_a_lost_gpu() -> None:
    """cmd/hami-kubelet-plugin/nvlib.go VisitDevices: the first error ends it, as it does NVIDIA's driver."""
    node = hardware.machine("2xH100")
    lost = replace(node, gpus=(replace(node.gpus[0], health="lost"), node.gpus[1]))
    found = find("hami-core-gpu.project-hami.io").inventory(
        lost, Options("node-1", Target.of("1.37"))
    )
    assert found.devices == ()
    assert "GPU_IS_LOST" in (found.unpublished or "")


def test_hami_shares_gpus_by_cores_and_memory() -> None:
    driver = "hami-core-gpu.project-hami.io"
    found = find(driver).inventory(
        hardware.machine("dgx-h100"), Options("node-1", Target.of("1.37"))
    )
    first = found.devices[0]
    assert first["name"] == "hami-gpu-0"
    assert first["allowMultipleAllocations"] is True
    assert first["attributes"]["pcieBusID"] == {"string": "00000000:1b:00.0"}
    assert first["capacity"]["cores"] == {
        "value": "100",
        "requestPolicy": {"default": "100", "validRange": {"min": "0", "max": "100", "step": "1"}},
    }
    memory = first["capacity"]["memory"]
    assert memory["requestPolicy"] == {
        "default": memory["value"],
        "validRange": {"min": "1Mi", "max": memory["value"], "step": "1Mi"},
    }
