"""Selectors that read what a described machine cannot know: a note, and no error.

Pods with such selectors run on H100 and B200 nodes (thameem-abbas/dra-llm-d-usability,
cel-selector-patterns.md); a described machine lacks the addresses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main

ON_SUBNET = (
    'device.attributes["dra.net"].rdma && device.attributes["dra.net"].ipv4 == "10.1.0.7/24"'
)
NOTE = "a described machine cannot know dra.net/ipv4, which its site decides"


@pytest.fixture
def template(tmp_path: Path) -> str:
    """A template for a NIC in a subnet, with the class of dranet."""
    driver = 'device.driver == "dra.net"'
    request = {"deviceClassName": "nic", "selectors": [{"cel": {"expression": ON_SUBNET}}]}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "nic"},
            "spec": {"selectors": [{"cel": {"expression": driver}}]},
        },
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "nic", "namespace": "ml"},
            "spec": {"spec": {"devices": {"requests": [{"name": "nic", "exactly": request}]}}},
        },
    ]
    path = tmp_path / "nic.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def test_copies_fit_as_if_the_address_were_right(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", template, "--hardware", "dgx-h100", "--isolated"]) == 0
    shown = capsys.readouterr()
    assert "8 copies fit" in shown.out
    assert shown.err.count(NOTE) == 1


def test_a_machine_serves_as_if_the_address_were_right(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", template, "--hardware", "dgx-h100", "--isolated"]) == 0
    assert capsys.readouterr().err.count(NOTE) == 1


def test_lint_does_not_report_the_selector_as_failing(
    template: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", template, "--hardware", "dgx-h100", "--isolated"]) == 0
    assert "fails on" not in capsys.readouterr().out


def test_a_selector_on_an_address_is_not_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cel", ON_SUBNET, "--hardware", "dgx-h100", "--isolated"]) == 0
    shown = capsys.readouterr()
    assert NOTE in shown.err
    assert "no such key" not in shown.out


def test_published_slices_without_an_address_are_believed(
    template: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On published devices an address that is not there is absent."""
    render = ["render", "--hardware", "dgx-h100", "--driver", "dra.net", "-o", "json", "--isolated"]
    assert main(render) == 0
    slices = tmp_path / "slices.json"
    slices.write_text(capsys.readouterr().out)
    assert main(["fit", template, "--devices", str(slices), "--isolated"]) == 1
    shown = capsys.readouterr()
    assert "no such key: ipv4" in " ".join(shown.out.split())
    assert NOTE not in shown.err
