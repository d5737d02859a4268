"""What another version of a driver publishes, from the present slices alone: against the driver's own code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.errors import UsageError
from dractl.upgrade import drivers
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

# Folders of recorded answers, and what dractl calls their versions.
STEPS = [
    ("gpu.nvidia.com", "nvidia@25.12.0", "25.12", "nvidia@0.4.1", "0.4"),
    ("gpu.nvidia.com", "nvidia@0.4.1", "0.4", "nvidia@main", "0.5"),
    ("dra.net", "dranet@1.4.0", "1.4", "dranet@main", "main"),
]
# With DynamicMIG, 0.4 makes partitions only of GPUs that can be partitioned now, which the slices of 25.12 do not tell:
# a finding says so, and the devices are not compared.
UNDECIDED = {"ampere-mig-off", "ampere-mig-on", "vgpu-guest", "mig-dynamic-without-mig"}


def slices_of(name: str, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer of a driver's code as the slices of node-1."""
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": len(answer["slices"])}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return [
        {
            **head,
            "metadata": {"name": f"s{n}"},
            "spec": {"driver": name, "nodeName": "node-1", "pool": pool, **each},
        }
        for n, each in enumerate(answer["slices"])
    ]


def devices_of(slices: Any) -> dict[str, dict[str, Any]]:
    return {
        device["name"]: device for item in slices for device in item["spec"].get("devices") or ()
    }


def wrong(
    device: dict[str, Any], real: dict[str, Any], coming: tuple[drivers.ComingAttribute, ...]
) -> list[str]:
    """Return the wrong predictions: names, types, values; a value that is unknown is right."""
    unknown = {each.name: each for each in coming}
    had, has = device.get("attributes") or {}, real.get("attributes") or {}
    found = [
        f"{name}: {had[name]} is {has.get(name)}" for name in had if had[name] != has.get(name)
    ]
    found += [f"{name} is new" for name in has.keys() - had.keys() - unknown.keys()]
    found += [
        f"{name} does not come"
        for name, each in unknown.items()
        if each.certain and name not in has
    ]
    found += [
        f"{n}: {each.type}" for n, each in unknown.items() if n in has and each.type not in has[n]
    ]
    if (device.get("capacity") or {}) != (real.get("capacity") or {}):
        found.append(f"capacity {device.get('capacity')} is {real.get('capacity')}")
    return found


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[3]}")
def test_the_next_version_is_predicted_from_present_slices(
    step: tuple[str, str, str, str, str], whole: Path, record_property: Any
) -> None:
    name, old_folder, start, new_folder, to = step
    folder = whole / "conformance" / "drivers"
    compared, found = 0, {}
    for file in sorted((folder / old_folder).glob("*.json")):
        old = json.loads(file.read_bytes())
        later = folder / new_folder / file.name
        new = json.loads(later.read_bytes()) if later.exists() else {"error": ""}
        if "error" in old or "error" in new:  # a driver that does not start has no slices
            continue
        if start == "25.12" and file.stem in UNDECIDED:
            assert (
                old["slices"][0]["sharedCounters"]
                or old["slices"][0]["devices"][0]["consumesCounters"]
            )
            assert any(
                "can be partitioned now" in each.message
                for each in drivers.behavior_changes(name, start, to)
            )
            continue
        slices = slices_of(name, old)
        assert start in drivers.versions_that_fit(name, slices, None)
        predicted = drivers.predict_slices(slices, name, start, to)
        ours, real = devices_of(predicted.slices), devices_of(slices_of(name, new))
        compared += 1
        bad = [f"device {each}" for each in ours.keys() ^ real.keys()]
        # An InfiniBand interface's stand-in has an address of its own (oracle/drivers/README.md).
        random = {(each, "dra.net/mac") for each in ours}
        random |= {
            tuple(text.split("/", 1)) for side in (old, new) for text in side.get("random") or ()
        }
        for each in ours.keys() & real.keys():
            for one in random:
                if one[0] == each:
                    ours[each].get("attributes", {}).pop(one[1], None)
                    real[each].get("attributes", {}).pop(one[1], None)
            bad += [
                f"{each}: {text}"
                for text in wrong(ours[each], real[each], predicted.coming.get(each, ()))
            ]
        if bad:
            found[file.stem] = (len(bad), bad[:4])
    record_property("cases", compared)
    assert not found
    assert compared >= 8 * WHOLE


def test_only_changes_after_the_present_version_are_listed() -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin: nvlib.go changed in v25.8.0, mig.go in v25.12.0."""
    changes = drivers.behavior_changes("gpu.nvidia.com", "25.8", "25.12")
    assert [each.message for each in changes] == [
        "from 25.12 on, MIG devices are named by profile and placement"
    ]


def test_capacities_stay_and_are_not_made_up() -> None:
    """25.12 and 0.4 publish the memory of a GPU alike (dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go)."""
    memory = {"memory": {"value": "80Gi"}}
    devices = [{"name": "gpu-0", "capacity": memory}, {"name": "gpu-1"}]
    slices = slices_of("gpu.nvidia.com", {"slices": [{"devices": devices}]})
    found = devices_of(drivers.predict_slices(slices, "gpu.nvidia.com", "25.12", "0.4").slices)
    assert found["gpu-0"]["capacity"] == memory
    assert "capacity" not in found["gpu-1"]


def test_slices_show_their_possible_driver_versions(whole: Path) -> None:
    for name, old_folder, start, new_folder, to in STEPS:
        for folder, version in ((old_folder, start), (new_folder, to)):
            for file in sorted((whole / "conformance" / "drivers" / folder).glob("*.json")):
                answer = json.loads(file.read_bytes())
                if "error" not in answer:
                    assert version in drivers.versions_that_fit(
                        name, slices_of(name, answer), None
                    ), (folder, file.stem)


def test_a_version_is_never_judged_by_the_nearest_one() -> None:
    assert drivers.parse_version("gpu.nvidia.com", "v0.4.1") == "0.4"
    assert drivers.parse_version("gpu.nvidia.com", "25.12.0") == "25.12"
    for text in ("0.9", "0.4.9", "26.9", "latest"):
        with pytest.raises(UsageError):
            drivers.parse_version("gpu.nvidia.com", text)
