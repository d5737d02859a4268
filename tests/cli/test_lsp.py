"""``dractl lsp``: a recorded session with an editor, as JSON-RPC frames over standard input and output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from tests.lint.written import claim

ROOT = Path(__file__).resolve().parents[2]
URI = "file:///manifests/claim.yaml"
TEXT = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim  # \U0001f600 takes two UTF-16 units
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassname: gpu.nvidia.com}
    - name: other
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors:
        - cel:
            expression: "'\U0001f600' != '' && device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
"""
EXPRESSION = 14


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def position_at(line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": URI}, "position": {"line": line, "character": character}}


def play_messages(
    messages: list[dict[str, Any]], *options: str
) -> tuple[list[dict[str, Any]], int]:
    """Return the answers of the server to messages, and its exit status."""
    data = b""
    for message in messages:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        data += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    command = [
        sys.executable,
        "-m",
        "dractl",
        "lsp",
        "--kubernetes-version",
        "1.37",
        *(options or ["--isolated"]),
    ]
    done = subprocess.run(command, input=data, capture_output=True, timeout=120)
    answers, rest = [], done.stdout
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.startswith(b"Content-Length")
        )
        answers.append(json.loads(rest[:length]))
        rest = rest[length:]
    return answers, done.returncode


def test_a_session() -> None:
    pytest.importorskip("pygls", reason="pygls is in the extra lsp, and is not installed")
    line = TEXT.split("\n")[EXPRESSION]
    character = units(line[: line.index("architecture") + 4])
    document = {"uri": URI, "languageId": "yaml", "version": 1, "text": TEXT}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
    action = {"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []}}
    answers, status = play_messages(
        [
            {
                "id": 1,
                "method": "initialize",
                "params": {"processId": None, "rootUri": None, "capabilities": {}},
            },
            {"method": "initialized", "params": {}},
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
            {"id": 2, "method": "textDocument/hover", "params": position_at(EXPRESSION, character)},
            {
                "id": 3,
                "method": "textDocument/completion",
                "params": position_at(EXPRESSION, character),
            },
            {"id": 4, "method": "textDocument/codeAction", "params": action},
            {"id": 5, "method": "textDocument/definition", "params": position_at(11, 26)},
            {"id": 6, "method": "shutdown"},
            {"method": "exit"},
        ]
    )
    assert status == 0
    by_id = {answer["id"]: answer["result"] for answer in answers if "id" in answer}
    capabilities = by_id[1]["capabilities"]
    assert capabilities["hoverProvider"]
    assert capabilities["definitionProvider"]
    assert capabilities["codeActionProvider"]["codeActionKinds"] == ["quickfix"]

    (published,) = [
        a["params"] for a in answers if a.get("method") == "textDocument/publishDiagnostics"
    ]
    assert published["uri"] == URI
    unknown = next(item for item in published["diagnostics"] if item["code"] == "DRA003")
    wrong = TEXT.split("\n")[8].index("deviceClassname")
    place = {"start": {"line": 8, "character": wrong}, "end": {"line": 8, "character": wrong + 15}}
    assert (unknown["range"], unknown["severity"], unknown["source"]) == (place, 1, "dractl")

    start = units(line[: line.index("architecture")])
    assert "Hopper" in by_id[2]["contents"]["value"]
    assert by_id[2]["range"]["start"] == {"line": EXPRESSION, "character": start}

    assert [item["sortText"] for item in by_id[3]] == sorted(i["sortText"] for i in by_id[3])
    offered = next(item for item in by_id[3] if item["label"] == "architecture")
    edit = {
        "start": {"line": EXPRESSION, "character": start},
        "end": {"line": EXPRESSION, "character": character},
    }
    assert offered["textEdit"] == {"newText": "architecture", "range": edit}

    assert by_id[5] == []  # the class is in no file

    edits = [action["edit"]["changes"][URI] for action in by_id[4]]
    assert [{"newText": "deviceClassName", "range": place}] in edits


def test_a_saved_text_is_judged_with_its_kustomization(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is in the extra lsp, and is not installed")
    if shutil.which("kubectl") is None and shutil.which("kustomize") is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    operation = "    - op: add\n      path: /spec/devices/requests/0/count\n      value: 2\n"
    text = f"resources: [claim.yaml]\npatches:\n- target: {{name: gpus}}\n  patch: |-\n{operation}"
    (tmp_path / ".git").mkdir()
    (tmp_path / "claim.yaml").write_text(claim("gpu gpu.nvidia.com"))
    (tmp_path / "kustomization.yaml").write_text(text)
    uri = (tmp_path / "kustomization.yaml").as_uri()
    folder = {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
    opened = {"uri": uri, "languageId": "yaml", "version": 1}
    changed = {
        "textDocument": {"uri": uri, "version": 2},
        "contentChanges": [{"text": text + "# more\n"}],
    }
    answers, status = play_messages(
        [
            {"id": 1, "method": "initialize", "params": folder},
            {"method": "initialized", "params": {}},
            {
                "method": "textDocument/didOpen",
                "params": {"textDocument": {**opened, "text": text}},
            },
            {"method": "textDocument/didChange", "params": changed},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        ]
    )
    assert status == 0
    shown = [
        item["params"]
        for item in answers
        if item.get("method") == "textDocument/publishDiagnostics"
    ]
    assert [
        [(item["code"], item["range"]["start"]["line"]) for item in each["diagnostics"]]
        for each in shown
    ] == [[("DRA003", 5)], []]


def test_excluded_files_have_no_diagnostics(tmp_path: Path) -> None:
    pytest.importorskip("pygls", reason="pygls is in the extra lsp, and is not installed")
    config = tmp_path / "dractl.toml"
    config.write_text('exclude = ["claim.yaml"]\n', encoding="utf-8")
    document = {"uri": URI, "languageId": "yaml", "version": 1, "text": TEXT}
    answers, status = play_messages(
        [
            {
                "id": 1,
                "method": "initialize",
                "params": {"processId": None, "rootUri": None, "capabilities": {}},
            },
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        ],
        "--config",
        str(config),
    )
    assert status == 0
    published = [
        a["params"]["diagnostics"]
        for a in answers
        if a.get("method") == "textDocument/publishDiagnostics"
    ]
    assert published == [[]]


@pytest.mark.parametrize(
    ("text", "shown", "messages"),
    [
        ('exclude = ["claim.yaml"]', False, []),
        ('exclud = ["claim.yaml"]', True, ["unknown setting exclud; did you mean exclude?"]),
        (
            'lint.baseline = "/dev/zero"',
            True,
            ["lint.baseline: /dev/zero is outside of HERE; give such a path on the command line"],
        ),
        (
            'lint.devices = ["/proc"]',
            True,
            ["lint.devices: /proc is outside of HERE; give such a path on the command line"],
        ),
        (
            'lint.devices = ["link"]',
            True,
            ["lint.devices: link is outside of HERE; give such a path on the command line"],
        ),
        (
            'lint.baseline = "pipe"',
            True,
            ["lint.baseline: pipe is not a regular file; give such a path on the command line"],
        ),
    ],
)
def test_configuration_of_the_open_folder_is_used(
    tmp_path: Path, text: str, shown: bool, messages: list[str]
) -> None:
    pytest.importorskip("pygls", reason="pygls is in the extra lsp, and is not installed")
    (tmp_path / "dractl.toml").write_text(text, encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "pipe")
    folders = [{"uri": tmp_path.as_uri(), "name": "project"}]
    document = {
        "uri": (tmp_path / "claim.yaml").as_uri(),
        "languageId": "yaml",
        "version": 1,
        "text": TEXT,
    }
    answers, status = play_messages(
        [
            {
                "id": 1,
                "method": "initialize",
                "params": {
                    "processId": None,
                    "rootUri": None,
                    "workspaceFolders": folders,
                    "capabilities": {},
                },
            },
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
            {"id": 2, "method": "shutdown"},
            {"method": "exit"},
        ],
        "--quiet",
    )
    assert status == 0
    (published,) = [
        a["params"] for a in answers if a.get("method") == "textDocument/publishDiagnostics"
    ]
    assert bool(published["diagnostics"]) == shown
    told = [a["params"]["message"] for a in answers if a.get("method") == "window/showMessage"]
    said = [message.partition(": ")[2].replace(str(tmp_path.resolve()), "HERE") for message in told]
    assert said == messages


def test_missing_pygls_is_one_line_with_the_install_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert main(["lsp", "--isolated"]) == 3
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (package,) = project["optional-dependencies"]["lsp"]
    assert f"pip install '{package}'" in capsys.readouterr().err
