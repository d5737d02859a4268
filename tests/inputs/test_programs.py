"""The program that renders gets a clean environment, no network, and limits."""

from __future__ import annotations

import socket
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from dractl.inputs import programs
from dractl.inputs.programs import Completion, Limits, run

if TYPE_CHECKING:
    from pathlib import Path

MIB = 2**20
LINUX = sys.platform.startswith("linux")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def program(folder: Path, body: str) -> str:
    """Return the path of a program in Python, which stands in for helm."""
    path = folder / "helm"
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def finish(home: Path, body: str, **limits: float) -> Completion:
    kinds = {"seconds": 20, "memory": 512 * MIB, "output": MIB, **limits}
    command = [program(home.parent, body), "template"]
    return run(command, str(home), Limits(kinds["seconds"], int(kinds["memory"]), MIB))


def test_it_gets_none_of_the_users_variables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    monkeypatch.setenv("HELM_PLUGINS", "/plugins")
    end = finish(home, "print(*(f'{k}={v}' for k, v in os.environ.items()), sep='\\n')")
    variables = dict(line.split("=", 1) for line in (end.output or b"").decode().splitlines())
    assert not {"AWS_SECRET_ACCESS_KEY", "HELM_PLUGINS"} & set(variables)
    assert variables["HOME"] == str(home)
    assert not list((home / "bin").iterdir())
    assert variables["PATH"] == str(home / "bin")
    assert variables["HELM_NO_PLUGINS"] == "1"
    assert variables["https_proxy"] == "http://127.0.0.1:9"


def test_it_reaches_no_server_even_on_this_machine(home: Path) -> None:
    if not programs._network_isolation():
        pytest.skip("this system lets no user make a network namespace: proxies are all there is")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        body = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\nprint('in')"
        assert finish(home, body).output is None


def test_without_namespaces_it_still_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_network_isolation", lambda: ())
    assert finish(home, "print('a: 1')").output == b"a: 1\n"


def test_an_endless_loop_ends(home: Path) -> None:
    end = finish(home, "while True: pass", seconds=0.5)
    assert (end.problem, end.is_timeout) == ("helm template took longer than 0.5 seconds", True)


def test_endless_output_ends(home: Path) -> None:
    end = finish(home, "while True: sys.stdout.write('x' * 65536)")
    assert end.problem == "helm template printed more than 1 MiB"
    end = finish(home, "while True: sys.stderr.write('x' * 65536)")
    assert end.output is None


@pytest.mark.skipif(not LINUX, reason="only Linux limits the memory of another process")
def test_memory_is_limited(home: Path) -> None:
    end = finish(home, "kept = [bytearray(2**20) for _ in range(600)]\nprint('in')")
    assert end.output is None
    assert "MemoryError" in (end.problem or "")


def test_the_end_of_a_go_program_without_memory_is_explained(home: Path) -> None:
    body = "sys.stderr.write('fatal error: runtime: out of memory\\n' + 'goroutine\\n' * 99); sys.exit(2)"
    assert finish(home, body).problem == "helm template needs more than 512 MiB of memory"


def test_the_message_of_a_program_is_one_line(home: Path) -> None:
    body = (
        "sys.stderr.write('WARNING: old\\nError: no such\\n  value\\nUse --debug flag\\n')\n"
        "sys.exit(1)"
    )
    assert finish(home, body).problem == "helm template failed: Error: no such value"


def test_a_secret_in_the_message_of_a_program_is_cut(home: Path) -> None:
    """A chart may put a value into the error with which it ends (``fail``)."""
    text = "Error: execution error: https://me:hunter2hunter2@db/x, token=hunter2hunter2"
    body = f"sys.stderr.write({text!r}); sys.exit(1)"
    words = "helm template failed: Error: execution error: https://me:...@db/x, token=..."
    assert finish(home, body).problem == words


def test_an_error_that_kubectl_logs_is_without_its_time(home: Path) -> None:
    line = (
        'E1128 21:36:22.869282   21406 run.go:72] "command failed" '
        'err="add operation does not apply: doc is missing path: \\"/spec/a\\""\n'
    )
    body = f"sys.stderr.write({line!r}); sys.exit(1)"
    assert finish(home, body).problem == (
        'helm template failed: add operation does not apply: doc is missing path: "/spec/a"'
    )
