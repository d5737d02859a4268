"""dra.net. Expectations are those of dranet's code (pkg/inventory/db.go, pkg/names) and its tests' cases."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, find
from dractl.drivers.dranet import driver as dranet
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Machine, NetInterface, NumaNode, PciDevice, RdmaDevice

NIC = PciDevice(
    "0000:8a:00.0",
    "pci0000:80/0000:80:01.0/0000:8a:00.0",
    class_code="0x020000",
    driver="mlx5_core",
    vendor="0x15b3",
    device="0x1021",
    subsystem_device="0x0051",
    numa_node=1,
)
LINK = NetInterface(
    "eth1",
    NIC.bdf,
    "device",
    virtual=False,
    mtu=9000,
    encapsulation="ether",
    alias="",
    operstate="up",
    rdma_device="mlx5_0",
    sriov_total_vfs=8,
    sriov_num_vfs=2,
    mac="b8:3f:d2:00:00:01",
    addresses=("fe80::1/64", "192.168.1.2/24", "10.0.0.2/8", "2001:db8::1/64", "127.0.0.1/8"),
)
RDMA = RdmaDevice("mlx5_0", NIC.bdf, ("eth1",))


def devices(machine: Machine, version: str | None = None, **settings: str):
    versions = {"dra.net": version} if version else {}
    options = Options("node-1", Target.of("1.37"), versions, settings={"dra.net": settings})
    return {d["name"]: d["attributes"] for d in find("dra.net").inventory(machine, options).devices}


def test_a_nic_with_its_interface() -> None:
    found = devices(Machine(pci_devices=(NIC,), net_interfaces=(LINK,), rdma_devices=(RDMA,)))
    assert found == {
        "pci-0000-8a-00-0": {
            "dra.net/pciAddress": {"string": "0000:8a:00.0"},
            "dra.net/ifName": {"string": "eth1"},
            "dra.net/mac": {"string": "b8:3f:d2:00:00:01"},
            "dra.net/mtu": {"int": 9000},
            "dra.net/encapsulation": {"string": "ether"},
            "dra.net/alias": {"string": ""},
            "dra.net/ebpf": {"bool": False},
            "dra.net/state": {"string": "up"},
            "dra.net/type": {"string": "device"},
            "dra.net/ipv4": {"string": "10.0.0.2/8,192.168.1.2/24"},
            "dra.net/ipv6": {"string": "2001:db8::1/64"},
            "dra.net/sriov": {"bool": True},
            "dra.net/sriovVfs": {"int": 2},
            "dra.net/virtual": {"bool": False},
            "dra.net/rdma": {"bool": True},
            "dra.net/pciVendor": {"string": "Mellanox Technologies"},
            "dra.net/pciDevice": {"string": "MT2910 Family [ConnectX-7]"},
            "dra.net/pciSubsystem": {"string": "0051"},
            "dra.net/numaNode": {"int": 1},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:80"},
        }
    }


def test_main_publishes_rdma_device_and_numa_node() -> None:
    machine = Machine(pci_devices=(NIC,), net_interfaces=(LINK,), rdma_devices=(RDMA,))
    attributes = devices(machine, "main")["pci-0000-8a-00-0"]
    assert attributes["dra.net/rdmaDevice"] == {"string": "mlx5_0"}
    assert attributes["resource.kubernetes.io/numaNode"] == {"int": 1}


def test_an_infiniband_function_without_interface() -> None:
    attributes = devices(Machine(pci_devices=(NIC,), rdma_devices=(RDMA,)))["pci-0000-8a-00-0"]
    assert attributes["dra.net/rdmaDevice"] == {"string": "mlx5_0"}
    assert attributes["dra.net/rdma"] == {"bool": True}
    assert "dra.net/ifName" not in attributes
    assert (
        "dra.net/rdmaDevice"
        not in devices(Machine(pci_devices=(NIC,), rdma_devices=(RDMA,)), "1.0")["pci-0000-8a-00-0"]
    )


def test_an_rdma_device_of_another_class() -> None:
    erdma = replace(NIC, bdf="0000:00:08.0", path="pci0000:00/0000:00:08.0", class_code="0x00ff00")
    machine = Machine(pci_devices=(erdma,), rdma_devices=(RdmaDevice("erdma_0", erdma.bdf),))
    assert devices(machine)["pci-0000-00-08-0"]["dra.net/rdmaDevice"] == {"string": "erdma_0"}
    assert devices(machine, "1.3") == {}


@pytest.mark.parametrize("driver", ["vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub", None])
def test_functions_whose_driver_makes_no_interface(driver: str | None) -> None:
    machine = Machine(pci_devices=(replace(NIC, driver=driver),))
    inventory = find("dra.net").inventory(machine, Options("n", Target.of("1.37")))
    assert inventory.devices == ()
    assert NIC.bdf in inventory.left_out


def test_virtual_and_uplink_interfaces_are_not_published() -> None:
    virtual = {"virtual": True, "encapsulation": "ether"}
    machine = Machine(
        pci_devices=(NIC,),
        net_interfaces=(
            replace(LINK, uplink=True),
            NetInterface("lo", kind="device", virtual=True, encapsulation="loopback"),
            NetInterface("docker0", kind="bridge", **virtual),
            NetInterface("cilium_host", kind="veth", **virtual),
            NetInterface("veth12", kind="veth", **virtual),
            NetInterface("bond0", kind="bond", **virtual),
            NetInterface("eth0.1015", kind="vlan", **virtual),
        ),
    )
    found = devices(machine)
    assert list(found) == ["bond0", dranet.interface_name("eth0.1015")]
    assert found["bond0"]["dra.net/virtual"] == {"bool": True}


@pytest.mark.parametrize(
    ("name", "wanted"),
    # pkg/names/names.go: what is no DNS label is base32 without padding, in lower case.
    [
        ("eth0", "eth0"),
        ("enp0s31f6", "enp0s31f6"),
        ("Eth0", "net-iv2gqma"),
        ("eth_0", "net-mv2gqxzq"),
        ("a", "a"),
    ],
)
def test_names_of_interfaces(name: str, wanted: str) -> None:
    assert dranet.interface_name(name) == wanted


def test_addresses_are_cut_between_addresses_at_64_bytes() -> None:
    many = [f"10.0.0.{number}/24" for number in range(10, 20)]
    joined = dranet.addresses(many)
    assert joined == ",".join(many[:5])  # 64 bytes exactly
    assert dranet.addresses(["169.254.1.1/16", "224.0.0.1/4", "::1/128", "nonsense"]) is None


def test_a_virtual_function_and_a_representor_on_one_function() -> None:
    machine = Machine(
        pci_devices=(NIC,),
        net_interfaces=(
            replace(
                LINK,
                name="eth1",
                index=5,
                port_name="p0",
                sriov_total_vfs=None,
                virtual_function=True,
            ),
            replace(LINK, name="eth9", index=4, port_name="pf0vf1", representor=True, addresses=()),
        ),
    )
    attributes = devices(machine)["pci-0000-8a-00-0"]
    assert attributes["dra.net/ifName"] == {"string": "eth1"}  # netlink lists it last, by its index
    newer = replace(machine.net_interfaces[1], index=6)
    attributes = devices(replace(machine, net_interfaces=(machine.net_interfaces[0], newer)))[
        "pci-0000-8a-00-0"
    ]
    assert attributes["dra.net/ifName"] == {"string": "eth9"}
    assert attributes["dra.net/isSriovVf"] == {
        "bool": True
    }  # what the later one does not set stays
    assert attributes["dra.net/ipv4"] == {"string": "10.0.0.2/8,192.168.1.2/24"}


def test_names_come_from_the_embedded_pci_ids() -> None:
    """ghw calls unknown what its pci.ids does not name; dranet embeds one of 2024-11-25."""
    new = replace(NIC, vendor="0x10de", device="0x10e5")  # only in the pci.ids of 2025-07-11
    found = find("dra.net").inventory(Machine(pci_devices=(new,)), Options("n", Target.of("1.37")))
    attributes = found.devices[0]["attributes"]
    assert attributes["dra.net/pciVendor"] == {"string": "NVIDIA Corporation"}
    assert attributes["dra.net/pciDevice"] == {"string": "unknown"}
    nobody = devices(Machine(pci_devices=(replace(NIC, vendor="0xffee", device="0x0001"),)))[
        "pci-0000-8a-00-0"
    ]
    assert nobody["dra.net/pciVendor"] == nobody["dra.net/pciDevice"] == {"string": "unknown"}


@pytest.mark.parametrize(("version", "length"), [("1.4", 67), ("main", 64)])
def test_long_names_of_pci_ids_are_cut_by_main(version: str, length: int) -> None:
    """dranet#300: the virtual functions of ConnectX-3 Pro (15b3:1004) have a name of 67 bytes."""
    long = replace(NIC, vendor="0x15b3", device="0x1004")
    attributes = devices(Machine(pci_devices=(long,)), version)["pci-0000-8a-00-0"]
    assert len(attributes["dra.net/pciDevice"]["string"].encode()) == length


def test_a_machine_of_one_numa_node_has_no_numa_node_of_dranets_own() -> None:
    """ghw tells NUMA nodes only where there are several (pkg/topology: architecture SMP)."""
    nodes = (NumaNode(0), NumaNode(1))
    one = devices(Machine(pci_devices=(NIC,), numa_nodes=nodes[:1]), "main")["pci-0000-8a-00-0"]
    two = devices(Machine(pci_devices=(NIC,), numa_nodes=nodes), "main")["pci-0000-8a-00-0"]
    assert "dra.net/numaNode" not in one
    assert one["resource.kubernetes.io/numaNode"] == two["dra.net/numaNode"] == {"int": 1}


@pytest.mark.parametrize(("version", "kept"), [("1.2", {"eth1"}), ("1.3", set())])
def test_interfaces_of_the_hosts_uplink(version: str, kept: set[str]) -> None:
    """1.3 excludes what is enslaved to the default route's interface (getExcludedUplinkInterfaces); 1.2 does not."""
    bond = NetInterface(
        "bond0", kind="bond", virtual=True, uplink=True, gateway=True, encapsulation="ether"
    )
    slave = replace(LINK, master="bond0", uplink=True)
    found = devices(Machine(pci_devices=(NIC,), net_interfaces=(bond, slave)), version)
    assert {value["dra.net/ifName"]["string"] for value in found.values()} == kept


def test_domains_of_five_digits_have_no_root() -> None:
    vmd = replace(
        NIC, bdf="10000:e1:00.0", path="pci0000:80/0000:80:05.5/pci10000:e0/10000:e1:00.0"
    )
    assert (
        "resource.kubernetes.io/pcieRoot"
        not in devices(Machine(pci_devices=(vmd,)))["pci-10000-e1-00-0"]
    )


NETS = Machine(
    pci_devices=(
        NIC,
        replace(NIC, bdf="0000:8b:00.0", path="pci0000:80/0000:80:02.0/0000:8b:00.0"),
    ),
    net_interfaces=(
        LINK,
        NetInterface("veth12", kind="veth", virtual=True, encapsulation="ether"),
        NetInterface("br0", kind="bridge", virtual=True, encapsulation="ether"),
    ),
    rdma_devices=(RDMA,),
)
FIRST, SECOND = "pci-0000-8a-00-0", "pci-0000-8b-00-0"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        # The driver's own default, as cmd/dranet/app.go has it.
        (
            '!("dra.net/type" in attributes) || attributes["dra.net/type"].StringValue  != "veth"',
            {FIRST, SECOND, "br0"},
        ),
        ("", {FIRST, SECOND, "br0", "veth12"}),
        ('attributes["dra.net/rdma"].BoolValue', {FIRST}),
        # pkg/filter/filter.go: a device for which the filter fails stays.
        ('attributes["dra.net/ifName"].StringValue == "br0"', {SECOND, "br0"}),
        ("attributes['dra.net/numaNode'].IntValue == 1 && 'dra.net/mtu' in attributes", {FIRST}),
    ],
)
def test_the_filter_of_the_driver(wanted: str, names: set[str]) -> None:
    assert devices(NETS, filter=wanted).keys() == names


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ('attributes["dra.net/rdma"].BoolValue &&', "does not compile"),
        ('attributes["dra.net/rdma"].VersionValue == "1"', "does not evaluate"),
        ("attributes.size() > 3", "does not evaluate"),
        ("1", "does not compile"),
    ],
)
def test_unrenderable_filters_are_refused(wanted: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        devices(NETS, filter=wanted)


def test_the_filtered_are_named() -> None:
    options = Options(
        "node-1",
        Target.of("1.37"),
        settings={"dra.net": {"filter": '"dra.net/ifName" in attributes'}},
    )
    assert find("dra.net").inventory(NETS, options).left_out == {
        "0000:8b:00.0": "the filter leaves it out"
    }
