"""DRA724 attribute-becomes-list."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting

NUMA = 'device.attributes["resource.kubernetes.io"].?numaNode'


def test_attribute_turned_into_a_list_by_an_option_is_found() -> None:
    (finding,) = found(selecting(f"{NUMA}.orValue(-1) == 0", "dranet"), "DRA724")
    assert (finding.severity, finding.confidence) == ("info", "possible")
    assert marked(finding) == f"{NUMA}.orValue(-1) == 0"
    assert "DRAListTypeAttributes" in finding.message


@pytest.mark.parametrize("release", ["1.34", "1.35"])
def test_releases_without_lists(release: str) -> None:
    assert found(selecting(f"{NUMA}.orValue(-1) == 0", "dranet"), "DRA724", release) == []


def test_single_valued_attributes_are_fine() -> None:
    text = selecting('device.attributes["dra.net"].?ifName.orValue("") == "eth1"', "dranet")
    assert found(text, "DRA724") == []
