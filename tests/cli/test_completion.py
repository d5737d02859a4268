"""Tab offers values of options and arguments, typed in real shells."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
CLUSTER = "examples/capacity/cluster.yaml"


def complete_in_bash(line: str, **environment: str) -> list[str]:
    """The candidates for the last word of a line, as bash asks for them."""
    env = {
        **os.environ,
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split(" ")) - 1),
        **environment,
    }
    env["_DRACTL_COMPLETE"] = "complete_bash"
    done = subprocess.run([BIN / "dractl"], env=env, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dractl lint --fail-on ", {"error", "warning", "info"}),
        ("dractl lint --fail-on=w", {"warning"}),
        ("dractl lint -o s", {"sarif"}),
        ("dractl lint --output git", {"github", "gitlab"}),
        ("dractl explain -o ", {"text", "json", "html"}),
        ("dractl explain --kubernetes-version 1.3", {"1.34", "1.35", "1.36", "1.37"}),
        (
            "dractl lint --feature-gates DRAPart",
            {"DRAPartitionableDevices=true", "DRAPartitionableDevices=false"},
        ),
        ("dractl render --hardware dgx-h", {"dgx-h100", "dgx-h200"}),
        ("dractl lint --hardware dgx-a100,dgx-h", {"dgx-a100,dgx-h100", "dgx-a100,dgx-h200"}),
        ("dractl render --driver gpu.n", {"gpu.nvidia.com"}),
        (
            "dractl render --driver-version gpu.nvidia.com=0",
            {"gpu.nvidia.com=0.4", "gpu.nvidia.com=0.5"},
        ),
        ("dractl lint --select DRA70", {"DRA701", "DRA702"}),
        ("dractl lint --ignore DRA701,count-z", {"DRA701,count-zero"}),
        ("dractl lint --select dra70", {"dra701", "dra702"}),
        ("dractl rule dra7", {"dra701", "dra702"}),
        ("dractl rule device-in", {"device-in-use"}),
        ("dractl rule gpu.amd", {"gpu.amd.com"}),
        ("dractl completion ", {"bash", "zsh", "fish", "powershell"}),
        ("dractl help mi", {"migrate"}),
        ("dractl schema ResourceCl", {"ResourceClaim", "ResourceClaimTemplate"}),
        ("dractl devices --state fr", {"free"}),
        ("dractl devices --by m", {"model"}),
        ("dractl impact driver/gpu", {"driver/gpu.nvidia.com", "driver/gpu.intel.com"}),
        ("dractl impact --re", {"--reboot", "--restart"}),
        ("dractl lint --color n", {"never"}),
        ("dractl lint --for k", {"karpenter", "kueue"}),
        ("dractl upgrade --from 1.3", {"1.34", "1.36"}),
        ("dractl upgrade --to 1.3", {"1.36", "1.37"}),
        ("dractl explain --hardware a", {"all", "aws", "azure"}),
        (f"dractl fit -f {CLUSTER} --without n", {"node/hgx-1", "ns/ml"}),
        (f"dractl fit -f {CLUSTER} --without pod/eval", {"pod/eval-0", "pod/eval-1"}),
    ],
)
def test_known_values_are_offered(line: str, expected: set[str]) -> None:
    assert expected <= set(complete_in_bash(line))


def complete_in_shell(shell: str, line: str) -> str:
    """Return the candidates for a line in fish or zsh."""
    env = {
        **os.environ,
        "_DRACTL_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": line,
        "COLUMNS": "40",
    }
    done = subprocess.run([BIN / "dractl"], env=env, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("line", ["dractl ", "dractl help ", "dractl lint --", "dractl rule "])
def test_each_line_for_fish_is_a_candidate_and_its_description(line: str) -> None:
    """A description that was wrapped at the width of a terminal had its end offered as a subcommand."""
    for row in complete_in_shell("fish", line).splitlines():
        candidate, tab, about = row.partition("\t")
        assert tab, row
        assert about
        assert re.fullmatch(r"[\w.=-]+", candidate), row


def test_a_description_reaches_the_shell_as_it_is_written() -> None:
    """zsh reads it between apostrophes, and typer takes [CODE] for markup."""
    assert complete_in_shell("fish", "dractl ru") == (
        "rule\tDescribe a lint rule, a reason or a driver\N{RIGHT SINGLE QUOTATION MARK}s attributes.\n"
    )
    assert "''" not in complete_in_shell("zsh", "dractl ")
    assert "# dractl: ignore[CODE]" in complete_in_shell("fish", "dractl lint --add-ignore")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dractl rule DRA704", "DRA704\tA request asks for 0 devices and gets 1.\n"),
        ("dractl lint --ignore DRA1,DRA704", "DRA1,DRA704\tA request asks for 0 devices and gets 1.\n"),
        ("dractl rule device-in-use-s", "device-in-use-same-pod\tanother request of the same pod takes the device\n"),
    ],
)  # fmt: skip
def test_a_code_is_offered_with_its_first_line(line: str, expected: str) -> None:
    assert complete_in_shell("fish", line) == expected


def test_names_are_those_of_the_files_and_of_the_namespace_on_the_line(tmp_path: Path) -> None:
    pods = [("ml", "train-0"), ("ml", "train-1"), ("web", "trace")]
    items = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": ns, "name": name}}
        for ns, name in pods
    ]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "ml", "name": "g"},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}}
    dump = tmp_path / "dump.json"
    dump.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, claim, node]})
    )
    assert complete_in_bash(f"dractl explain -f {dump} tr") == ["train-0", "train-1", "trace"]
    assert complete_in_bash(f"dractl explain -f {dump} -n ml tr") == ["train-0", "train-1"]
    assert complete_in_bash(f"dractl explain -f {dump} claim/") == ["claim/g"]
    assert complete_in_bash(f"dractl fit -f {dump} pod/train-1") == ["pod/train-1"]
    assert complete_in_bash(f"dractl explain -f {dump} -n ") == ["ml", "web"]
    assert complete_in_bash(f"dractl devices -f {dump} --node ") == ["gpu-1"]
    assert complete_in_bash(f"dractl impact -f {dump} node/") == ["node/gpu-1"]


KUBECTL = """#!/bin/sh
case "$*" in
  *"config get-contexts"*) echo prod; echo lab;;
  *"get namespaces"*) echo namespace/ml; echo namespace/web;;
  *"get pods,"*) case "$*" in *"-n ml"*) echo pod/train-0; echo resourceclaim.resource.k8s.io/gpus;; esac;;
  *) echo "error: no such thing" >&2; exit 1;;
esac
"""


def kubectl(folder: Path, script: str) -> str:
    """A PATH with this kubectl first."""
    program = folder / "kubectl"
    program.write_text(script)
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_names_of_the_cluster_are_offered(tmp_path: Path) -> None:
    path = kubectl(tmp_path, KUBECTL)
    assert complete_in_bash("dractl explain --context ", PATH=path) == ["prod", "lab"]
    assert complete_in_bash("dractl explain -n ", PATH=path) == ["ml", "web"]
    assert complete_in_bash("dractl explain -n ml ", PATH=path) == [
        "train-0",
        "pod/train-0",
        "claim/gpus",
    ]
    assert complete_in_bash("dractl explain -n ml claim/", PATH=path) == ["claim/gpus"]


def test_unreachable_cluster_offers_nothing(tmp_path: Path) -> None:
    path = kubectl(tmp_path, "#!/bin/sh\necho 'The connection was refused' >&2\nexit 1\n")
    assert complete_in_bash("dractl explain -n ", PATH=path) == []
    assert complete_in_bash("dractl explain -f /nonexistent/dump.yaml ") == []


def test_kubectl_completes_its_plug_in() -> None:
    program = [BIN / "kubectl_complete-dra", "lint", "--fail-on", ""]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["error", "warning", "info", ":4"]


def type_in_shell(shell: list[str], setup: str, line: str, wanted: str) -> str:
    """Return the screen of an interactive shell after a line and Tab; it ends when ``wanted`` is there."""
    child, ours = pty.fork()
    if child == 0:
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        os.environ.update(
            PATH=path, TERM="xterm", PS1="ready$ ", HOME="/nonexistent", COLUMNS="120"
        )
        os.execvp(shell[0], shell)
    shown = ""

    def wait_for(pattern: str) -> bool:
        nonlocal shown
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if re.search(pattern, shown):
                return True
            if select.select([ours], [], [], 1)[0]:
                try:
                    shown += os.read(ours, 4096).decode(errors="replace")
                except OSError:  # the shell has ended
                    break
        return False

    try:
        os.write(ours, f"{setup}; echo set''up\n".encode())
        assert wait_for(r"setup\s"), shown
        shown = ""
        os.write(ours, f"{line}\t".encode())
        wait_for(wanted)
        return shown
    finally:
        os.close(ours)
        os.waitpid(child, 0)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(dractl completion bash)"),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -U compinit; compinit -u -D; source <(dractl completion zsh)",
    ),
    "fish": (["fish", "--no-config", "-i"], "dractl completion fish | source"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [("dractl lint --fail-on warn", "warning"), ("dractl rule device-in-use-s", "same-pod")],
)
def test_a_shell_completes_the_value(shell: str, line: str, wanted: str) -> None:
    command, setup = SHELLS[shell]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{shell} is not installed")
    assert wanted in type_in_shell(command, setup, line, wanted)


def test_powershell_completes_the_value() -> None:
    program = shutil.which("pwsh")
    if program is None:
        pytest.skip("PowerShell is not installed")
    script = (
        "dractl completion powershell | Out-String | Invoke-Expression; "
        "(TabExpansion2 'dractl lint --fail-on w' 23).CompletionMatches.CompletionText"
    )
    done = subprocess.run(
        [program, "-NoProfile", "-Command", script], capture_output=True, text=True, check=False
    )
    assert "warning" in done.stdout


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes_at_the_first_tab(tmp_path: Path) -> None:
    """Zsh then runs the file itself, which it found on its fpath."""
    program = tmp_path / "dractl"
    program.write_text("#!/bin/sh\necho 'print -r offered'\n")
    program.chmod(0o755)
    session = 'fpath=("$PWD/completions" $fpath); autoload -Uz _dractl; words=(dractl e); CURRENT=2; _dractl'
    done = subprocess.run(
        ["zsh", "-fc", session],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )
    assert (done.stdout, done.stderr) == ("offered\n", "")
