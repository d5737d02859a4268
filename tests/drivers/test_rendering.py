"""Slices: limits, releases, and what is left out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, find, names, render
from dractl.drivers.registry import ONLY_NAMED
from dractl.drivers.rendering import Rendering
from dractl.drivers.values import version
from dractl.errors import InputError, Unsupported, UsageError
from dractl.machines import as_node, machine
from dractl.model.releases import Target
from dractl.topology import Machine


def options(release: str = "1.37", gates: dict[str, bool] | None = None, **rest) -> Options:
    return Options("node-1", Target.of(release, gates or {}), **rest)


@pytest.mark.parametrize(("cpus", "sizes"), [(128, [128]), (130, [128, 2]), (300, [128, 128, 44])])
def test_the_cpu_driver_puts_at_most_128_devices_into_a_slice(cpus: int, sizes: list[int]) -> None:
    individual = options(settings={"dra.cpu": {"mode": "individual"}})
    found = render(machine(f"cpus={cpus},threads=1,numa=2"), individual, ["dra.cpu"]).slices
    assert [len(item["spec"]["devices"]) for item in found] == sizes
    assert {item["spec"]["pool"]["resourceSliceCount"] for item in found} == {len(sizes)}
    assert len({item["metadata"]["name"] for item in found}) == len(sizes)


def test_a_driver_with_one_slice_publishes_nothing_above_128_devices() -> None:
    """dranet, pkg/driver/dra_hooks.go: one slice, which the helper library does not split."""
    assert len(render(machine("128xnic,roots=64"), options(), ["dra.net"]).slices) == 1
    found = render(machine("129xnic,roots=64"), options(), ["dra.net"])
    assert found.slices == ()
    assert found.unpublished == {
        "dra.net": "the API server refuses its ResourceSlice: spec.devices: Too many: 129: must have at most 128 items"
    }


def test_a_slice_with_list_attributes_holds_at_most_64() -> None:
    settings = {"dra.cpu": {"mode": "individual", "exposePCIeRoots": "true"}}
    node = machine("2xnic,cpus=130,threads=1,numa=2")
    gated = options(gates={"DRAListTypeAttributes": True}, settings=settings)
    assert [len(s["spec"]["devices"]) for s in render(node, gated, ["dra.cpu"]).slices] == [
        64,
        64,
        2,
    ]
    plain = render(node, options(settings=settings), ["dra.cpu"])
    assert plain.slices == ()
    assert (
        "must specify one of: `int`" in plain.unpublished["dra.cpu"]
    )  # the server drops the list, then minds that
    assert any("DRAListTypeAttributes" in notice for notice in plain.notices)


def test_fields_dropped_by_a_release_are_left_out_and_named() -> None:
    node = machine("H100,cpus=8")
    new = render(node, options("1.37"), device_classes=True)
    old = render(node, options("1.34"), device_classes=True)
    assert new.slices[2]["spec"]["devices"][0]["allowMultipleAllocations"] is True
    assert "allowMultipleAllocations" not in old.slices[2]["spec"]["devices"][0]
    assert "extendedResourceName" in new.device_classes[0]["spec"]
    assert "extendedResourceName" not in old.device_classes[0]["spec"]
    assert [n for n in old.notices if "DRAConsumableCapacity" in n]
    assert [n for n in old.notices if "DRAExtendedResource" in n]
    enabled = render(node, options("1.34", {"DRAConsumableCapacity": True}))
    assert enabled.slices[2]["spec"]["devices"][0]["allowMultipleAllocations"] is True


@pytest.mark.parametrize("release", ["1.31", "1.32", "1.33"])
def test_releases_without_v1_are_refused(release: str) -> None:
    with pytest.raises(Unsupported):
        render(machine("H100"), options(release))


def test_overlong_string_leaves_the_slice_unpublished() -> None:
    node = machine("nic")
    (function,) = (f for f in node.pci_devices if f.kind == "nic")
    long = replace(
        function, vendor="0x14e4", device="0x16df"
    )  # a BCM57314, whose name has 65 bytes
    node = replace(node, pci_devices=(long,))
    found = render(node, options(), ["dra.net"])
    assert found.slices == ()
    assert "[dra.net/pciDevice].string: Too long" in found.unpublished["dra.net"]


def test_drivers_whose_hardware_is_absent_are_not_rendered_unless_named() -> None:
    assert render(Machine(), options()).objects == ()
    found = render(Machine(), options(), ["gpu.nvidia.com"])
    assert found.slices == ()
    assert found.notices == ("gpu.nvidia.com: no device to publish on this node",)


@pytest.mark.parametrize(
    ("driver", "version", "newest"),
    [
        ("gpu.nvidia.com", "0.9", "0.5"),
        ("gpu.nvidia.com", "v0.5.2", None),
        ("gpu.nvidia.com", "25.12.0", None),
        ("dra.net", "main", None),
        ("dra.net", "1.9.1", "1.4"),
        ("gpu.amd.com", "2027.1", "1.0.1"),
    ],
)
def test_versions_newer_than_known_are_named(driver: str, version: str, newest: str | None) -> None:
    found = render(Machine(), replace(options(), versions={driver: version}), [driver])
    said = [notice for notice in found.notices if "is newer than dractl knows" in notice]
    wanted = f"{driver}: {version} is newer than dractl knows; rendered as {newest}"
    assert said == ([wanted] if newest else [])


def test_a_driver_of_common_hardware_is_rendered_only_if_it_is_named() -> None:
    """Few people run these drivers: nothing else would change for all others without being asked for."""
    node = machine("2xH100,2xnic,nvme,cpus=16,memory=64Gi,vfs=2")
    present = {name for name in ONLY_NAMED if find(name).present(node)}
    assert {"sriovnetwork.k8snetworkplumbingwg.io", "dra.memory", "dra.nvme"} <= present
    shown = {item["spec"]["driver"] for item in render(node, options()).slices}
    assert shown == {"gpu.nvidia.com", "compute-domain.nvidia.com", "dra.net", "dra.cpu"}
    for name in present:
        assert render(node, options(), [name]).slices


def test_an_unknown_driver() -> None:
    with pytest.raises(UsageError, match=r"did you mean gpu\.nvidia\.com"):
        render(Machine(), options(), ["gpu.nvdia.com"])


def test_the_same_in_the_same_out() -> None:
    assert render(machine("8xH100,4xnic,cpus=64"), options()) == render(
        machine("8xH100,4xnic,cpus=64"), options()
    )


@pytest.mark.parametrize("name", names())
def test_catalogues_list_rendered_attributes_with_their_type(name: str) -> None:
    profile = find(name)
    node = machine("2xH100,2xnic,E810,nvme,cpus=16,memory=64Gi,vfs=2")
    known = {row.name: row.type for row in profile.catalogue.attributes}
    for wanted in profile.catalogue.versions:
        slices = render(node, options(versions={name: wanted}), [name]).slices
        assert slices or not profile.present(node)
        for item in slices:
            for device in item["spec"]["devices"]:
                for attribute, value in device["attributes"].items():
                    assert value.keys() == {known[attribute]}
                since = {row.name: row.since for row in profile.catalogue.attributes}
                removed = {row.name: row.removed for row in profile.catalogue.attributes}
                order = profile.catalogue.versions
                for attribute in device["attributes"]:
                    assert order.index(since[attribute] or order[0]) <= order.index(wanted)
                    assert removed[attribute] is None or order.index(wanted) < order.index(
                        removed[attribute]
                    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("580.65.06", "580.65.6"),
        ("595.58.03", "595.58.3"),
        ("9.0", "9.0.0"),
        ("13", "13.0.0"),
        ("v1.2.3-rc.1+b", "1.2.3-rc.1+b"),
        ("12.x", None),
        (None, None),
    ],
)
def test_versions_are_made_strict(text: str | None, wanted: str | None) -> None:
    assert version(text) == (None if wanted is None else {"version": wanted})


# --- machines drawn up -------------------------------------------------------------------------------------------


def test_devices_are_spread_over_roots_and_roots_over_nodes() -> None:
    node = machine("8xH100,2xnic,cpus=32")
    places = {
        f.bdf: (f.pcie_root, f.numa_node) for f in node.pci_devices if f.kind in ("gpu", "nic")
    }
    gpus = [places[gpu.bdf] for gpu in node.gpus]
    assert len({root for root, _ in gpus}) == 8
    assert [numa for _, numa in gpus] == [0] * 4 + [1] * 4
    assert [places[interface.bdf] for interface in node.net_interfaces] == [gpus[0], gpus[4]]
    assert [(n.id, n.cpus) for n in node.numa_nodes] == [(0, "0-7,16-23"), (1, "8-15,24-31")]


def test_a_machine_from_a_file(tmp_path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(
        "cpus: 8\nroots:\n- {numa: 0, devices: [2xh100, nic]}\n- {numa: 1, devices: [nvme]}\n"
    )
    node = machine(str(path))
    roots = {f.kind: f.pcie_root for f in node.pci_devices}
    assert roots["gpu"] == roots["nic"] != roots["nvme"]
    assert len(node.numa_nodes) == 2


def test_virtual_functions_follow_their_physical_one() -> None:
    node = machine("2xnic,E810,vfs=9,roots=1")
    parents = [
        f for f in node.pci_devices if f.kind == "nic" and f.sriov is not None and f.sriov.total_vfs
    ]
    assert [f.names[0] for f in parents] == ["eth0", "eth1", "eth2"]
    children = [
        f
        for f in node.pci_devices
        if f.sriov is not None and f.sriov.physical_function == parents[2].bdf
    ]
    assert [f.bdf[-4:] for f in children] == [
        "00.1",
        "00.2",
        "00.3",
        "00.4",
        "00.5",
        "00.6",
        "00.7",
        "01.0",
        "01.1",
    ]
    assert {(f.device, f.driver, f.bridges) for f in children} == {
        ("0x1889", "iavf", parents[2].bridges)
    }
    assert sum(interface.virtual_function for interface in node.net_interfaces) == 27


def test_memory_is_spread_over_the_nodes_in_whole_pages() -> None:
    assert [node.memory_bytes for node in machine("numa=3,memory=1Gi").numa_nodes] == [
        357912576
    ] * 3


@pytest.mark.parametrize(
    "spec",
    [
        "memory=x",
        "memory=-1Gi",
        "memory=1",
        "nic,vfs=0",
        "nic,vfs=500",
        "8xnic,vfs=128",
        "H1000",
        "0x",
        "8xH100,roots=0",
        "H100,cpus=7",
        "100xH100,roots=2",
        "9999xnic",
        "H100,color=red",
        "numa=99",
    ],
)
def test_impossible_machines_are_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        machine(spec)


@pytest.mark.parametrize(
    "text", ["- a\n", "roots: 5\n", "roots: [{devices: 1}]\n", "a: b: c\n", "roots: [{numa: -1}]\n"]
)
def test_files_without_a_machine_are_refused(tmp_path, text: str) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        machine(str(path))


def test_nodes_of_the_same_hardware_have_gpus_of_their_own() -> None:
    node = machine("2xH100")
    uuids = {gpu.uuid for name in ("a", "b") for gpu in as_node(node, name).gpus}
    assert len(uuids) == 4
    assert as_node(node, "a") == as_node(node, "a")


def test_functions_left_out_for_one_reason_are_one_remark() -> None:
    numbers = [f"0000:0{number}:00.0" for number in range(6)]
    found = Rendering(
        left_out={"dra.net": dict.fromkeys(numbers, "no driver is bound")},
        notices=("dra.net: more",),
    )
    named = "0000:00:00.0, 0000:01:00.0, 0000:02:00.0, 0000:03:00.0 and 2 more"
    assert found.remarks == (
        f"dra.net: {named} are not published: no driver is bound",
        "dra.net: more",
    )
