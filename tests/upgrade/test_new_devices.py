"""Claims, templates and classes that devices of a new kind may match.

gclawes/rockchip-dra-driver 0.7.0 publishes video blocks (internal/discovery/vpu.go@3aac1c8: type vpu, vendor rockchip,
function and block) and 2D engines (internal/discovery/rga.go@c8f8131: type rga, vendor rockchip, neither function nor
block) beside NPUs and GPUs. Neither has coreCount or shaderCores.
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cel import reading
from dractl.cluster.sources import from_objects
from dractl.model import Device
from dractl.upgrade import Finding, UpgradeInput, plan
from tests.explain.cluster import claim, device, device_class, node, request, slice_of
from tests.upgrade.test_driver_pairs import (
    DEVICES,
    NV,
    ROCKCHIP,
    Ask,
    devices_claim,
    has,
    of,
    rockchip_devices,
)

TYPE = of(ROCKCHIP, "type")


def driver_step(
    driver: str, start: str, to: str, devices: list[dict[str, Any]], *objects: dict[str, Any]
) -> list[Finding]:
    """The findings of the driver's step."""
    slices = [node("node-1"), slice_of(driver, "node-1", *devices)] if devices else []
    classes = device_class("all", f'device.driver == "{driver}"')
    state = from_objects([*slices, classes, *objects])
    compared = UpgradeInput((), state, versions={driver: f"{start}..{to}"})
    steps = plan(compared, "1.37", "1.37").steps
    return [one for step in steps if step.step.startswith(driver) for one in step.findings]


def wider(findings: list[Finding], name: str) -> list[Finding]:
    return [one for one in findings if one.code == "may-match-more" and name in one.objects]


@pytest.mark.parametrize(
    ("ask", "kinds"),
    [
        (Ask("true"), ["video blocks", "2D engines"]),
        (Ask(f"{TYPE} != 'gpu'"), ["video blocks", "2D engines"]),
        (Ask(f"{of(ROCKCHIP, 'vendor')} == 'rockchip'"), ["video blocks", "2D engines"]),
        (Ask(f"{TYPE}.startsWith('v')"), ["video blocks"]),
        (Ask(f"{has(ROCKCHIP, 'block')}"), ["video blocks"]),
        (Ask(f"{TYPE} in ['npu', 'rga']"), ["2D engines"]),
        (Ask(match=f"{ROCKCHIP}/soc", count=2), ["video blocks", "2D engines"]),
        (Ask(match=f"{ROCKCHIP}/block", count=2), ["video blocks"]),
        (Ask(f"{TYPE} == 'npu'"), []),
        (Ask("device.unknown == 'vpu'"), []),
        (Ask(f"{TYPE} in ['npu', 'gpu']"), []),
        (Ask(f"{of(ROCKCHIP, 'vendor')} == 'arm'"), []),
        (Ask(f"device.attributes['{ROCKCHIP}'].?type.orValue('') == 'npu'"), []),
        (Ask(f"{has(ROCKCHIP, 'coreCount')} && {of(ROCKCHIP, 'coreCount')} == 3"), []),
        (Ask(match=f"{ROCKCHIP}/shaderCores", count=2), []),
    ],
    ids=lambda each: each.label if isinstance(each, Ask) else "",
)
def test_a_claim_is_named_unless_no_new_device_can_match(ask: Ask, kinds: list[str]) -> None:
    found = wider(
        driver_step(ROCKCHIP, "0.6", "0.7", rockchip_devices(), devices_claim(ask, "all")),
        "ResourceClaim/ml/asks",
    )
    if not kinds:
        assert not found
        return
    (finding,) = found
    assert finding.level == "changes"
    assert f"{ROCKCHIP}/type" in finding.message
    assert f"{ROCKCHIP} 0.7" in finding.message
    assert [each for each in ("video blocks", "2D engines") if each in finding.message] == kinds


def test_classes_and_templates_are_named_too() -> None:
    value = claim("asks", request("r", "all"))
    template = {**value, "kind": "ResourceClaimTemplate", "spec": {"spec": value["spec"]}}
    other = device_class("npus", f"device.driver == '{ROCKCHIP}' && {TYPE} == 'npu'")
    found = driver_step(ROCKCHIP, "0.6", "0.7", rockchip_devices(), template, other)
    (finding,) = [one for one in found if one.code == "may-match-more"]
    assert finding.objects == ("DeviceClass/all", "ResourceClaimTemplate/ml/asks")


def test_a_claim_of_an_unknown_class_or_another_driver_is_not_named() -> None:
    foreign = device_class("foreign", f'device.driver == "{NV}"')
    claims = [claim("lost", request("r", "missing")), claim("other", request("r", "foreign"))]
    found = driver_step(ROCKCHIP, "0.6", "0.7", rockchip_devices(), foreign, *claims)
    named = {name for one in found if one.code == "may-match-more" for name in one.objects}
    assert named == {"DeviceClass/all"}


def test_the_driver_is_told_of_without_slices() -> None:
    found = driver_step(
        ROCKCHIP, "0.6", "0.7", [], claim("asks", request("r", "all")), rockchip_pod()
    )
    assert wider(found, "ResourceClaim/ml/asks")


def rockchip_pod() -> dict[str, Any]:
    """A pod of the driver, which shows its version."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "driver", "namespace": "kube-system", "uid": "driver"},
        "spec": {"containers": [{"name": "plugin", "image": "x/rockchip-dra-driver:0.6.0"}]},
    }


def test_the_edit_of_a_class_excludes_the_new_devices_and_no_other() -> None:
    """The edited class matches what it matched, in both versions, and neither a video block nor a 2D
    engine as 0.7 publishes them (see above)."""
    either = device_class("either", f"{has(ROCKCHIP, 'vendor')} || device.driver == '{NV}'")
    found = driver_step(ROCKCHIP, "0.6", "0.7", rockchip_devices(), either)
    edits = [edit for one in found if one.code == "may-match-more" for edit in one.edits or ()]
    assert [edit.patch for edit in edits] == ["DeviceClass/all", "DeviceClass/either"]
    new = [
        device("vpu-0", type="vpu", vendor="rockchip", block="rkvdec"),
        device("rga-0", type="rga"),
    ]
    for edit in edits:
        (operation,) = edit.json
        assert operation.path == "/spec/selectors/0/cel/expression"
        program = reading(str(operation.value))
        assert [program.evaluate(ROCKCHIP, Device(each)) for each in new] == [False, False]
        present = [program.evaluate(ROCKCHIP, Device(each)) for each in rockchip_devices()]
        assert present == [True, True]
    assert reading(str(edits[1].json[0].value)).evaluate(NV, Device(device("gpu-0"))) is True


def test_an_edit_that_would_exclude_a_present_device_is_not_proven() -> None:
    """rga is the type of a 2D engine. Here a present device of another vendor has it, so that only
    the vendor, which every present device has, could tell them apart."""
    other = device("npu-1", type="rga", vendor="rockchip", coreCount=1)
    found = driver_step(ROCKCHIP, "0.6", "0.7", [*rockchip_devices(), other])
    (finding,) = [one for one in found if one.code == "may-match-more"]
    assert finding.edits is None
    assert finding.fix is None


def test_a_claim_has_the_edits_of_all_its_classes() -> None:
    second = device_class("second", f'device.driver == "{ROCKCHIP}"')
    both = claim("both", request("a", "all"), request("b", "second"))
    found = driver_step(ROCKCHIP, "0.6", "0.7", rockchip_devices(), second, both)
    (finding,) = wider(found, "ResourceClaim/ml/both")
    assert [edit.patch for edit in finding.edits or ()] == ["DeviceClass/all", "DeviceClass/second"]
    assert finding.fix is not None
    assert '!("type" in device.attributes["dra.rockchip.com"])' in finding.fix


def test_kinds_that_are_published_already_are_not_new() -> None:
    video = device("vpu-rkvdec-0", type="vpu", vendor="rockchip")
    engine = device("rga-0", type="rga", vendor="rockchip")
    found = driver_step(ROCKCHIP, "0.6", "0.7", [*rockchip_devices(), video, engine])
    assert not [one for one in found if one.code in ("may-match-more", "device-may-come")]


@pytest.mark.parametrize(
    ("driver", "start", "to", "devices", "condition"),
    [
        (NV, "0.5", "main", "gpus-25.12", "VGPUSupport"),
        (NV, "25.12", "0.4", "gpus-25.12", "PassthroughSupport"),
        ("gpu.amd.com", "1.0.1", "main", "amd-1.0", "VFIOPassthrough"),
        ("dra.net", "1.3", "1.4", "nics", "eRDMA"),
        ("gpu.intel.com", "0.10", "0.11", "intel", "where there are any"),
    ],
)
def test_a_kind_behind_a_condition_names_the_condition_and_no_claim(
    driver: str, start: str, to: str, devices: str, condition: str
) -> None:
    found = driver_step(driver, start, to, DEVICES[devices](), claim("asks", request("r", "all")))
    assert not [one for one in found if one.code == "may-match-more"]
    (finding,) = [one for one in found if one.code == "device-may-come"]
    assert finding.level == "info"
    assert condition in finding.message
    assert finding.objects == ("Node/node-1",)


def test_nothing_comes_before_the_version_or_after_it() -> None:
    for start, to in (("0.5", "0.6"), ("0.7", "0.7")):
        found = driver_step(ROCKCHIP, start, to, rockchip_devices(deviceGid=44))
        assert not [one for one in found if one.code in ("may-match-more", "device-may-come")]
