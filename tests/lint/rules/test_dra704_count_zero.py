"""DRA704 count-zero."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found, marked


def test_no_devices_are_one() -> None:
    # pkg/apis/resource/v1/defaults.go SetDefaults_ExactDeviceRequest
    (finding,) = found(claim("a gpu {count: 0}"), "DRA704")
    assert (finding.severity, marked(finding), finding.message) == (
        "warning",
        "0",
        "count: 0 is treated as 1",
    )


@pytest.mark.parametrize("fields", ["{count: 1}", "{}", "{allocationMode: All, count: 0}"])
def test_a_number_no_number_and_all(fields: str) -> None:
    assert found(claim(f"a gpu {fields}"), "DRA704") == []
