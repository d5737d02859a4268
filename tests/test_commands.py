"""The commands that README.md, CONTRIBUTING.md and docs/ tell people to type, besides the blocks with their output
(test_readme.py): in blocks of shell, in indented blocks, and in the text between backquotes.

Each ``dractl ...`` is run in a folder that has files with the names in the docs; for commands that
query a cluster, a fake kubectl replays a small one. The exit code must be 0 or 1, which shows that
the options, formats and arguments exist. Commands of other programs are not run, for the reasons in
:data:`HELD`.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl import probes
from dractl.cli.main import main
from tests.cluster.test_live import Kubectl, kubectl, listed
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["kubectl"]

ROOT = Path(__file__).resolve().parent.parent
NODE = ROOT / "examples/discover/node.json"
"""The machine on which the commands are run."""
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^(?: {4,}\S[^\n]*\n)+", re.MULTILINE)
INLINE = re.compile(r"`(dractl [^`]+)`")

SHELLS = ("sh", "bash", "shell")
BEGINNINGS = ("dractl ", "kubectl ", "pip ", ". ")
"""The beginnings of indented blocks whose lines are commands."""

PACKAGES = "installs or downloads, which needs a network"
CLUSTER = "changes a cluster, or prints what it holds"
TESTS = "runs the tests, or looks at the repository: CI does"
RELEASE = "needs the files of a release"
DRIVER = "needs a checkout of the example driver, and kind"
HELD = {
    **dict.fromkeys(("S=$([", "pip", "pipx", "python3", "git", "docker"), PACKAGES),
    **dict.fromkeys(("kubectl", "helm", "sh"), CLUSTER),
    **dict.fromkeys(("bash", "pytest", "nox", "ruff", "actionlint", "zizmor"), TESTS),
    **dict.fromkeys(("gh", "install"), RELEASE),
    **dict.fromkeys(("cd", "./demo/build-driver.sh"), DRIVER),
    "./demo/clusters/kind/create-cluster.sh": DRIVER,
    "./demo/clusters/kind/delete-cluster.sh": DRIVER,
    "python": "starts a driver on a node",
    ".": "changes the shell in which it is typed",
    "reviewdog": "writes to a code review",
}
"""Programs of the docs that are not run here, with the reason."""

STAND_INS = {
    "DRA7nn": "DRA701",
    "rule CODE": "rule DRA701",
    "rule DRIVER": "rule gpu.nvidia.com",
    "rule NAME": "rule dra.nvme",
    "--driver NAME": "--driver dra.nvme",
    "pod/NAME -n NAMESPACE": "pod/train-0 -n ml",
    "devicetaintrule/NAME": "devicetaintrule/sick",
    "node/NAME": "node/gpu-7",
    "cel EXPRESSION": "cel true",
    "PATH...": "manifests",
    "FILE|DIR": "node.json",
    "--network-devices FILE": "--network-devices network.yaml",
    "/tmp/snapshots/*.yaml": "before.yaml after.yaml",
    "/var/lib/node_exporter/textfile/": "",
}
"""Words that a reader replaces, and paths that a test does not have, each with the text that is run
instead.
"""
UNFINISHED = {
    "dractl discover --save": "dractl discover --save node.json",
    "dractl render --hardware": "dractl render --hardware dgx-h100",
    "dractl --facts FILE.json": "dractl --facts dra.nvme.json facts",
    "dractl fit -o html": "dractl fit gpu=1 -o html",
}
"""Incomplete command lines that the text mentions, each with a complete one."""


class Command:
    """A command line of a page."""

    def __init__(self, page: Path, line: str, before: Sequence[str] | None = None) -> None:
        self.page = page.relative_to(ROOT).as_posix()
        self.line = line
        self.before = before or ()
        """The lines above the command, in the same block, that write a file."""
        self.is_mention = before is None
        """True if the text only mentions the command, possibly without its arguments."""

    def __repr__(self) -> str:
        return f"{self.page}: {self.line}"


def lines_of(block: str) -> Iterator[str]:
    """Yield the commands of a block, without comments."""
    for line in block.replace("\\\n", " ").splitlines():
        command = re.sub(r"(^|\s)#.*", "", line).strip()
        if command:
            yield command


def commands() -> list[Command]:
    """Return every command of every page once, first the commands in blocks, then the mentions."""
    found: dict[str, Command] = {}
    mentions: dict[str, Command] = {}
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        blocks = [body for language, body in FENCE.findall(text) if language in SHELLS]
        prose = FENCE.sub("", text)
        blocks += [
            block for block in INDENTED.findall(prose) if block.lstrip().startswith(BEGINNINGS)
        ]
        for lines in map(list, map(lines_of, blocks)):
            for number, line in enumerate(lines):
                before = [each for each in lines[:number] if re.match("dractl .* > ", each)]
                found.setdefault(line, Command(page, line, before))
        for line in INLINE.findall(" ".join(prose.split())):
            mentions.setdefault(line, Command(page, line))
    return list({**mentions, **found}.values())


COMMANDS = commands()
OURS = [command for command in COMMANDS if command.line.startswith("dractl ")]
OTHERS = [command for command in COMMANDS if not command.line.startswith("dractl ")]


def finish(line: str, *, is_mention: bool) -> str:
    """Return the line with values for the parts that the docs leave open. If the text only names a
    command, return the line that prints its help.
    """
    line = UNFINISHED.get(line, line)
    for words, stand_in in STAND_INS.items():
        line = line.replace(words, stand_in)
    if is_mention and len(line.split()) == 2:
        return f"{line} --help"
    if is_mention and re.fullmatch(r"dractl lint( -[^|]*)?( \| reviewdog .*)?", line):
        return line.replace("dractl lint", "dractl lint manifests", 1)
    return line


CLASS = device_class("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
OTHER_CLASS = device_class("gpu.example.com", "device.driver == 'gpu.example.com'")
NIC_CLASS = device_class("dranet", "device.driver == 'dra.net'")


def template(name: str, namespace: str, *requests: dict[str, Any]) -> dict[str, Any]:
    wanted = claim(name, *requests, namespace=namespace)
    return {
        "apiVersion": wanted["apiVersion"],
        "kind": "ResourceClaimTemplate",
        "metadata": wanted["metadata"],
        "spec": {"spec": wanted["spec"]},
    }


def workload(name: str) -> dict[str, Any]:
    spec = {
        "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [USES],
    }
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml", "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


USES = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
NIC = {"name": "nic", "resourceClaimTemplateName": "nic"}
RULE = {
    "apiVersion": "resource.k8s.io/v1beta2",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "sick"},
    "spec": {
        "deviceSelector": {"driver": "gpu.nvidia.com", "pool": "gpu-7", "device": "gpu-0"},
        "taint": {"key": "example.com/sick", "effect": "NoExecute"},
    },
}
GROUP = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "ml"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
}


def cluster() -> dict[str, list[dict[str, Any]]]:
    """Return the objects of a small cluster by resource, with the names that the docs use."""
    root = {"resource.kubernetes.io/pcieRoot": "pci0000:15"}
    held = allocation("gpu-7", ("gpu.nvidia.com", "gpu-0"), pod="holder")
    gpus = [device(f"gpu-{number}", type="gpu", **root) for number in range(2)]
    return {
        "nodes": [
            {**value, "status": {**value["status"], "nodeInfo": {"kubeletVersion": "v1.36.2"}}}
            for value in (node("gpu-7"), node("gpu-1"))
        ],
        "deviceclasses": [CLASS, OTHER_CLASS, NIC_CLASS],
        "resourceslices": [
            slice_of("gpu.nvidia.com", "gpu-7", *gpus),
            slice_of("gpu.example.com", "gpu-1", device("gpu-0")),
            slice_of("dra.net", "gpu-7", device("nic-0", **root)),
        ],
        "resourceclaimtemplates": [template("gpu", "ml", request("gpu", "gpu.nvidia.com", 8))],
        "resourceclaims": [claim("holder", request("r", "gpu.nvidia.com"), status=held)],
        "pods": [
            pod(
                "holder",
                {"name": "gpu", "resourceClaimName": "holder"},
                spec={"nodeName": "gpu-7"},
                status={"phase": "Running"},
            ),
            pod("train-0", USES, spec={"schedulingGroup": {"podGroupName": "train"}}),
            *(pod(name, USES) for name in ("train-1", "greedy")),
            pod("notebook", requests={"nvidia.com/gpu": "1"}),
            pod("pod0", namespace="basic-resourceclaimtemplate"),
        ],
        "deployments": [workload("trainer"), workload("chat")],
        "devicetaintrules": [RULE],
        "podgroups": [GROUP],
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the docs name."""
    folder: Path = tmp_path_factory.mktemp("docs") / "work"
    shutil.copytree(ROOT / "examples", folder / "examples")
    shutil.copytree(ROOT / "examples/lint", folder / "manifests")
    shutil.copy(NODE, folder / "node.json")
    shutil.copy(ROOT / "examples/migrate/training.yaml", folder / "pod.yaml")
    shutil.copy(ROOT / "examples/pending/prepare.yaml", folder / "copy.yaml")
    shutil.copy(ROOT / "dractl/facts/data/drivers/dra.nvme.json", folder)
    objects = {
        "dump.yaml": [item for items in cluster().values() for item in items],
        "claim.yaml": [claim("gpus", request("gpu", "gpu.nvidia.com", 2))],
        "claims.yaml": [claim(f"gpus-{n}", request("gpu", "gpu.nvidia.com", n)) for n in (1, 2)],
        "too-many.yaml": [claim("gpus", request("gpu", "gpu.nvidia.com", 9))],
        "rule.yaml": [RULE],
        "taint-rule.yaml": [RULE],
        "before.yaml": [slice_of("gpu.example.com", "gpu-1", device("gpu-0"))],
        "after.yaml": [slice_of("gpu.example.com", "gpu-1", device("gpu-0"))],
        "network.yaml": [
            {
                "driver": "camera.example.com",
                "pool": "a",
                "allNodes": True,
                "devices": [{"name": "c"}],
            }
        ],
        "deployments/helm/plugin.yaml": [],
    }
    for name, values in objects.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(yaml.safe_dump_all(values))
    (folder / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects["dump.yaml"]})
    )
    with tarfile.open(folder / "must-gather.tar.gz", "w:gz") as archive:
        archive.add(folder / "dump.yaml", "dump.yaml")
    return folder


def type_line(
    line: str, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run a line: each dractl in it gets the output of the dractl before it as its input."""
    line, _, target = line.replace(" >> ", " > ").partition(" > ")
    output = b""
    for part in line.split(" | "):
        if not part.startswith("dractl "):
            assert part.split()[0] in HELD
            break
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(output)))
        code = main(shlex.split(part)[1:])
        output, errors = capsysbinary.readouterr()
        assert code in (0, 1), errors.decode()
    if target:
        Path(target).write_bytes(output)


@pytest.mark.parametrize("command", OURS, ids=repr)
def test_command_of_the_docs_is_answered(
    command: Command,
    files: Path,
    kubectl: Kubectl,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubectl.answers(**{kind: listed(*items) for kind, items in cluster().items()})
    work = shutil.copytree(files, kubectl.folder / "work")
    monkeypatch.chdir(work)
    monkeypatch.setenv("NODE_NAME", "gpu-7")
    read = probes.read
    monkeypatch.setattr(probes, "read", lambda source, **more: read(source or NODE, **more))
    for line in command.before:
        type_line(finish(line, is_mention=False), capsysbinary, monkeypatch)
    type_line(finish(command.line, is_mention=command.is_mention), capsysbinary, monkeypatch)


@pytest.mark.parametrize("command", OTHERS, ids=repr)
def test_other_programs_are_held_back_for_a_reason(command: Command) -> None:
    first = command.line.split()[0]
    assert first in HELD, f"{command}: run it here, or say in HELD why not"


@pytest.mark.parametrize("command", OTHERS, ids=repr)
def test_files_of_the_repository_exist(command: Command) -> None:
    for name in re.findall(r"(?:^|\s)((?:deploy|examples|tools|\.ci)/[\w./-]+)", command.line):
        assert (ROOT / name).exists(), name


def test_no_reason_is_left_over() -> None:
    begins = {line.split()[0] for command in COMMANDS for line in command.line.split(" | ")}
    assert set(HELD) <= begins
