"""Slices that real hardware published, against what is rendered for the same hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.drivers import Options, render
from dractl.drivers.hardware import machine
from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target

FOLDER = Path(__file__).parent.parent / "data" / "slices"
SLICES = sorted(FOLDER.glob("*.yaml"))
OF_THE_PART = {"uuid"}
"""What differs from part to part, besides addresses of machines that are not known by name."""


def published(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def kinds(attributes: dict[str, Any]) -> dict[str, str]:
    """The type of each attribute by name."""
    return {name: next(iter(value)) for name, value in attributes.items()}


@pytest.mark.parametrize("path", SLICES, ids=lambda path: path.stem)
def test_rendered_as_published(path: Path) -> None:
    """Names and types of all attributes, and every value that the hardware decides. A document that shows a part of
    them has ``partial``."""
    known = published(path)
    driver = known["spec"]["driver"]
    options = Options("node", Target.of("1.36"), {driver: known["version"]})
    devices = {
        device["name"]: device
        for item in render(machine(known["hardware"]), options, [driver]).slices
        for device in item["spec"]["devices"]
    }
    of_the_place = set() if "xlarge" in known["hardware"] or "gpu-" in known["hardware"] else {"pciBusID", "pcieRoot"}
    for device in known["spec"]["devices"]:
        ours = devices[device["name"]]
        theirs, rendered = kinds(device["attributes"]), kinds(ours["attributes"])
        assert theirs.items() <= rendered.items()
        if not known.get("partial"):
            assert theirs == rendered
            assert device["capacity"] == ours["capacity"]
        for name, value in device["attributes"].items():
            if name.rpartition("/")[2] not in OF_THE_PART | of_the_place:
                assert (name, ours["attributes"][name]) == (name, value)
        for name, amount in device["capacity"].items():
            assert ours["capacity"][name] == amount


@pytest.mark.parametrize("path", SLICES, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_published_slice(path: Path) -> None:
    known = published(path)
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    text = yaml.safe_dump({**head, "spec": known["spec"]})
    assert lint(load(["-"], stdin=text.encode()), Target.of("1.36")).findings == ()
