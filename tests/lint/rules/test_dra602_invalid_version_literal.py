"""DRA602 invalid-version-literal."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting


def newer_than(argument: str) -> str:
    return f'device.attributes["gpu.example.com"].driverVersion.isGreaterThan({argument})'


@pytest.mark.parametrize(
    ("arguments", "written", "help_"),
    [
        ('"550.08.1"', "550.08.1", "write 550.8.1"),
        ('"v1.2.3"', "v1.2.3", "write 1.2.3"),
        ('"1.2"', "1.2", "write 1.2.0"),
        ('"580"', "580", "write 580.0.0"),
        ('"newest"', "newest", "a version has three numbers"),
        # semverlib.go normalizeAndParse splits at the first two dots only
        ('"1.2.3.4", true', "1.2.3.4", "a version has three numbers"),
    ],
)
def test_versions_refused_by_semver_parse_are_found(
    arguments: str, written: str, help_: str
) -> None:
    (finding,) = found(selecting(newer_than(f"semver({arguments})")), "DRA602")
    assert (finding.severity, marked(finding)) == ("error", written)
    assert finding.message.startswith(f'"{written}" is not a semantic version')
    assert (finding.help or "").startswith(help_)


@pytest.mark.parametrize(
    "arguments",
    [
        '"1.2.3"',
        '"1.2.3-rc.1+build"',
        '"v1.02", true',
        '"1", true',
        "device.driver",
        '"v1.2.3", true',
    ],
)
def test_valid_and_normalized_versions_are_fine(arguments: str) -> None:
    assert found(selecting(newer_than(f"semver({arguments})")), "DRA602") == []


def test_is_semver_takes_any_string() -> None:
    assert found(selecting('isSemver("550.08.1")'), "DRA602") == []
