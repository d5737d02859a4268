"""DRA717 attribute-of-another-domain."""

from __future__ import annotations

from tests.lint.written import device_class, documents, found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


def test_foreign_domain_is_found() -> None:
    text = selecting('device.attributes["nvidia.com"].productName == "x"', "gpu.nvidia.com")
    (finding,) = found(text, "DRA717")
    assert (finding.severity, marked(finding)) == ("warning", "nvidia.com")
    assert "gpu.nvidia.com, which publishes nothing in the domain nvidia.com" in finding.message
    assert finding.message.endswith("the selector fails on each of them")
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["gpu.nvidia.com"]


def test_a_guarded_lookup_never_matches_and_an_unknown_name_has_no_fix() -> None:
    text = selecting('device.attributes["nvidia.com"].?colour.orValue("") == "x"', "gpu.nvidia.com")
    (finding,) = found(text, "DRA717")
    assert finding.message.endswith("the selector never matches")
    assert finding.fix is None


def test_domains_of_the_driver_and_of_unknown_classes() -> None:
    assert found(selecting(f'{GPU}.productName == "x"', "gpu.nvidia.com"), "DRA717") == []
    standard = 'device.attributes["resource.kubernetes.io"].pciBusID == "0000:17:00.0"'
    assert found(selecting(standard, "gpu.nvidia.com"), "DRA717") == []
    assert (
        found(selecting('device.attributes["nvidia.com"].productName == "x"', "mine"), "DRA717")
        == []
    )


def test_the_part_of_a_selector_for_another_driver() -> None:
    own = device_class("any", 'device.driver in ["gpu.nvidia.com", "gpu.amd.com"]')
    text = selecting(
        'device.driver == "gpu.amd.com" && device.attributes["gpu.amd.com"].productName == "x"',
        "any",
    )
    assert found(documents(own, text), "DRA717") == []
