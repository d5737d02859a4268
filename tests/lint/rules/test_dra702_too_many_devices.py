"""DRA702 too-many-devices."""

from __future__ import annotations

from tests.lint.written import API, claim, found, marked

# k8s.io/api/resource/v1 AllocationResultsMaxSize
MAX_DEVICES = 32


def test_more_devices_than_a_claim_can_get() -> None:
    (finding,) = found(claim("a gpu {count: 16}\nb gpu {count: 17}"), "DRA702")
    assert (finding.severity, marked(finding)) == ("error", "17")
    assert finding.message == "the claim asks for 33 devices; at most 32 can be allocated"


def test_as_many_as_it_can_get() -> None:
    assert found(claim(f"a gpu {{count: {MAX_DEVICES}}}"), "DRA702") == []


def test_one_request_beside_them_is_one_more() -> None:
    assert len(found(claim(f"a gpu {{count: {MAX_DEVICES}}}\nb gpu"), "DRA702")) == 1
    assert (
        len(
            found(claim(f"a gpu {{count: {MAX_DEVICES}}}\nb gpu {{allocationMode: All}}"), "DRA702")
        )
        == 1
    )


def test_of_alternatives_the_smallest_counts() -> None:
    text = (
        API
        + "kind: ResourceClaim\nmetadata: {name: c}\nspec: {devices: {requests: [{name: r, firstAvailable: ["
    )
    few, many = (
        "{name: a, deviceClassName: gpu, count: 8}",
        "{name: b, deviceClassName: gpu, count: 40}",
    )
    assert found(f"{text}{few}, {many}]}}]}}}}\n", "DRA702") == []
    assert len(found(f"{text}{many}]}}]}}}}\n", "DRA702")) == 1
