"""DRA210 class-selects-everything."""

from __future__ import annotations

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, device_class, found, marked

BARE = API + "kind: DeviceClass\nmetadata: {name: gpu.example.com}\n"


def test_a_class_without_selectors_is_reported() -> None:
    (finding,) = found(BARE + "spec: {}\n", "DRA210")
    assert (finding.severity, marked(finding)) == ("warning", "spec")
    assert "every device of every driver" in finding.message
    assert 'device.driver == "gpu.example.com"' in (finding.help or "")
    assert len(found(BARE + "spec: {selectors: []}\n", "DRA210")) == 1


def test_a_configuration_does_not_narrow_a_class() -> None:
    config = "spec: {config: [{opaque: {driver: gpu.example.com, parameters: {a: b}}}]}\n"
    assert len(found(BARE + config, "DRA210")) == 1


def test_a_class_with_a_selector_is_right() -> None:
    assert (
        found(device_class("gpu.example.com", 'device.driver == "gpu.example.com"'), "DRA210") == []
    )


def test_a_prototype_of_the_api_has_no_spec() -> None:
    # kubernetes-sigs/wg-device-management dra-evolution/testdata/classes.yaml
    text = (
        BARE.replace("/v1", "/v1alpha2")
        + "requirements: [{deviceSelector: device.driverName == 'a'}]\n"
    )
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"))
    assert [finding.code for finding in report.findings] == ["DRA801"]
