"""Which versions of the API a driver speaks, by its image or its slices, and when that ends.

The versions are those of the helper library in the go.mod of each tag: 0.32 and 0.33 write v1beta1
(resourceslice/resourceslicecontroller.go), 0.34 and later v1 and what else the server has (client/client.go).
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster import ClusterState
from dractl.cluster.sources import from_objects
from dractl.facts.helpers import helpers, speech_of
from dractl.model.releases import served_versions
from dractl.upgrade import Finding, RuntimeConfig, UpgradeInput, plan, runtime_config_of_objects
from tests.explain.cluster import device, slice_of

UNSET = RuntimeConfig()
V1BETA1 = "resource.k8s.io/v1beta1"


def plugin(image: str, name: str = "plugin", namespace: str = "drivers") -> dict[str, Any]:
    spec = {"containers": [{"name": "plugin", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": spec}},
    }


def told(
    *objects: dict[str, Any], start: str, to: str, config: RuntimeConfig = UNSET
) -> tuple[dict[str, Finding], tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The breaks about drivers by step, what was not compared, and what comes before each step."""
    compared = UpgradeInput((), from_objects(objects), others=objects, runtime_config=config)
    found = plan(compared, start, to)
    breaks = {
        step.step: one for step in found.steps for one in step.findings if one.code == "driver-api"
    }
    return breaks, found.not_compared, {step.step: step.before for step in found.steps}


@pytest.mark.parametrize(
    ("image", "speaks"),
    [
        ("registry.example/intel/intel-gpu-resource-driver:v0.8.0", ("v1beta1",)),  # client-go 0.33.2
        ("intel-gpu-resource-driver:gpu-v0.7.0", ("v1beta1",)),  # 0.32.0
        ("intel-gpu-resource-driver:v0.9.0", ("v1", "v1beta2", "v1beta1")),  # 0.34.0
        ("ghcr.io/x/dranet:v0.6.2", ("v1beta1",)),  # 0.33.2
        ("ghcr.io/x/dranet:v1.2.0-eksbuild.39", ("v1", "v1beta2", "v1beta1")),  # 0.35.3
        ("k8s-dra-driver-gpu:v25.3.0", ("v1", "v1beta2", "v1beta1")),
        ("dra-driver-nvidia-gpu:v0.4.1", ("v1", "v1beta2", "v1beta1")),
        ("dra-example-driver:v0.1.0", ("v1beta1",)),  # 0.32.0
    ],
)  # fmt: skip
def test_driver_speaks_the_versions_of_its_helper_library(
    image: str, speaks: tuple[str, ...]
) -> None:
    from dractl.facts.images import versions_that_run

    found = {name: speech_of(name, tag) for name, tag in versions_that_run([plugin(image)]).items()}
    assert found
    for speech in found.values():
        assert speech is not None
        assert speech.speaks == tuple(f"resource.k8s.io/{version}" for version in speaks)
        assert "go.mod" in speech.source


def test_every_row_names_versions_served_by_a_release() -> None:
    known = {version for release in ("1.31", "1.33", "1.37") for version in served_versions("ResourceSlice", release)}  # fmt: skip
    assert {one for row in helpers().helpers for one in row.speaks} <= known


def test_an_old_driver_breaks_where_its_version_is_no_longer_served() -> None:
    """intel-resource-drivers-for-kubernetes#47"""
    slices = slice_of("gpu.intel.com", "n1", device("gpu-0"))
    old = plugin("intel-gpu-resource-driver:v0.8.0")
    breaks, _, before = told(old, slices, start="1.34", to="1.38")
    assert [*breaks] == ["Kubernetes 1.38"]
    finding = breaks["Kubernetes 1.38"]
    assert finding.objects == ("DaemonSet/drivers/plugin", "ResourceSlice/n1-gpu.intel.com")
    assert (
        f"gpu.intel.com v0.8.0 speaks {V1BETA1} alone, which 1.38 no longer serves"
        in finding.message
    )
    assert finding.fix == "upgrade the driver gpu.intel.com to 0.9.0 or later"
    assert finding.fix in before["Kubernetes 1.38"]


def test_a_newer_driver_does_not() -> None:
    breaks, unknown, _ = told(plugin("intel-gpu-resource-driver:v0.9.0"), start="1.33", to="1.38")
    assert not breaks
    assert not [text for text in unknown if "gpu.intel.com speaks" in text]


@pytest.mark.parametrize(
    ("tag", "effect"),
    [
        ("v0.3.0", "it publishes no slices"),  # client-go 0.33.2
        ("v0.4.0", "its claims are not unprepared"),  # cmd/kubelet-qat-plugin/driver.go:138
        ("v0.4.1", None),
        ("v0.4.3", None),
    ],
)
def test_driver_fixing_a_version_beside_its_library_is_judged_by_it(
    tag: str, effect: str | None
) -> None:
    """intel-resource-drivers-for-kubernetes@qat-v0.4.0 has the library of 0.34 and ResourceV1beta1()."""
    switched = RuntimeConfig({V1BETA1: True})
    old = plugin(f"intel-qat-resource-driver:{tag}")
    breaks, _, _ = told(old, start="1.34", to="1.38", config=switched)
    if effect is None:
        assert not breaks
        return
    finding = breaks["Kubernetes 1.38"]
    assert effect in finding.message
    assert f"{V1BETA1} alone, which 1.38 no longer serves" in finding.message
    assert finding.fix == "upgrade the driver qat.intel.com to 0.4.1 or later"


def test_up_to_1_33_every_version_was_switched_on_by_hand() -> None:
    """The first release with a version that is on by default, v1, has the older ones only by --runtime-config."""
    old = plugin("intel-gpu-resource-driver:v0.8.0")
    breaks, _, before = told(old, start="1.33", to="1.34")
    finding = breaks["Kubernetes 1.34"]
    assert "serves only if --runtime-config of kube-apiserver names it" in finding.message
    assert "keep --runtime-config=resource.k8s.io/v1beta1=true" in str(finding.fix)
    assert before["Kubernetes 1.34"] == (finding.fix,)
    switched = RuntimeConfig({V1BETA1: True})
    assert not told(old, start="1.33", to="1.34", config=switched)[0]
    assert [*told(old, start="1.33", to="1.38", config=switched)[0]] == ["Kubernetes 1.38"]


def test_the_first_alpha_ends_in_1_34() -> None:
    old = plugin("intel-gpu-resource-driver:v0.6.0")
    every = RuntimeConfig({"api/all": True})
    assert [*told(old, start="1.31", to="1.38", config=every)[0]] == ["Kubernetes 1.34"]


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("intel-gpu-resource-driver@sha256:0a1b", "its image has no version"),
        ("intel-gpu-resource-driver", "its image has no version"),
        ("intel-gpu-resource-driver:latest", "the version latest of its image is not known"),
        ("intel-gpu-resource-driver:v0.1.0", "the version v0.1.0 of its image is not known"),
    ],
)
def test_unknown_image_is_not_compared(image: str, why: str) -> None:
    slices = slice_of("gpu.intel.com", "n1", device("gpu-0"))
    breaks, unknown, _ = told(plugin(image), slices, start="1.37", to="1.38")
    assert not breaks
    assert [text for text in unknown if "gpu.intel.com" in text and text.endswith(why)]


def test_a_dump_without_pods_of_a_driver_is_not_compared() -> None:
    slices = slice_of("gpu.intel.com", "n1", device("gpu-0"))
    breaks, unknown, _ = told(slices, start="1.37", to="1.38")
    assert not breaks
    assert [
        text
        for text in unknown
        if "gpu.intel.com" in text and text.endswith("no pod of it is in the input")
    ]


def test_a_driver_whose_images_nobody_knows_is_not_compared() -> None:
    """A driver of one's own, beside a DaemonSet that may or may not run it."""
    slices = slice_of("gpu.acme.com", "n1", device("gpu-0"))
    breaks, unknown, _ = told(plugin("acme-dra-plugin:v1.2"), slices, start="1.37", to="1.38")
    assert not breaks
    why = "dractl does not know its images"
    assert [text for text in unknown if "gpu.acme.com" in text and text.endswith(why)]


@pytest.mark.parametrize(("release", "level"), [("1.36", True), ("1.33", False)])
def test_managed_fields_of_slices_show_versions_of_an_unknown_driver(
    release: str, level: bool
) -> None:
    """Where the server has v1, a client that can speak it does; in 1.33 nobody could."""
    slices = slice_of("gpu.acme.com", "n1", device("gpu-0"))
    slices["metadata"]["managedFields"] = [{"manager": "plugin", "apiVersion": V1BETA1}]
    every = RuntimeConfig({"api/all": True})
    breaks, _, _ = told(slices, start=release, to="1.38", config=every)
    assert bool(breaks) is level


def test_driver_speaking_v1_by_its_managed_fields_is_fine() -> None:
    slices = slice_of("gpu.acme.com", "n1", device("gpu-0"))
    slices["metadata"]["managedFields"] = [
        {"manager": "plugin", "apiVersion": version} for version in (V1BETA1, "resource.k8s.io/v1")
    ]
    assert not told(slices, start="1.36", to="1.38")[0]


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("resource.k8s.io/v1beta1=true", True),
        ("resource.k8s.io/v1beta1", True),
        ("api/beta=true", True),
        ("api/all=true", True),
        ("api/all=true,resource.k8s.io/v1beta1=false", False),
        ("resource.k8s.io/v1beta2=true", False),
        ("api/alpha=true", False),
    ],
)
def test_runtime_config_of_a_static_pod(text: str, on: bool) -> None:
    """kube-apiserver --runtime-config: k8s.io/apiserver pkg/server/resourceconfig/helpers.go"""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-apiserver"},
        "spec": {"containers": [{"command": ["kube-apiserver", f"--runtime-config={text}"]}]},
    }
    assert runtime_config_of_objects([pod]).serves(V1BETA1) is on


def test_nothing_runs() -> None:
    assert not plan(UpgradeInput((), ClusterState({})), "1.37", "1.38").count("breaks")


def deployment(image: str, *args: str) -> dict[str, Any]:
    return {**plugin(image, "controller"), "kind": "Deployment"} | {
        "spec": {
            "template": {"spec": {"containers": [{"name": "c", "image": image, "args": [*args]}]}}
        }
    }


KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
    "spec": {"configuration": {"developerConfiguration": {"featureGates": ["GPUsWithDRA"]}}},
}


@pytest.mark.parametrize(
    ("objects", "start", "to", "level"),
    [
        ((deployment("quay.io/kubevirt/virt-controller:v1.7.0"), KUBEVIRT), "1.37", "1.38", "breaks"),
        ((deployment("quay.io/kubevirt/virt-controller:v1.7.0"),), "1.37", "1.38", "changes"),
        ((deployment("quay.io/kubevirt/virt-controller:v1.8.0"), KUBEVIRT), "1.37", "1.38", None),
        ((deployment("quay.io/kubevirt/virt-controller:v1.5.0"), KUBEVIRT), "1.37", "1.38", None),
        ((deployment("kueue/kueue:v0.14.2", "--feature-gates=DynamicResourceAllocation=true"),), "1.33", "1.34", "breaks"),
        ((deployment("kueue/kueue:v0.14.2", "--feature-gates=DynamicResourceAllocation=true"),), "1.34", "1.38", None),
        ((deployment("kueue/kueue:v0.15.0", "--feature-gates=DynamicResourceAllocation=true"),), "1.33", "1.38", None),
        ((deployment("karpenter/karpenter:v1.13.0"),), "1.34", "1.38", None),
    ],
)  # fmt: skip
def test_programs_reading_claims_in_a_removed_version_break(
    objects: tuple[dict[str, Any], ...], start: str, to: str, level: str | None
) -> None:
    """kubevirt v1.6 and v1.7 import k8s.io/api/resource/v1beta1, v1.8 v1; kueue v0.14 v1beta2, v0.15 v1."""
    compared = UpgradeInput((), from_objects(objects), others=objects)
    steps = plan(compared, start, to).steps
    found = [one for step in steps for one in step.findings if one.code == "program-api"]
    assert [one.level for one in found] == ([level] if level else [])


@pytest.mark.parametrize(
    ("kind", "title", "start", "to", "unknown"),
    [
        ("virtualmachines.kubevirt.io", "KubeVirt", "1.37", "1.38", True),
        # Kueue 0.14 speaks v1beta2, which 1.34 serves only if --runtime-config names it.
        ("workloads.kueue.x-k8s.io", "Kueue", "1.33", "1.34", True),
        ("workloads.kueue.x-k8s.io", "Kueue", "1.34", "1.35", False),
    ],
)
def test_kinds_of_a_program_without_its_image_are_not_compared(
    kind: str, title: str, start: str, to: str, unknown: bool
) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind},
        "spec": {"group": kind.partition(".")[2]},
    }
    found = plan(UpgradeInput((), ClusterState({}), others=(definition,)), start, to)
    assert any(f"{title} speaks" in text for text in found.not_compared) == unknown


def test_stored_objects_of_1_31_are_those_of_each_release() -> None:
    """v1alpha3 and v1beta1 write devices and requests otherwise; the API server converts what is stored."""
    slices = slice_of("gpu.example.com", "n1", device("gpu-0", model="a"))
    slices["metadata"]["uid"] = "u"
    found = plan(UpgradeInput((), from_objects([slices])), "1.31", "1.37")
    codes = {one.code for step in found.steps for one in step.findings}
    assert not codes & {"accepted", "refused", "refused-anew", "refused-otherwise"}
    assert [text for text in found.not_compared if "kube-scheduler of 1.31, 1.32 and 1.33" in text]
