"""``deploy/`` on a real node, with the image of the Dockerfile: snapshots arrive, hold what the host's root would see,
and serve ``devices`` and ``explain``; nothing in the manifests is there in vain."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from typing import TYPE_CHECKING, Any, Self

import pytest
import yaml

from tests import nvml, sysfs_trees
from tests.conftest import ROOT
from tests.live import image
from tests.live.node import CONTAINERD, Node, lacking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.node

IMAGE = "node.test/dractl"
POD = "/spec/template/spec"
CONTAINER = f"{POD}/containers/0"
GPUS = ("0000:19:00.0", "0000:1a:00.0")
# The container runtime's hook brings NVML in on a real node. Here the handler's own specification does, and a /sys.
HANDLER = """
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    base_runtime_spec = "{specification}"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
    BinaryName = "{runc}"
    SystemdCgroup = false
"""
NETWORK = '  [plugins."io.containerd.cri.v1.runtime".cni]'


class Fleet(Node):
    """A node with the image, whose name is its address: the API server asks kubelet there for logs."""

    def __enter__(self) -> Self:
        super().__enter__()
        archive = self.folder / "image.tar"
        archive.write_bytes(image.archive(f"{IMAGE}:1", image.root_file_system()))
        self.part("ctr", "images", "import", str(archive))
        self._add_accelerator()
        return self

    def _add_accelerator(self) -> None:
        """A handler ``nvidia`` with NVML's stand-in, for pods that see the /sys of another machine."""
        tree = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), self.folder / "tree")
        (tree / "sys" / "fs" / "cgroup").mkdir(parents=True)
        library = nvml.build(self.folder / "nvml") / "libnvidia-ml.so.1"
        specification = json.loads(self.part("ctr", "oci", "spec").stdout)
        mounts = [mount for mount in specification["mounts"] if mount["destination"] != "/sys"]
        for there, here in (
            (tree / "sys", "/sys"),
            (library, f"/usr/lib/x86_64-linux-gnu/{library.name}"),
        ):
            mounts.append(
                {
                    "destination": here,
                    "type": "bind",
                    "source": str(there),
                    "options": ["rbind", "ro"],
                }
            )
        path = self.folder / "specification.json"
        path.write_text(json.dumps(specification | {"mounts": mounts}))
        handler = HANDLER.format(specification=path, runc=shutil.which("runc"))
        CONTAINERD.write_text(CONTAINERD.read_text().replace(NETWORK, f"{handler}{NETWORK}"))
        for action in ("stop", "start"):
            self.part(action, "containerd")

    def deploy(
        self,
        which: str = "base",
        *patch: Mapping[str, Any],
        labels: Mapping[str, str] | None = None,
    ) -> str:
        """Applies ``deploy/``, its DaemonSet changed by ``patch`` (RFC 6902); what the server warns of. ``labels`` are
        the namespace's."""
        shutil.copytree(ROOT / "deploy", self.folder / "deploy", dirs_exist_ok=True)
        overlay = self.folder / "deploy" / "overlay"
        overlay.mkdir(exist_ok=True)
        changes = [("DaemonSet", list(patch))]
        if labels is not None:
            changes.append(
                (
                    "Namespace",
                    [{"op": "replace", "path": "/metadata/labels", "value": dict(labels)}],
                )
            )
        value = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [f"../{which}"],
            "images": [{"name": "dractl", "newName": IMAGE, "newTag": "1"}],
            "patches": [
                {"target": {"kind": kind}, "patch": json.dumps(what)}
                for kind, what in changes
                if what
            ],
        }
        (overlay / "kustomization.yaml").write_text(yaml.safe_dump(value))
        command = [str(self.folder / "kubectl"), "apply", "-k", str(overlay)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def clear(self) -> None:
        """No DaemonSet and no pod of it is left. No controller of namespaces runs here."""
        self.kubectl(
            "delete",
            "daemonsets,pods",
            "--all",
            "-n",
            "dractl",
            "--grace-period=0",
            "--force",
            "--wait=false",
        )
        self.until(
            "pods are gone",
            lambda: not self.kubectl("get", "pods", "-n", "dractl", "-o", "name").strip(),
        )

    def rollout(self) -> None:
        self.kubectl("-n", "dractl", "rollout", "status", "daemonset/discover", "--timeout=90s")

    def collect(self, folder: Path) -> Path:
        """The snapshot of the node, as the README has it collected."""
        readme = (ROOT / "deploy" / "README.md").read_text()
        (loop,) = re.findall(r"((?:    .*\n)*    while .*\n)", readme)
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder)}
        subprocess.run(
            ["bash", "-ec", loop], cwd=folder, env=environment, check=True, capture_output=True
        )
        (path,) = folder.iterdir()
        return path

    def pod(self) -> Any:
        """The fleet's pod, None if there is none."""
        items = json.loads(self.kubectl("get", "pods", "-n", "dractl", "-o", "json"))["items"]
        return items[0] if items else None

    def event(self, reason: str) -> str:
        selected = f"reason={reason}"
        return self.kubectl(
            "get",
            "events",
            "-n",
            "dractl",
            "--field-selector",
            selected,
            "-o",
            "jsonpath={..message}",
        )


def address() -> str:
    """This machine's own, which kubelet listens on; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(("192.0.2.1", 9))
        return str(one.getsockname()[0])


@pytest.fixture(scope="module")
def nodes() -> Iterator[Fleet]:
    why = lacking()
    if why:
        pytest.skip(f"no real node: {why}")
    with Fleet(address()) as running:
        yield running


@pytest.fixture
def fleet(nodes: Fleet) -> Iterator[Fleet]:
    yield nodes
    nodes.clear()


def machine(text: str) -> Any:
    """A snapshot without what comes and goes: veth pairs of pods, and notes."""
    value = json.loads(text)
    value["netInterfaces"] = [
        one for one in value["netInterfaces"] if not one["name"].startswith("veth")
    ]
    value["host"].pop("iommufd", None)  # /dev of the host is not in the pod
    return {key: part for key, part in value.items() if key not in ("notes", "identity")}


def wants(driver: str, folder: Path) -> list[str]:
    """The arguments of explain for a claim for one device of a driver."""
    kind = {"apiVersion": "resource.k8s.io/v1"}
    cel = {"cel": {"expression": f'device.driver == "{driver}"'}}
    device_class = {
        **kind,
        "kind": "DeviceClass",
        "metadata": {"name": "one"},
        "spec": {"selectors": [cel]},
    }
    requests = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "one"}}]}}
    metadata = {"name": "c", "namespace": "default"}
    claim = {**kind, "kind": "ResourceClaim", "metadata": metadata, "spec": requests}
    path = folder / "claim.yaml"
    path.write_text(yaml.safe_dump_all([device_class, claim]))
    return ["explain", "claim/c", "-f", str(path), "-o", "json", "--devices"]


def test_a_node_without_accelerator(fleet: Fleet, tmp_path: Path) -> None:
    fleet.deploy()
    fleet.rollout()
    (tmp_path / "got").mkdir()
    snapshot = fleet.collect(tmp_path / "got")
    assert snapshot.stem == address()
    root = fleet.dractl("discover", "--sysfs-root", "/", "-o", "json", "--quiet").stdout
    assert machine(snapshot.read_text()) == machine(root)
    assert machine(root)["gpus"] == []
    for command in (
        ["discover", "--from"],
        ["discover", "-o", "matrix", "--from"],
        ["devices", "--devices"],
        ["render", "--from"],
    ):
        done = fleet.dractl(*command, str(snapshot))
        assert (done.returncode, done.stdout != "") == (0, True), done.stderr
    # dra.cpu publishes the CPUs of every machine
    answer = fleet.dractl(*wants("dra.cpu", tmp_path), str(snapshot))
    assert json.loads(answer.stdout)["verdict"] == "allocatable"
    answer = fleet.dractl(*wants("gpu.nvidia.com", tmp_path), str(snapshot))
    assert json.loads(answer.stdout)["verdict"] == "unallocatable"


def test_a_node_with_accelerators(fleet: Fleet, tmp_path: Path) -> None:
    """Only labelled nodes; without the handler the pod does not start, and explain says so."""
    answers = {
        "op": "add",
        "path": f"{CONTAINER}/env/-",
        "value": {"name": "FAKE_NVML_BUS_IDS", "value": ",".join(GPUS)},
    }
    wanted = (
        "get",
        "daemonset",
        "discover",
        "-n",
        "dractl",
        "-o",
        "jsonpath={.status.desiredNumberScheduled}",
    )
    fleet.kubectl("delete", "runtimeclasses", "nvidia", "--ignore-not-found")
    fleet.deploy("nvidia", answers)
    fleet.until("the controller has seen it", lambda: fleet.kubectl(*wanted) == "0")
    fleet.kubectl("label", "node", fleet.name, "nvidia.com/gpu.present=true")
    fleet.until(
        "it is refused", lambda: 'RuntimeClass "nvidia" not found' in fleet.event("FailedCreate")
    )
    fleet.apply(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "nvidia"},
            "handler": "nvidia",
        }
    )
    fleet.until("the pod is there", lambda: fleet.pod() is not None)
    fleet.rollout()
    (tmp_path / "got").mkdir()
    snapshot = fleet.collect(tmp_path / "got")
    gpus = json.loads(snapshot.read_text())["gpus"]
    assert {gpu["bdf"] for gpu in gpus} >= set(GPUS)
    devices = json.loads(fleet.dractl("devices", "--devices", str(snapshot), "-o", "json").stdout)
    named = {
        device["device"] for device in devices["devices"] if device["driver"] == "gpu.nvidia.com"
    }
    assert named == {"gpu-0", "gpu-1"}
    answer = fleet.dractl(*wants("gpu.nvidia.com", tmp_path), str(snapshot))
    assert json.loads(answer.stdout)["verdict"] == "allocatable"


def inside(fleet: Fleet, command: str) -> str:
    """Return the output of a command in the fleet's pod."""
    name = fleet.pod()["metadata"]["name"]
    run = [str(fleet.folder / "kubectl"), "exec", "-n", "dractl", name, "--", "sh", "-c", command]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_pod_runs_without_privileges(fleet: Fleet) -> None:
    """A user without capabilities, no new privileges, seccomp's filter, and a file system that cannot be written."""
    fleet.deploy()
    fleet.rollout()
    status = inside(fleet, 'while read -r line; do echo "$line"; done < /proc/self/status')
    facts = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert facts["Uid"].split() == facts["Gid"].split() == ["65532"] * 4
    assert {int(facts[kind], 16) for kind in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert (facts["NoNewPrivs"].strip(), facts["Seccomp"].strip()) == ("1", "2")
    for path in ("/opt/dractl/x", "/host/sys/x", "/host/proc/x", "/tmp/x"):
        assert f"cannot create {path}" in inside(fleet, f"> {path}")
    assert "dractl" in inside(fleet, "dractl --version")


def test_only_the_read_only_file_system_keeps_the_pod_from_writing(fleet: Fleet) -> None:
    fleet.deploy(
        "base", {"op": "remove", "path": f"{CONTAINER}/securityContext/readOnlyRootFilesystem"}
    )
    fleet.rollout()
    assert inside(fleet, "> /tmp/x && echo written") == "written\n"


def test_without_its_group_the_pod_is_of_root(fleet: Fleet) -> None:
    fleet.deploy("base", {"op": "remove", "path": f"{POD}/securityContext/runAsGroup"})
    fleet.rollout()
    status = inside(fleet, 'while read -r line; do echo "$line"; done < /proc/self/status')
    assert re.findall(r"^(Uid|Gid):\s+(\d+)", status, re.MULTILINE) == [
        ("Uid", "65532"),
        ("Gid", "0"),
    ]


def test_without_its_user_the_group_is_refused(fleet: Fleet) -> None:
    fleet.deploy("base", {"op": "remove", "path": f"{POD}/securityContext/runAsUser"})
    fleet.until(
        "containerd refuses it", lambda: "without user" in fleet.event("FailedCreatePodSandBox")
    )


RESTRICTIONS = {
    "securityContext/runAsNonRoot": "runAsNonRoot != true",
    "securityContext/seccompProfile": "seccompProfile",
    "containers/0/securityContext/allowPrivilegeEscalation": "allowPrivilegeEscalation != false",
    "containers/0/securityContext/capabilities": "unrestricted capabilities",
}


@pytest.mark.parametrize("path", ["", *RESTRICTIONS])
def test_nothing_but_the_mounts_of_the_host_is_privileged(fleet: Fleet, path: str) -> None:
    """What Pod Security Standards hold against the pod at level restricted, whole and with one thing left out."""
    standards = "pod-security.kubernetes.io/"
    labels = {f"{standards}enforce": "privileged", f"{standards}warn": "restricted"}
    left_out = [{"op": "remove", "path": f"{POD}/{path}"}] if path else []
    fleet.deploy(labels=labels)  # a namespace that is created with its pods does not warn yet
    said = fleet.deploy(
        "base",
        *left_out,
        {"op": "add", "path": "/metadata/labels/x", "value": path[-9:]},
        labels=labels,
    )
    mounts = 'restricted volume types (volumes "sys", "proc" use restricted volume type "hostPath")'
    found = said.partition('"restricted:latest": ')[2].strip()
    assert mounts in found
    assert (found == mounts) is not bool(path)
    assert RESTRICTIONS.get(path, "") in found


def test_the_namespace_must_be_privileged(fleet: Fleet) -> None:
    fleet.deploy(labels={"pod-security.kubernetes.io/enforce": "baseline"})
    fleet.until("pods are refused", lambda: "violates PodSecurity" in fleet.event("FailedCreate"))
    assert fleet.pod() is None


def test_every_node_whatever_its_taints(fleet: Fleet) -> None:
    fleet.kubectl("taint", "node", fleet.name, "example.com/only=x:NoSchedule")
    wanted = (
        "get",
        "daemonset",
        "discover",
        "-n",
        "dractl",
        "-o",
        "jsonpath={.status.desiredNumberScheduled}",
    )
    try:
        fleet.deploy()
        fleet.rollout()
        fleet.deploy("base", {"op": "remove", "path": f"{POD}/tolerations"})
        fleet.until("not this node", lambda: fleet.kubectl(*wanted) == "0")
    finally:
        fleet.kubectl("taint", "node", fleet.name, "example.com/only-")


@pytest.mark.parametrize(
    ("mount", "code", "said"),
    [(0, 3, "has neither sys/ nor devices/"), (1, 2, "cannot open /host/proc/meminfo")],
    ids=["sys", "proc"],
)
def test_without_a_mount(fleet: Fleet, mount: int, code: int, said: str) -> None:
    """The pod fails instead of leaving a snapshot that lacks what nobody would miss, and explain says so."""
    fleet.deploy("base", *remove_mount(mount))
    fleet.until("it has failed", lambda: bool(fleet.pod() and restarts(fleet.pod())))
    name = fleet.pod()["metadata"]["name"]
    done = fleet.dractl("explain", f"pod/{name}", "-n", "dractl", "-o", "json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["verdict"]) == (1, "failing")
    assert f"container discover ended with exit code {code}" in answer["headline"]
    read = ("logs", "-n", "dractl", name, "--previous")
    fleet.until("its log says it", lambda: said in fleet.kubectl(*read, check=False))


def remove_mount(number: int) -> Sequence[Mapping[str, Any]]:
    """The DaemonSet without one of its mounts."""
    places = (f"{CONTAINER}/volumeMounts", f"{POD}/volumes")
    return [{"op": "remove", "path": f"{place}/{number}"} for place in places]


def restarts(pod: Any) -> int:
    return sum(int(status["restartCount"]) for status in pod["status"].get("containerStatuses", ()))
