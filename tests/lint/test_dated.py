"""What a driver does not have, or refuses, is said with the version and the date that this rests on."""

from __future__ import annotations

import re

import pytest

from tests.lint.written import claim, found, selecting

GPU = "gpu.nvidia.com"
DATED = re.compile(r"(?:known to|newest is) v?[0-9][0-9a-z.-]*, read on 20\d\d-\d\d-\d\d")
CONFIG = "config: [{opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: %s}}}]"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("DRA711", claim(f"gpu {GPU}", CONFIG % "GpuConf")),
        ("DRA713", selecting(f'device.attributes["{GPU}"].architcture == "Hopper"', GPU)),
        ("DRA713", claim(f"gpu {GPU} {{count: 2}}", f"constraints: [{{matchAttribute: {GPU}/architcture}}]")),
        ("DRA714", selecting(f'device.attributes["{GPU}"].rackNumber == 1', GPU)),
        ("DRA715", selecting(f'device.attributes["{GPU}"].index == 0', GPU)),
        ("DRA717", selecting('device.attributes["vendor.example.com"].architecture == "Hopper"', GPU)),
        ("DRA719", selecting(f'device.attributes["{GPU}"].architecture == "Rubens"', GPU)),
        ("DRA725", claim(f"gpu {GPU} {{capacity: {{requests: {{tensors: 1}}}}}}")),
        ("DRA726", claim("gpu gpu.amd.com {tolerations: [{key: gpu.amd.com/hot, effect: NoSchedule}]}")),
    ],
)  # fmt: skip
def test_an_absence_has_its_version_and_date(code: str, text: str) -> None:
    findings = found(text, code)
    assert findings
    for finding in findings:
        assert DATED.search(f"{finding.message} {finding.help}"), (finding.message, finding.help)
