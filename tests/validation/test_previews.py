"""What dractl does not know of a release that was not out when it was read about is no error there."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.model.releases import PREVIEWS
from dractl.validation import validate
from dractl.validation.previews import is_doubt
from dractl.validation.violation import Violation

PREVIEW = Target.of("1.38")
UNKNOWN = PREVIEWS["1.38"].unknown
COUNTERS = {"value": "100G", "requestPolicy": {"default": "1G"}}


def claim(request: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus"},
        "spec": {"devices": {"requests": [{"name": "gpu", **request}], **more}},
    }


def exactly(**fields: Any) -> dict[str, Any]:
    return claim({"exactly": {"deviceClassName": "gpu.example.com", **fields}})


def device_class(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "shared"},
        "spec": spec,
    }


def resource_slice(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "nic.example.com",
            "nodeName": "n",
            "pool": {"name": "n", "generation": 1, "resourceSliceCount": 2},
            **spec,
        },
    }


def shared_counters(**counter: Any) -> dict[str, Any]:
    counters = [{"name": "pf-0", "counters": {"bandwidth": counter}}]
    return resource_slice(sharedCounters=counters)


def consuming(**counter: Any) -> dict[str, Any]:
    consumed = [{"counterSet": "pf-0", "counters": {"bandwidth": counter}}]
    return resource_slice(devices=[{"name": "vf-0", "consumesCounters": consumed}])


def errors(value: dict[str, Any], target: Target = PREVIEW) -> list[Violation]:
    return [violation for violation in validate(value, target) if violation.type]


def doubts(value: dict[str, Any]) -> list[Violation]:
    return [violation for violation in validate(value, PREVIEW) if is_doubt(violation)]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (exactly(spread=3), ("spec", "devices", "requests", 0, "exactly", "spread")),
        (claim({"anyOf": []}), ("spec", "devices", "requests", 0, "anyOf")),
        (device_class(limits={}), ("spec", "limits")),
        (
            exactly(allocationMode="AtLeast"),
            ("spec", "devices", "requests", 0, "exactly", "allocationMode"),
        ),
        (
            exactly(selectors=[{"cel": {"expression": "device.health == 1"}}]),
            ("spec", "devices", "requests", 0, "exactly", "selectors", 0, "cel", "expression"),
        ),
        ({**device_class(), "kind": "DeviceGroup"}, ("kind",)),
        ({**device_class(), "apiVersion": "resource.k8s.io/v2"}, ("apiVersion",)),
    ],
)
def test_a_name_not_known_of_a_preview_is_a_doubt(
    value: dict[str, Any], place: tuple[str | int, ...]
) -> None:
    assert errors(value) == []
    (violation,) = doubts(value)
    assert violation.path == place
    assert UNKNOWN in violation.message
    assert errors(value, Target.of("1.37"))


def test_a_value_unlike_all_known_ones_is_listed_with_these() -> None:
    """resource/v1/types.go DeviceAllocationMode."""
    (violation,) = doubts(exactly(allocationMode="Zzz"))
    assert violation.message.endswith("(known: All, ExactCount)")


def test_a_misspelt_name_is_suggested_and_nothing_is_built_on_it() -> None:
    value = claim({"exactly": {"deviceClasName": "gpu.example.com", "count": 1}})
    (violation,) = validate(value, PREVIEW)
    assert "deviceClassName" in violation.message
    assert (violation.nearest, violation.moved_to, violation.allowed) == (None, None, ())


def test_other_errors_of_a_document_in_doubt_are_reported() -> None:
    (violation,) = errors(exactly(spread=3, count=-1))
    assert violation.path[-1] == "count"


def test_known_fields_of_other_versions_stay_errors_in_a_preview() -> None:
    """A request of v1beta1 in v1, and a wrapper that v1beta2 no longer has: resource/v1beta1/types.go."""
    flat = claim({"deviceClassName": "gpu.example.com"})
    assert [violation.rule for violation in errors(flat)] == ["unknown-field"]
    basic = resource_slice(devices=[{"name": "a", "basic": {}}])
    assert [violation.rule for violation in errors(basic)] == ["unknown-field"]


def test_field_lost_in_an_earlier_release_stays_an_error() -> None:
    """1.37 replaced nodeAllocatableResourceMappings: resource/v1/types.go of v0.36.0 and v0.37.0."""
    value = resource_slice(devices=[{"name": "a", "nodeAllocatableResourceMappings": {"cpu": {}}}])
    assert [violation.rule for violation in errors(value)] == ["unknown-field"]


def test_removed_version_stays_an_error() -> None:
    value = {**device_class(), "apiVersion": "resource.k8s.io/v1beta1"}
    assert [violation.rule for violation in errors(value)] == ["not-served"]


@pytest.mark.parametrize(
    ("value", "gate"),
    [
        (
            device_class(
                extendedResourceName="example.com/gpu",
                extendedResourceCapacityRequests={"requests": {"shares": "1"}},
            ),
            "DRAExtendedResourceCapacity",
        ),
        (shared_counters(**COUNTERS), "DRASharedConsumableCapacity"),
        (consuming(valueFrom={"capacityName": "bandwidth"}), "DRASharedConsumableCapacity"),
    ],
)
def test_a_planned_field_is_dropped_while_its_gate_is_off(value: dict[str, Any], gate: str) -> None:
    """KEP-6406, "Validation"; KEP-5941, "Unit tests"."""
    (violation,) = validate(value, PREVIEW)
    assert (violation.rule, violation.type) == ("dropped-field", None)
    assert gate in violation.message
    assert validate(value, Target.of("1.38", {gate: True})) == []


def test_consumed_counters_of_a_result_are_known_in_the_preview() -> None:
    """KEP-5941, "API additions", 4."""
    consumed = [{"counterSet": "pf-0", "counters": {"bandwidth": "10G"}}]
    result = {
        "request": "gpu",
        "driver": "nic.example.com",
        "pool": "n",
        "device": "vf-0",
        "consumedCounters": consumed,
    }
    value = exactly()
    value["status"] = {"allocation": {"devices": {"results": [result]}}}
    assert not errors(value)
    assert not doubts(value)


@pytest.mark.parametrize("field", ["valueFrom", "valeu"])
def test_a_map_is_not_taken_for_a_misspelt_quantity(field: str) -> None:
    """Of 1.37 too: a did-you-mean from a map to a quantity made a second error, DRA002, of the one mistake."""
    (violation,) = errors(consuming(**{field: {"capacityName": "bandwidth"}}), Target.of("1.37"))
    assert violation.rule == "unknown-field"
    assert (violation.nearest, violation.moved_to) == (None, None)


def test_a_field_of_a_preview_is_planned_for_the_releases_before() -> None:
    value = device_class(extendedResourceCapacityRequests={"requests": {"shares": "1"}})
    (violation,) = errors(value, Target.of("1.37"))
    assert "planned for Kubernetes 1.38" in violation.message


@pytest.mark.parametrize(
    ("counter", "field"),
    [
        ({}, "bandwidth"),
        ({"value": "1", "valueFrom": {"capacityName": "bandwidth"}}, "bandwidth"),
        ({"valueFrom": {}}, "capacityName"),
    ],
)
def test_a_counter_is_used_in_one_way_once_its_gate_is_on(
    counter: dict[str, Any], field: str
) -> None:
    """KEP-5941, "API additions": exactly one of value and valueFrom, capacityName is required."""
    target = Target.of("1.38", {"DRASharedConsumableCapacity": True})
    (violation,) = errors(consuming(**counter), target)
    assert field in str(violation.field)
    assert errors(consuming(value="1"), target) == []
