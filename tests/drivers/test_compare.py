"""Published against rendered devices."""

from __future__ import annotations

from copy import deepcopy

from dractl.drivers import Options, render
from dractl.drivers.compare import DeviceDiff, differences, nodes
from dractl.machines import machine
from dractl.model.releases import Target

SLICES = render(machine("2xH100,nic"), Options("node-1", Target.of("1.37"))).slices
DRIVERS = ("gpu.nvidia.com", "dra.net")


def test_order_and_names_of_slices_do_not_matter() -> None:
    published = deepcopy(SLICES)
    for item in published:
        item["metadata"] = {"name": "x", "generation": 4}
        item["spec"]["pool"]["generation"] = 7
        item["spec"]["devices"].reverse()
    assert differences(reversed(published), SLICES, "node-1", DRIVERS) == ()
    assert nodes(published) == ("node-1",)


def test_damaged_slices_have_no_node() -> None:
    damaged = [{"spec": "spec"}, {"spec": {"nodeName": 1}}, {}]
    assert nodes([*damaged, *SLICES]) == ("node-1",)
    assert differences([*damaged, *SLICES], SLICES, "node-1", DRIVERS) == ()


def test_differing_values_are_named() -> None:
    published = deepcopy(SLICES)
    gpus = published[0]["spec"]["devices"]
    gpus[0]["attributes"]["driverVersion"] = {"version": "570.0.0"}
    del gpus[0]["attributes"]["resource.kubernetes.io/pcieRoot"]
    gpus[1]["name"] = "gpu-7"
    found = differences(published, SLICES, "node-1", DRIVERS)
    assert [(d.device, d.path) for d in found] == [
        ("gpu-0", "attributes.driverVersion.version"),
        ("gpu-0", "attributes[resource.kubernetes.io/pcieRoot]"),
        ("gpu-1", ""),
        ("gpu-7", ""),
    ]
    assert found[0] == DeviceDiff(
        "gpu.nvidia.com", "gpu-0", "attributes.driverVersion.version", "570.0.0", "580.65.6"
    )
    assert (found[2].published, found[3].rendered) == (None, None)


def test_value_known_only_to_the_driver_process_is_no_difference() -> None:
    """The uuid of the example driver's devices, which the real process publishes beside what is rendered."""
    options = Options("node-1", Target.of("1.37"))
    ours = render(machine("2xH100"), options, ["gpu.example.com"]).slices
    published = deepcopy(ours)
    published[0]["spec"]["devices"][0]["attributes"]["uuid"] = {
        "string": "gpu-18db0e85-99e9-c746-8531-ffeb86328b39"
    }
    assert differences(published, ours, "node-1", ["gpu.example.com"]) == ()
    published[0]["spec"]["devices"][0]["attributes"]["model"] = {"string": "other"}
    assert [d.path for d in differences(published, ours, "node-1", ["gpu.example.com"])] == [
        "attributes.model.string"
    ]


def test_other_nodes_drivers_and_older_generations_are_ignored() -> None:
    old = deepcopy(SLICES[0])
    old["spec"]["pool"]["generation"] = 0
    old["spec"]["devices"] = [{"name": "gone"}]
    foreign = deepcopy(SLICES[0])
    foreign["spec"]["nodeName"] = "node-2"
    other = deepcopy(SLICES[0])
    other["spec"]["driver"] = "gpu.example.com"
    assert differences([old, *SLICES, foreign, other, old], SLICES, "node-1", DRIVERS) == ()


def test_slices_of_older_api_versions_are_compared_too() -> None:
    published = deepcopy(SLICES)
    for item in published:
        item["apiVersion"] = "resource.k8s.io/v1beta1"
        for device in item["spec"]["devices"]:
            device["basic"] = {
                key: device.pop(key) for key in ("attributes", "capacity") if key in device
            }
    assert differences(published, SLICES, "node-1", DRIVERS) == ()
