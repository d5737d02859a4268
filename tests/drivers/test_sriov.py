"""The SR-IOV driver. Expectations are those of k8snetworkplumbingwg/dra-driver-sriov's code and its own tests.

Its tests are pkg/devicestate/discovery_test.go and pkg/controller/resourcepolicycontroller_test.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.drivers import Inventory, Options, find, render
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Machine, NetInterface, PciDevice, RdmaDevice, SrIov
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

NAME = "sriovnetwork.k8snetworkplumbingwg.io"


def inventory(machine: Machine, **settings: str) -> Inventory:
    return find(NAME).inventory(
        machine, Options("node-1", Target.of("1.37"), settings={NAME: settings})
    )


def physical(
    bdf: str, vendor: str, device: str, root: str = "pci0000:00", node: int | None = 0
) -> PciDevice:
    return PciDevice(
        bdf,
        f"{root}/{bdf}",
        class_code="0x020000",
        vendor=vendor,
        device=device,
        driver="i40e",
        numa_node=node,
    )


def virtual(bdf: str, parent: str, index: int, device: str, root: str = "pci0000:00") -> PciDevice:
    sriov = SrIov(physical_function=parent, vf_index=index)
    return PciDevice(
        bdf, f"{root}/{bdf}", class_code="0x020000", vendor="0x8086", device=device, sriov=sriov
    )


def interface(
    name: str, bdf: str, encapsulation: str | None = "ether", **facts: Any
) -> NetInterface:
    return NetInterface(name, bdf=bdf, encapsulation=encapsulation, **facts)


# "should discover single PF with VFs": an X710 with two VFs.
X710 = Machine(
    pci_devices=(
        physical("0000:01:00.0", "0x8086", "0x1572"),
        virtual("0000:01:00.1", "0000:01:00.0", 0, "0x154c"),
        virtual("0000:01:00.2", "0000:01:00.0", 1, "0x154c"),
    ),
    net_interfaces=(interface("eth0", "0000:01:00.0"),),
)


def test_one_physical_function_with_two_virtual_ones() -> None:
    first, second = inventory(X710).devices
    assert first == {
        "name": "0000-01-00-1",
        "attributes": {
            f"{NAME}/vendor": {"string": "8086"},
            f"{NAME}/deviceID": {"string": "154c"},
            f"{NAME}/pfDeviceID": {"string": "1572"},
            f"{NAME}/pciAddress": {"string": "0000:01:00.1"},
            "k8s.cni.cncf.io/deviceID": {"string": "0000:01:00.1"},
            f"{NAME}/PFName": {"string": "eth0"},
            f"{NAME}/EswitchMode": {"string": "legacy"},
            f"{NAME}/vfID": {"int": 0},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
            f"{NAME}/pfPciAddress": {"string": "0000:01:00.0"},
            "resource.kubernetes.io/pciBusID": {"string": "0000:01:00.1"},
            f"{NAME}/linkType": {"string": "ethernet"},
            f"{NAME}/rdmaCapable": {"bool": False},
            "dra.net/numaNode": {"int": 0},
        },
    }
    assert second["name"] == "0000-01-00-2"
    assert second["attributes"][f"{NAME}/vfID"] == {"int": 1}
    assert second["attributes"]["resource.kubernetes.io/pciBusID"] == {"string": "0000:01:00.2"}


def test_a_function_in_switchdev_mode_with_infiniband() -> None:
    """ "should discover multiple PFs with VFs", "should discover RDMA-capable VFs with RDMA attributes"."""
    bdf = "0000:02:00.0"
    machine = replace(
        X710,
        pci_devices=(
            *X710.pci_devices,
            physical(bdf, "0x15b3", "0x1017", node=1),
            virtual("0000:02:00.1", bdf, 0, "0x1018"),
            virtual("0000:02:00.2", bdf, 1, "0x1018"),
        ),
        net_interfaces=(
            *X710.net_interfaces,
            interface("aaa", bdf, "infiniband", port_name="pf0vf0", representor=True),
            interface("aab", bdf, "infiniband"),
            interface("ib0", bdf, "infiniband", port_name="p0"),
        ),
        rdma_devices=(RdmaDevice("mlx5_0", bdf), RdmaDevice("mlx5_1", "0000:02:00.1")),
    )
    _, _, first, second = inventory(machine).devices
    assert first["attributes"][f"{NAME}/vendor"] == {"string": "15b3"}
    assert first["attributes"][f"{NAME}/PFName"] == {"string": "ib0"}
    assert first["attributes"][f"{NAME}/EswitchMode"] == {"string": "switchdev"}
    assert first["attributes"][f"{NAME}/linkType"] == {"string": "infiniband"}
    assert first["attributes"]["dra.net/numaNode"] == {"int": 1}
    assert first["attributes"][f"{NAME}/rdmaCapable"] == {"bool": True}
    assert second["attributes"][f"{NAME}/rdmaCapable"] == {"bool": False}


def test_unknown_values_have_the_defaults_of_the_driver() -> None:
    """pcieRoot "" and numaNode -1 are published; "should handle link type detection failure with unknown"."""
    first, *rest = X710.pci_devices
    hyperv = replace(first, path="LNXSYSTM:00/x/pci0001:00/0000:01:00.0", numa_node=None)
    found = inventory(
        Machine(pci_devices=(hyperv, *rest), net_interfaces=(interface("eth0", hyperv.bdf, None),))
    )
    facts = found.devices[0]["attributes"]
    assert facts["resource.kubernetes.io/pcieRoot"] == {"string": ""}
    assert facts["dra.net/numaNode"] == {"int": -1}
    assert facts[f"{NAME}/linkType"] == {"string": "unknown"}


def test_the_eswitch_mode_is_legacy_where_devlink_does_not_answer() -> None:
    assert inventory(X710).devices[0]["attributes"][f"{NAME}/EswitchMode"] == {"string": "legacy"}


@pytest.mark.parametrize(
    "machine",
    [
        replace(X710, net_interfaces=()),  # "should skip devices without interface name"
        replace(
            X710,
            net_interfaces=(
                interface("rep0", "0000:01:00.0", port_name="pf0vf0", representor=True),
            ),
        ),
        replace(
            X710, net_interfaces=(interface("eth0", "0000:01:00.0", nested=True),)
        ),  # of virtio
    ],
)
def test_a_physical_function_without_interface(machine: Machine) -> None:
    found = inventory(machine)
    assert found.devices == ()
    assert any(
        notice.startswith("0000:01:00.0: its VFs are not published") for notice in found.notices
    )


def test_subfunctions_are_not_the_uplink() -> None:
    """TryGetPFInterfaceName reads net of the function itself, not of devices below it such as mlx5_core.sf.4."""
    machine = replace(
        X710,
        net_interfaces=(interface("en1sf4", "0000:01:00.0", nested=True), *X710.net_interfaces),
    )
    assert inventory(machine).devices[0]["attributes"][f"{NAME}/PFName"] == {"string": "eth0"}


def test_function_without_a_link_from_its_parent_is_not_published() -> None:
    """GetVFList follows the links virtfnN."""
    first, second, third = X710.pci_devices
    lost = replace(third, sriov=replace(third.sriov, vf_index=None))
    assert [
        d["name"] for d in inventory(replace(X710, pci_devices=(first, second, lost))).devices
    ] == ["0000-01-00-1"]


def test_domains_of_more_than_four_digits() -> None:
    """sriovnet v1.3.0 GetUplinkRepresentor: "invalid PCI address 10000:e1:00.0"."""
    parent = physical("10000:e1:00.0", "0x8086", "0x1572", "pci0000:3a/0000:3a:05.5/pci10000:e0")
    child = virtual("10000:e1:00.1", parent.bdf, 0, "0x154c")
    found = inventory(
        Machine(pci_devices=(parent, child), net_interfaces=(interface("eth0", parent.bdf),))
    )
    assert found.devices == ()
    assert "its PCI domain has more than four digits" in found.notices[0]


def test_functions_of_other_devices_than_network_cards_are_not_published() -> None:
    """ "should skip non-network devices": neither is a GPU's VF a device of this driver."""
    gpu = replace(X710.pci_devices[0], class_code="0x030200")
    assert inventory(replace(X710, pci_devices=(gpu, *X710.pci_devices[1:]))).devices == ()


def test_function_able_to_have_virtual_ones_is_noted() -> None:
    card = replace(X710.pci_devices[0], sriov=SrIov(total_vfs=64, num_vfs=0))
    found = inventory(replace(X710, pci_devices=(card,)))
    assert found.devices == ()
    assert found.notices == ("0000:01:00.0: could have 64 VFs, but none exist (sriov_numvfs)",)


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        ({}, 2),
        ({"vendors": "15b3,8086", "devices": "154c", "pfNames": "eth0"}, 2),
        ({"vendors": "15b3"}, 0),
        ({"vendors": "0x8086"}, 0),  # the driver compares texts, too
        ({"devices": "1572"}, 0),  # of the VF, not of the physical function
        ({"pciAddresses": "0000:01:00.2"}, 1),
        ({"pfPciAddresses": "0000:01:00.0", "linkType": "ETH"}, 2),
        ({"linkType": "ib"}, 0),
    ],
)
def test_policy_selects_devices_by_its_filters(settings: dict[str, str], count: int) -> None:
    """pkg/controller/resourcepolicycontroller.go deviceMatchesFilter."""
    assert len(inventory(X710, **settings).devices) == count


def test_policies_give_resource_names() -> None:
    """demo/resource-policies and demo/multus-integration-single-vf."""
    facts = inventory(X710, resourceName="eth0_resource", multusResourceName="sriov_nic_1").devices[
        0
    ]["attributes"]
    assert facts[f"{NAME}/resourceName"] == {"string": "eth0_resource"}
    assert facts["k8s.cni.cncf.io/resourceName"] == {"string": "sriov_nic_1"}


def test_unknown_link_type_of_a_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="linkType must be one of eth, ethernet, ib, infiniband"):
        inventory(X710, linkType="wifi")


def test_more_devices_than_a_slice_can_have_are_refused() -> None:
    cards = [physical(f"0000:{bus:02x}:00.0", "0x8086", "0x1592") for bus in (1, 2)]
    functions = [
        virtual(f"{card.bdf[:8]}{1 + number // 8:02x}.{number % 8}", card.bdf, number, "0x1889")
        for card in cards
        for number in range(100)
    ]
    machine = Machine(
        pci_devices=(*cards, *functions),
        net_interfaces=tuple(interface(f"eth{n}", card.bdf) for n, card in enumerate(cards)),
    )
    assert len(inventory(machine).devices) == 200
    options = Options("node-1", Target.of("1.37"))
    found = render(machine, options, [NAME])
    assert found.slices == ()
    assert "spec.devices: Too many: 200" in found.unpublished[NAME]
    chosen = render(machine, replace(options, settings={NAME: {"pfNames": "eth0"}}), [NAME])
    assert not chosen.unpublished
    assert len(chosen.slices[0]["spec"]["devices"]) == 100


def test_a_tree_with_virtual_functions(tmp_path: Path) -> None:
    """A ConnectX-7 with four VFs, one of them bound to vfio-pci and one to nothing; the GPU's VFs are not published."""
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("sriov"), tmp_path))
    devices = inventory(machine).devices
    assert [device["name"] for device in devices] == [
        f"0000-3b-00-{number}" for number in (2, 3, 4, 5)
    ]
    assert [device["attributes"][f"{NAME}/vfID"]["int"] for device in devices] == [0, 1, 2, 3]
    assert {device["attributes"][f"{NAME}/PFName"]["string"] for device in devices} == {"ens1f0np0"}


def test_it_is_rendered_only_when_it_is_named(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("sriov"), tmp_path))
    by_default = render(machine, Options("node-1", Target.of("1.37"))).slices
    assert NAME not in {item["spec"]["driver"] for item in by_default}


def test_its_device_class() -> None:
    """deployments/helm/dra-driver-sriov/templates/deviceclass.yaml."""
    (item,) = find(NAME).device_classes(Options("node-1", Target.of("1.37")))
    assert item["metadata"]["name"] == NAME
    assert item["spec"] == {"selectors": [{"cel": {"expression": f"device.driver == '{NAME}'"}}]}
