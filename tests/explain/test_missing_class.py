"""Classes that do not exist. kubernetes-sigs/dra-driver-nvidia-gpu#338: the chart installs no class for GPUs, and
publishes none, unless two of its values are set."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

GPUS, DOMAINS = "gpu.nvidia.com", "compute-domain.nvidia.com"
CHANNELS = (
    device_class("compute-domain-default-channel.nvidia.com", f"device.driver == '{DOMAINS}'"),
    slice_of(DOMAINS, "node-1", device("channel-0", type="channel", id=0)),
)


def explain(wanted: str, *objects: dict[str, Any]) -> Explanation:
    asking = pod("p", {"name": "g", "resourceClaimName": "c"})
    state = state_of(node("node-1"), claim("c", request("r", wanted)), asking, *objects)
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def test_silent_driver_is_installed_and_not_replaced_by_another() -> None:
    answer = explain(GPUS, *CHANNELS)
    assert (
        f"device class {GPUS} does not exist, and its driver {GPUS} publishes no devices"
        in answer.headline
    )
    assert answer.fixes == ()
    assert "resources.gpus.enabled=true and gpuResourcesEnabledOverride=true" in answer.next[0].text


def test_a_similar_class_of_another_driver_was_not_meant() -> None:
    amd = slice_of("gpu.amd.com", "node-1", device("gpu-0", type="amdgpu"))
    answer = explain(GPUS, amd, device_class("gpu.amd.com", "device.driver == 'gpu.amd.com'"))
    assert answer.fixes == ()
    assert "did you mean" not in answer.headline


def test_a_deleted_class_is_created_as_its_driver_installs_it() -> None:
    answer = explain(GPUS, *CHANNELS, slice_of(GPUS, "node-1", device("gpu-0", type="gpu")))
    (change,) = answer.fixes[0].changes
    (selector,) = change.value["spec"]["selectors"]
    # kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm/dra-driver-nvidia-gpu/templates/deviceclass-gpu.yaml
    assert selector["cel"]["expression"] == (
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
    )


def test_a_class_of_no_known_driver_may_be_any_other() -> None:
    there = (
        slice_of(GPUS, "node-1", device("gpu-0", type="gpu")),
        device_class("fast", f"device.driver == '{GPUS}'"),
    )
    answer = explain("accelerators", *there)
    assert answer.fixes[0].title == "change the class of request r from accelerators to fast"


def test_the_right_name_is_the_next_step_where_it_is_not_enough() -> None:
    there = device_class(GPUS, f"device.driver == '{GPUS}'"), slice_of(GPUS, "node-1")
    answer = explain("gpu.nvdia.com", *there)
    assert answer.fixes[0].parts == (
        f"change the class of request r from gpu.nvdia.com to {GPUS}",
        f"make driver {GPUS} publish devices on node-1",  # nobody can write that into an object
    )


def test_another_kind_of_device_of_the_driver_was_not_meant() -> None:
    """A whole GPU is no MIG slice: gpu.nvidia.com installs a class for each."""
    whole = (
        device_class(GPUS, f"device.driver == '{GPUS}'"),
        slice_of(GPUS, "node-1", device("gpu-0", type="gpu")),
    )
    answer = explain("mig.nvidia.com", *whole)
    assert "there is gpu.nvidia.com" not in answer.headline
    assert not [fix for fix in answer.fixes if "to gpu.nvidia.com" in fix.title]


def test_manual_class_may_stand_in_for_the_drivers_class() -> None:
    there = (
        slice_of(GPUS, "node-1", device("gpu-0", type="gpu")),
        device_class("fast", f"device.driver == '{GPUS}'"),
    )
    answer = explain(GPUS, *there)
    titles = [fix.title for fix in answer.fixes]
    assert f"change the class of request r from {GPUS} to fast" in titles
