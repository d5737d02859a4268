"""dractl where cel-expr-python and google-re2 cannot be installed (musl, Windows on ARM, a new Python): what does not
need selectors works, lint says what it did not check, and nothing guesses a verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parents[2]
NOTE = "cel-expr-python, protobuf and google-re2 not installed"
BLOCKED = """
import sys
sys.modules.update({"cel_expr_python": None, "google.protobuf": None, "re2": None})
from dractl.cli.main import run
run()
"""


def dractl(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED, *arguments]
    return subprocess.run(
        command, cwd=ROOT, input=given, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("discover", "--from", "examples/discover/node.json"), "gpu-0"),
        (
            ("render", "--hardware", "2xH100,1xnic", "--driver", "gpu.nvidia.com"),
            "kind: ResourceSlice",
        ),
        (("rule", "DRA111"), "DRA111"),
    ],
)
def test_what_needs_no_selector_works(arguments: tuple[str, ...], shown: str) -> None:
    result = dractl(*arguments)
    assert (result.returncode, shown in result.stdout) == (0, True), result.stderr
    assert "Traceback" not in result.stderr


def test_lint_finds_what_needs_no_selector_and_says_once_what_it_left_out() -> None:
    result = dractl("lint", "-o", "concise", "examples/lint")
    assert result.returncode == 1
    assert "DRA003" in result.stdout
    assert result.stderr.count(NOTE) == 1


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, namespace: ml}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel: {expression: 'EXPRESSION'}
"""


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver ==",
        'device.attributes["gpu.nvidia.com"].type == "gpu"',
        "[1, 2].all(x, x > 0)",
    ],
)
def test_a_selector_is_neither_wrong_nor_right(expression: str) -> None:
    result = dractl("lint", "-", given=CLAIM.replace("EXPRESSION", expression))
    assert result.returncode == 0, result.stdout
    assert NOTE in result.stderr
    assert "not checked" not in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "examples/explain"),
        ("devices", "examples/explain"),
        ("cel", "device.driver == 'gpu.nvidia.com'"),
        ("discover", "--from", "examples/discover/node.json", "--suggest", "gpu=2,nic=1"),
    ],
)
def test_what_cannot_be_known_is_an_error_that_says_why(arguments: tuple[str, ...]) -> None:
    result = dractl(*arguments)
    assert result.returncode == 3, result.stdout
    assert NOTE in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("format_", ["json", "sarif"])
def test_reports_for_programs_say_that_selectors_went_unchecked(format_: str) -> None:
    found = json.loads(dractl("lint", "-o", format_, "examples/lint").stdout)
    if format_ == "json":
        assert NOTE in found["summary"]["unchecked"]
        schema = json.loads((ROOT / "schemas" / "dractl" / "lint-v1.json").read_bytes())
        assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    else:
        (invocation,) = found["runs"][0]["invocations"]
        assert NOTE in invocation["toolExecutionNotifications"][0]["message"]["text"]
