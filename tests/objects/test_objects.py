"""Views of objects as people wrote them: every version in one shape, nothing that fails."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.objects import Claim, Slice, newest, selectors_of, slice_of

SELECTOR = [{"cel": {"expression": "true"}}]


def claim(*requests: dict[str, Any], **devices: Any) -> Claim[str]:
    value = {"spec": {"devices": {"requests": list(requests), **devices}}}
    return Claim.of("claim", value, ("spec",))


def test_a_request_has_one_shape_in_every_version() -> None:
    exactly = {
        "name": "a",
        "exactly": {"deviceClassName": "gpu", "count": 2, "selectors": SELECTOR},
    }
    flat = {"name": "a", "deviceClassName": "gpu", "count": 2, "selectors": SELECTOR}
    for written, path in ((exactly, ("exactly",)), (flat, ())):
        (request,) = claim(written).alternatives
        assert (request.reference, request.device_class, request.amount) == ("a", "gpu", 2)
        assert request.path == ("spec", "devices", "requests", 0, *path)
        assert request.selectors[0].path == (*request.path, "selectors", 0, "cel", "expression")


def test_alternatives_are_requests_of_their_own() -> None:
    found = claim(
        {
            "name": "gpu",
            "firstAvailable": [{"name": "big"}, {"name": "small", "allocationMode": "All"}],
        }
    )
    assert [request.reference for request in found.alternatives] == ["gpu/big", "gpu/small"]
    assert [request.amount for request in found.alternatives] == [1, 0]
    assert found.request("gpu/small") == found.alternatives[1]
    assert found.request("small") is None
    assert [request.name for request in found.targets(["gpu"])] == ["big", "small"]


def test_a_template_has_its_devices_one_level_deeper() -> None:
    value = {"spec": {"spec": {"devices": {"requests": [{"name": "a"}]}}}}
    assert Claim.of(None, value, ("spec", "spec")).alternatives[0].path == (
        "spec",
        "spec",
        "devices",
        "requests",
        0,
    )


@pytest.mark.parametrize(
    "value", [None, 1, "x", [], [None], {"devices": 3}, {"devices": {"requests": [1, {"name": 2}]}}]
)
def test_field_of_the_wrong_type_reads_as_empty(value: Any) -> None:
    found = Claim.of(None, {"spec": value}, ("spec",))
    assert [request.reference for request in found.alternatives] in ([], ["", ""])
    assert found.constraints == []
    assert selectors_of({"spec": value}) == []
    assert slice_of({"spec": value}).identity == ("", "", 0)


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    def part(pool: str, generation: int, name: str) -> Slice:
        return Slice(
            {"driver": "d", "pool": {"name": pool, "generation": generation}, "nodeName": name}
        )

    old, new, other, second = (
        part("p", 1, "a"),
        part("p", 2, "b"),
        part("q", 1, "c"),
        part("p", 2, "d"),
    )
    found = newest([old, new, other, second, part("p", 1, "e")], lambda item: item.identity)
    assert found == {("d", "p"): [new, second], ("d", "q"): [other]}


def test_devices_of_v1beta1_are_under_basic() -> None:
    found = Slice(
        {
            "devices": [
                {"name": "a", "basic": {"attributes": {}}},
                {"name": "b", "attributes": {}},
                3,
            ]
        }
    )
    assert [(device.name, device.path) for device in found.devices] == [
        ("a", ("spec", "devices", 0, "basic")),
        ("b", ("spec", "devices", 1)),
        ("", ("spec", "devices", 2)),
    ]
