"""DRA352 wrong-slice-count."""

from __future__ import annotations

import pytest

from tests.lint.written import documents, found, published


@pytest.mark.parametrize(
    ("announced", "slices", "severity"),
    [(1, 1, None), (2, 2, None), (1, 2, "error"), (2, 1, "warning")],
)
def test_more_slices_than_announced_are_an_error_fewer_may_be_elsewhere(
    announced: int, slices: int, severity: str | None
) -> None:
    text = documents(
        *(published("node-1", f"gpu-{n}", count=announced, name=f"s{n}") for n in range(slices))
    )
    assert [finding.severity for finding in found(text, "DRA352")] == (
        [severity] if severity else []
    )


def test_slices_of_an_older_generation_do_not_count() -> None:
    old = published("node-1", "gpu-0", generation=1, name="old")
    assert (
        found(documents(old, published("node-1", "gpu-0", generation=2, name="new")), "DRA352")
        == []
    )
