"""dractl may run as root on nodes, so commands about a machine or a cluster only read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

AF_NETLINK = 16
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
WATCHED = textwrap.dedent(
    """
    import json, os, sys
    from dractl.cli.main import main
    found = []

    def hook(event, arguments):
        if event == "open":
            path, mode, flags = arguments
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) and path != os.devnull:
                found.append((event, repr(path)))
        elif event.split(".")[0] in ("socket", "subprocess", "shutil", "tempfile") or event in (
            "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
            "os.system", "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "os.exec", "os.posix_spawn",
            "os.kill", "os.putenv",
        ):
            found.append((event, repr(arguments)))

    sys.addaudithook(hook)
    code = main(sys.argv[1:])
    sys.stdout.flush()
    print(json.dumps(found), file=sys.stderr)
    sys.exit(code)
    """
)


def _only_asks(event: str, arguments: str) -> bool:
    """Return True for events that change nothing: two queries of the system (the place of libudev,
    and the kernel's interfaces and routes), and a variable that typer 0.29 sets in this process so
    that pydantic loads no plug-ins.
    """
    if event == "os.putenv":
        return "PYDANTIC_DISABLE_PLUGINS" in arguments
    if event == "subprocess.Popen":
        return "'/sbin/ldconfig', '-p'" in arguments
    return event == "socket.__new__" and f", {AF_NETLINK}, " in arguments


@pytest.mark.parametrize(
    "words",
    [
        ["discover"],
        ["discover", "-o", "json"],
        ["discover", "-o", "html"],
        ["discover", "--check"],
        ["discover", "--from", str(EXAMPLES / "discover" / "node.json")],
        ["render"],
        ["render", "--from", str(EXAMPLES / "discover" / "node.json")],
        ["lint", str(EXAMPLES / "lint"), "--no-cache"],
        ["explain", "-f", str(EXAMPLES / "explain")],
        ["devices", "-f", str(EXAMPLES / "capacity")],
        ["fit", "gpu=1,nic=1", "-f", str(EXAMPLES / "capacity")],
        ["migrate", str(EXAMPLES / "migrate")],
    ],
    ids=lambda words: " ".join(word.replace(f"{EXAMPLES}/", "") for word in words),
)
def test_nothing_is_written_started_or_connected_to(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words, "--isolated"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)},
    )
    assert done.returncode in (0, 1), done.stderr
    events = [tuple(event) for event in json.loads(done.stderr.splitlines()[-1])]
    assert [event for event in events if not _only_asks(*event)] == []
    assert list(tmp_path.iterdir()) == []
