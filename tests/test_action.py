"""Tests of the composite action: its steps are run in a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
STEPS: list[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
CLAIM = (ROOT / "examples" / "lint" / "claim.yaml").read_text()


def script(name: str) -> str:
    return str(next(step["run"] for step in STEPS if step["name"] == name))


def run(name: str, checkout: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as ``shell: bash`` does."""
    temporary = checkout.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(temporary),
        "GITHUB_OUTPUT": str(temporary / "output"),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
        **variables,
    }
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script(name)]
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def test_installing_runs_nothing_of_the_checkout(checkout: Path) -> None:
    """``python -m`` looks into the working directory first, where a pull request may have a ``venv.py``."""
    python = checkout.parent / "python"
    python.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$*" >>"$RUNNER_TEMP/calls"\n'
        'bin=$RUNNER_TEMP/dractl/bin; mkdir -p "$bin"; [ -e "$bin/python" ] || cp "$0" "$bin/python"\n'
    )
    python.chmod(0o755)
    assert (
        run("Install dractl", checkout, PYTHON=str(python), VERSION="1.2.3", ACTION="/a").returncode
        == 0
    )
    venv, pip = (checkout.parent / "temporary" / "calls").read_text().splitlines()
    assert venv.startswith("-I -m venv ")
    assert pip.startswith("-I -m pip install ")
    assert pip.endswith(" dractl==1.2.3")


def install(checkout: Path) -> None:
    """Put dractl of this checkout and its Python where the first step would install them."""
    folder = checkout.parent / "temporary" / "dractl" / "bin"
    folder.mkdir(parents=True)
    for name, arguments in (("dractl", "-m dractl"), ("python", "")):
        (folder / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (folder / name).chmod(0o755)


def outputs(checkout: Path) -> dict[str, str]:
    """Return the outputs of a step."""
    lines = (checkout.parent / "temporary" / "output").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_findings_are_annotations_and_a_sarif_report(checkout: Path) -> None:
    install(checkout)
    for name in ("a.yaml", "-o.yaml"):
        (checkout / name).write_text(CLAIM)
    (checkout / "b").mkdir()
    (checkout / "b" / "c d.yaml").write_text(CLAIM)
    paths = "a.yaml\n-o.yaml\n\nb\n"
    done = run(
        "Lint", checkout, PATHS=paths, RELEASE="1.36", ARGS="--select DRA701 --fail-on warning"
    )
    assert done.returncode == 1, done.stderr
    files = {line.split("file=")[1].split(",")[0] for line in done.stdout.splitlines()}
    assert files == {"a.yaml", "-o.yaml", "b/c d.yaml"}
    assert all("title=DRA701 " in line for line in done.stdout.splitlines())
    assert '"ruleId": "DRA701"' in Path(outputs(checkout)["sarif"]).read_text()
    assert outputs(checkout)["skipped"] == "0"
    summary = (checkout.parent / "temporary" / "summary").read_text()
    assert summary.startswith("### dractl: ")
    assert "| `b/c d.yaml:" in summary


@pytest.mark.parametrize(("arguments", "code"), [("", 0), ("--fail-on-skipped", 1)])
def test_unchecked_charts_are_reported(checkout: Path, arguments: str, code: int) -> None:
    install(checkout)
    templates = checkout / "charts" / "trainer" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "Chart.yaml").write_text("apiVersion: v2\nname: trainer\nversion: 1.0.0\n")
    for name in ("claim", "job"):
        (templates / f"{name}.yaml").write_text(
            CLAIM.replace("gpu.nvidia.com", "{{ .Values.class }}")
        )
    done = run("Lint", checkout, PATHS=".", RELEASE="", ARGS=arguments, PATH="/usr/bin:/bin")
    assert done.returncode == code, done.stderr
    (warning,) = done.stdout.splitlines()
    assert warning.startswith(
        "::warning file=charts/trainer/templates/claim.yaml,title=not checked by dractl::"
    )
    assert "claim.yaml and 1 more: a template of a Helm chart, and helm is not installed" in warning
    assert outputs(checkout)["skipped"] == "2"


def test_wrong_usage_of_the_action_is_an_error_of_its_own(checkout: Path) -> None:
    install(checkout)
    done = run("Lint", checkout, PATHS=".", RELEASE="9", ARGS="")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "skipped" not in outputs(checkout)
