"""DRA351 duplicate-device-in-pool."""

from __future__ import annotations

from tests.lint.written import documents, found, published


def test_the_second_device_of_a_name_is_reported_with_the_first() -> None:
    text = documents(
        *(published("node-1", "gpu-0 gpu-1", count=2, name=name) for name in ("a", "b"))
    )
    findings = found(text, "DRA351")
    assert [finding.path for finding in findings] == [
        "spec.devices[0].name",
        "spec.devices[1].name",
    ]
    assert {finding.object.name for finding in findings if finding.object} == {"b-slice"}


def test_an_older_generation_is_obsolete_and_not_compared() -> None:
    old = published("node-1", "gpu-0", generation=1, name="old")
    assert (
        found(documents(old, published("node-1", "gpu-0", generation=2, name="new")), "DRA351")
        == []
    )


def test_pools_of_different_names_may_have_equal_devices() -> None:
    one, other = (
        published("node-1", "gpu-0", pool="a", name="a"),
        published("node-1", "gpu-0", pool="b", name="b"),
    )
    assert found(documents(one, other), "DRA351") == []
