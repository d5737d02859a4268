"""The tutorial with the example driver, followed on a real node: its commands, in their order, with the driver's release.

The node stands for kind's cluster, and the driver runs as a process, since no image can be pulled; bash and sleep of
this machine stand for the image of Ubuntu. ``pytest -m node tests/live/test_tutorial.py``
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.live.image import archive, programs_file_system
from tests.live.node import CDI, RELEASE, Node, lacking

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.node

PAGE = (ROOT / "docs" / "site" / "tutorial-cluster.md").read_text(encoding="utf-8")
MODULE = "sigs.k8s.io/dra-example-driver"
IMAGES = ("docker.io/library/ubuntu:22.04", "docker.io/library/ubuntu:24.04")
NAMESPACE = "basic-resourceclaimtemplate"


def steps(title: str) -> list[str]:
    """The commands below a title of the page, without those of kind, Docker and git."""
    section = re.split(r"(?m)^## ", PAGE.partition(f"## {title}")[2])[0]
    joined = "".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL)).replace("\\\n", " ")
    return [line for line in joined.splitlines() if not re.match(r"git|cd|\./demo", line)]


INSTALL, *LOOK = steps("1. A cluster with devices")


class Follower:
    """Somebody who types the commands of the page in a checkout of the driver."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.node = node
        self.folder = folder
        programs = node.folder / "programs"
        programs.mkdir()
        shutil.copy(node.folder / "kubectl", programs)
        dractl = programs / "dractl"
        dractl.write_text(f"#!{sys.executable}\nfrom dractl.__main__ import run\nrun()\n")
        dractl.chmod(0o755)
        self.variables = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "KUBECONFIG": str(node.kubeconfig),
        }

    def type(self, command: str) -> str:
        """What a command prints."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.stdout

    def held_devices(self) -> list[str]:
        """The devices of the example driver that are in use."""
        devices = json.loads(self.type("dractl devices -o json"))["devices"]
        return [
            each["device"]
            for each in devices
            if each["driver"] == "gpu.example.com" and each["state"] == "held"
        ]

    def running(self, namespace: str, *pods: str) -> bool:
        listed = self.type(f"kubectl get pods -n {namespace} -o json")
        phases = {i["metadata"]["name"]: i["status"]["phase"] for i in json.loads(listed)["items"]}
        return all(phases.get(name) == "Running" for name in pods)


@pytest.fixture(scope="module")
def follower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Follower]:
    missing = lacking(RELEASE) or ", ".join(n for n in ("go", "helm") if shutil.which(n) is None)
    if missing:
        pytest.skip(f"no real node: {missing}")
    (version,) = set(re.findall(r"--branch (v[\d.]+)", PAGE))
    variables = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    variables |= {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    download = ["go", "mod", "download", "-json", f"{MODULE}@{version}"]
    done = subprocess.run(download, env=variables, capture_output=True, text=True, check=True)
    folder = tmp_path_factory.mktemp("tutorial") / "dra-example-driver"
    shutil.copytree(json.loads(done.stdout)["Dir"], folder)
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=True)
    plugin = folder.parent / "plugin"
    build = ["go", "build", "-o", str(plugin), "./cmd/dra-example-kubeletplugin"]
    subprocess.run(build, cwd=folder, env=variables, check=True)
    layer = programs_file_system("bash", "sleep")
    with Node(release=RELEASE) as node:
        for number, name in enumerate(IMAGES):
            image = folder.parent / f"{number}.tar"
            image.write_bytes(archive(name, layer))
            node.part("ctr", "images", "import", "--all-platforms", str(image))
        follower = Follower(node, folder)
        follower.type(INSTALL)  # helm, whose DaemonSet has no image here
        node.kubectl("delete", "daemonset", "--all", "-n", "dra-example-driver")
        start = f"--kubeconfig {node.kubeconfig} --node-name {node.name} --cdi-root {CDI}"
        node.part("driver", "example", "--", str(plugin), *start.split(), "--num-devices", "8")
        node.until("the driver publishes", lambda: "gpu.example" in follower.type("dractl devices"))
        yield follower


def test_whoever_follows_the_page_has_a_cured_pod(follower: Follower) -> None:
    for command in LOOK:
        assert "gpu.example.com" in follower.type(command)

    apply, devices, explain = steps("2. A pod that gets a device")
    follower.type(apply)
    node = follower.node
    node.until("the pods run", lambda: follower.running(NAMESPACE, "pod0", "pod1"))
    assert all(f"{NAMESPACE}/{pod}" in follower.type(devices) for pod in ("pod0", "pod1"))
    assert len(follower.held_devices()) == 2
    assert "runs on" in follower.type(explain)

    (manifests,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (follower.folder / "too-many.yaml").write_text(manifests)
    lint, apply, explain = steps("3. A pod that does not")
    assert "the largest machine has 8 that match" in follower.type(lint.partition("#")[0])
    follower.type(apply)
    node.until("the pod is refused", lambda: "the node has 8" in follower.type(explain))
    assert "lower count of request gpu from 9 to 6" in follower.type(explain)

    patch, cure, explain = steps("4. The cure")
    follower.type(patch)
    follower.type(cure)
    node.until("the pod runs", lambda: follower.running("default", "greedy"))
    assert "runs on" in follower.type(explain)
    assert len(follower.held_devices()) == 8

    (delete,) = steps("5. Clean up")
    follower.type(delete)
    node.until("the devices are free", lambda: not follower.held_devices())
