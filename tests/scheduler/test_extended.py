"""Extended resources that classes provide, as each release understands them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import device, device_class, node, pod, slice_of, state_of

GATE = {"DRAExtendedResource": True}


def gpu_class(**spec: Any) -> dict[str, Any]:
    made = device_class("gpu", "device.driver == 'gpu.example.com'")
    return {**made, "spec": {**made["spec"], **spec}}


def claims(resource: str, release: str, **spec: Any) -> tuple[bool, list[str]]:
    """Return whether a pod with the resource fits, and the scheduler's claims for it."""
    subject = pod("a", requests={resource: "1"})
    state = state_of(
        subject,
        gpu_class(**spec),
        node("node-1"),
        slice_of("gpu.example.com", "node-1", device("gpu-0")),
    )
    attempt = Scheduler(state, Features.for_release(release, GATE)).attempt_pod(subject)
    return attempt.fits, [c.key[1] for n in attempt.nodes for c in n.claims]


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_a_class_provides_its_extended_resource(release: str) -> None:
    assert claims("x.io/gpu", release, extendedResourceName="x.io/gpu") == (
        True,
        ["<extended-resources>"],
    )


@pytest.mark.parametrize("release", ["1.35", "1.36", "1.37"])
def test_a_class_provides_its_implicit_resource(release: str) -> None:
    assert claims("deviceclass.resource.kubernetes.io/gpu", release) == (
        True,
        ["<extended-resources>"],
    )


def test_1_34_schedules_a_pod_with_an_implicit_name_without_a_claim() -> None:
    """dynamicresources/extended/util.go knows the name, and hasDeviceClassMappedExtendedResource of
    dynamicresources.go leaves out what is no extended resource name.
    """
    assert claims("deviceclass.resource.kubernetes.io/gpu", "1.34") == (True, [])


@pytest.mark.parametrize("release", ["1.34", "1.37"])
def test_a_class_cannot_provide_a_resource_of_kubernetes_io(release: str) -> None:
    """v1helper.IsExtendedResourceName leaves out every name that contains kubernetes.io/."""
    fits, made = claims(
        "notkubernetes.io/gpu", release, extendedResourceName="notkubernetes.io/gpu"
    )
    assert made == []
    assert fits
