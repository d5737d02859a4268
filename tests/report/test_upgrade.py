"""Reports of an upgrade: what strangers wrote is text."""

from __future__ import annotations

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


def test_markdown_has_no_markup_of_others() -> None:
    text = upgrade_markdown.render(PLAN)
    assert "\n# y" not in text
    assert "\n- no" not in text
    assert "\\<b\\>\\*x\\*" in text
    assert "`Pod/<i> q`" in text


def test_what_breaks_comes_with_its_fix_and_what_is_before_it() -> None:
    lines = upgrade_text.render(PLAN, Canvas(width=80, unicode=False)).splitlines()
    assert lines[0] == "Kubernetes 1.36 -> 1.37: 1 BREAKS, 0 CHANGES, 0 INFO"
    assert lines[3:5] == [
        "  before it: change <b>",
        "  BREAKS   Pod/<i> `q`: <b>*x* # y `z` [l](u)",
    ]
    assert lines[5] == "           fix: <script>"


def test_keys_without_value_are_left_out() -> None:
    (finding,) = upgrade_json.value(PLAN)["steps"][0]["findings"]
    assert finding.keys() == {"code", "level", "message", "objects", "fix"}
