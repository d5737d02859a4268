"""DRA353 unknown-counter."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import found, published


def test_counters_are_only_looked_up_where_devices_consume_them() -> None:
    text = (
        published("node-1", "gpu-0")
        + "    consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]\n"
    )
    assert found(text, "DRA353", "1.37")
    assert not found(text, "DRA353", "1.35")
    assert found(text, "DRA353", "1.35", {"DRAPartitionableDevices": True})


@pytest.mark.parametrize(
    ("release", "lines", "code", "said"),
    [
        (
            "1.34",
            "devices: [{name: a, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}]",
            "DRA332",
            "1.34",
        ),
        (
            "1.35",
            "devices: [{name: a}]\n  sharedCounters: [{name: a, counters: {m: {value: 1}}}]",
            "DRA311",
            "two slices",
        ),
    ],
)
def test_where_counters_belong_depends_on_the_release(
    release: str, lines: str, code: str, said: str
) -> None:
    text = published("node-1", "").replace("devices:\n", lines + "\n")
    target = Target.of(release, {"DRAPartitionableDevices": True})
    (finding,) = lint(load(["-"], stdin=text.encode()), target).findings
    assert finding.code == code
    assert said in (finding.help or "")
