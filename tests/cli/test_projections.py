"""``devices -o jsonpath=`` and ``-o custom-columns=``, as kubectl has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dractl.cli.main import main
from dractl.report.capacity.json import DEVICE_FIELDS
from dractl.resources import data_dir

CLUSTER = str(Path(__file__).parents[2] / "examples" / "capacity" / "cluster.yaml")


def devices(*arguments: str) -> int:
    return main(["devices", "--isolated", "-q", "-f", CLUSTER, *arguments])


def test_fields_are_those_of_the_schema() -> None:
    schema = json.loads((data_dir("schemas") / "dractl" / "devices-v1.json").read_text())
    assert set(DEVICE_FIELDS) == set(schema["properties"]["devices"]["items"]["required"])


def test_a_template_reads_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert devices("-o", "json") == 0
    rows = json.loads(capsys.readouterr().out)["devices"]
    template = '{range .devices[?(@.state=="held")]}{.node} {.device}{"\\n"}{end}'
    assert devices("-o", f"jsonpath={template}") == 0
    expected = [f"{row['node']} {row['device']}" for row in rows if row["state"] == "held"]
    assert capsys.readouterr().out.splitlines() == expected != []


def test_named_columns_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    columns = "custom-columns=NODE:.node,DEVICE:.device,CLAIMS:.holders[*].claim"
    assert devices("--state", "held,free", "-o", columns) == 0
    head, *lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["NODE", "DEVICE", "CLAIMS"]
    assert {len(line) for line in lines} == {3}
    assert any(line[2] == "<none>" for line in lines)
    assert devices("--state", "held,free", "--no-headers", "-o", columns) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == lines


@pytest.mark.parametrize(
    ("output", "problem", "allowed"),
    [
        ("jsonpath={.devices[*}", "']' is missing at character 12", "{range .devices[*]}"),
        ("jsonpath=", "-o jsonpath= is empty", "after the equals sign"),
        ("custom-columns=N:.nod", "unknown field .nod; did you mean .node?", "driver, pool"),
        ("custom-columns=.node", "'.node' is no HEADER:.path", "NODE:.node,DEVICE:.device"),
        ("custom-columns=N:.node,", "'' is no HEADER:.path", "fields are driver"),
        ("custom-columns=N:{.a[}", "after [", "{.devices[*].device}"),
        ("jsonpth={.devices}", "unknown value", "jsonpath="),
    ],
)
def test_invalid_projection_is_refused(
    output: str, problem: str, allowed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert devices("-o", output) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert problem in message
    assert allowed in message
