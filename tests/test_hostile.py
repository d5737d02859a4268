"""Inputs with which dractl once never ended, printed nothing, or had an internal error. Now each
run ends with an exit code and a sentence.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import pools
from dractl.capacity import placing
from dractl.cli.app import MAX_REPETITIONS, subcommand
from dractl.cli.main import main
from dractl.cli.subcommands import SUBCOMMANDS
from dractl.manifests import yamltext
from dractl.manifests.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent / "data" / "reliability"
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""


def bounded(
    *words: str, folder: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command line in a separate process that may use 15 seconds of processor time and 500 MB.
    The words are passed on standard input, since systems limit the length of arguments.
    """
    program = (
        "import json, resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (15, 15));"
        "resource.setrlimit(resource.RLIMIT_DATA, (500 << 20, 500 << 20));"
        "sys.argv = ['dractl', *json.load(sys.stdin)]; from dractl.cli.main import run; run()"
    )
    environment = {**os.environ, **more}
    return subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(words),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )


EIGHT = ("--add", "8xH100")
INPUTS: tuple[tuple[str, tuple[str, ...], int, str], ...] = (
    ("migrate-json-documents.yaml", ("migrate", "FILE"), 0, "left as it is"),
    ("migrate-json-documents.yaml", ("migrate", "--write", "FILE"), 0, "left as it is"),
    ("migrate-nan.yaml", ("migrate", "FILE"), 0, "left as it is"),
    ("explain-quantity-digits.json", ("explain", "-f", "FILE", "-A", "-vv"), 1, "Insufficient cpu"),
    (
        "fit-result-without-device.json",
        ("fit", "-f", "FILE", "claim/cam", *EIGHT, "-n", "ml"),
        0,
        "2 copies fit",
    ),
    (
        "render-diff-nodename-list.json",
        ("render", "--hardware", "dgx-h100", "--diff", "FILE"),
        3,
        "no ResourceSlice of node",
    ),
    (
        "add-ignore-grows.yaml",
        ("lint", "--add-ignore", "FILE"),
        1,
        "not all findings are suppressed",
    ),
    (
        "names-not-quoted.json",
        ("explain", "-f", "FILE", "-A", "-vv"),
        3,
        "no API server takes such a name",
    ),
    (
        "names-not-quoted.json",
        ("explain", "-f", "FILE", "--patch", "pod/--all", "-n", "d"),
        3,
        "no API server takes such a name",
    ),
    ("devices-dev-zero.toml", ("lint", "a.yaml"), 2, "/dev/zero is outside of"),
    ("baseline-dev-zero.toml", ("lint", "a.yaml"), 2, "/dev/zero is outside of"),
    (
        "fit-slow.json",
        ("fit", "-f", "FILE", "template/a-gpu", *EIGHT, "-n", "monitoring"),
        0,
        "the search ended undecided",
    ),
    ("devices-html-slow.json", ("devices", "-f", "FILE", "-o", "html"), 0, "</html>"),
    (
        "fit-admin-access-add-valid.yaml",
        ("fit", "-f", "FILE", "template/a", "-n", "m", *EIGHT),
        0,
        "the search ended undecided",
    ),
    (
        "fit-admin-access-add-valid.yaml",
        ("fit", "-f", "FILE", "template/a", "-n", "m"),
        0,
        "110 copies fit",
    ),
    (
        "fit-admin-access-add-valid.yaml",
        ("fit", "-f", "FILE", "template/a", "-n", "m", "--add", "8xH100*100000"),
        2,
        "makes 1,000,000 devices",
    ),
)


@pytest.mark.parametrize(("file", "arguments", "code", "said"), INPUTS)
def test_each_input_has_its_answer(
    file: str, arguments: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    """Run commands that once did not end, within limits of time and memory."""
    shutil.copy(HERE / file, tmp_path / ("dractl.toml" if file.endswith(".toml") else file))
    (tmp_path / "a.yaml").write_text(CLAIM)
    done = bounded(*[file if word == "FILE" else word for word in arguments], folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("command", [("explain",), ("devices",), ("fit", "gpu=1")])
def test_kubectl_printing_a_list_without_items_is_an_error(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    program = tmp_path / "kubectl"
    lists = f"*' get '*) exec /bin/cat {HERE / 'kubectl-items-null.json'};;"
    program.write_text(f'#!/bin/sh\ncase " $* " in\n{lists}\nesac\n')
    program.chmod(0o755)
    done = bounded(*command, "--isolated", folder=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 3
    assert "did not print a list of objects" in done.stderr


def test_a_node_without_allocatable_is_filled_to_a_stated_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(placing, "MAX_COPIES_PER_NODE", 30)
    text = (HERE / "fit-admin-access-add-valid.yaml").read_text()
    (tmp_path / "a.yaml").write_text(
        "\n".join(line for line in text.splitlines() if not line.startswith("status:"))
    )
    assert main(["fit", "-f", str(tmp_path / "a.yaml"), "template/a", "-n", "m", "--isolated"]) == 0
    assert "at least 30 copies fit: the search ended undecided" in capsys.readouterr().out


# -- files that a configuration names --


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a.yaml").write_text(CLAIM)
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo"


def configured(repository: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (repository / "dractl.toml").write_text(f"[lint]\n{text}\n")
    code = main(["lint", "a.yaml"])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("key", ["devices", "baseline"])
@pytest.mark.parametrize(
    "path",
    ["/dev/zero", "/proc/self/environ", "../secret.json", "../no.json", "link.json", "loop", "/"],
)
def test_nothing_outside_of_the_repository_is_read(
    path: str, key: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "secret.json").write_text("{}")
    (repository / "link.json").symlink_to(repository.parent / "secret.json")
    (repository / "loop").symlink_to(repository / "loop")
    value = f'"{path}"' if key == "baseline" else f'["{path}"]'
    code, error = configured(repository, f"{key} = {value}", capsys)
    assert code == 2
    assert f"lint.{key}: {path} " in error
    assert "is outside of" in error or "cannot be looked at" in error


@pytest.mark.parametrize("key", ["devices", "baseline"])
def test_a_pipe_is_not_opened(
    key: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repository / "pipe")
    code, error = configured(
        repository, f"{key} = " + ('"pipe"' if key == "baseline" else '["pipe"]'), capsys
    )
    assert code == 2
    assert f"lint.{key}: pipe is not a regular file" in error


def test_a_configuration_names_no_hardware(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repository / "pipe")
    code, error = configured(repository, 'hardware = "pipe"', capsys)
    assert code == 2
    assert "unknown setting lint.hardware" in error


def test_a_folder_with_a_link_out_of_the_repository(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "slices").mkdir()
    (repository / "slices" / "x.yaml").symlink_to("/etc/passwd")
    code, error = configured(repository, 'devices = ["slices"]', capsys)
    assert code == 2
    assert "lint.devices: slices: x.yaml is outside of" in error


def test_a_folder_with_too_many_files_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dractl.lint.config.MAX_ENTRIES", 3)
    (repository / "slices").mkdir()
    for name in "ab":  # with the folder, three entries
        (repository / "slices" / f"{name}.yaml").write_text("")
    assert "too large" not in configured(repository, 'devices = ["slices"]', capsys)[1]
    (repository / "slices" / "c.yaml").write_text("")
    assert "at most" in configured(repository, 'devices = ["slices"]', capsys)[1]


def test_file_of_excessive_size_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (repository / "big.json").open("wb") as file:
        file.truncate(1 << 40)
    code, error = configured(repository, 'baseline = "big.json"', capsys)
    assert code == 2
    assert "too large for a configuration" in error


def test_the_repository_may_have_the_configuration_in_a_folder(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "ci").mkdir()
    (repository / "baseline.json").write_text('{"schema": "dractl/lint/v1", "findings": []}')
    (repository / "ci" / "dractl.toml").write_text('[lint]\nbaseline = "../baseline.json"\n')
    assert main(["lint", "--config", "ci/dractl.toml", "a.yaml"]) in (0, 1)
    assert "outside" not in capsys.readouterr().err


def test_the_command_line_may_name_any_file(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "baseline.json").write_text('{"schema": "dractl/lint/v1", "findings": []}')
    assert main(["lint", "--baseline", "../baseline.json", "a.yaml"]) in (0, 1)
    assert "outside" not in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/", "/proc", "/dev/zero"])
@pytest.mark.parametrize(
    "command",
    [
        ["render", "--hardware"],
        ["devices", "--hardware"],
        ["fit", "gpu=1", "--hardware"],
        ["fit", "gpu=1", "--add"],
    ],
)
def test_a_machine_file_is_a_file(
    command: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, path, "--isolated"]) == 3
    assert f"{path}: is not a file" in capsys.readouterr().err


def test_add_ignore_changes_nothing_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(HERE / "add-ignore-grows.yaml", tmp_path / "a.yaml")
    monkeypatch.chdir(tmp_path)
    main(["lint", "--isolated", "--add-ignore", "a.yaml"])
    once = (tmp_path / "a.yaml").read_text()
    main(["lint", "--isolated", "--add-ignore", "a.yaml"])
    assert (tmp_path / "a.yaml").read_text() == once


# -- what is large, and what a few bytes make large --

GROUP = {"apiVersion": "resource.k8s.io/v1"}
CLASS = {**GROUP, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": []}}
REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}


def described(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        **GROUP,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ml", "uid": name},
        **more,
    }


def worker(name: str) -> dict[str, Any]:
    allocatable = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "status": {"allocatable": allocatable},
    }


def published(name: str, devices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return described(
        "ResourceSlice",
        name,
        spec={"driver": "x.example.com", "pool": pool, "devices": devices, **more},
    )


def dump(folder: Path, *objects: dict[str, Any]) -> str:
    file = folder / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [CLASS, *objects]}))
    return str(file)


@pytest.mark.parametrize(
    "command", [["explain", "ml/c"], ["devices"], ["fit", "claim/c", "-n", "ml"]]
)
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_more_constraints_than_an_api_server_takes(
    kind: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DeviceConstraintsMaxSize of pkg/apis/resource/types.go."""
    constraints = [{"matchAttribute": f"x.example.com/a{number}"} for number in range(8_000)]
    spec = {"devices": {"requests": [REQUEST], "constraints": constraints}}
    value = described(kind, "c", spec={"spec": spec} if kind == "ResourceClaimTemplate" else spec)
    assert main([*command, "-f", dump(tmp_path, value), "--isolated"]) == 3
    error = capsys.readouterr().err
    assert f"constraints of this {kind} has 8,000 items; an API server takes at most 32" in error
    assert "dump.json:1:" in error


def test_pod_without_spec_waits_for_the_node_of_a_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No API server stores a pod without a spec, but a dump that was cut may contain one."""
    pod = {"apiVersion": "v1", "kind": "Pod"}
    spec = {"containers": [{"name": "c", "image": "x"}], "nodeSelector": {"team": "ml"}}
    asked = {**pod, "metadata": {"name": "p", "namespace": "ml"}, "spec": spec}
    cut = {**pod, "metadata": {"name": "cut", "namespace": "ml"}}
    assert (
        main(["explain", "ml/p", "-f", dump(tmp_path, worker("n"), cut, asked), "--isolated"]) == 1
    )
    assert "label n with team=ml" in capsys.readouterr().out


def test_devices_of_128_nodes_in_one_slice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = [{"name": f"d{number}", "nodeName": f"n{number}"} for number in range(128)]
    nodes = [worker(f"n{number}") for number in range(128)]
    template = described(
        "ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}
    )
    file = dump(tmp_path, *nodes, published("pool", devices, perDeviceNodeSelection=True), template)
    assert main(["fit", "template/t", "-n", "ml", "-f", file, "--isolated"]) == 0
    assert "128 copies fit" in capsys.readouterr().out


def test_a_node_selector_of_a_device_is_read_once_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    matches = pools.node_matches
    monkeypatch.setattr(pools, "node_matches", lambda *a: asked.append(a) or matches(*a))
    devices = [{"name": f"d{number}", "nodeName": f"n{number % 4}"} for number in range(16)]
    template = described(
        "ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}
    )
    nodes = [worker(f"n{number}") for number in range(4)]
    file = dump(tmp_path, *nodes, published("pool", devices, perDeviceNodeSelection=True), template)
    assert main(["fit", "template/t", "-n", "ml", "-f", file, "--isolated"]) == 0
    assert len(asked) <= 2 * 4 * 16  # whether the node has the slice, and which devices of it


def test_many_devices_of_many_nodes_end_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(placing, "ATTEMPT_BUDGET", 100)
    monkeypatch.setattr(
        placing.place_copies,
        "__kwdefaults__",
        {**(placing.place_copies.__kwdefaults__ or {}), "budget": 100},
    )
    devices = [{"name": f"d{number}", "allNodes": True} for number in range(128)]
    template = described(
        "ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}
    )
    nodes = [worker(f"n{number}") for number in range(4)]
    file = dump(tmp_path, *nodes, published("pool", devices, perDeviceNodeSelection=True), template)
    assert main(["fit", "template/t", "-n", "ml", "-f", file, "--isolated"]) == 0
    assert "at least 5 copies fit: the search ended undecided" in capsys.readouterr().out


@pytest.mark.parametrize("nodes", [16, 128, 2048])
def test_2048_devices_with_node_selectors_are_read(nodes: int, tmp_path: Path) -> None:
    """The search is cut off, so the number of copies is a lower bound; it has to find some
    copies.
    """
    devices = [{"name": f"d{number}", "nodeName": f"n{number % nodes}"} for number in range(2048)]
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 16}
    slices = [
        published(f"s{at}", devices[at : at + 128], perDeviceNodeSelection=True, pool=pool)
        for at in range(0, 2048, 128)
    ]
    template = described(
        "ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}
    )
    file = dump(tmp_path, *[worker(f"n{number}") for number in range(nodes)], *slices, template)
    done = bounded("fit", "template/t", "-n", "ml", "-f", file, "--isolated")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"at least [1-9][0-9]* cop(y fits|ies fit): the search ended undecided", done.stdout
    )


@pytest.mark.parametrize("allocatable", [True, False])
def test_shared_devices_of_which_a_share_takes_nothing(
    allocatable: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        placing, "MAX_COPIES_PER_NODE", 40 if not allocatable else placing.MAX_COPIES_PER_NODE
    )
    policy = {"default": "0", "validRange": {"min": "0"}}
    capacity = {"memory": {"value": "80Gi", "requestPolicy": policy}}
    node = worker("n1")
    if not allocatable:
        del node["status"]
    devices = [{"name": "d", "allowMultipleAllocations": True, "capacity": capacity}]
    template = described(
        "ResourceClaimTemplate", "t", spec={"spec": {"devices": {"requests": [REQUEST]}}}
    )
    file = dump(tmp_path, node, published("n1", devices, nodeName="n1"), template)
    assert main(["fit", "template/t", "-n", "ml", "-f", file, "--isolated"]) == 0
    said = "110 copies fit" if allocatable else "at least 40 copies fit: the search ended undecided"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_more_nodes_than_are_rendered(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["render", "--nodes", "10000", "--hardware", "dgx-h100", "-o", output, "--isolated"])
        == 2
    )
    error = capsys.readouterr().err
    assert "10,000 nodes make 180,000 devices of this hardware, of at most 10,000" in error
    assert "render 555 nodes" in error


# -- what is typed --

DGX = ("--hardware", "dgx-h100")
HUGE_NUMBER = "1" + "0" * 30
FIT = ("fit", "template/a", "-n", "m", "-f", "FILE")
TYPED: tuple[tuple[tuple[str, ...], int, str], ...] = (
    ((*FIT, "--replicas", "1000000000"), 1, "110 of 1000000000 fit"),
    ((*FIT, "--replicas", HUGE_NUMBER), 1, "110 of 1000000000"),
    ((*FIT, "--replicas", "9" * 5_000), 2, "--replicas"),
    ((*FIT, "--replicas", "0"), 2, "--replicas takes a number of 1 or more, not 0"),
    ((*FIT, "--replicas", "-1"), 2, "--replicas takes a number of 1 or more, not -1"),
    ((*FIT, "--add", f"8xH100*{HUGE_NUMBER}"), 2, "the number of nodes is 1 to 100,000"),
    ((*FIT, "--add", "8xH100*-1"), 2, "the number of nodes is 1 to"),
    ((*FIT, "--add", f"{HUGE_NUMBER}xH100"), 2, "--add"),
    (("fit", f"gpu={HUGE_NUMBER}", "-f", "FILE"), 2, HUGE_NUMBER),
    (("fit", "gpu=0", "-f", "FILE"), 2, "gpu=0"),
    (("fit", ",".join(["gpu=1"] * 20_000), "-f", "FILE"), 2, "gpu"),
    (("fit", "--shapes", ";".join(["gpu=1"] * 20_000), "-f", "FILE"), 0, "gpu=1"),
    (("render", *DGX, "--nodes", "1000000000"), 2, "--nodes"),
    (("render", *DGX, "--nodes", HUGE_NUMBER), 2, "--nodes"),
    (("render", *DGX, "--nodes", "0"), 2, "--nodes"),
    (("render", *DGX, "--nodes", "-1"), 2, "--nodes"),
    (("render", *DGX, "--driver", ",".join(["gpu.nvidia.com"] * 20_000)), 0, "kind: ResourceSlice"),
    (("render", "--hardware", f"{HUGE_NUMBER}xH100"), 2, "--hardware"),
    (("lint", "FILE", "--jobs", "1000000000"), 0, "nothing found"),
    (("lint", "FILE", "--jobs", HUGE_NUMBER), 0, "nothing found"),
    (("lint", "FILE", "--jobs", "-1"), 2, "--jobs"),
    (("lint", "FILE", "--select", ",".join(["DRA001"] * 20_000)), 0, "nothing found"),
    (("lint", "FILE", "--hardware", ",".join(["dgx-h100"] * 20_000)), 0, "nothing found"),
    (("lint", "FILE", "--hardware", "a," * 500_000), 2, "unknown machine or product"),
    (("lint", ".", "--exclude", ",".join(f"a{n}*" for n in range(20_000))), 2, "20,000 values"),
    (
        ("lint", ".", "--exclude", "x" * 1_000_000),
        2,
        "exclude: more than 5,000 patterns, or 131,072 characters",
    ),
    (("lint", "FILE", "--config", "/dev/zero"), 3, "/dev/zero: larger than 1 MiB"),
    (("lint", "FILE", "--baseline", "/dev/zero"), 3, "/dev/zero: larger than 64 MiB"),
    (("lint", "FILE", "--devices", "/dev/zero"), 3, "/dev/zero: is not a regular file"),
    (
        ("lint", *(f"absent-{n}.yaml" for n in range(20_000))),
        3,
        "error: 19,980 more cannot be read",
    ),
    (("lint", *["FILE"] * 20_000), 0, "nothing found"),
    (("explain", "-f", "FILE", "-n", "m", "--patch", HUGE_NUMBER), 3, "no change was found"),
    (("explain", "-f", "FILE", "-n", "m", "--patch", "-1"), 2, "No such option: -1"),
    (("explain", "-f", "FILE", "-n", "m", *["-v"] * 20_000), 0, "fits on w1"),
    (("explain", "-f", "FILE", "-n", "m", *["claim/c"] * 20_000), 2, "20,000 names are given"),
    (("upgrade", "-f", "FILE", "--to", f"1.{HUGE_NUMBER}"), 2, "not a Kubernetes release"),
    (("cel", "true", "--hardware", ",".join(["dgx-h100"] * 20_000)), 0, ""),
    (("cel", "(" * 100_000), 1, "expression recursion limit"),
)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    TYPED,
    ids=[f"{w[0]} {w[-1][:20]} {n}" for n, (w, *_) in enumerate(TYPED)],
)
def test_hostile_arguments_are_answered_or_refused(
    words: tuple[str, ...], code: int, said: str, tmp_path: Path
) -> None:
    shutil.copy(HERE / "fit-admin-access-add-valid.yaml", tmp_path / "a.yaml")
    done = bounded(
        *("a.yaml" if word == "FILE" else word for word in words), "--isolated", folder=tmp_path
    )
    assert done.returncode == code, done.stderr[-300:]
    assert said in done.stdout + done.stderr
    assert "internal error" not in done.stderr
    assert len(done.stderr) < 10_000


def listing(number: int) -> str:
    return "\n".join(f"generated-by-a-program-with-a-long-name-{n:05}.yaml" for n in range(number))


def per_file(number: int) -> str:
    return "[lint.per-file-ignores]\n" + "\n".join(
        f'"generated-{n}-*.yaml" = ["DRA7"]' for n in range(number)
    )


FOUND: tuple[tuple[str, str, int, str], ...] = (
    (
        ".gitignore",
        listing(20_000),
        2,
        ".gitignore: more than 5,000 patterns, or 131,072 characters",
    ),
    (".gitignore", listing(2_400), 0, "nothing found"),
    (".gitignore", "\n".join(f"{n}{'a*' * 24}" for n in range(2_400)), 0, "nothing found"),
    (".gitignore", "\n".join(f"{n}{'?' * 4_000}" for n in range(30)), 0, "nothing found"),
    (".gitignore", "#" * 10_000_000, 2, ".gitignore: more than 5,000 patterns"),
    ("dractl.toml", per_file(20_000), 2, "lint.per-file-ignores: more than 1,000 patterns"),
    ("dractl.toml", per_file(1_000), 0, "nothing found"),
    (
        "dractl.toml",
        f"exclude = {[f'a{n}*' for n in range(20_000)]}",
        2,
        "exclude: more than 5,000 patterns",
    ),
    ("dractl.toml", f'[lint.per-file-ignores]\n"{"?" * 9_000}" = ["DRA7"]', 0, "nothing found"),
    ("pyproject.toml", "#" * 10_000_000, 3, "pyproject.toml: larger than 1 MiB"),
)


@pytest.mark.parametrize(
    ("name", "text", "code", "said"), FOUND, ids=[f"{row[0]} {n}" for n, row in enumerate(FOUND)]
)
def test_hostile_files_beside_manifests_are_bounded(
    name: str, text: str, code: int, said: str, tmp_path: Path
) -> None:
    shutil.copy(HERE / "fit-admin-access-add-valid.yaml", tmp_path / "a.yaml")
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    done = bounded("lint", ".", "--no-cache", folder=tmp_path)
    assert done.returncode == code, done.stderr[-300:]
    assert said in done.stdout + done.stderr


ALONE: dict[str, tuple[str, ...]] = {
    "discover": DGX,
    "render": DGX,
    "lint": ("a.yaml",),
    "explain": ("-f", "a.yaml", "-n", "m"),
    "devices": ("-f", "a.yaml"),
    "fit": ("template/a", "-n", "m", "-f", "a.yaml"),
    "plan": ("template/a", "-n", "m", "-f", "a.yaml"),
    "impact": ("node/a", "--drain", "-f", "a.yaml"),
    "migrate": ("a.yaml",),
    "upgrade": ("-f", "a.yaml", "--to", "1.37"),
    "check-driver": ("--cluster", "-f", "a.yaml"),
    "cel": ("true", *DGX),
    "facts": ("a.yaml",),
    "rule": ("DRA001",),
    "schema": ("lint",),
    "completion": ("bash",),
    "version": (),
    "help": ("lint",),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a small input; there is no kubectl."""
    shutil.copy(HERE / "fit-admin-access-add-valid.yaml", tmp_path / "a.yaml")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", [name for name in SUBCOMMANDS if name != "lsp"])
def test_an_option_is_repeated_only_so_often(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in subcommand(name).params:
        if option.param_type_name == "option" and getattr(option, "multiple", False):
            assert main([name, *ALONE[name], *[option.opts[0], "x"] * (MAX_REPETITIONS + 1)]) == 2
            assert f"{option.opts[0]} is given" in capsys.readouterr().err


@pytest.mark.parametrize("length", [300, 1_000_000])
@pytest.mark.parametrize("name", [name for name in SUBCOMMANDS if name != "lsp"])
def test_a_long_value_is_refused_in_a_few_lines(
    name: str, length: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """300 characters are more than the name of a file can have."""
    for option in subcommand(name).params:
        if getattr(option, "is_flag", False) or getattr(option, "count", False):
            continue
        words = [option.opts[0]] if option.param_type_name == "option" else []
        given = ALONE[name] if words else ()
        code = main([name, *given, *words, *["x" * length] * max(option.nargs, 1)])
        error = capsys.readouterr().err
        assert code in (0, 1, 2, 3)
        assert "internal error" not in error
        assert len(error) < 10_000, (name, words)


def zipped(file: Path, size: int) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(size >> 20):
            archive.writestr(
                f"{number}.yaml", b"a: b\n" * (1 << 20) if number < 1 else bytes(1 << 20)
            )


def tarred(file: Path, size: int) -> None:
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        entry = tarfile.TarInfo("a.yaml")
        entry.size = size
        archive.addfile(entry, io.BytesIO(bytes(size)))


def one_member(file: Path, size: int) -> None:
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.yaml", "w") as member,
    ):
        for _ in range(size >> 20):
            member.write(bytes(1 << 20))


BOMBS: tuple[tuple[Callable[[Path, int], None], int, str], ...] = (
    (zipped, 200 << 20, "expands to more than 128 MiB"),
    (tarred, 200 << 20, "larger than 128 MiB"),
    (one_member, 300 << 20, "larger than 256 MiB"),
)


@pytest.mark.parametrize(("make", "size", "said"), BOMBS, ids=["zip", "tar", "one member"])
@pytest.mark.parametrize("command", [["lint"], ["explain", "-f"]])
def test_expanding_archive_is_bounded(
    command: list[str], make: Callable[[Path, int], None], size: int, said: str, tmp_path: Path
) -> None:
    file = tmp_path / ("a.tar.gz" if make is tarred else "a.zip")
    make(file, size)
    done = bounded(*command, str(file), "--isolated")
    assert done.returncode == 3 or (make is one_member and done.returncode == 0), done.stderr
    assert "out of memory" not in done.stderr.lower()
    assert said in done.stderr or (make is one_member and command[0] == "explain")


@pytest.mark.parametrize(
    ("key", "number", "said"),
    [
        ("a", 1_200_000, "100005:3: error DRA001 a map of more than 100,000 keys"),
        ("a{}", 1_200_000, "100005:3: error DRA001 a map of more than 100,000 keys"),
        ("a{}", 90_000, '404:3: error DRA003 unknown field "spec.a399"'),
    ],
)
def test_a_map_of_many_keys(key: str, number: int, said: str, tmp_path: Path) -> None:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n"
    (tmp_path / "a.yaml").write_text(
        head + "".join(f"  {key.format(at)}: 1\n" for at in range(number))
    )
    done = bounded("lint", "a.yaml", "--isolated", "-o", "concise", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert said in done.stdout


def test_one_key_a_million_times_in_json(tmp_path: Path) -> None:
    value = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "a": {"a": 1}}
    (tmp_path / "a.json").write_text(
        json.dumps(value).replace('"a": 1', ", ".join(['"a": 1'] * 1_200_000))
    )
    done = bounded("lint", "a.json", "--isolated", "-o", "concise", folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert 'key "a" already set in map' in done.stdout


def test_comments_without_end_take_little_memory(tmp_path: Path) -> None:
    text = "# a\n" * 300_000
    tracemalloc.start()
    try:
        found = list(yamltext.read(Source("a.yaml", text)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == []
    assert peak < 4 * len(text)


def test_findings_of_one_long_line_share_it() -> None:
    """If a program wrote a List on one line, all findings have the same line."""
    source = Source("a.json", "x" * 1_000 + "\ny")
    assert source.line(1) is source.line(1)
    assert [source.line(number) for number in (1, 2, 1, 3)] == ["x" * 1_000, "y", "x" * 1_000, ""]
