"""DRA701 unknown-standard-attribute."""

from __future__ import annotations

from tests.lint.written import GPU_SLICE, found


def test_a_misspelt_standard_attribute_of_a_slice_is_reported_once() -> None:
    device = "{name: NAME, attributes: {resource.kubernetes.io/pcieroot: {string: pci0000:17}}}"
    both = ", ".join(device.replace("NAME", name) for name in ("a", "b"))
    (advice,) = found(GPU_SLICE.replace("DEVICES", both), "DRA701")
    assert (advice.severity, advice.path) == (
        "warning",
        "spec.devices[0].attributes[resource.kubernetes.io/pcieroot]",
    )
    assert "did you mean resource.kubernetes.io/pcieRoot?" in advice.message
    others = "{name: a, attributes: {resource.kubernetes.io/pageSize: {string: 4k}, pcieroot: {string: a}}}"
    assert not found(GPU_SLICE.replace("DEVICES", others), "DRA701")
