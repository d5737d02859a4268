"""The schemas of dractl's own outputs and configuration, against what it prints and reads."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dractl.lint import config
from dractl.resources import data_dir
from tests.conftest import WHOLE

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
