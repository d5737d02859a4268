"""What is said of the objects that read an attribute which a driver's upgrade changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dractl.cluster.changes import apply_patch
from dractl.cluster.sources import from_objects
from dractl.report.upgrade import json as upgrade_json
from dractl.upgrade import Input, UpgradeInput, plan
from tests.explain.cluster import allocation, claim, device_class, node, pod, request, slice_of
from tests.upgrade.test_driver_pairs import DEVICES, NV, STANDARD, address, has, of

SELECTOR = f"{of(NV, 'index')} == 0"


def machine(devices: str = "gpus-25.3") -> list[dict[str, Any]]:
    return [
        node("node-1"),
        slice_of(NV, "node-1", *DEVICES[devices]()),
        device_class("all", f'device.driver == "{NV}"'),
    ]


def step_of(
    *objects: dict[str, Any],
    start: str = "25.3",
    to: str = "25.8",
    manifests: tuple[dict[str, Any], ...] = (),
    describe: Any = None,
) -> Any:
    """The driver's step as JSON."""
    compared = UpgradeInput(
        tuple(map(Input, manifests)), from_objects(objects), versions={NV: f"{start}..{to}"}
    )
    more = (describe,) if describe is not None else ()
    value = json.loads(json.dumps(upgrade_json.value(plan(compared, "1.37", "1.37", *more))))
    (step,) = [each for each in value["steps"] if each["step"].startswith(NV)]
    return step


def selectors(text: str) -> list[dict[str, Any]]:
    return [{"cel": {"expression": text}}]


def template(name: str, text: str, count: int = 1) -> dict[str, Any]:
    asked = request("r", "all", count, selectors=selectors(text))
    value = claim(name, asked)
    del value["status"]
    return {**value, "kind": "ResourceClaimTemplate", "spec": {"spec": value["spec"]}}


def readers_in(step: Any) -> list[Any]:
    return [one for one in step["findings"] if one.get("reads")]


def test_a_pod_its_claim_and_its_template_are_named_together() -> None:
    generated = claim(
        "train-gpu-x7k2p",
        request("r", "all", selectors=selectors(SELECTOR)),
        status=allocation("node-1", (NV, "gpu-0"), pod="train"),
        metadata={
            "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
            "ownerReferences": [{"kind": "Pod", "name": "train", "uid": "uid-train", "controller": True}],
        },
    )  # fmt: skip
    runs = pod(
        "train",
        {"name": "gpu", "resourceClaimTemplateName": "first"},
        spec={"nodeName": "node-1"},
        status={
            "phase": "Running",
            "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "train-gpu-x7k2p"}],
        },
        metadata={"uid": "uid-train"},
    )
    step = step_of(*machine(), template("first", SELECTOR), generated, runs)
    (finding,) = readers_in(step)
    assert finding["level"] == "breaks"
    assert finding["objects"] == [
        "ResourceClaimTemplate/ml/first",
        "ResourceClaim/ml/train-gpu-x7k2p",
        "Pod/ml/train",
    ]
    assert step["before"] == [
        "change ResourceClaim/ml/train-gpu-x7k2p, ResourceClaimTemplate/ml/first"
    ]


def test_reading_class_is_named_with_the_breaking_claims() -> None:
    first = device_class("first", f'device.driver == "{NV}" && {SELECTOR}')
    asks = claim("asks", request("r", "first"))
    (finding,) = readers_in(step_of(*machine(), first, asks))
    assert finding["level"] == "breaks"
    assert finding["objects"] == ["DeviceClass/first", "ResourceClaim/ml/asks"]
    assert finding["edits"][0]["patch"] == "DeviceClass/first"


def test_unused_class_breaks_where_it_matches_nothing() -> None:
    first = device_class("first", f'device.driver == "{NV}" && {SELECTOR}')
    (finding,) = readers_in(step_of(*machine(), first))
    assert (finding["level"], finding["objects"]) == ("breaks", ["DeviceClass/first"])
    assert "matches 0 devices instead of 1" in finding["message"]


@pytest.mark.parametrize("stored", [True, False])
def test_unused_template_is_judged(stored: bool) -> None:
    asked = template("first", SELECTOR)
    objects = [*machine(), asked] if stored else machine()
    step = step_of(*objects, manifests=() if stored else (asked,))
    (finding,) = readers_in(step)
    assert (finding["level"], finding["objects"]) == ("breaks", ["ResourceClaimTemplate/ml/first"])


def test_claim_of_another_driver_is_not_concerned() -> None:
    """pcieRoot and pciBusID are names that every driver can publish."""
    other = device_class("nic", 'device.driver == "dra.net"')
    text = f"{of(STANDARD, 'pciBusID')} == '0000:01:00.0'"
    asks = claim("asks", request("r", "nic", selectors=selectors(text)))
    step = step_of(*machine("gpus-25.8"), other, asks, start="25.8", to="25.12")
    assert not readers_in(step)


@pytest.mark.parametrize(
    ("devices", "start", "to", "asked", "constraints"),
    [
        ("gpus-25.3", "25.3", "25.8", {"selectors": selectors(SELECTOR)}, []),
        ("gpus-25.3", "25.3", "25.8", {"selectors": selectors(f"{of(NV, 'minor')} < 2 && {of(NV, 'brand')} == 'Nvidia'")}, []),
        ("gpus-25.8", "25.8", "25.12", {"selectors": selectors(f"{of(NV, 'pcieBusID')} == '{address(1)}'")}, []),
        ("gpus-25.8", "25.8", "25.12", {"count": 2}, [{"distinctAttribute": f"{NV}/pcieBusID"}]),
        ("migs-25.3", "25.3", "25.8", {"count": 2}, [{"matchAttribute": f"{NV}/parentIndex"}]),
        ("vfio-0.4", "0.4", "0.5", {"selectors": selectors(f"{of(NV, 'numa')} == 0")}, []),
    ],
)  # fmt: skip
def test_the_edit_fits_with_both_versions(
    devices: str, start: str, to: str, asked: dict[str, Any], constraints: list[dict[str, str]]
) -> None:
    value = claim("asks", request("r", "all", **asked), constraints=constraints)
    (finding,) = readers_in(step_of(*machine(devices), value, start=start, to=to))
    assert finding["level"] == "breaks"
    (edit,) = finding["edits"]
    assert edit["patch"] == "ResourceClaim/ml/asks"
    edited = apply_patch(value, edit["json"])
    step = step_of(*machine(devices), edited, start=start, to=to)
    assert not [one for one in readers_in(step) if one["level"] == "breaks"]


def test_an_edit_asks_by_the_name_of_each_version() -> None:
    """25.12 publishes the address as the standard pciBusID (dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go)."""
    text = f"{of(NV, 'pcieBusID')} == '{address(1)}'"
    value = claim("asks", request("r", "all", selectors=selectors(text)))
    (finding,) = readers_in(step_of(*machine("gpus-25.8"), value, start="25.8", to="25.12"))
    (operation,) = finding["edits"][0]["json"]
    assert operation["value"] == (
        f'("pciBusID" in device.attributes["{STANDARD}"] ? {of(STANDARD, "pciBusID")} : {of(NV, "pcieBusID")})'
        f" == '{address(1)}'"
    )


def test_constraint_is_replaced_by_one_joining_the_same_devices() -> None:
    value = claim(
        "asks", request("r", "all", 2), constraints=[{"matchAttribute": f"{NV}/parentIndex"}]
    )
    (finding,) = readers_in(step_of(*machine("migs-25.3"), value))
    (operation,) = finding["edits"][0]["json"]
    assert operation["value"] == f"{NV}/parentUUID"


def test_constraint_is_removed_if_no_attribute_distinguishes_the_same_devices() -> None:
    """Two GPUs have one pcieRoot, and all have one brand: neither can stand for the index."""
    devices = DEVICES["gpus-25.3"]()
    for each in devices:
        for name in ("uuid", "pcieBusID"):
            del each["attributes"][name]
    objects = node("node-1"), slice_of(NV, "node-1", *devices), machine()[-1]
    constraints = [{"distinctAttribute": f"{NV}/index"}]
    value = claim("asks", request("r", "all", 2), constraints=constraints)
    (finding,) = readers_in(step_of(*objects, value))
    (operation,) = finding["edits"][0]["json"]
    assert operation == {"op": "remove", "path": "/spec/devices/constraints/0"}


def test_a_stored_claim_is_created_again() -> None:
    value = claim("asks", request("r", "all", selectors=selectors(SELECTOR)), metadata={"uid": "u"})
    (finding,) = readers_in(step_of(*machine(), value))
    assert finding["fix"].startswith(
        "in ResourceClaim/ml/asks (create it again): write the selector as"
    )


def test_both_sides_have_a_sentence_of_their_own() -> None:
    """The command passes explain's; without one the scheduler is quoted."""
    value = claim("asks", request("r", "all", selectors=selectors(SELECTOR)))

    def describe(outcome: Any) -> str:
        return "explain: fits" if outcome.fits else "explain: does not fit"

    (finding,) = readers_in(step_of(*machine(), value, describe=describe))
    assert (finding["before"], finding["after"]) == ("explain: fits", "explain: does not fit")
    assert finding["message"].startswith(
        f"no longer fits: reads {NV}/index, which {NV} 25.8 no longer publishes"
    )
    assert finding["message"].endswith("; explain: does not fit")


def test_guard_holding_either_way_is_a_note() -> None:
    text = f"!({has(NV, 'index')}) || {of(NV, 'index')} >= 0"
    value = claim("asks", request("r", "all", selectors=selectors(text)))
    (finding,) = readers_in(step_of(*machine(), value))
    assert (finding["level"], finding["code"]) == ("info", "attribute-read")
    assert "matches the same devices" in finding["message"]


def test_manifests_alone_are_compared_by_facts_of_the_versions() -> None:
    asked = template("first", SELECTOR)
    other = {
        **template("other", f"{of(NV, 'brand')} == 'Nvidia'"),
        "metadata": {"name": "other", "namespace": "ml"},
    }
    all_gpus = device_class("all", f'device.driver == "{NV}"')
    step = step_of(manifests=(asked, other, all_gpus))
    (finding,) = readers_in(step)
    assert (finding["level"], finding["objects"]) == ("changes", ["ResourceClaimTemplate/ml/first"])
    assert finding["message"].endswith("no device of it is in the input, so that nothing is proven")
