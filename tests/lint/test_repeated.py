"""What rules say nothing of is not asked again where it reads the same: every other finding is still there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dractl.lint import lint, registry
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, selecting

ALONE = [rule for rule in registry.checks() if rule.alone and rule.example("Example")]
CLASS = (
    API
    + "kind: DeviceClass\nmetadata: {name: gpu}\nspec: {selectors: [{cel: {expression: '%s'}}]}\n"
)
DRIVER = """\
apiVersion: v1
kind: Pod
metadata: {name: driver}
spec: {containers: [{name: c, image: "nvidia/dra-driver-nvidia-gpu:%s", resources: {claims: [{name: c}]}}]}
"""


def places(
    folder: Path,
    code: str,
    files: dict[str, str],
    release: str = "1.37",
    versions: dict[str, str] | None = None,
) -> list[str]:
    """The files, in order, in which a rule has findings."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = [
        item.position.file
        for item in lint(load([str(folder)]), Target.of(release), versions=versions or {}).findings
        if item.code == code
    ]
    return [Path(file).relative_to(folder).as_posix() for file in found]


@pytest.mark.parametrize("rule", ALONE, ids=lambda rule: rule.code)
def test_rule_reports_objects_beside_their_separate_parts(
    rule: registry.Rule, tmp_path: Path
) -> None:
    text = rule.example("Example")
    named = re.search(r"`--kubernetes-version ([\d.]+)`", rule.written)
    release = named[1] if named else "1.37"
    versions = dict(re.findall(r"`--driver-version ([\w.]+)=([\w.]+)`", rule.written))
    parts = {f"before-{number}/part.yaml": part for number, part in enumerate(text.split("---\n"))}
    found = places(tmp_path, rule.code, {**parts, "here/all.yaml": text}, release, versions)
    assert (
        found.count("here/all.yaml")
        == len(places(tmp_path / "alone", rule.code, {"all.yaml": text}, release, versions))
        > 0
    )


def test_equal_claims_have_a_finding_each(tmp_path: Path) -> None:
    wrong = selecting('device.attributes["gpu.nvidia.com"].index == 0', "gpu.nvidia.com")
    files = {"a/1.yaml": wrong, "a/2.yaml": wrong, "b/1.yaml": wrong}
    assert places(tmp_path, "DRA715", files) == list(files)


def test_equal_claims_of_differing_classes_are_judged_apart(tmp_path: Path) -> None:
    text = selecting(
        'device.driver == "a.example.com" && device.attributes["a.example.com"].model == "x"', "gpu"
    )
    right, wrong = (CLASS % f'device.driver == "{name}.example.com"' for name in "ab")
    files = {
        "a/class.yaml": right,
        "a/claim.yaml": text,
        "b/class.yaml": wrong,
        "b/claim.yaml": text,
    }
    assert places(tmp_path, "DRA606", files) == ["b/claim.yaml"]


def test_equal_claims_beside_differing_drivers_are_judged_apart(tmp_path: Path) -> None:
    text = selecting('device.attributes["gpu.nvidia.com"].index == 0', "gpu.nvidia.com")
    files = {
        "a/driver.yaml": DRIVER % "v25.3.2",
        "a/claim.yaml": text,
        "b/driver.yaml": DRIVER % "v0.5.1",
    }
    assert places(tmp_path, "DRA715", {**files, "b/claim.yaml": text}) == ["b/claim.yaml"]
