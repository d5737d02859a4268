"""Versions. ``versions.jsonl`` is what github.com/blang/semver/v4 says: Parse and Compare."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dractl.model import Version
from dractl.model.version import SEMVER_ORG

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "versions.jsonl").read_bytes().splitlines()
]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "cmp" not in row], ids=lambda row: row["in"] or "empty"
)
def test_parsing_as_upstream(row: dict[str, Any]) -> None:
    try:
        told = {"in": row["in"], "text": Version.parse(row["in"]).text}
    except ValueError as error:
        told = {"in": row["in"], "error": str(error)}
    assert told == row


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "cmp" in row], ids=lambda row: " ".join(row["in"][1:])
)
def test_precedence_as_upstream(row: dict[str, Any]) -> None:
    a, b = Version.parse(row["in"][1]), Version.parse(row["in"][2])
    assert (a > b) - (a < b) == row["cmp"]
    assert (a == b) == (row["cmp"] == 0)
    assert (hash(a) == hash(b)) or a != b


def test_build_metadata_is_kept_but_does_not_count() -> None:
    assert Version.parse("1.2.3+a") == Version.parse("1.2.3+b")
    assert Version.parse("1.2.3+a").text == "1.2.3+a"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.2.3", "1.2.3"),
        (" 1.2 ", "1.2.0"),
        ("1", "1.0.0"),
        ("550.08.1", "550.8.1"),
        ("01.02.03-a", "1.2.3-a"),
    ],
)
def test_tolerant_parsing(text: str, version: str) -> None:
    """blang/semver ParseTolerant."""
    assert Version.parse_tolerant(text).text == version


@pytest.mark.parametrize("text", ["", "x", "1.2-a", "vv1.2.3"])
def test_tolerant_parsing_refuses_invalid_versions(text: str) -> None:
    with pytest.raises(ValueError, match=r"character|Short version|invalid syntax"):
        Version.parse_tolerant(text)


def test_api_accepts_numbers_refused_by_semver() -> None:
    """pkg/apis/resource/validation semverRe has no bound; a selector on such a device fails."""
    assert re.fullmatch(SEMVER_ORG, "99999999999999999999.0.0")
    with pytest.raises(ValueError, match="value out of range"):
        Version.parse("99999999999999999999.0.0")


identifier = st.from_regex(
    r"(0|[1-9][0-9]{0,3}|[0-9]{0,2}[a-zA-Z-][0-9a-zA-Z-]{0,3})", fullmatch=True
)


@settings(deadline=None)
@given(
    st.tuples(*[st.integers(0, 10**6)] * 3),
    st.lists(identifier, max_size=3),
    st.lists(st.from_regex(r"[0-9a-zA-Z-]{1,4}", fullmatch=True), max_size=3),
)
def test_versions_of_semver_org_survive_parsing(
    numbers: tuple[int, int, int], prerelease: list[str], build: list[str]
) -> None:
    text = ".".join(map(str, numbers))
    text += "-" + ".".join(prerelease) if prerelease else ""
    text += "+" + ".".join(build) if build else ""
    assert re.fullmatch(SEMVER_ORG, text)
    assert Version.parse(text).text == text
