"""The contract of the command line that all subcommands share: exit codes, streams, the name it was called by."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from dractl import __version__
from dractl.cli import main as entry, subcommands
from dractl.cli.app import subcommand
from dractl.cli.headings import HEADINGS
from dractl.model import releases

BIN = Path(sys.executable).parent
ROOT = Path(__file__).resolve().parent.parent.parent


def run(
    *arguments: str | Path, program: str = "dractl", **environment: str
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(
        [BIN / program, *arguments], capture_output=True, text=True, env=env, check=False
    )


def on_terminal(*arguments: str | Path, **environment: str) -> str:
    """Return the output of a run on a terminal."""
    ours, its = os.openpty()
    with subprocess.Popen(
        [BIN / "dractl", *arguments], env={**os.environ, **environment}, stdout=its
    ):
        os.close(its)
        shown = b""
        with suppress(OSError):  # EIO: the other end is closed
            while part := os.read(ours, 1 << 16):
                shown += part
        os.close(ours)
    return shown.decode()


def test_version_is_one_line() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dractl {__version__}\n", "")


def test_verbose_version_says_which_releases_were_never_compared_with_a_server() -> None:
    done = run("--version", "-v")
    assert done.returncode == 0
    assert "1.31 to 1.33: lint only, not compared with a server" in done.stdout
    assert "1.34 to 1.37" in done.stdout


def test_uncompared_release_is_listed_by_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(releases, "RELEASES", (*releases.RELEASES, "1.99"))
    assert entry.main(["--version", "-v"]) == 0
    assert capsys.readouterr().out.splitlines()[2:5] == [
        "Kubernetes 1.38: due 2026-12-16, known up to 1.38.0-alpha.2, not compared with a server yet",
        "Kubernetes 1.99: not compared with a server yet",
        "Kubernetes 1.31 to 1.33: lint only, not compared with a server",
    ]


def test_no_arguments_shows_where_to_start() -> None:
    done = run()
    assert done.returncode == 0
    assert "Start here:" in done.stdout
    assert run("help").stdout == done.stdout


@pytest.mark.parametrize(
    "arguments", [["rule"], ["schema", "Pod"], ["render", "--hardware", "dgx-h100"]]
)
def test_closed_reader_ends_the_program_silently(arguments: list[str]) -> None:
    with subprocess.Popen(
        [BIN / "dractl", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        said = child.stderr.read().decode()
    assert (child.returncode, "error" in said) == (0, False)


def test_help_and_version_are_commands_too() -> None:
    assert run("help", "lint").stdout == run("lint", "--help").stdout
    assert run("version").stdout == run("--version").stdout
    assert run("version", "-v").stdout == run("--version", "-v").stdout


@pytest.mark.parametrize("option", ["-q", "--color", "--fail-on"])
def test_an_option_before_the_subcommand_belongs_after_it(option: str) -> None:
    done = run(option, "lint", "x.yaml")
    assert done.returncode == 2
    assert f"put it after: dractl lint {option}" in done.stderr


@pytest.mark.parametrize(
    "arguments", [["lnt"], ["lint", "--no-such-option"], ["completion"], ["completion", "csh"]]
)
def test_wrong_usage_is_2_and_says_so_on_stderr_only(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_nearest_name_is_offered() -> None:
    assert "did you mean bash?" in run("completion", "bsh").stderr


CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: a
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.example.com # größer
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: b}
spec: {größe: 1}
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", "-o", "json", "claim.yaml"],
        ["lint", "-o", "junit", "claim.yaml"],
        ["lint", "-o", "github", "claim.yaml"],
        ["lint", "--diff", "claim.yaml"],
        ["explain", "-o", "json", ROOT / "examples" / "explain"],
        ["explain", "-o", "html", ROOT / "examples" / "explain"],
        ["discover", "--from", ROOT / "examples" / "discover" / "node.json", "-o", "svg"],
    ],
    ids=lambda arguments: f"{arguments[0]}-{arguments[-2].lstrip('-')}",
)
def test_output_for_programs_is_utf8_in_every_locale(
    arguments: list[str | Path], tmp_path: Path
) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM, encoding="utf-8")

    def print_with(encoding: str) -> bytes:
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        return subprocess.run(
            [BIN / "dractl", *arguments], cwd=tmp_path, env=environment, stdout=-1, check=False
        ).stdout

    text = print_with("ascii")
    assert not text.isascii()
    assert text == print_with("utf-8")


def test_output_for_people_is_ascii_where_the_locale_lacks_characters() -> None:
    done = run("explain", ROOT / "examples" / "explain", PYTHONIOENCODING="ascii")
    assert "request gpu  2 x gpu.nvidia.com" in done.stdout
    assert "<- nearest" in done.stdout
    assert done.stdout.isascii()


def test_the_c_locale_gets_ascii_also_where_python_would_write_utf8() -> None:
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "", "LC_CTYPE": "", "LANG": "POSIX"}):
        done = run(
            "discover",
            "--from",
            ROOT / "examples/discover/node.json",
            PYTHONIOENCODING="",
            **locale,
        )
        assert "NUMA" in done.stdout
        assert done.stdout.isascii()


def test_the_encoding_alone_decides_about_characters() -> None:
    """In a pipe as on a terminal; who names an encoding gets it."""
    arguments = ("explain", ROOT / "examples" / "explain")
    utf8 = {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": ""}
    assert "✗" in run(*arguments, **utf8).stdout
    assert run(*arguments, **{**utf8, "LC_ALL": "C"}).stdout.isascii()
    assert "✗" in run(*arguments, LC_ALL="C", PYTHONIOENCODING="utf-8").stdout
    for locale, marked in (
        ({"LC_ALL": "C.UTF-8"}, True),
        ({"LC_ALL": "C"}, False),
        ({"LC_ALL": "", "LC_CTYPE": "", "LANG": "C"}, False),
    ):
        shown = on_terminal(*arguments, **{"PYTHONIOENCODING": "", **locale})
        assert "train-0" in shown
        assert ("✗" in shown) is marked, locale


def test_kubectl_sees_its_own_name_in_help() -> None:
    done = run("explain", "--help", program="kubectl-dra")
    assert done.returncode == 0
    assert "`kubectl dra explain train-0 -n ml`" in done.stdout
    assert "`dractl" not in " ".join(done.stdout.split()).replace("`dractl render`", "")
    assert "dractl explain [" not in done.stdout


def test_kubectl_completion_lists_subcommands_and_a_directive() -> None:
    done = run("", program="kubectl_complete-dra")
    lines = done.stdout.splitlines()
    assert {"discover", "render", "lint", "explain", "rule"} <= set(lines)
    assert lines[-1] == ":4"


def test_kubectl_completion_lists_options() -> None:
    assert (
        "--kubernetes-version"
        in run("lint", "--kub", program="kubectl_complete-dra").stdout.splitlines()
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_completion_scripts_call_dractl(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_DRACTL_COMPLETE" in done.stdout


def test_bash_completion_completes() -> None:
    done = run(
        program="dractl", _DRACTL_COMPLETE="complete_bash", COMP_WORDS="dractl ex", COMP_CWORD="1"
    )
    assert "explain" in done.stdout


def test_an_internal_error_is_one_message_and_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: str) -> None:
        raise ZeroDivisionError("nothing to divide by")

    monkeypatch.setattr("dractl.cli.subcommands.function", broken)
    assert entry.main(["lint"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "internal error: ZeroDivisionError: nothing to divide by" in captured.err


@pytest.mark.parametrize(
    "moment", ["dractl.cli.subcommands.function", "dractl.cli.terminal.prepare_streams"]
)
def test_an_interrupt_during_the_start_is_silent(moment: str) -> None:
    """Modules are still being imported: whatever raises KeyboardInterrupt there would print a traceback."""
    program = (
        "import os, signal, sys; from dractl.cli import main; from unittest.mock import patch; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background job has it ignored
        "sys.argv = ['dractl', 'lint']; "
        f"patch({moment!r}, lambda *_: os.kill(os.getpid(), signal.SIGINT)).start(); main.run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_is_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dractl.cli.subcommands.function", interrupt)
    assert entry.main(["lint"]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", ["--version", "--help", "rule", "rule -o json", f"explain {ROOT}/examples/explain"]
)
def test_undeliverable_report_is_one_message_and_3(command: str, unbuffered: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    for stream, why in ((">/dev/full", "No space left on device"), (">&-", "it is closed")):
        line = f"{BIN}/dractl {command} {stream}"
        done = subprocess.run(
            line, shell=True, env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (
            3,
            f"error: cannot write to standard output: {why}\n",
        )


def test_unneeded_closed_streams_do_no_harm(tmp_path: Path) -> None:
    report = tmp_path / "report"
    line = f"{BIN}/dractl lint {ROOT}/examples/lint --exit-zero --output-file {report} <&- >&- 2>&-"
    assert subprocess.run(line, shell=True, check=False).returncode == 0
    assert "DRA" in report.read_text()


def test_deleted_working_directory_is_reported(tmp_path: Path) -> None:
    line = f"mkdir here && cd here && rmdir ../here && {BIN}/dractl lint {ROOT}/examples/lint"
    done = subprocess.run(
        line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: the working directory is gone\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_undeliverable_messages_change_no_exit_code(unbuffered: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    line = f"{BIN}/dractl lint nothing.yaml 2>/dev/full"
    assert subprocess.run(line, shell=True, env=env, check=False).returncode == 3


@pytest.mark.parametrize(
    ("environment", "arguments", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "0"}, [], False),
        ({"CLICOLOR_FORCE": "1"}, [], True),
        ({"CLICOLOR_FORCE": "1", "FORCE_COLOR": "0"}, [], False),
    ],
)
def test_color_follows_the_environment(
    environment: dict[str, str], arguments: list[str], colored: bool
) -> None:
    done = run("completion", "csh", *arguments, **environment)
    assert ("\x1b[" in done.stderr) is colored


@pytest.mark.parametrize("name", subcommands.SUBCOMMANDS)
def test_every_option_stands_under_a_heading_of_its_own(name: str) -> None:
    """An option without one would be listed under the last heading, whatever it is for."""
    options = [p for p in subcommand(name).params if p.param_type_name == "option"]
    assert {getattr(option, "rich_help_panel", None) for option in options} <= set(HEADINGS)


@pytest.mark.parametrize(
    ("name", "option", "heading"),
    [
        ("upgrade", "--to", "Against"),
        ("upgrade", "--from", "Against"),
        ("devices", "--labels", "Input"),
        ("devices", "--cel", "Input"),
        ("fit", "--trust-slices", "Against"),
        ("migrate", "--keep-requests", "What to do"),
        ("facts", "--as-of", "Against"),
    ],
)
def test_main_options_are_not_listed_for_tools(name: str, option: str, heading: str) -> None:
    (parameter,) = (p for p in subcommand(name).params if option in p.opts)
    assert parameter.rich_help_panel == heading
