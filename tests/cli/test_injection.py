"""Whatever stands in a name or a value, no report sends control sequences to a terminal, commands to a CI system's log
or markup to a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAYLOAD = (
    "\x1b]0;title\x07\x1b[31mred\r\x9b31m\u202egpj\n::error::injected\n\u2003::set-output name=sarif::/etc/passwd "
    "##[error]injected ##vso[task.setvariable]x\n<script>alert(1)</script>"
)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What GitHub's runner takes for a command (actions/runner src/Runner.Common/ActionCommand.cs: a line's start without
# blanks, or ``##[`` anywhere), and Azure's agent.
COMMAND = re.compile(r"^\s*::(error::injected|set-output)|##(vso)?\[", re.MULTILINE)
KEPT = (
    "apiVersion",
    "kind",
    "expression",
    "effect",
    "operator",
    "type",
    "version",
    "allocationMode",
)


def objects(example: str) -> list[dict[str, Any]]:
    return [
        item
        for path in sorted((EXAMPLES / example).glob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document
        for item in document.get("items", [document])
    ]


def poison(value: Any, names: frozenset[str], key: str = "") -> Any:
    """The value with the payload behind every string that an API server does not check."""
    if isinstance(value, dict):
        return {name: poison(item, names, name) for name, item in value.items()}
    if isinstance(value, list):
        return [poison(item, names, key) for item in value]
    checked = (
        not isinstance(value, str) or key in KEPT or value in names or value[:1].isdigit()
    )  # quantities
    return value if checked else value + PAYLOAD


def names(items: list[dict[str, Any]]) -> frozenset[str]:
    found = {item["metadata"].get(key) for item in items for key in ("name", "namespace", "uid")}
    for item in items:
        if item["kind"] == "ResourceSlice":
            spec = item["spec"]
            found |= {
                spec["driver"],
                spec.get("nodeName"),
                spec["pool"]["name"],
                *(d["name"] for d in spec["devices"]),
            }
    return frozenset(name for name in found if name)


def report(
    capsys: pytest.CaptureFixture[str], *arguments: str, codes: tuple[int, ...] = (0, 1, 3)
) -> str:
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert code in codes, captured.err
    assert "internal error" not in captured.err
    return captured.out + captured.err


COMMANDS = [
    ["explain", "-f", "FILE"],
    ["explain", "-f", "FILE", "-v"],
    ["explain", "-f", "FILE", "-A"],
    ["explain", "-f", "FILE", "--patch"],
    ["devices", "-f", "FILE"],
    ["devices", "-f", "FILE", "-o", "wide"],
    ["devices", "-f", "FILE", "--by", "model"],
    ["fit", "gpu-and-nic", "-n", "ml", "-f", "FILE", "--pack"],
    ["lint", "FILE"],
    ["lint", "FILE", "-o", "concise"],
    ["lint", "FILE", "-o", "github"],
    ["lint", "FILE", "-o", "junit"],
    ["lint", "FILE", "--devices", "FILE"],
    ["cel", "device.attributes['gpu.nvidia.com'].productName == 'x'", "--devices", "FILE"],
    ["migrate", "FILE"],
]
MARKUP = [
    ["explain", "-f", "FILE", "-o", "html"],
    ["devices", "-f", "FILE", "-o", "html"],
    ["fit", "gpu-and-nic", "-n", "ml", "-f", "FILE", "-o", "html", "--pack"],
    ["lint", "FILE", "-o", "junit"],
]


@pytest.mark.parametrize("example", ["explain", "capacity", "lint", "migrate"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_values_reach_neither_the_terminal_nor_the_log(
    command: list[str],
    example: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    items = objects(example)
    file = tmp_path / "dump.json"
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": poison(items, names(items))})
    )
    text = report(
        capsys, *(str(file) if word == "FILE" else word for word in command), "--isolated"
    )
    assert (found := CONTROL.search(text)) is None, text[max(0, found.start() - 80) : found.end()]
    if command[0] == "migrate":  # patch reads the diff, byte for byte
        text = "\n".join(line for line in text.split("\n") if line[:1] not in tuple(" +-@"))
    assert not COMMAND.search(text) or "--patch" in command  # kubectl reads what that prints


@pytest.mark.parametrize("command", MARKUP, ids=" ".join)
def test_values_are_no_markup(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = objects("capacity")
    file = tmp_path / "dump.json"
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": poison(items, names(items))})
    )
    words = [str(file) if word == "FILE" else word for word in command]
    text = report(capsys, *words, "--isolated", codes=(0, 1))
    assert "<script>alert" not in text


@pytest.mark.parametrize(
    "path", [("metadata", "name"), ("spec", "driver"), ("spec", "devices", 0, "name")]
)
def test_invalid_object_name_is_refused(
    path: tuple[str | int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = objects("explain")
    target: Any = next(item for item in items if item["kind"] == "ResourceSlice")
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] += "\x1b[2J"
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    assert main(["explain", "-f", str(tmp_path / "dump.json"), "--isolated"]) == 3
    error = capsys.readouterr().err
    assert f"{path[-1]} of this ResourceSlice holds control characters" in error
    assert "\x1b" not in error


@pytest.mark.parametrize("form", ["tree", "matrix", "svg", "html", "json", "yaml"])
def test_a_snapshot_is_as_harmless(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    machine = json.loads((EXAMPLES / "discover" / "node.json").read_text())
    for device in machine["pciDevices"]:
        device["deviceName"] = f"{device.get('deviceName')}{PAYLOAD}"
    for interface in machine["netInterfaces"]:
        interface["driver"] = PAYLOAD
    (tmp_path / "node.json").write_text(json.dumps(machine))
    text = report(
        capsys, "discover", "--from", str(tmp_path / "node.json"), "-o", form, "--isolated"
    )
    assert CONTROL.search(text) is None
    assert form in ("svg", "html", "yaml") or not COMMAND.search(text)  # those are for files
    assert form not in ("svg", "html") or "<script>alert" not in text


def test_names_of_files_are_as_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's pull request names files, charts and settings, and says why a chart cannot be rendered."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    helm = tmp_path / "bin" / "helm"
    helm.write_text(
        "#!/bin/sh\nprintf 'Error: \\033[31m\\n::error::injected ##[error]x\\n' >&2; exit 1\n"
    )
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    claim = (EXAMPLES / "lint" / "claim.yaml").read_text()
    chart = tmp_path / "chart\n::error::injected\x1b[1m"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: c\nversion: 1.0.0\n")
    (chart / "templates" / "claim.yaml").write_text(claim + "{{ .Values.x }}\n")
    names = [
        "::error::injected,x.yaml",
        "a\n::error::injected.yaml",
        "b\x1b[31m##[error].yaml",
        "-o.yaml",
    ]
    for name in names:
        (tmp_path / name).write_text(claim)
    (tmp_path / "c\n::error::injected.yaml").write_text(
        "kind: ResourceClaim\napiVersion: resource.k8s.io/v1\na: [\n"
    )
    (tmp_path / "missing\n::error::injected.yaml").symlink_to("nowhere")
    for form in ("full", "concise", "github", "json", "junit", "gitlab"):
        for paths in (["."], names[:3]):
            text = report(capsys, "lint", "--isolated", "-o", form, *paths)
            assert CONTROL.search(text) is None
            assert not COMMAND.search(text) or form == "junit"
    (tmp_path / "dractl.toml").write_text('"x\\n::error::injected\\u001b[31m" = 1\n')
    text = report(capsys, "lint", names[0], codes=(2,))
    assert CONTROL.search(text) is None
    assert not COMMAND.search(text)
