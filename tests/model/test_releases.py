"""Releases, gates and fields by release (pkg/features/kube_features.go and the API's types.go)."""

from __future__ import annotations

import pytest

from dractl.errors import UsageError
from dractl.model import GATES, NEWEST, RELEASES, Target, served_versions
from dractl.model.releases import (
    DEPENDENCIES,
    FIELDS,
    PREVIEWS,
    caveat,
    fields_dropped_by,
    find_release,
    gate_remarks,
    has_change,
    is_newer,
    parse_gates,
    patch_of,
    release_of,
    removal,
    stage,
    unknown_fields,
)
from dractl.validation.schemas import schemas_of


@pytest.mark.parametrize(
    ("gate", "since"),
    [
        ("DRAPrioritizedList", "1.34"),
        ("DRAAdminAccess", "1.34"),
        ("DRADeviceTaints", "1.36"),
        ("DRAConsumableCapacity", "1.36"),
        ("DRAPartitionableDevices", "1.36"),
        ("DRAExtendedResource", "1.36"),
        ("DRAResourceClaimDeviceStatus", "1.33"),
        ("DRADeviceTaintRules", "1.37"),
        ("DRAListTypeAttributes", None),
        ("DRAFractionalCapacityRange", None),
    ],
)
def test_since_when_a_gate_is_on_by_default(gate: str, since: str | None) -> None:
    on = [release for release in RELEASES if Target.of(release).enabled(gate)]
    assert on == (list(RELEASES[RELEASES.index(since) :]) if since else [])


@pytest.mark.parametrize(
    "text", ["1.36", "v1.36", "v1.36.3", "1.36.3+k3s1", "v1.36.0-rc.1", "1.36-gke.100"]
)
def test_a_release_is_read_from_a_version(text: str) -> None:
    assert release_of(text) == "1.36"


def test_a_newer_release_has_the_newest_rules() -> None:
    assert release_of("1.99") == RELEASES[-1]
    assert is_newer(f"v1.{int(RELEASES[-1].partition('.')[2]) + 1}.0")
    assert not is_newer(RELEASES[-1])
    assert not is_newer("latest")


def test_an_alpha_is_only_taken_if_it_is_named() -> None:
    assert Target.of().release == NEWEST == "1.37"
    assert Target.of("v1.38.0-alpha.2").release == "1.38"
    assert "1.38.0-alpha.2" in str(caveat("1.38"))
    assert caveat("1.37.2") is None


def test_a_preview_names_its_sources_and_the_day_on_which_they_were_read() -> None:
    preview = PREVIEWS["1.38"]
    note = str(caveat("v1.38.0"))
    for words in (f"read on {preview.read}", "before its release", "2026-12-16", "KEPs 5690"):
        assert words in note


def test_a_gate_not_known_of_a_preview_decides_nothing() -> None:
    assert Target.of("1.38", {"DRANonsense": True}) == Target.of("1.38")
    (remark,) = gate_remarks("1.38", {"DRANonsense": True})
    assert "DRANonsense: not known of 1.38.0-alpha.2, read 2026-" in remark
    assert gate_remarks("1.37", {"DRANonsense": True}) == ()


def test_gate_resembling_a_known_one_stays_unknown_in_a_preview() -> None:
    (remark,) = gate_remarks("1.38", {"DRAPreemptions": True})
    assert "not known of 1.38.0-alpha.2" in remark
    assert "DRAPreemption)" in remark


@pytest.mark.parametrize(
    ("gate", "proposal"),
    [
        ("DRAExtendedResourceCapacity", "KEP-6406"),
        ("DRASharedConsumableCapacity", "KEP-5941"),
        ("DRAPreemption", "KEP-5690"),
    ],
)
def test_a_planned_gate_is_off_and_its_proposal_is_named(gate: str, proposal: str) -> None:
    """kubernetes/enhancements keps/sig-scheduling/{6406,5941,5690}-*/README.md, "Feature Enablement"."""
    assert not Target.of("1.38").enabled(gate)
    assert Target.of("1.38", {gate: True}).enabled(gate)
    (remark,) = gate_remarks("1.38", {gate: True})
    assert f"planned by {proposal}" in remark


def test_the_feature_of_a_removed_gate_stays_on_if_it_was_stable() -> None:
    """CHANGELOG-1.38.md, kubernetes#141946: dynamic resource allocation is unconditionally enabled."""
    assert Target.of("1.38").enabled("DynamicResourceAllocation")
    assert not Target.of("1.37").enabled("DRAControlPlaneController")


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("gate", ["DynamicResourceAllocation", "KubeletTracing"])
def test_gate_removed_in_1_38_cannot_be_set(gate: str, value: bool) -> None:
    """CHANGELOG-1.38.md, kubernetes#141946 and #141714"""
    with pytest.raises(UsageError, match=rf"{gate} was removed in Kubernetes 1\.38"):
        Target.of("1.38", {gate: value})


@pytest.mark.parametrize("gate", ["DRADeviceTaints", "DRADeviceTaintRules"])
def test_gates_of_taints_are_locked_in_1_38(gate: str) -> None:
    """CHANGELOG-1.38.md, kubernetes#140256"""
    with pytest.raises(UsageError, match=r"locked to true in Kubernetes 1\.38"):
        Target.of("1.38", {gate: False})
    assert Target.of("1.38", {gate: True}) == Target.of("1.38")
    assert removal(gate, "1.40") is None
    assert removal(gate, "1.41") == "1.41"


def test_versions_removed_in_1_38_are_not_served() -> None:
    """k8s.io/api v0.38.0-alpha.2 resource/v1beta1/zz_generated.prerelease-lifecycle.go"""
    assert served_versions("ResourceClaim", "1.38") == (
        "resource.k8s.io/v1",
        "resource.k8s.io/v1beta2",
    )
    assert schemas_of("1.38").kind("resource.k8s.io/v1beta1", "ResourceClaim") is None
    assert schemas_of("1.38").kind("resource.k8s.io/v1", "ResourceClaim") is not None


@pytest.mark.parametrize(
    ("release", "patch", "counted"),
    [
        ("1.36", None, False),
        ("1.36", 4, False),
        ("1.36", 5, True),
        ("1.37", None, True),
        ("1.37", 0, False),
        ("1.37", 1, True),
    ],
)
def test_a_patch_release_decides_if_it_is_known(
    release: str, patch: int | None, counted: bool
) -> None:
    """k8s.io/dynamic-resource-allocation v0.36.4, v0.36.5, v0.37.0 and v0.37.1: "adding N devices exceeds ..."."""
    assert has_change(release, "devices-counted-by-request", patch) is counted


def test_change_ended_by_a_patch_release_is_known() -> None:
    """resourceslice/tracker/tracker.go of v0.37.0 and v0.37.1"""
    assert [has_change("1.37", "empty-rule-taints-all", patch) for patch in (None, 0, 1)] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "patch"),
    [
        ("v1.36.3", 3),
        ("1.36.12+k3s1", 12),
        ("v1.33.5-eks-113cf36", 5),
        ("1.36", None),
        ("v1.38.0-alpha.2", None),
    ],
)
def test_the_patch_in_a_version(text: str, patch: int | None) -> None:
    assert patch_of(text) == patch


@pytest.mark.parametrize("text", ["1.30", "latest", "", "1", "1.x", "1.36 beta"])
def test_other_releases_are_wrong_usage(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        Target.of(text)
    assert f"1.31 to {RELEASES[-1]}" in str(raised.value.hint)


def test_gates_are_switched() -> None:
    assert Target.of("1.37", {"DRAListTypeAttributes": True}).enabled("DRAListTypeAttributes")
    assert not Target.of("1.36", {"DRADeviceTaints": False}).enabled("DRADeviceTaints")
    assert Target.of("1.36", {"DRAExtendedResource": True}) == Target.of("1.36")


def test_a_group_of_gates_is_switched_before_single_ones() -> None:
    target = Target.of("1.37", {"AllAlpha": True, "DRADerivedAttributes": False})
    assert target.enabled("DRAListTypeAttributes")
    assert not target.enabled("DRADerivedAttributes")
    assert not Target.of("1.37", {"AllBeta": False}).enabled("DRAConsumableCapacity")
    assert Target.of("1.37", {"AllBeta": False}).enabled("DRADeviceTaints")  # GA


@pytest.mark.parametrize(
    ("release", "gate", "value", "message", "hint"),
    [
        (
            "1.37",
            "DRAListTypeAttribute",
            True,
            "is not known",
            "did you mean DRAListTypeAttributes?",
        ),
        ("1.35", "DRAListTypeAttributes", True, "1.35 has no feature gate", "it came with 1.36"),
        (
            "1.37",
            "DRAControlPlaneController",
            True,
            "was removed in Kubernetes 1.32",
            "leave it out: a component that sets it does not start (unrecognized feature gate)",
        ),
        ("1.37", "DRAPreemption", True, "1.37 has no", "it is planned for 1.38 (KEP-5690)"),
        ("1.37", "DRAPrioritizedList", False, "is locked to true", "leave it out"),
        ("1.36", "DRAAdminAccess", False, "is locked to true", "leave it out"),
    ],
)
def test_gate_stopping_the_api_server_is_refused(
    release: str, gate: str, value: bool, message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        Target.of(release, {gate: value})
    assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("release", "gates", "needed"),
    [
        ("1.35", {"DRADeviceTaintRules": True}, "DRADeviceTaints"),
        ("1.37", {"DRADeviceTaints": False}, "DRADeviceTaints"),  # the rules are on by default
        ("1.36", {"DRAResourceClaimDeviceStatus": False}, "DRAResourceClaimDeviceStatus"),
        ("1.37", {"DRAPartitionableDevicesType": True}, "DRAResourcePoolStatus"),
        ("1.37", {"DRAFractionalCapacityRange": True, "AllBeta": False}, "DRAConsumableCapacity"),
        ("1.37", {"AllAlpha": True, "DRAPartitionableDevices": False}, "DRAPartitionableDevices"),
        ("1.36", {"DRAWorkloadResourceClaims": True}, "GenericWorkload"),
    ],
)
def test_gate_without_its_required_gate_is_refused(
    release: str, gates: dict[str, bool], needed: str
) -> None:
    """pkg/features/kube_features.go, defaultKubernetesFeatureGateDependencies of each release."""
    with pytest.raises(UsageError, match=f"{needed}.* off") as raised:
        Target.of(release, gates)
    assert f"add {needed}=true" in str(raised.value.hint)
    assert Target.of(release, {**gates, needed: True}).enabled(needed)


def test_gates_need_each_other_since_1_35() -> None:
    assert Target.of(
        "1.34", {"DRAResourceClaimDeviceStatus": False, "DRADeviceBindingConditions": True}
    )
    with pytest.raises(UsageError):
        Target.of(
            "1.35", {"DRAResourceClaimDeviceStatus": False, "DRADeviceBindingConditions": True}
        )


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("group", ["AllAlpha", "AllBeta"])
@pytest.mark.parametrize("value", [True, False])
def test_groups_of_gates_hold_their_dependencies(release: str, group: str, value: bool) -> None:
    assert Target.of(release, {group: value}).release == release


def test_gates_as_the_server_takes_them() -> None:
    assert parse_gates("A=true, B=F ,C=0,") == {"A": True, "B": False, "C": False}
    assert parse_gates("") == {}


@pytest.mark.parametrize("text", ["A", "A=yes", "A==true", "A=true;B=true"])
def test_invalid_gates_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_gates(text)


def test_asking_for_a_missing_gate_is_a_bug() -> None:
    with pytest.raises(KeyError):
        Target.of().enabled("DRADeviceTaint")


@pytest.mark.parametrize(
    ("kind", "release", "versions"),
    [
        ("ResourceClaim", "1.31", ("v1alpha3",)),
        ("ResourceClaim", "1.33", ("v1beta2", "v1beta1", "v1alpha3")),
        ("ResourceSlice", "1.34", ("v1", "v1beta2", "v1beta1")),
        ("DeviceTaintRule", "1.33", ("v1alpha3",)),
        ("DeviceTaintRule", "1.36", ("v1beta2", "v1alpha3")),
        ("DeviceTaintRule", "1.37", ("v1", "v1beta2", "v1alpha3")),
        ("ResourcePoolStatusRequest", "1.35", ()),
        ("ResourceClas", "1.37", ()),
    ],
)
def test_served_versions(kind: str, release: str, versions: tuple[str, ...]) -> None:
    assert served_versions(kind, release) == tuple(
        f"resource.k8s.io/{version}" for version in versions
    )


def test_versions_served_by_default_are_known() -> None:
    assert served_versions("ResourceClaim", "1.37", by_default=True) == ("resource.k8s.io/v1",)
    assert served_versions("ResourceClaim", "1.33", by_default=True) == ()
    assert served_versions("Pod", "1.33") == ("v1",)


def test_dropped_fields_follow_the_gates() -> None:
    paths = {field.path for field in fields_dropped_by("slice", Target.of("1.35"))}
    assert "devices[].taints" in paths
    assert "devices[].attributes{}.ints" not in paths  # not known at all
    assert fields_dropped_by("slice", Target.of("1.36", {"AllAlpha": True})) == ()


def test_1_34_keeps_fields_it_means_to_drop() -> None:
    """Seen on its API server: tolerations, and distinctAttribute (it clears a copy)."""
    dropped = [
        {f.path.rpartition(".")[2] for f in fields_dropped_by("claim", Target.of(r))}
        for r in ("1.34", "1.35")
    ]
    assert {"tolerations", "distinctAttribute"}.isdisjoint(dropped[0])
    assert {"tolerations", "distinctAttribute"} < dropped[1]


def test_unknown_fields() -> None:
    assert "devices[].nodeAllocatableResourceMappings" in {
        field.path for field in unknown_fields("slice", "1.37")
    }
    assert "devices[].nodeAllocatableResources" in {
        field.path for field in unknown_fields("slice", "1.36")
    }


def test_the_tables_agree() -> None:
    for field in FIELDS:
        assert set(field.gates) <= set(GATES)
        assert all(stage(gate, RELEASES[-1]) for gate in field.gates)
    for gate, needed in DEPENDENCIES.items():
        assert {gate, *needed} <= set(GATES)
    for stages in GATES.values():
        assert [s.release for s in stages] == sorted({s.release for s in stages})


@pytest.mark.parametrize("value", ["false", 0, None])
def test_a_gate_is_true_or_false(value: object) -> None:
    """The text "false" is true for Python."""
    with pytest.raises(UsageError, match="True or False"):
        Target.of("1.36", {"DRAConsumableCapacity": value})  # type: ignore[dict-item]


def test_a_release_is_a_text() -> None:
    with pytest.raises(UsageError, match=r"not a Kubernetes release: 1\.36"):
        Target.of(1.36)  # type: ignore[arg-type]


def test_release_that_dractl_does_not_know_is_none() -> None:
    assert find_release("v1.36.3+k3s1") == "1.36"
    assert find_release("1.36") == "1.36"
    assert find_release("v1.99.0") is None
    assert find_release("v1.3.6") is None
    assert find_release("") is None
