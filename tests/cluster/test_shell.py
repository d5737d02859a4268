"""Commands to paste: no name in them is a word of the shell, or an option of kubectl."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.main import main
from dractl.cluster.shell import is_safe_name, quote_command
from tests.conftest import whole_dir
from tests.explain.cluster import claim, device_class, node, pod, request, slice_of

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "tests/scenarios").glob("*/objects.yaml"))
TOUCH = "$(touch PWN); touch PWN2 `touch PWN3`"
# Where words are quoted one by one, and messages about kubectl itself.
QUOTES = ("dractl/explain/fixes/steps.py", "dractl/cluster/rights.py", "dractl/inputs/kubectl.py")


@pytest.mark.parametrize("word", ["a", "ml/a b", TOUCH, "it's", "*", "a\\b", "~", "#"])
def test_a_quoted_word_stays_one_word_of_the_shell(word: str) -> None:
    assert shlex.split(quote_command("kubectl get pod {} -n {}", word, "ml")) == [
        "kubectl",
        "get",
        "pod",
        word,
        "-n",
        "ml",
    ]


@pytest.mark.parametrize("word", ["--all", "-f/tmp/x", "-n kube-system", "a\nb", "\x1b[2J"])
def test_an_option_or_control_character_makes_no_command(word: str) -> None:
    assert quote_command("kubectl get pod {} -n ml", word) == ""


@pytest.mark.parametrize("name", ["a", "a-1.b", "node-1/gpu", "system:node", "10.0.0.1"])
def test_names_of_kubernetes_are_safe(name: str) -> None:
    assert is_safe_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a;b", "$a", "a\n", "é", "a'b", "(a)"])
def test_names_with_meaning_for_a_shell_are_not_safe(name: str) -> None:
    assert not is_safe_name(name)


OBJECTS: list[dict[str, Any]] = [
    node("n1"),
    device_class("gpu", "true"),
    slice_of("gpu.example.com", "n1"),
    claim("c", request("r", "gpu", 3), metadata={"uid": "u1"}),
    pod("p", {"name": "x", "resourceClaimName": "c"}, metadata={"uid": "u2"}),
]


@pytest.mark.parametrize("arguments", [["explain", "-A", "-vv"], ["devices"], ["fit", "claim/c"]])
@pytest.mark.parametrize("field", ["name", "namespace"])
@pytest.mark.parametrize("kind", ["ResourceClaim", "Pod"])
@pytest.mark.parametrize("name", ["--all", "-f/tmp/x", TOUCH])
def test_a_dump_with_an_unsafe_name_is_refused(
    name: str,
    kind: str,
    field: str,
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed = [
        {**item, "metadata": {**item["metadata"], field: name}} if item["kind"] == kind else item
        for item in OBJECTS
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": changed}))
    assert main([*arguments, "-f", str(dump), "--isolated"]) == 3
    error = capsys.readouterr().err
    assert f"metadata.{field} of this {kind} is " in error
    assert "no API server takes such a name" in error
    assert f"{dump}:1:" in error


def test_an_unsafe_reference_stands_in_no_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """References are no names of objects: a pod may refer to anything."""
    asks = pod("p", {"name": "x", "resourceClaimTemplateName": "--all"}, spec={"nodeName": "-f/x"})
    dump = tmp_path / "dump.json"
    wants = claim("c2", request("r", TOUCH))
    items = [*OBJECTS[:4], asks, wants]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    main(["explain", "-A", "-vv", "-f", str(dump), "--isolated", "-o", "json"])
    for text in commands(json.loads(capsys.readouterr().out)):
        words = shlex.split(text)
        assert "--all" not in words
        assert "-f/x" not in words
        assert "PWN)" not in " ".join(words).replace(TOUCH, "")


@pytest.mark.parametrize(
    "arguments", [["explain", "-A", "-vv"], ["devices", "-o", "wide"], ["fit", "claim/c"]]
)
@pytest.mark.parametrize(
    "field", ["name", "resourceClaimName", "resourceClaimTemplateName", "phase"]
)
def test_terminal_codes_of_a_dump_are_shown_as_text(
    field: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    red = {field: "a\x1b[31mb"}
    uses = (
        {"name": "x", "resourceClaimTemplateName": "t"}
        if field != "resourceClaimName"
        else {"name": "x"}
    )
    asks = pod("p2", {**uses, **red}, metadata={"uid": "u3"}, status={"phase": "Pending", **red})
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*OBJECTS, asks]}))
    assert main([*arguments, "-f", str(dump), "--isolated", "--color", "never"]) in (0, 1)
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err


def commands(value: Any) -> Iterator[str]:
    """Every command of an answer."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "command" and item:
                yield item
            elif name == "commands":
                yield from item
            else:
                yield from commands(item)
    elif isinstance(value, list):
        for item in value:
            yield from commands(item)


def simple(text: str) -> Iterator[list[str]]:
    """The simple commands of a line of shell."""
    lexer = shlex.shlex(text.partition(" <<'EOF'")[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[str] = []
    for word in lexer:
        if word in (";", "&&", "|", ">"):
            yield found
            found = []
        else:
            assert not set(word) & set("();<>|&") or " " in word or word.startswith(("{", "[")), (
                text
            )
            found.append(word)
    yield found


@pytest.mark.parametrize("objects", SCENARIOS, ids=lambda path: path.parent.name)
def test_every_command_of_an_answer_calls_kubectl(
    objects: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["explain", "-A", "-f", str(objects), "--isolated", "-o", "json"])
    for text in commands(json.loads(capsys.readouterr().out)):
        for words in simple(text):
            if words[0] not in ("kubectl", "dractl"):
                assert len(words) == 1, text  # the file behind a ">"
                assert words[0].endswith(".yaml"), text


KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: ""}}]
current-context: none
"""
# No server, or a --local patch of the stand-in for a file that an earlier command writes.
NO_SERVER = re.compile(
    r"connection refused|was refused|127\.0\.0\.1:1|unable to connect|missing value", re.IGNORECASE
)
DOCUMENT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"


@pytest.mark.oracle
def test_kubectl_itself_accepts_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kubectl finds no mistake in the usage, and goes on to query the server, which does not
    exist.
    """
    shared = whole_dir()
    kubectl = Path.home() / ".cache" / "dractl-oracle" / "kube-1.37"
    if shared is None or not kubectl.exists():
        pytest.skip("no recorded answers, or kubectl is not built")
    dumps = [*SCENARIOS, *(shared / "conformance").glob("oncall/*/dump.yaml*")]
    dumps += [*(shared / "conformance").glob("node/*/dump.yaml*")]
    found: dict[tuple[str, ...], str] = {}
    for dump in dumps:
        main(["explain", "-A", "-f", str(dump), "--isolated", "-o", "json"])
        out = capsys.readouterr().out
        for text in commands(json.loads(out)) if out else ():
            body = text.partition(" <<'EOF'\n")[2].removesuffix("EOF").removesuffix("\nEOF")
            for words in simple(text):
                if words[0] == "kubectl":
                    found[tuple(words)] = body
    (tmp_path / "config").write_text(KUBECONFIG)
    environment = {
        "KUBECONFIG": str(tmp_path / "config"),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
    }

    def wrong(one: tuple[tuple[str, ...], str]) -> str:
        words, body = one
        for word in words:
            if word.endswith(".yaml"):
                (tmp_path / word).write_text(DOCUMENT)
        ask = [str(kubectl), "kubectl", *words[1:]]
        done = subprocess.run(
            ask,
            input=body or DOCUMENT,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return (
            ""
            if done.returncode == 0 or NO_SERVER.search(done.stderr)
            else f"{shlex.join(words)}: {done.stderr}"
        )

    assert len(found) > 100
    with ThreadPoolExecutor(2) as pool:
        assert [said for said in pool.map(wrong, found.items()) if said] == []


def test_commands_are_always_quoted() -> None:
    for path in sorted((ROOT / "dractl").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name in QUOTES:
            continue
        for found in ast.walk(ast.parse(path.read_text())):
            if isinstance(found, ast.JoinedStr):
                first = found.values[0]
                text = first.value if isinstance(first, ast.Constant) else ""
                verb = text.removeprefix("kubectl ").partition(" ")[0]
                assert not (text.startswith("kubectl ") and verb in VERBS), (
                    f"{name}:{found.lineno}: use shell.quote_command"
                )


VERBS = (
    "annotate",
    "apply",
    "create",
    "delete",
    "describe",
    "edit",
    "get",
    "label",
    "patch",
    "replace",
    "scale",
)
