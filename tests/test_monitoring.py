"""The dashboard and the alert rules of deploy/ ask for metrics, labels and states that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.capacity.inventory import STATES
from dractl.cli.main import main

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "deploy" / "monitoring"
_METRIC = re.compile(r"\b(dractl_[a-z_]+)(?:\{([^}]*)\})?")
_ROW = re.compile(r"^\| `(dractl_\w+)` \| (.*?) \|", re.MULTILINE)


def documented() -> dict[str, frozenset[str]]:
    """Return the labels of each metric in the table of docs/site/metrics.md."""
    text = (ROOT / "docs" / "site" / "metrics.md").read_text()
    return {name: frozenset(re.findall(r"`(\w+)`", labels)) for name, labels in _ROW.findall(text)}


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
    return value


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in alerts())
    for panel in dashboard()["panels"]:
        yield from (target["expr"] for target in panel["targets"])


def test_the_documented_metrics_are_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    main(["devices", "--isolated", "-f", "examples/capacity/cluster.yaml", "-o", "openmetrics"])
    names = set(re.findall(r"^# TYPE (\w+) gauge", capsys.readouterr().out, re.MULTILINE))
    assert names <= documented().keys()
    assert {"dractl_devices", "dractl_devices_held", "dractl_plugin_units"} <= names


@pytest.mark.parametrize("expression", list(expressions()))
def test_expressions_use_documented_metrics_and_labels(expression: str) -> None:
    metrics = _METRIC.findall(expression)
    assert metrics
    known = documented()
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    for name, matchers in metrics:
        assert name in known
        labels = re.findall(r"(\w+)=~?\"", matchers)
        labels += [label.strip() for group in grouped for label in group.split(",")]
        assert set(labels) <= known[name], name
        for states in re.findall(r'state=~?"([^"]*)"', matchers):
            assert set(states.split("|")) <= set(STATES)


def test_alert_has_a_command_to_run() -> None:
    known = set().union(*documented().values())
    for rule in alerts():
        assert rule["for"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        text = " ".join(rule["annotations"][key] for key in ("summary", "description"))
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= known
        assert "dractl devices" in text


def test_panels_do_not_overlap_and_explain_themselves() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        box = panel["gridPos"]
        covered = {
            (x, y)
            for x in range(box["x"], box["x"] + box["w"])
            for y in range(box["y"], box["y"] + box["h"])
        }
        assert not covered & cells, panel["title"]
        assert box["x"] + box["w"] <= 24
        assert panel["description"].endswith(".")
        cells |= covered


def test_variables_are_labels_of_their_metrics() -> None:
    queries = [v["query"] for v in dashboard()["templating"]["list"] if v["type"] == "query"]
    for query in queries:
        match = re.fullmatch(r"label_values\((\w+), (\w+)\)", query)
        assert match is not None
        assert match[2] in documented()[match[1]]
