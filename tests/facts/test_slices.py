"""Slices that real hardware published, against what is rendered for the same hardware."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.drivers import Options, render
from dractl.lint import lint
from dractl.machines import machine
from dractl.manifests import load
from dractl.model import Target

FOLDER = Path(__file__).parent.parent / "data" / "slices"
SLICES = sorted(FOLDER.glob("*.yaml"))
OF_THE_PART = {
    "uuid",
    "parentUUID",
    "health",
    "serial",
    "cardIndex",
    "renderIndex",
    "deviceID",
    "driverSrcVersion",
}
"""What differs from part to part, besides addresses of machines that are not known by name."""
OF_THE_PLACE = {
    "mac",
    "ipv4",
    "placementGroupId",
    "gpuMemoryFabricId",
    "hpcIslandId",
    "localBlockId",
} | {"networkBlockId", "rackId"}
"""What the place of a node in its cloud decides, which a described machine does not have."""


def load_slice(path: Path) -> dict[str, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def kinds(attributes: dict[str, Any]) -> dict[str, str]:
    """The type of each attribute by name."""
    bare = ((name.rpartition("/")[2], name, value) for name, value in attributes.items())
    return {name: next(iter(value)) for short, name, value in bare if short not in OF_THE_PLACE}


def describe_hardware(hardware: Any, folder: Path) -> str:
    """A name or a line as it is; the path of a machine that is described in full."""
    if isinstance(hardware, str):
        return hardware
    path = folder / "machine.yaml"
    path.write_text(yaml.safe_dump(hardware), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "path", [path for path in SLICES if "hardware" in load_slice(path)], ids=lambda path: path.stem
)
def test_rendered_as_published(path: Path, tmp_path: Path) -> None:
    """Names and types of all attributes, and every value that the hardware decides. A document that shows a part of
    them has ``partial``; one of a machine that cannot be described has no ``hardware``."""
    known = load_slice(path)
    driver = known["spec"]["driver"]
    target, settings = Target.of("1.36"), {driver: known.get("settings", {})}
    options = Options("node", target, {driver: known["version"]}, settings)
    hardware = describe_hardware(known["hardware"], tmp_path)
    devices = {
        device["name"]: device
        for item in render(machine(hardware), options, [driver]).slices
        for device in item["spec"]["devices"]
    }
    named = not isinstance(known["hardware"], str) or re.match(
        r"[a-z0-9]+[.-]|Standard_|BM\.", known["hardware"]
    )
    of_the_place = OF_THE_PLACE if named else OF_THE_PLACE | {"pciBusID", "pcieRoot"}
    for device in known["spec"]["devices"]:
        ours = devices[device["name"]]
        theirs, rendered = kinds(device["attributes"]), kinds(ours["attributes"])
        assert theirs.items() <= rendered.items()
        if not known.get("partial"):
            assert theirs == rendered
            assert device.get("capacity") == ours.get("capacity")
        for name, value in device["attributes"].items():
            if name.rpartition("/")[2] not in OF_THE_PART | of_the_place:
                assert (name, ours["attributes"][name]) == (name, value)
        for name, amount in device.get("capacity", {}).items():
            assert ours["capacity"][name] == amount


@pytest.mark.parametrize("path", SLICES, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_published_slice(path: Path) -> None:
    known = load_slice(path)
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
    text = yaml.safe_dump({**head, "spec": known["spec"]})
    assert lint(load(["-"], stdin=text.encode()), Target.of("1.36")).findings == ()
