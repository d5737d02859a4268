"""The schemas of dractl's own outputs and configuration, against what it prints and reads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dractl import drivers
from dractl.lint import config
from dractl.report import json_schemas
from dractl.report.facts import driver_catalogue
from dractl.resources import data_dir
from tests import sysfs_trees
from tests.conftest import WHOLE
from tests.driver_checks.published import resource_slice

ROOT = Path(__file__).resolve().parent.parent.parent


def schema(name: str) -> dict[str, Any]:
    found = json.loads((data_dir("schemas") / "dractl" / f"{name}.json").read_bytes())
    assert isinstance(found, dict)
    return found


def check(name: str, value: Any) -> None:
    errors = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(schema(name)).iter_errors(value)
    ]
    assert errors == []


def dractl(*arguments: str | Path) -> Any:
    """Return the JSON output of dractl."""
    done = subprocess.run(
        [sys.executable, "-m", "dractl", *arguments], capture_output=True, check=False, cwd=ROOT
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "path", sorted((data_dir("schemas") / "dractl").glob("*.json")), ids=lambda path: path.stem
)
def test_a_schema_is_one(path: Path) -> None:
    Draft202012Validator.check_schema(json.loads(path.read_bytes()))


def test_the_machines_schema_is_as_the_tool_makes_it() -> None:
    tool = [sys.executable, ROOT / "tools" / "make_machine_schema.py", "--check"]
    done = subprocess.run(
        tool, capture_output=True, text=True, check=False, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_this_machine() -> None:
    check("machine-v1", dractl("discover", "-o", "json"))


def test_gathered_machines(whole: Path) -> None:
    archives = sorted(path for path in (whole / "machines").iterdir() if ".tar" in path.name)
    for archive in archives[:2]:
        check("machine-v1", dractl("discover", "--from", archive, "-o", "json"))


def test_findings_of_every_kind(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "conformance" / "validation" / "cases.jsonl").read_bytes().splitlines()
    for case in map(json.loads, lines[::10]):
        (tmp_path / f"{case['id']}.yaml").write_text(case["yaml"], encoding="utf-8")
    report = dractl("lint", "--isolated", "-o", "json", tmp_path, "examples")
    check("lint-v1", report)
    assert len({finding["code"] for finding in report["findings"]}) > (20 if WHOLE else 0)


def test_every_report_has_a_schema() -> None:
    """A report names its schema in its key `schema`, and that name is in the program's text."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "dractl").rglob("*.py"))
    named = {name for text in sources for name in re.findall(r'"dractl/([a-z-]+)/v1"', text)}
    assert named - set(json_schemas.names()) == set()
    for name in named:
        assert json.dumps(schema(f"{name}-v1")).count(f'{{"const": "dractl/{name}/v1"}}') >= 1


def test_checks_of_a_node(tmp_path: Path) -> None:
    tree = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)
    report = dractl("discover", "--check", "--root", tree, "-o", "json")
    check("check-v1", report)
    assert report["checks"]


def test_differences_of_two_machines(tmp_path: Path) -> None:
    names = ("plx-8gpu", "vmd")
    trees = [sysfs_trees.build(sysfs_trees.describe(name), tmp_path / name) for name in names]
    report = dractl("discover", "--diff", *trees, "-o", "json")
    check("machine-diff-v1", report)
    kinds = {frozenset(difference) for difference in report["differences"]}
    assert frozenset({"place", "what", "before"}) in kinds
    assert frozenset({"place", "what", "before", "after"}) in kinds
    assert frozenset({"place", "what", "before", "after", "unit"}) in kinds


def test_differences_from_published_devices(tmp_path: Path) -> None:
    machine = ("render", "--isolated", "--node-name", "n", "--hardware")
    published = dractl(*machine, "2xH100,nic", "-o", "json")
    (tmp_path / "published.json").write_text(json.dumps(published), encoding="utf-8")
    report = dractl(*machine, "A100,2xnic", "--diff", tmp_path / "published.json", "-o", "json")
    check("render-diff-v1", report)
    kinds = {frozenset(difference) for difference in report["differences"]}
    assert {frozenset({"driver", "device", side}) for side in ("published", "rendered")} <= kinds
    assert frozenset({"driver", "device", "path", "published", "rendered"}) in kinds


def test_machines_that_are_known_by_name() -> None:
    report = dractl("render", "--list-hardware", "-o", "json")
    check("hardware-v1", report)
    assert report["machines"]


@pytest.mark.parametrize("name", drivers.names())
def test_catalogue_of_a_driver(name: str) -> None:
    check("driver-v1", json.loads(json.dumps(driver_catalogue.to_json(drivers.find(name)))))


def test_catalogue_as_printed() -> None:
    check("driver-v1", dractl("rule", "gpu.nvidia.com", "-o", "json"))


def test_findings_about_a_driver(tmp_path: Path) -> None:
    snapshots = (
        "gpu-0 {uuid: {string: A}}\ngpu-1 {uuid: {string: B}}",
        "gpu-0 {uuid: {string: B}}\ngpu-1 {uuid: {string: A}}",
    )
    for generation, text in enumerate(snapshots, start=1):
        published = resource_slice(text, generation=generation)
        (tmp_path / f"{generation}.yaml").write_text(published, encoding="utf-8")
    files = [tmp_path / "1.yaml", tmp_path / "2.yaml"]
    report = dractl("check-driver", "--isolated", *files, "-o", "json")
    check("lint-v1", report)
    assert report["findings"]


def test_answers() -> None:
    check("explain-v1", dractl("explain", "-o", "json", "-f", "examples/explain"))


@pytest.mark.conformance
def test_answers_about_recorded_clusters(shared: Path) -> None:
    compared = 0
    for folder in sorted(
        path for path in (shared / "conformance" / "scheduling").iterdir() if path.is_dir()
    )[::4]:
        arguments = [
            sys.executable,
            "-m",
            "dractl",
            "explain",
            "-o",
            "json",
            "-f",
            folder / "objects.json",
        ]
        done = subprocess.run(arguments, capture_output=True, check=False, cwd=ROOT)
        if done.returncode == 3 and b"nothing to explain" in done.stderr:
            continue
        check("explain-v1", json.loads(done.stdout))
        compared += 1
    assert compared > (15 if WHOLE else 0)


def test_configuration_of_the_docstring_is_valid(tmp_path: Path) -> None:
    text = (config.__doc__ or "").partition("\n\n")[2]
    check("config", tomllib.loads(text))
    (tmp_path / "dractl.toml").write_text(text)
    assert config.read(tmp_path / "dractl.toml").fail_on == "warning"


def test_every_setting_is_in_the_schema() -> None:
    properties = schema("config")["properties"]
    assert set(properties) == set(config.TOP)
    assert set(properties["lint"]["properties"]) == set(config.LINT)


@pytest.mark.parametrize(
    "text",
    [
        "lint = 1",
        "[lint]\nfail_on = 'error'",
        "[feature-gates]\nA = 'true'",
        "exclude = 'vendor'",
        "kubernetes = '1.36'",
    ],
)
def test_the_schema_and_the_reader_refuse_the_same(text: str, tmp_path: Path) -> None:
    from dractl.errors import UsageError

    (tmp_path / "dractl.toml").write_text(text)
    assert not Draft202012Validator(schema("config")).is_valid(tomllib.loads(text))
    with pytest.raises(UsageError):
        config.read(tmp_path / "dractl.toml")
