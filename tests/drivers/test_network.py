"""Pools of network devices from a file: the slices, and the line of what cannot be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.drivers import network
from dractl.errors import InputError
from dractl.model.releases import Target

if TYPE_CHECKING:
    from pathlib import Path

CAMERAS = """\
driver: camera.example.com
pool: yard
allNodes: true
devices:
- name: camera-1
  attributes: {model: X100, zoom: 4, night: true, firmware: {version: 2.1.0}}
  capacity: {streams: 4, bandwidth: 1G}
- name: camera-2
"""


def read(folder: Path, text: str, release: str = "1.37") -> network.Network:
    (folder / "pools.yaml").write_text(text)
    return network.read(str(folder / "pools.yaml"), Target.of(release))


def test_a_pool_for_all_nodes(tmp_path: Path) -> None:
    (item,) = read(tmp_path, CAMERAS).slices
    assert item["metadata"]["name"] == "00000-camera.example.com-yard"
    assert item["spec"] == {
        "driver": "camera.example.com",
        "pool": {"name": "yard", "generation": 1, "resourceSliceCount": 1},
        "allNodes": True,
        "devices": [
            {
                "name": "camera-1",
                "attributes": {
                    "model": {"string": "X100"},
                    "zoom": {"int": 4},
                    "night": {"bool": True},
                    "firmware": {"version": "2.1.0"},
                },
                "capacity": {"streams": {"value": "4"}, "bandwidth": {"value": "1G"}},
            },
            {"name": "camera-2"},
        ],
    }


def test_labels_become_a_node_selector(tmp_path: Path) -> None:
    (item,) = read(
        tmp_path, CAMERAS.replace("allNodes: true", "nodeSelector: {zone: a, rack: 7}")
    ).slices
    assert item["spec"]["nodeSelector"] == {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["a"]},
                    {"key": "rack", "operator": "In", "values": ["7"]},
                ]
            }
        ]
    }


def test_devices_for_nodes_of_their_own(tmp_path: Path) -> None:
    text = CAMERAS.replace("allNodes: true\n", "").replace(
        "camera-1\n", "camera-1\n  allNodes: true\n"
    )
    (item,) = read(tmp_path, text + "  nodeSelector: {zone: a}\n").slices
    assert item["spec"]["perDeviceNodeSelection"] is True
    assert item["spec"]["devices"][0]["allNodes"] is True
    assert "nodeSelectorTerms" in item["spec"]["devices"][1]["nodeSelector"]
    with pytest.raises(
        InputError, match=r"1\.34 does not support nodes per device without DRAPartitionableDevices"
    ):
        read(tmp_path, text + "  nodeSelector: {zone: a}\n", "1.34")


@pytest.mark.parametrize(
    ("line", "sizes"), [("", [128, 2]), ("  taints: [{key: a, effect: NoSchedule}]\n", [64, 64, 2])]
)
def test_large_pools_have_several_slices(tmp_path: Path, line: str, sizes: list[int]) -> None:
    devices = "".join(f"- name: camera-{number}\n{line}" for number in range(130))
    found = read(
        tmp_path, f"driver: camera.example.com\nallNodes: true\ndevices:\n{devices}"
    ).slices
    assert [len(item["spec"]["devices"]) for item in found] == sizes
    assert {item["spec"]["pool"]["resourceSliceCount"] for item in found} == {len(sizes)}


def test_binding_conditions_are_for_releases_with_the_field(tmp_path: Path) -> None:
    text = CAMERAS + "  bindingConditions: [Ready]\n  bindingFailureConditions: [Failed]\n"
    assert read(tmp_path, text).slices[0]["spec"]["devices"][1]["bindingConditions"] == ["Ready"]
    old = read(tmp_path, text, "1.34")
    assert "bindingConditions" not in old.slices[0]["spec"]["devices"][1]
    assert any("bindingConditions is left out" in notice for notice in old.notices)


@pytest.mark.parametrize(
    ("wrong", "right", "line", "said"),
    [
        ("allNodes", "allNode", 3, "unknown key 'allNode'; did you mean allNodes?"),
        ("allNodes: true", "allNodes: 1", 3, "needs either allNodes: true or a nodeSelector"),
        ("allNodes: true", "nodeSelector: zone", 3, "nodeSelector must be a map of labels"),
        ("driver: camera.example.com", "driver: 5", 1, "driver must be a DRA driver's name"),
        ("driver: camera.example.com", "driver: a b", 1, "driver must be a DRA driver's name"),
        ("camera-2", "camera-1", 8, "two devices are named camera-1"),
        ("camera-2", "Camera_2", 8, "an API server refuses this: spec.devices[1].name"),
        ("zoom: 4", "zoom: 4.5", 6, "an attribute must be a string, an integer, true or false"),
        (
            "{version: 2.1.0}",
            "{semver: 2.1.0}",
            6,
            "an attribute has one of the types string, int, bool, version",
        ),
        ("{version: 2.1.0}", "{version: two}", 6, "an API server refuses this"),
        ("camera-2", "camera-2\n  allNodes: true", 8, "the pool already sets the nodes"),
        ("- name: camera-2", "- camera-2", 8, "a device must be a map"),
        ("name: camera-2", "name: {a: b}", 8, "an API server refuses this"),
        (
            "camera-2",
            "camera-2\n  bindsToNode: maybe",
            9,
            "refuses this: spec.devices[1].bindsToNode must be a boolean",
        ),
        ("camera-2", "camera-2\n  bindingConditions: {a: b}", 9, "an API server refuses this"),
        ("camera-2", "camera-2\n  bindingConditions: [[a]]", 9, "an API server refuses this"),
        ("yard", "[a]", 2, "pool must be a name"),
        ("capacity: {", "capacitys: {", 7, "did you mean capacity?"),
    ],
)
def test_mistakes_have_their_line(
    tmp_path: Path, wrong: str, right: str, line: int, said: str
) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, CAMERAS.replace(wrong, right, 1))
    assert said in error.value.message
    assert f"pools.yaml:{line}:" in str(error.value.place)


def test_one_document_a_pool(tmp_path: Path) -> None:
    other = CAMERAS.replace("yard", "hall")
    assert len(read(tmp_path, f"{CAMERAS}---\n{other}").slices) == 2
    with pytest.raises(InputError, match="is defined twice"):
        read(tmp_path, f"{CAMERAS}---\n{CAMERAS}")
