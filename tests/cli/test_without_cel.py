"""dractl where cel-expr-python and google-re2 cannot be installed (musl, Windows on ARM, a new Python): what does not
need selectors works, lint says what it did not check, and nothing guesses a verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from dractl.cli.main import main

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
def test_commands_without_selectors_work(arguments: tuple[str, ...], shown: str) -> None:
    result = dractl(*arguments)
    assert (result.returncode, shown in result.stdout) == (0, True), result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("options", [(), ("-o", "concise"), ("--statistics",)])
@pytest.mark.parametrize("path", ["examples/lint", "examples/capacity"])
def test_summary_of_lint_notes_unchecked_selectors(options: tuple[str, ...], path: str) -> None:
    """ "Nothing found" in a note's shadow reads as "all is well"."""
    result = dractl("lint", path, *options)
    (summary,) = [
        line
        for line in result.stdout.splitlines()
        if " documents of " in line or " document of " in line
    ]
    assert " (selectors not checked" in summary


def test_without_manifests_nothing_went_unchecked(tmp_path: Path) -> None:
    result = dractl("lint", str(tmp_path))
    assert "selectors" not in result.stdout + result.stderr


@pytest.mark.parametrize(
    ("format_", "expected"),
    [
        ("github", "::warning title=selectors not checked by dractl::"),
        ("junit", '<skipped message="not checked: '),
    ],
)
def test_report_for_ci_notes_unchecked_selectors(format_: str, expected: str) -> None:
    result = dractl("lint", "examples/capacity", "-o", format_, "-q")
    assert f"{expected}{NOTE}" in result.stdout


def test_editor_gets_one_note_on_unchecked_selectors() -> None:
    pytest.importorskip("pygls", reason="pygls is in the extra lsp, and is not installed")
    opened = {"uri": "file:///c.yaml", "languageId": "yaml", "text": CLAIM}
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        *(
            {"method": "textDocument/didOpen", "params": {"textDocument": {**opened, "version": n}}}
            for n in (1, 2)
        ),
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]  # fmt: skip
    bodies = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    result = dractl(
        "lsp", "--isolated", given="".join(f"Content-Length: {len(b)}\r\n\r\n{b}" for b in bodies)
    )
    assert result.stdout.count(f"dractl does not check selectors here: {NOTE}") == 1


BROKEN = 'raise ImportError("libstdc++.so.6: cannot open shared object file")'


def with_broken_library(
    folder: Path, *arguments: str, module: str = "cel_expr_python"
) -> subprocess.CompletedProcess[str]:
    """Run dractl where a library is installed and does not load, as in a container without libstdc++."""
    package = folder / "broken" / module
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(BROKEN)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT}",
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    command = [sys.executable, "-m", "dractl", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_unloadable_library_is_named(tmp_path: Path) -> None:
    reason = "cel-expr-python cannot be loaded (libstdc++.so.6: cannot open shared object file)"
    result = with_broken_library(tmp_path, "explain", "examples/explain")
    assert result.returncode == 3
    assert result.stderr.startswith(
        f"error: this command needs selectors, which cannot be compiled here: {reason}\n"
    )
    result = with_broken_library(tmp_path, "lint", "examples/capacity")
    assert result.returncode == 0
    assert result.stdout.endswith(" (selectors not checked)\n")
    assert reason in result.stderr


def test_only_a_selector_with_a_pattern_needs_the_library_for_patterns(tmp_path: Path) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(CLAIM.replace("EXPRESSION", 'device.driver == "gpu.nvidia.com"'))
    result = with_broken_library(tmp_path, "lint", "--isolated", str(claim), module="re2")
    assert result.returncode == 0, result.stderr
    assert "not checked" not in result.stdout + result.stderr
    claim.write_text(CLAIM.replace("EXPRESSION", 'device.driver.matches("^gpu")'))
    result = with_broken_library(tmp_path, "lint", "--isolated", str(claim), module="re2")
    assert result.returncode == 3
    assert "regular expression, which cannot be compiled here: google-re2 cannot be loaded" in (
        result.stderr
    )
    assert "Traceback" not in result.stderr


def test_a_report_without_selectors_is_not_kept_for_later_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CLAIM.replace("EXPRESSION", "device.driver =="))
    assert with_broken_library(tmp_path, "lint", str(tmp_path)).returncode == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["lint", str(tmp_path)]) == 1
    assert "2 errors in 2 documents" in capsys.readouterr().out


def test_lint_reports_the_rest_and_notes_unchecked_selectors_once() -> None:
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
    assert result.stdout.startswith("nothing found in 1 document")


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "examples/explain"),
        ("devices", "examples/explain"),
        ("devices", "examples/explain", "--cel", "true"),
        ("fit", "gpu=2", "-f", "examples/explain"),
        ("upgrade", "examples/lint", "--from", "1.34"),
        ("cel", "device.driver == 'gpu.nvidia.com'"),
        ("discover", "--from", "examples/discover/node.json", "--suggest", "gpu=2,nic=1"),
    ],
)
def test_command_needing_selectors_is_an_error_with_the_cause(arguments: tuple[str, ...]) -> None:
    result = dractl(*arguments)
    assert result.returncode == 3, result.stdout
    first = result.stderr.splitlines()[0]
    assert first.startswith("error: ")
    assert first.endswith(f" needs selectors, which cannot be compiled here: {NOTE}")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("format_", ["json", "sarif"])
def test_reports_for_programs_note_unchecked_selectors(format_: str) -> None:
    found = json.loads(dractl("lint", "-o", format_, "examples/lint").stdout)
    if format_ == "json":
        assert NOTE in found["summary"]["unchecked"]
        schema = json.loads((ROOT / "schemas" / "dractl" / "lint-v1.json").read_bytes())
        assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    else:
        (invocation,) = found["runs"][0]["invocations"]
        assert NOTE in invocation["toolExecutionNotifications"][0]["message"]["text"]
