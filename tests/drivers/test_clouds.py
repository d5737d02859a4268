"""Google TPUs, AWS Neuron, dranet on cloud machines. Expectations are those of the drivers' code and tests."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl import machines as hardware
from dractl.drivers import Options, find
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Machine, PciDevice, RdmaDevice

CHIP = PciDevice(
    "0000:00:10.0", "pci0000:00/0000:00:10.0", vendor="0x1ae0", device="0x0063", driver="vfio-pci"
)
GVNIC = PciDevice(
    "0000:00:04.0", "pci0000:00/0000:00:04.0", vendor="0x1ae0", device="0x0042", driver="gve"
)


def inventory(driver: str, machine: Machine, version: str | None = None, **settings: str):
    chosen = Options(
        "node-1", Target.of("1.37"), {driver: version} if version else {}, {driver: settings}
    )
    return find(driver).inventory(machine, chosen)


def values(driver: str, machine: Machine, attribute: str, **settings: str) -> list[object]:
    """The attribute of each device, None where a device lacks it."""
    found = [
        device["attributes"].get(attribute)
        for device in inventory(driver, machine, **settings).devices
    ]
    return [None if value is None else next(iter(value.values())) for value in found]


def tpus(*groups: int) -> Machine:
    return Machine(
        pci_devices=(
            GVNIC,
            *(replace(CHIP, bdf=f"0000:00:{n:02x}.0", iommu_group=n) for n in groups),
        )
    )


def test_tpus_are_named_by_their_iommu_group_in_the_order_of_text() -> None:
    found = inventory(
        "tpu.google.com", tpus(2, 10, 1, 3), accelerator="tpu-v5-lite-podslice"
    ).devices
    assert [device["name"] for device in found] == ["1", "10", "2", "3"]
    assert found[1]["attributes"] == {
        "index": {"int": 1},
        "tpuGen": {"string": "v5litepod"},
        "brand": {"string": "Google"},
        "accelerator": {"string": "tpu-v5-lite-podslice"},
        "chipCount": {"int": 4},
        "topology": {"string": "2x2"},
    }


def test_tpus_with_a_device_file_of_their_own() -> None:
    machine = Machine(pci_devices=(replace(CHIP, driver="accel", names=("accel0",)),))
    assert values("tpu.google.com", machine, "tpuGen", accelerator="tpu7x") == ["tpu7x"]
    assert inventory("tpu.google.com", machine, accelerator="tpu7x").devices[0]["name"] == "accel0"


def test_the_first_tpu_driver_published_less() -> None:
    found = inventory("tpu.google.com", tpus(0), "0.1", accelerator="tpu-v6e-slice").devices
    assert found[0]["attributes"] == {"index": {"int": 0}, "tpuGen": {"string": "v6e"}}


def test_the_tpu_driver_publishes_all_chips_or_none() -> None:
    found = inventory("tpu.google.com", tpus(0, 1), accelerator="tpu-v6e-slice", chipCount="4")
    assert (found.devices, found.unpublished) == (
        (),
        "the node's labels say 4 chips, but 2 were found",
    )


def test_the_tpu_driver_needs_the_accelerator() -> None:
    assert "accelerator is unknown here" in str(inventory("tpu.google.com", tpus(0)).unpublished)
    with pytest.raises(UsageError, match="'tpu-v9' is unknown to the driver"):
        inventory("tpu.google.com", tpus(0), accelerator="tpu-v9")
    with pytest.raises(UsageError, match="chipCount must be a number"):
        inventory("tpu.google.com", tpus(0), accelerator="tpu-v6e-slice", chipCount="four")


def test_a_machine_type_tells_the_accelerator() -> None:
    machine = hardware.machine("ct6e-standard-8t")
    assert set(values("tpu.google.com", machine, "accelerator")) == {"tpu-v6e-slice"}
    assert set(values("tpu.google.com", machine, "topology")) == {"2x4"}


def test_neuron_devices_have_the_groups_of_their_adapters() -> None:
    """The groups of device 0 are those of lookup_test.go."""
    found = inventory("neuron.aws.com", hardware.machine("trn2.48xlarge")).devices
    assert [device["name"] for device in found] == [f"neurondevice{n}" for n in range(16)]
    assert found[0]["attributes"] == {
        "deviceId": {"int": 0},
        "instanceType": {"string": "trn2.48xlarge"},
        "resourceType": {"string": "neuron_device"},
        "resource.aws.com/devicegroup1_id": {"string": "0000:c9:00.0"},
        "resource.aws.com/devicegroup4_id": {"string": "13713e551cd37c19"},
        "resource.aws.com/devicegroup8_id": {"string": "3593812b8066a078"},
        "resource.aws.com/devicegroup16_id": {"string": "821d14afaf11327d"},
    }
    assert (
        len({str(device["attributes"]["resource.aws.com/devicegroup4_id"]) for device in found})
        == 4
    )


def test_adapters_and_neuron_devices_match_group_by_group() -> None:
    machine = hardware.machine("trn2.48xlarge")
    for size in (1, 4, 8, 16):
        name = f"resource.aws.com/devicegroup{size}_id"
        assert sorted(values("neuron.aws.com", machine, name)) == sorted(
            values("dra.net", machine, name)
        )


def test_two_neuron_devices_of_trn1_share_an_adapter() -> None:
    found = values(
        "neuron.aws.com", hardware.machine("trn1.32xlarge"), "resource.aws.com/devicegroup1_id"
    )
    assert found[:4] == ["0000:10:1a.0", "0000:10:1a.0", "0000:a0:1a.0", "0000:a0:1a.0"]


def test_inferentia_has_no_groups() -> None:
    assert set(
        values(
            "neuron.aws.com", hardware.machine("inf2.48xlarge"), "resource.aws.com/devicegroup1_id"
        )
    ) == {None}


def test_adapters_of_gpu_machines_have_no_groups() -> None:
    assert set(
        values("dra.net", hardware.machine("p5.48xlarge"), "resource.aws.com/devicegroup1_id")
    ) == {None}


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("a3-megagpu-8g", "gce.dra.net/machineType"), ("ND_H100_v5", "azure.dra.net/vmSize")],
)
def test_dranet_names_the_machine_type(name: str, attribute: str) -> None:
    machine = hardware.machine(name)
    assert set(values("dra.net", machine, attribute)) == {machine.host.instance_type}


def test_dranet_has_places_from_options() -> None:
    machine = hardware.machine("BM.GPU.H100.8")
    assert set(values("dra.net", machine, "oke.dra.net/rackId", rackId="rack-7")) == {"rack-7"}
    assert set(values("dra.net", machine, "oke.dra.net/hpcIslandId", rackId="rack-7")) == {None}


def test_a_place_of_another_cloud_is_refused() -> None:
    with pytest.raises(
        UsageError, match="rackId is an attribute on oke, and the machine is on gce"
    ):
        inventory("dra.net", hardware.machine("a3-megagpu-8g"), rackId="7")
    with pytest.raises(
        UsageError, match="cloud must be aws, azure, gce, oke, alibaba or coreweave, not 'gcp'"
    ):
        inventory("dra.net", hardware.machine("a3-megagpu-8g"), cloud="gcp")
    with pytest.raises(UsageError, match="block has 65 characters; at most 64 are allowed"):
        inventory("dra.net", hardware.machine("a3-megagpu-8g"), block="x" * 65)


def test_dranet_before_a_provider_was_added() -> None:
    machine = hardware.machine("ND_H100_v5")
    found = inventory("dra.net", machine, "1.0", cloud="azure").devices
    assert not any(name.startswith("azure.") for device in found for name in device["attributes"])


def test_erdma_on_alibaba_cloud() -> None:
    bdf = "0000:00:05.0"
    machine = Machine(
        pci_devices=(PciDevice(bdf, f"pci0000:00/{bdf}", class_code="0x020000", driver="erdma"),),
        rdma_devices=(RdmaDevice("erdma_0", bdf),),
    )
    settings = {"cloud": "alibaba", "instanceType": "ecs.g8i.48xlarge"}
    assert values("dra.net", machine, "alibaba.dra.net/erdma", **settings) == [True]
    assert values("dra.net", machine, "alibaba.dra.net/instanceType", **settings) == [
        "ecs.g8i.48xlarge"
    ]


def test_fabric_of_a_node_on_coreweave() -> None:
    """pkg/cloudprovider/coreweave/coreweave.go: labels of the node, on every device; #302 was merged after v1.4.0."""
    machine = hardware.machine("2xnic")
    settings = {"cloud": "coreweave", "rack": "r12", "instanceType": "gd-8xh200ib-i128"}
    devices = inventory("dra.net", machine, "main", **settings).devices
    assert [device["attributes"]["coreweave.dra.net/rack"] for device in devices] == [
        {"string": "r12"}
    ] * 2
    assert devices[0]["attributes"]["coreweave.dra.net/instanceType"] == {
        "string": "gd-8xh200ib-i128"
    }
    with pytest.raises(UsageError, match=r"rack came after 1\.4"):
        inventory("dra.net", machine, "1.4", **settings)


def test_an_instance_type_is_no_attribute_of_one_cloud_alone() -> None:
    machine = hardware.machine("2xnic")
    assert values(
        "dra.net", machine, "azure.dra.net/vmSize", cloud="azure", instanceType="Standard_X"
    ) == ["Standard_X", "Standard_X"]


def test_aws_brings_a_class_for_adapters() -> None:
    chosen = Options("node-1", Target.of("1.37"), settings={"dra.net": {"cloud": "aws"}})
    names = [item["metadata"]["name"] for item in find("dra.net").device_classes(chosen)]
    assert names == ["dranet", "efa.networking.k8s.aws"]
