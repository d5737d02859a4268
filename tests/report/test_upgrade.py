"""Reports of an upgrade: what strangers wrote is text."""

from __future__ import annotations

import pytest

from dractl.model.releases import NEWEST, RELEASES
from dractl.report.canvas import Canvas
from dractl.report.upgrade import (
    html as upgrade_html,
    json as upgrade_json,
    markdown as upgrade_markdown,
    text as upgrade_text,
)
from dractl.upgrade import Finding, Plan, Step

HOSTILE = Finding("refused", "breaks", "<b>*x*\n# y `z` [l](u)", ("Pod/<i>\n`q`",), fix="<script>")
PLAN = Plan(
    "1.36", "1.37", (Step("Kubernetes 1.37", ("change <b>",), (HOSTILE,)),), {}, ("<u>\n- no",)
)


def test_html_has_no_markup_of_others() -> None:
    page = upgrade_html.render(PLAN)
    for tag in ("<b>", "<i>", "<script>", "<u>"):
        assert tag not in page
    assert "&lt;b&gt;" in page


def test_page_has_no_mostly_empty_column() -> None:
    bare = Finding("planned", "info", "a gate becomes stable", source="kubernetes#1")
    steps = (PLAN.steps[0], Step("Kubernetes 1.38", (), (bare,)))
    page = upgrade_html.render(Plan("1.36", "1.38", steps))
    assert "<td></td>" not in page
    assert {row.count("<td") for row in page.split("<tr>")[1:]} == {2}


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (NEWEST, f"already at Kubernetes {NEWEST}, the newest release that dractl knows"),
        ("1.35", "already at Kubernetes 1.35"),
    ],
)
def test_a_cluster_with_the_release_already(release: str, said: str) -> None:
    lines = upgrade_text.render(Plan(release, release, ()), Canvas(width=80)).splitlines()
    assert lines[0].startswith(said)
    assert ("; try --to " in lines[0]) == (release == NEWEST and RELEASES[-1] != NEWEST)
    other = Plan(release, release, (), {"gpu.nvidia.com": ("0.4", "0.5")})
    assert "already" not in upgrade_text.headline(other)


def test_headline_counts_findings_by_level() -> None:
    change = Finding("x", "changes", "it behaves differently")
    step = Step("Kubernetes 1.37", (), (change, change, Finding("y", "info", "as before")))
    headline = upgrade_text.headline(Plan("1.36", "1.37", (step,)))
    assert headline == "Kubernetes 1.36 → 1.37: 2 behaviour changes, 1 note, nothing breaks"


def test_markdown_has_no_markup_of_others() -> None:
    text = upgrade_markdown.render(PLAN)
    assert "\n# y" not in text
    assert "\n- no" not in text
    assert "\\<b\\>\\*x\\*" in text
    assert "`Pod/<i> q`" in text


def test_break_is_printed_with_its_fix_and_earlier_steps() -> None:
    lines = upgrade_text.render(PLAN, Canvas(width=80, unicode=False)).splitlines()
    assert lines[0] == "Kubernetes 1.36 -> 1.37: 1 break; 1 subject not compared"
    assert lines[3:5] == ["  first change <b>", "  BREAKS   Pod/<i> `q`: <b>*x* # y `z` [l](u)"]
    assert lines[5] == "           fix: <script>"


def test_keys_without_value_are_left_out() -> None:
    (finding,) = upgrade_json.value(PLAN)["steps"][0]["findings"]
    assert finding.keys() == {"code", "level", "message", "objects", "fix"}
