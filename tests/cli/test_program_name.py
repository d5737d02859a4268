"""Under ``kubectl dra`` there may be no program ``dractl``: printed commands begin as the user's did."""

import re
import shlex
from pathlib import Path

import pytest

from dractl.cli.main import main
from dractl.cli.subcommands import SUBCOMMANDS
from dractl.explain import REASONS
from dractl.lint.registry import rules
from dractl.program import DRACTL, call_program, program_name
from tests.cli.test_mistakes import BLOCKS, folder

__all__ = ["folder"]  # a fixture

# A word of the program's own after the name makes a command of it; `dractl.toml`, `dractl/lint/v1`, "dractl knows" and the
# ClusterRole dractl are none, nor is the name that JUnit's readers know the suite by.
COMMAND = re.compile(rf"(?<!name=\")\bdractl (?:{'|'.join(SUBCOMMANDS)}|again|once)\b")
FORMATS = {
    "lint ex/lint ex/explain": ("full", "concise", "json", "yaml", "sarif", "junit", "github", "gitlab"),
    "lint ex/lint --diff": ("",),
    "lint bad.yaml notes.txt --statistics": ("",),
    "explain -f ex/explain": ("text", "json", "yaml", "html"),
    "explain -f ex/explain train-0 -n ml -v": ("text", "html"),
    "explain -f ex/explain --patch": ("",),
    "explain -f ex/capacity -A": ("text", "json", "html"),
    "explain ex/lint/claim.yaml --hardware dgx-h100,p5.48xlarge": ("text", "json"),
    "devices -f ex/capacity": ("text", "wide", "json", "html"),
    "fit gpu=2,nic=1 -f ex/capacity": ("text", "json", "html"),
    "fit ex/migrate/training.yaml -f ex/capacity": ("text", "json"),
    "cel device.driver==1 --devices ex/capacity": ("text", "json"),
    "discover --from ex/discover/node.json": ("text", "matrix", "json", "html", "svg"),
    "discover --from ex/discover/node.json --suggest tpu=9": ("",),
    "render --hardware dgx-h100": ("yaml", "json"),
    "render --list-hardware": ("",),
    "migrate ex/migrate": ("text", "json"),
    "upgrade ex/lint --from 1.31": ("text", "json", "html"),
    "facts ex/capacity": ("text", "json"),
    "rule": ("text", "json"),
    "rule gpu.nvidia.com": ("text", "json"),
    "": ("",),
    "--help": ("",),
    "--no-such-option": ("",),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _below_kubectl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["/krew/bin/kubectl-dra"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def output_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main(words)
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize(
    "line",
    [f"{words} -o {form}" if form else words for words, forms in FORMATS.items() for form in forms],
)
def test_report_names_the_called_program(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    text = output_of(shlex.split(line), capsys)
    assert text
    assert not COMMAND.findall(" ".join(text.split()))


def test_hint_after_a_mistake_names_the_called_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    for command, *_ in BLOCKS:
        text = output_of(shlex.split(command)[2:], capsys)
        assert not COMMAND.findall(" ".join(text.split())), command


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_help_names_the_called_program(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([name, "--help"], ["help", name]):
        text = " ".join(output_of(words, capsys).split())
        assert text.startswith(f"Usage: kubectl dra {name}")
        assert not COMMAND.findall(text)


def test_page_names_the_called_program(capsys: pytest.CaptureFixture[str]) -> None:
    for name in (*REASONS, *rules()):
        assert not COMMAND.findall(" ".join(output_of(["rule", name], capsys).split())), name


def test_a_schema_names_no_program(capsys: pytest.CaptureFixture[str]) -> None:
    for name in output_of(["schema"], capsys).split():
        if not name[:1].isupper():
            assert not COMMAND.findall(output_of(["schema", name], capsys)), name


def test_a_report_stored_for_the_other_name_is_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    line = ["lint", "ex/explain", "ex/lint", "-o", "json"]
    monkeypatch.setattr("sys.argv", ["dractl"])
    output_of(line, capsys)
    monkeypatch.setattr("sys.argv", ["kubectl-dra"])
    assert not COMMAND.findall(output_of(line, capsys))


def test_the_library_says_dractl() -> None:
    call_program(DRACTL)
    assert program_name() == "dractl"


def test_a_users_own_words_stay_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fix of a line that runs dractl in a container is applied as it was written."""
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: dractl lint}\nspec:\n"
        "  containers: [{name: a, image: b, args: [dractl lint .]}]\n"
        "  resourceClaims: [{name: gpu, resourceClaimName: x, other: 1}]\n"
    )
    assert "dractl lint" in output_of(["lint", str(manifest)], capsys)
