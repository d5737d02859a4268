"""From a document to what the API server says: kind and version, decoding, dropped fields, and which hides which.

The recorded answers of servers are compared in tests/conformance; here is what they do not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from dractl.model import Target
from dractl.validation.validate import validate

if TYPE_CHECKING:
    from dractl.validation.violation import Path, Violation


def claim(
    api_version: str = "resource.k8s.io/v1", kind: str = "ResourceClaim", **fields: Any
) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **fields}}
    if api_version.endswith("v1beta1"):
        request = {"name": "gpu", "deviceClassName": "gpu.example.com", **fields}
    spec = {"devices": {"requests": [request]}}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def rules(value: dict[str, Any], release: str = "1.37", **more: Any) -> list[str]:
    return [violation.rule for violation in validate(value, Target.of(release), **more)]


def only(value: dict[str, Any], release: str = "1.37", **gates: bool) -> Violation:
    (found,) = validate(value, Target.of(release, gates))
    return found


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "nearest"),
    [
        ("resource.k8s.io/v1alpha3", "ResourceClaim", ("apiVersion",), "resource.k8s.io/v1"),
        ("resources.k8s.io/v1beta1", "ResourceClaim", ("apiVersion",), "resource.k8s.io/v1beta1"),
        ("resource.kubernetes.io/v1", "ResourceClaim", ("apiVersion",), "resource.k8s.io/v1"),
        ("v1", "ResourceClaim", ("apiVersion",), "resource.k8s.io/v1"),
        ("apps/v1beta1", "Deployment", ("apiVersion",), "apps/v1"),
        ("apps/v1", "Pod", ("apiVersion",), "v1"),
        ("resource.k8s.io/v1", "ResourceClaims", ("kind",), "ResourceClaim"),
        ("resource.k8s.io/v1", "ResourceClaimTemplat", ("kind",), "ResourceClaimTemplate"),
        ("resource.k8s.io/v1", "Widget", ("kind",), None),
        ("resource.k8s.io/v1", "resourceclaims", ("kind",), "ResourceClaim"),
        ("v1", "resourceclaim", ("kind",), "ResourceClaim"),
        ("resource.k8s.io", "resourceclaim", ("kind",), "ResourceClaim"),
    ],
)
def test_unserved_kind_names_the_served_version(
    api_version: str, kind: str, path: Path, nearest: str | None
) -> None:
    found = only(claim(api_version, kind))
    assert (found.rule, found.type, found.path, found.nearest) == (
        "not-served",
        "NotServed",
        path,
        nearest,
    )
    assert f'no matches for kind "{kind}" in version "{api_version}"' in found.said


@pytest.mark.parametrize(
    ("api_version", "kind", "nearest"),
    [
        ("resource.k8s.io/v1", "deviceclass", "DeviceClass"),
        ("resource.k8s.io/v1beta1", "resourceclaim", "ResourceClaim"),
        ("v1", "pod", "Pod"),
        ("apps/v1", "deployment", "Deployment"),
    ],
)
def test_a_kind_in_small_letters_is_refused_by_the_server_itself(
    api_version: str, kind: str, nearest: str
) -> None:
    """kubectl finds the resource of that name, as 1.37's said."""
    found = only(claim(api_version, kind))
    assert (found.type, found.path, found.nearest) == ("BadRequest", ("kind",), nearest)


@pytest.mark.parametrize(
    ("kind", "release", "words"),
    [
        ("ResourcePoolStatusRequest", "1.34", "Kubernetes 1.36 introduced it"),
        ("PodSchedulingContext", "1.33", "Kubernetes 1.31 was the last release to have it"),
        ("ResourceClass", "1.37", "classic DRA, which was removed in 1.32"),
    ],
)
def test_a_kind_of_another_release_says_which(kind: str, release: str, words: str) -> None:
    assert words in only(claim("resource.k8s.io/v1alpha3", kind), release).message


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("kueue.x-k8s.io/v1beta1", "ResourceFlavor"),
        ("example.com/v1", "ResourceClaim"),
        ("example.com/v1", "DeviceClass"),
        ("v1", "ConfigMap"),
        ("apps/v1", "ControllerRevision"),
        ("v1", "ResourceQuota"),
        ("resources.azure.com/v1", "ResourceGroup"),
        ("resourcemanager.example.io/v1", "DeviceClas"),
        ("/", "x"),
    ],
)
def test_a_kind_of_others_is_not_our_business(api_version: str, kind: str) -> None:
    assert validate(claim(api_version, kind), Target.of()) == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"apiVersion": None}, ("apiVersion",)),
        ({"kind": ""}, ("kind",)),
        ({"apiVersion": None, "kind": None}, ("apiVersion",)),
        ({"kind": 5}, ("kind",)),
        ({"apiVersion": ["v1"]}, ("apiVersion",)),
    ],
)
def test_a_document_without_kind_or_version_is_reported_once(
    change: dict[str, Any], path: Path
) -> None:
    found = only({**claim(), **change})
    assert (found.type, found.path) == ("NotServed", path)


def test_version_off_by_default_is_advice() -> None:
    found = only(claim("resource.k8s.io/v1beta1"))
    assert (found.rule, found.type, found.nearest) == (
        "served-on-demand",
        None,
        "resource.k8s.io/v1",
    )
    assert rules(claim("resource.k8s.io/v1beta1"), "1.33") == []


@dataclass(frozen=True)
class Fault:
    message: str
    path: Path
    merged: bool = False


DOUBLE = Fault('key "count" already set in map', ("spec",))


def test_each_step_hides_the_later_ones() -> None:
    assert rules(claim(count=-1)) == ["RC-16"]
    assert rules(claim(count=-1, foo=1)) == ["unknown-field"]
    assert rules(claim(count=-1, foo=1), faults=[DOUBLE]) == ["duplicate-key", "unknown-field"]
    assert rules(claim(count="-1", foo=1), faults=[DOUBLE]) == ["wrong-type"]
    assert rules(claim("resource.k8s.io/v3", count="-1"), faults=[DOUBLE]) == ["not-served"]


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1beta2"])
def test_paths_are_those_of_the_document_and_fields_those_of_v1(version: str) -> None:
    found = [
        v
        for v in validate(claim(f"resource.k8s.io/{version}", count=-1), Target.of("1.36"))
        if v.type
    ]
    wrapper: Path = () if version == "v1beta1" else ("exactly",)
    assert [v.path for v in found] == [("spec", "devices", "requests", 0, *wrapper, "count")]
    assert [v.field for v in found] == ["spec.devices.requests[0].exactly.count"]


def test_a_dropped_field_is_reported_with_its_gate_and_not_validated() -> None:
    document = claim(tolerations=[{"key": "a b", "operator": "Exists"}])
    found = only(document, "1.35")
    assert (found.rule, found.type, found.key) == ("dropped-field", None, True)
    assert found.path == ("spec", "devices", "requests", 0, "exactly", "tolerations")
    assert "DRADeviceTaints" in found.said
    assert only(document, "1.35", DRADeviceTaints=True).type == "FieldValueInvalid"


def test_a_field_dropped_in_many_places_is_reported_once() -> None:
    devices = [
        {"name": f"gpu-{i}", "basic": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
        for i in range(5)
    ]
    spec = {
        "driver": "gpu.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "resourceSliceCount": 1},
        "devices": devices,
    }
    document = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {"name": "a"},
        "spec": spec,
    }
    (found,) = [v for v in validate(document, Target.of("1.34")) if v.rule == "dropped-field"]
    assert found.path == ("spec", "devices", 0, "basic", "taints")
    assert found.field == "spec.devices[0].taints"
    assert "4 more places" in found.said


def test_dropped_empty_field_is_not_reported() -> None:
    assert rules(claim(tolerations=[], capacity=None), "1.35") == []


def test_a_document_is_left_as_it_is() -> None:
    document = claim(
        "resource.k8s.io/v1beta1", tolerations=[{"key": "a", "operator": "Exists"}], count=0
    )
    before = repr(document)
    validate(document, Target.of("1.35"))
    assert repr(document) == before


@pytest.mark.parametrize("release", ["1.31", "1.32", "1.33"])
def test_unrecorded_releases_have_schemas_too(release: str) -> None:
    version = {"1.31": "v1alpha3", "1.32": "v1beta1", "1.33": "v1beta2"}[release]
    request = {"deviceClassName": "a", "count": 2}
    if version == "v1beta2":
        request = {"exactly": request}
    document = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "a"},
        "spec": {"devices": {"requests": [{"name": "gpu", **request}]}},
    }
    assert rules(document, release) == []
    assert rules({**document, "apiVersion": "resource.k8s.io/v1"}, release) == ["not-served"]


def test_v1alpha3_capacities_are_plain_quantities() -> None:
    basic = {"capacity": {"memory": "80Gi"}}
    document = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "ResourceSlice",
        "metadata": {"name": "a"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "n",
            "pool": {"name": "p", "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "basic": basic}],
        },
    }
    assert rules(document, "1.31") == []
    basic["capacity"] = {"a b": "80Gi"}
    (found,) = validate(document, Target.of("1.31"))
    assert found.path[:6] == ("spec", "devices", 0, "basic", "capacity", "a b")[: len(found.path)]


@pytest.mark.parametrize(
    ("release", "name", "details"),
    [
        # As 1.36's and 1.37's servers answered; 1.37 says what is wrong.
        ("1.36", "gpu", ["must be a valid extended resource name"]),
        ("1.36", "kubernetes.io/gpu", ["must be a valid extended resource name"]),
        ("1.37", "gpu", ["a name must be a domain-prefixed path, such as 'example.com/my-prop'"]),
        ("1.37", "kubernetes.io/gpu", ['must not have "kubernetes.io/" domain']),
        ("1.37", "example.com/gpu", []),
    ],
)
def test_invalid_extended_resource_name_has_its_messages(
    release: str, name: str, details: list[str]
) -> None:
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example.com"},
        "spec": {"extendedResourceName": name},
    }
    found = [
        v
        for v in validate(value, Target.of(release, {"DRAExtendedResource": True}))
        if v.rule == "DC-12"
    ]
    assert [violation.message.rpartition(": ")[2] for violation in found] == details


def test_a_wrong_key_is_found_at_the_key() -> None:
    device = {
        "name": "gpu-0",
        "nodeAllocatableResourceMappings": {"example.com/gpu": {"allocationMultiplier": "1"}},
    }
    pool = {"name": "a", "generation": 1, "resourceSliceCount": 1}
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "a"},
        "spec": {"driver": "gpu.example.com", "nodeName": "a", "pool": pool, "devices": [device]},
    }
    found = [
        v
        for v in validate(value, Target.of("1.36", {"DRANodeAllocatableResources": True}))
        if v.rule == "RS-37"
    ]
    assert [
        (v.path[-1], v.key) for v in found if "node allocatable resource name" in v.message
    ] == [("example.com/gpu", True)]


def test_containers_need_an_image_and_names_of_their_own() -> None:
    # pkg/apis/core/validation validateContainerCommon, validateInitContainers
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {
            "containers": [{"name": "a", "image": "x"}, {"name": "b"}],
            "initContainers": [{"name": "a", "image": "x"}],
        },
    }
    said = {(item.field, item.message) for item in validate(value, Target.of("1.37"))}
    assert ("spec.containers[1].image", "Required value") in said
    assert ("spec.initContainers[0].name", 'Duplicate value: "a"') in said
