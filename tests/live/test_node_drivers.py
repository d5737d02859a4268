"""What explain says of a real node whose drivers are pods of a DaemonSet, keep a record that is stale, wait for what
they made, or are two; and that the cure which it names helps.

``pytest -m node tests/live/test_node_drivers.py -k crash`` plays one situation.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.live.node import CDI, DRIVER, RELEASE, Node, claim, lacking, pod
from tests.live.test_node import Situation, all_steps, part, play, recreate, wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.node

NAMESPACE, PLUGIN = "drivers", "lab-plugin"
NVIDIA, TWO = "gpu.nvidia.com", "two.node.test"
IMAGE = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.4.1"
TOOL = "node.test/tool:1"
ABSENT_UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
HOST_FOLDERS = ("/lib", "/lib64", "/usr")  # the driver is linked dynamically, and its image empty
KUBELET_FOLDERS = ("/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", str(CDI))
LABEL = {"node.test/devices": "present"}
TAINT = "node.test/devices=present:NoSchedule"
# kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_state.go
HELD = f"requested device dev-0 is already allocated to different claim {ABSENT_UID}"
MPS = (
    "prepare devices failed: error applying config: MPS control daemon is not yet ready: waiting"
    " for MPS control daemon to come online"
)
LEVEL = "pod-security.kubernetes.io/enforce"


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    why = lacking(RELEASE)
    if why:
        pytest.skip(f"no real node: {why}")
    with Node(release=RELEASE) as running:
        running.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for name in (NVIDIA, TWO):
            spec = {"selectors": [{"cel": {"expression": f'device.driver == "{name}"'}}]}
            named = {"kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}
            running.apply({"apiVersion": "resource.k8s.io/v1", **named})
        yield running


def faults_of(node: Node, name: str) -> Path:
    return node.folder / f"{name}.json"


def run_as(name: str, **faults: Any) -> Callable[[Node], object]:
    """Another driver as a process, which goes wrong."""

    def start(node: Node) -> None:
        faults_of(node, name).write_text(json.dumps(faults))
        command = (str(node.own_driver), *node.driver_options(faults_of(node, name)))
        node.part("driver", name, "--", *command, "-driver-name", name)
        slices = ("get", "resourceslices", "-o", "jsonpath={.items[*].spec.driver}")
        node.until("it publishes", lambda: name in node.kubectl(*slices))

    return start


def forget_state(name: str) -> Callable[[Node], object]:
    """The driver is restarted without what it kept."""

    def cure(node: Node) -> None:
        node.part("stop", name)
        faults_of(node, name).write_text("{}")
        node.part("start", name)

    return cure


def claim_of(*classes: str) -> dict[str, Any]:
    """The claim with a device of each class."""
    requests = [
        {"name": f"r{number}", "exactly": {"deviceClassName": name}}
        for number, name in enumerate(classes)
    ]
    return {**claim(), "spec": {"devices": {"requests": requests}}}


# -- the driver as a DaemonSet --


def plugin(node: Node, *arguments: str, image: str = TOOL, **spec: Any) -> dict[str, Any]:
    """A DaemonSet that runs the driver; ``arguments`` come last, so they win."""
    files = (node.own_driver.parent, node.kubeconfig.parent, node.folder)
    folders = (*HOST_FOLDERS, *KUBELET_FOLDERS, *map(str, files))
    mounts = [{"name": f"m{i}", "mountPath": path} for i, path in enumerate(folders)]
    volumes = [{"name": f"m{i}", "hostPath": {"path": path}} for i, path in enumerate(folders)]
    options = (*node.driver_options(faults_of(node, "none")), "-driver-name", DRIVER)
    container = {
        "name": "plugin",
        "image": image,
        "imagePullPolicy": "Never",
        "command": [str(node.own_driver), *options, *arguments],
        "volumeMounts": mounts,
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    labels = {"app": PLUGIN}
    pods = {"hostNetwork": True, "containers": [container], "volumes": volumes, **spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": PLUGIN, "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pods},
        },
    }


def replace_process(*arguments: str, **more: Any) -> Callable[[Node], object]:
    """The driver's process ends, and a DaemonSet takes its place before its slices are deleted."""

    def change(node: Node) -> None:
        node.part("stop", "lab")
        node.apply(plugin(node, *arguments, **more))

    return change


def correct(node: Node) -> None:
    node.apply(plugin(node))


def label(node: Node) -> None:
    node.kubectl("label", "node", node.name, "node.test/devices=present")


def taint(node: Node) -> None:
    node.kubectl("taint", "node", node.name, TAINT)


def tolerate(node: Node) -> None:
    node.apply(plugin(node, tolerations=[{"operator": "Exists"}]))


# -- what a driver makes for a claim --


def mps_daemon() -> dict[str, Any]:
    """The Deployment of an MPS daemon, as the driver makes it: its pod sees the host's processes."""
    labels = {"app": "mps"}
    container = {"name": "mps", "image": IMAGE, "imagePullPolicy": "Never", "args": ["run"]}
    pods = {"hostPID": True, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "mps-control-daemon-0", "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pods},
        },
    }


def refuse_its_pods(node: Node) -> None:
    node.part("ctr", "image", "tag", TOOL, IMAGE, check=False)
    node.kubectl("label", "namespace", NAMESPACE, "--overwrite", f"{LEVEL}=baseline")
    node.apply(mps_daemon())


def admit_its_pods(node: Node) -> None:
    """The driver stops to refuse when the Deployment has its pod."""
    node.kubectl("label", "namespace", NAMESPACE, "--overwrite", f"{LEVEL}=privileged")
    ready = (
        "get",
        "deployment",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.items[*].status.readyReplicas}",
    )
    node.until("the daemon runs", lambda: node.kubectl(*ready).strip() == "1")
    faults_of(node, NVIDIA).write_text("{}")


# -- the node --


def reboot(node: Node) -> None:
    """All containers end while kubelet and drivers are down, and what lay in /run is gone."""
    for name in ("kubelet", "lab"):
        node.part("stop", name)
    for task in node.part("ctr", "task", "ls", "-q").stdout.split():
        node.part("ctr", "task", "rm", "-f", task, check=False)
    for path in CDI.glob("lab_node_test-*.json"):
        path.unlink()
    node.faults(prepare="unable to get checkpoint: checkpoint is corrupted")
    for name in ("lab", "kubelet"):
        node.part("start", name)


def change_image(node: Node) -> None:
    node.kubectl("set", "image", "pod/train", f"main={TOOL}")


SITUATIONS = (
    Situation(
        "plugin-crashes",
        "not-prepared",
        "restarts): stat /absent/config: no such file or directory",
        correct,
        PLUGIN,
        wrong=replace_process("-kubeconfig", "/absent/config"),
    ),
    Situation(
        "plugin-without-image",
        "not-prepared",
        "ErrImageNeverPull",
        correct,
        PLUGIN,
        wrong=replace_process(image="node.test/none:1"),
    ),
    Situation(
        "daemonset-selects-nothing",
        "not-prepared",
        "wants node.test/devices=present",
        label,
        "label node-1 with node.test/devices=present",
        wrong=replace_process(nodeSelector=LABEL),
    ),
    Situation(
        "daemonset-repelled",
        "not-prepared",
        f"does not tolerate taint {TAINT}",
        tolerate,
        f"tolerate {TAINT}",
        wrong=all_steps(taint, replace_process()),
        pod=pod(tolerations=[{"operator": "Exists"}]),
    ),
    Situation(
        "reboot", "not-prepared", "ran on node-1 before", wrong(), "checkpoint", later=reboot
    ),
    Situation(
        "stale-checkpoint",
        "not-prepared",
        "its checkpoint is stale",
        forget_state(NVIDIA),
        f"restart the plugin of driver {NVIDIA}",
        wrong=run_as(NVIDIA, prepare=HELD),
        claim=claim_of(NVIDIA),
    ),
    Situation(
        "mps-refused",
        "not-prepared",
        "violates PodSecurity",
        admit_its_pods,
        f"let namespace {NAMESPACE} run such pods",
        wrong=all_steps(run_as(NVIDIA, prepare=MPS), refuse_its_pods),
        claim=claim_of(NVIDIA),
    ),
    Situation(
        "second-driver-refuses",
        "not-prepared",
        "no room in the enclosure",
        lambda node: faults_of(node, TWO).write_text("{}"),
        "read the log of the DRA driver on node-1",
        wrong=run_as(TWO, prepare="no room in the enclosure"),
        claim=claim_of("lab", TWO),
    ),
    Situation(
        "second-driver-stopped",
        "not-prepared",
        f"driver {TWO} publishes nothing on node-1 any more",
        part("start", TWO),
        "restart it",
        wrong=all_steps(run_as(TWO), part("stop", TWO)),
        claim=claim_of("lab", TWO),
    ),
    Situation(
        "image-pull",
        "not-started",
        "ErrImagePull",
        change_image,
        "image",
        pod=pod(main={"image": "127.0.0.1:1/none:1"}),
    ),
    Situation(
        "command",
        "not-started",
        "/absent",
        recreate(),
        "command",
        pod=pod(main={"command": ["/absent"]}),
    ),
)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda s: s.name)
def test_a_situation_of_drivers(node: Node, situation: Situation) -> None:
    try:
        play(node, situation)
    finally:
        sweep(node)


def sweep(node: Node) -> None:
    """Nothing is left of what a situation made for its drivers."""
    remove = partial(node.kubectl, check=False)
    remove("delete", "daemonsets,deployments", "--all", "-n", NAMESPACE)
    remove("label", "namespace", NAMESPACE, f"{LEVEL}-")
    remove("label", "node", node.name, "node.test/devices-")
    remove("taint", "node", node.name, "node.test/devices-")
    pods = ("get", "pods", "-n", NAMESPACE, "-o", "name")
    node.until("its pods are gone", lambda: not node.kubectl(*pods).strip())
    started = [name for name in (NVIDIA, TWO) if faults_of(node, name).exists()]
    for name in started:  # once more: the pod's devices are unprepared
        faults_of(node, name).write_text("{}")
        node.part("start", name)
    node.clean()
    for name in started:
        node.part("stop", name)
        faults_of(node, name).unlink()
