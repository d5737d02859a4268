"""DRA212 duplicate-extended-resource-name."""

from __future__ import annotations

from tests.lint.written import device_class, documents, found


def class_with_resource(name: str, resource: str) -> str:
    return (
        device_class(name, 'device.driver == "d.example.com"')
        + f"  extendedResourceName: {resource}\n"
    )


def test_the_second_class_of_a_resource_is_reported() -> None:
    (finding,) = found(
        documents(
            class_with_resource("a", "example.com/gpu"), class_with_resource("b", "example.com/gpu")
        ),
        "DRA212",
    )
    assert finding.object is not None
    assert finding.object.name == "b"
    assert "class a has the extended resource name example.com/gpu" in finding.message


def test_different_resources_and_one_class_alone() -> None:
    assert (
        found(
            documents(
                class_with_resource("a", "example.com/gpu"),
                class_with_resource("b", "example.com/nic"),
            ),
            "DRA212",
        )
        == []
    )
    assert found(class_with_resource("a", "example.com/gpu"), "DRA212") == []
