"""Two writers of one file lose nothing of either."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl import atomic
from dractl.cli import fixing
from dractl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRONG = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: "2"
"""
RIGHT = WRONG.replace('"2"', "2")
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}
"""
COMMANDS = (
    ["lint", "claim.yaml", "--fix"],
    ["lint", "claim.yaml", "--add-ignore"],
    ["migrate", "--write", "pod.yaml"],
)
SOMEBODY = "# somebody's comment\n"


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write(SOMEBODY)


def rename(path: Path) -> None:
    other = path.with_suffix(".swp")
    other.write_text(path.read_text() + SOMEBODY)
    other.replace(path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / "dractl.toml").write_text("")
    (tmp_path / "claim.yaml").write_text(WRONG)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def act_once_after(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Callable[[], None]
) -> None:
    """Does something once, after the first call of a function."""
    original, calls = getattr(owner, name), iter([act])

    def call_and_act(*arguments: Any, **named: Any) -> Any:
        made = original(*arguments, **named)
        next(calls, lambda: None)()
        return made

    monkeypatch.setattr(owner, name, call_and_act)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("moment", "change"),
    [
        ("read", append),
        ("read", rename),
        ("compared", append),
        ("compared", rename),
        ("written", append),
    ],
)
def test_concurrent_edit_is_kept(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    moment: str,
    change: Callable[[Path], None],
) -> None:
    path = here / next(word for word in command if word.endswith(".yaml"))
    written = path.read_text()
    if moment == "read":  # by lint or migrate, before the bytes to be edited are looked at
        module = (
            "dractl.cli.commands.lint.report_on"
            if command[0] == "lint"
            else "dractl.cli.commands.migrate.load_readable"
        )
        owner = import_module(module.rpartition(".")[0])
        act_once_after(monkeypatch, owner, module.rpartition(".")[2], lambda: change(path))
    elif moment == "compared":
        act_once_after(monkeypatch, fixing, "read_content", lambda: change(path))
    else:
        temporary, replaced = os.replace, iter([lambda: change(path)])

        def replace(source: str, target: str) -> None:
            next(replaced, lambda: None)()
            temporary(source, target)

        monkeypatch.setattr(os, "replace", replace)
    assert main(command) == 3
    assert path.read_text() == written + SOMEBODY
    said = capsys.readouterr().err
    assert f"{path.name}: it changed after it was read, so it is left alone" in said
    assert f"note: {path.name}: " not in said  # fixed, suppressed, written
    assert main(command) in (0, 1)
    assert path.read_text().replace(SOMEBODY, "") != written  # the next run does it
    assert SOMEBODY in path.read_text()


def test_concurrent_fixes_of_a_folder_keep_its_files_whole(here: Path) -> None:
    files = [here / f"{number}.yaml" for number in range(60)]
    for file in files:
        file.write_text(WRONG)
    line = [sys.executable, "-m", "dractl", "lint", ".", "--no-cache", "-q"]
    running = [
        subprocess.Popen([*line, option], cwd=here) for option in ("--fix", "--fix", "--add-ignore")
    ]
    assert {process.wait() for process in running} <= {0, 1, 3}
    for file in files:
        (claim,) = yaml.safe_load_all(file.read_text())
        assert claim["spec"]["devices"]["requests"][0]["exactly"]["count"] in (2, "2")
        assert file.read_text().partition("  #")[0].strip() in (RIGHT.strip(), WRONG.strip())
    assert not list(here.glob(".*.yaml.*"))


def test_file_edited_by_another_process_is_left(here: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (here / "claim.yaml").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert main(["lint", "claim.yaml", "--fix"]) == 3
    assert (here / "claim.yaml").read_text() == WRONG


def test_a_report_from_the_cache_knows_the_bytes(here: Path) -> None:
    for number in range(300):
        (here / f"{number}.yaml").write_text(WRONG)
    assert main(["lint", ".", "-q"]) == 1
    assert main(["lint", ".", "-q", "--fix"]) == 0
    assert {(here / f"{number}.yaml").read_text() for number in range(300)} == {RIGHT}


@pytest.mark.parametrize("text", [WRONG.replace('"2"', "[.inf"), WRONG.replace('"2"', "-2")])
def test_a_code_is_written_once(here: Path, text: str) -> None:
    (here / "claim.yaml").write_text(text)
    main(["lint", "claim.yaml", "--add-ignore"])
    once = (here / "claim.yaml").read_text()
    main(["lint", "claim.yaml", "--add-ignore"])
    assert (here / "claim.yaml").read_text() == once


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_hard_links_and_read_only_files_stay(
    here: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    path = here / next(word for word in command if word.endswith(".yaml"))
    written = path.read_text()
    os.link(path, here / "other")
    assert main(command) == 3
    assert "cannot be written: it is a hard link" in capsys.readouterr().err
    (here / "other").unlink()
    path.chmod(0o444)
    assert main(command) == 3
    said = capsys.readouterr().err
    assert "cannot be written: it is read-only, with mode 444" in said
    assert f"note: {path.name}: " not in said
    assert path.read_text() == written


def test_unwritable_file_does_not_stop_other_files(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.yaml", "b.yaml"):
        (here / name).write_text(WRONG)
    (here / "a.yaml").chmod(0o444)
    assert main(["lint", "a.yaml", "b.yaml", "--fix", "-o", "json"]) == 3
    assert (here / "b.yaml").read_text() == RIGHT
    captured = capsys.readouterr()
    assert "b.yaml: 1 fixed" in captured.err
    assert captured.out.startswith("{")


def test_comments_that_are_not_written_suppress_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.yaml", "b.yaml"):
        (here / name).write_text(WRONG)
    (here / "a.yaml").chmod(0o444)
    assert main(["lint", "a.yaml", "b.yaml", "--add-ignore", "-o", "json"]) == 3
    report = json.loads(capsys.readouterr().out)
    findings = {finding["file"] for finding in report["findings"]}
    assert findings == {"a.yaml"}
    assert report["summary"]["suppressed"] == len(report["findings"])


def test_a_full_disk_loses_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (here / "report.json").write_text("an earlier report")
    monkeypatch.setattr(os, "replace", full)
    assert main(["lint", "claim.yaml", "--fix"]) == 3
    assert "fixed" not in capsys.readouterr().err
    assert main(["lint", "claim.yaml", "-o", "json", "--output-file", "report.json"]) == 3
    assert "cannot write the report: No space left on device" in capsys.readouterr().err
    assert (here / "report.json").read_text() == "an earlier report"
    assert (here / "claim.yaml").read_text() == WRONG
    left = sorted(
        path.name for path in here.iterdir() if path.name != ".cache"
    )  # the cache: a folder of its own
    assert left == ["claim.yaml", "dractl.toml", "pod.yaml", "report.json"]


def test_a_report_does_not_replace_a_read_only_file(here: Path) -> None:
    (here / "report.json").write_text("kept")
    (here / "report.json").chmod(0o444)
    assert main(["lint", "claim.yaml", "-o", "json", "--output-file", "report.json"]) == 3
    assert (here / "report.json").read_text() == "kept"


def test_unreplaceable_file_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse_as_mounted(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    (tmp_path / "report").write_text("old")
    monkeypatch.setattr(os, "replace", refuse_as_mounted)
    atomic.replace(tmp_path / "report", b"new")
    assert (tmp_path / "report").read_text() == "new"


def test_lines_of_a_diff_are_painted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "pod.yaml").write_text(POD)
    assert main(["migrate", "--diff", "pod.yaml", "--color", "always"]) == 1
    lines = capsys.readouterr().out.splitlines()
    colours = {line[:6] for line in lines if line.startswith("\x1b[3")}
    assert {"\x1b[31m-", "\x1b[32m+", "\x1b[36m@"} <= colours
    assert not any(line.startswith(("+", "-", "@")) for line in lines)
