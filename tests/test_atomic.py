"""Files are replaced in one step, even if the writer is killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from dractl import atomic

CLAIM = Path(__file__).resolve().parents[1] / "examples" / "lint" / "claim.yaml"
KILLED = textwrap.dedent(
    """
    import os, signal, sys
    folder, number, words = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    from dractl.cli.main import main
    seen = 0

    def hook(event, arguments):
        global seen
        touches = event in ("open", "os.rename", "os.chmod", "os.chown", "os.remove", "tempfile.mkstemp")
        paths = [os.fsdecode(argument) for argument in arguments if isinstance(argument, (str, bytes))]
        if touches and any(folder in path for path in paths):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    sys.exit(main(words))
    """
)


@pytest.mark.parametrize(
    "words", [["lint", "--isolated", "--fix"], ["discover", "--save"], ["lint", "--output-file"]]
)
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(
    words: list[str], tmp_path: Path
) -> None:
    """The process is killed before its first access to the folder, before its second, and so on, until it survives."""
    file = tmp_path / "claim.yaml"
    before = CLAIM.read_bytes()
    read = [] if "--fix" in words else ["--from", str(CLAIM.parents[1] / "discover" / "node.json")]
    if "--output-file" in words:
        read = [str(CLAIM), "--isolated"]
    found = set()
    for number in range(1, 100):
        file.write_bytes(before)
        command = [
            sys.executable,
            "-c",
            KILLED,
            str(tmp_path),
            str(number),
            *words,
            str(file),
            *read,
        ]
        done = subprocess.run(command, capture_output=True, check=False)
        content = file.read_bytes()
        found.add(content)
        if done.returncode != -signal.SIGKILL:
            break
    assert done.returncode in (0, 1), done.stderr
    assert number > 2, "the writer was never interrupted"
    assert found == {before, content}
    assert content != before


def test_mode_link_and_owner_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to("real")
    owner = (real.stat().st_uid, real.stat().st_gid)
    atomic.replace(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert (real.stat().st_uid, real.stat().st_gid) == owner
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_root_gives_the_file_back(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    os.chown(file, 1234, 2345)
    atomic.replace(file, b"new")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)


def test_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0o027)
    try:
        atomic.replace(tmp_path / "new", b"x")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    atomic.replace(pipe, b"report")
    reader.join()
    assert read == [b"report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_failure_leaves_the_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        atomic.replace(file, b"new")
    assert file.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
