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


def samples(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """Return the values of the samples that a command prints, by name and labels."""
    main([*arguments, "--isolated", "-o", "openmetrics"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "# EOF"
    assert {line.split()[2] for line in lines if line.startswith("# TYPE")} <= documented().keys()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_pending_pods_are_counted_by_their_first_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert samples(capsys, "explain", "-f", "examples/explain") == {
        'dractl_waiting{kind="Pod"}': "1",
        'dractl_waiting{kind="ResourceClaim"}': "0",
        'dractl_waiting_by_reason{kind="Pod",namespace="ml",reason="constraint-conflict"}': "1",
    }


def test_nothing_pending_is_counted_as_zero(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "pods.yaml"
    path.write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}")
    assert samples(capsys, "explain", "-f", str(path)) == {
        'dractl_waiting{kind="Pod"}': "0",
        'dractl_waiting{kind="ResourceClaim"}': "0",
    }


def test_copies_and_stranded_devices_are_counted_by_node(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Eight GPUs on two sockets, each GPU with a NIC on its PCIe root: three copies of two GPUs
    # with three NICs take six GPUs and nine NICs, one more than there are; so two copies fit, and
    # four GPUs and two NICs are left.
    counts = samples(capsys, "fit", "gpu=2,nic=3@none", "--hardware", "dgx-h100")
    shape = 'subject="gpu=2,nic=3@none"'
    assert counts[f'dractl_fit_copies{{{shape},node="dgx-h100-1"}}'] == "2"
    driver = 'driver="gpu.nvidia.com"'
    assert counts[f'dractl_fit_stranded_devices{{{shape},{driver},node="dgx-h100-1"}}'] == "4"


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
