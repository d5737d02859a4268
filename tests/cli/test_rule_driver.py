"""``dractl rule DRIVER``: what a driver's devices tell."""

from __future__ import annotations

import json

import pytest

from dractl.cli.main import main
from dractl.drivers import names


@pytest.mark.parametrize("name", names())
def test_every_driver_has_a_page(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", name]) == 0
    assert capsys.readouterr().out.startswith(f"{name}  ")
    assert main(["rule", name, "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["driver"]) == ("dractl/driver/v1", name)
    assert found["released"] in found["versions"]


def test_attributes_are_shown_as_expressions_select_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rule", "gpu.nvidia.com"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (architecture,) = (line.split() for line in lines if "].architecture" in line)
    assert architecture[:2] == ['device.attributes["gpu.nvidia.com"].architecture', "string"]
    (numa,) = (line for line in lines if "].numaNode" in line)
    assert numa.startswith('  device.attributes["resource.kubernetes.io"].numaNode ')
    assert numa.endswith(
        "(of gpu, mig, vfio; since 0.5; a list with DRAListTypeAttributes; "
        "may be absent: only where the function has a NUMA node)"
    )


def test_unknown_driver_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "gpu.nvdia.com"]) == 2
    assert "did you mean gpu.nvidia.com?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpu", "gpu.nvidia.com"),
        ("device-in-us", "did you mean device-in-use?"),
        ("count-zer", "did you mean count-zero?"),
        ("DRA999", "`dractl rule DRA9` lists"),  # no code is like another
        ("dra79", "`dractl rule DRA7` lists"),
        ("zzz", "`dractl rule` lists every code and name"),
    ],
)
def test_unknown_name_gets_the_nearest_names(
    name: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rule", name]) == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("hint: "))
    assert hint in line


def test_the_page_of_a_driver_lists_its_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "dra.cpu"]) == 0
    text = capsys.readouterr().out
    assert "Refusals of the driver, in explain's words" in text
    assert "dra.cpu has fewer free CPUs than its ResourceSlice says" in text
    assert main(["rule", "dra.cpu", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    entry = next(entry for entry in found["refusals"] if entry["id"] == "reserved")
    assert entry["blames"] == "parameters"
    assert entry["source"].startswith("pkg/driver/dra_hooks.go:")
    assert main(["rule", "npu.huawei.com", "-o", "json"]) == 0
    assert "refusals" not in json.loads(capsys.readouterr().out)
