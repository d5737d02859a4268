"""A driver at fault: its DaemonSet, its pod on the node, and what it makes for claims.

The situations are those of public reports about the drivers of NVIDIA and Intel, and of
kernel-module-management; names and times are made up.
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Patch
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.report.canvas import Canvas
from dractl.report.explain import html as explain_html, text as explain_text
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

INTEL = "gpu.intel.com"
NVIDIA = "gpu.nvidia.com"
UNKNOWN = "acc.example.com"
USES = {"name": "g", "resourceClaimName": "c"}
UNREGISTERED = "DRA driver {} is not registered"
NOW = "2026-09-20T10:00:00Z"


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.36")).explain(question)


def pod_on_node(driver: str, message: str = "", **metadata: Any) -> tuple[dict[str, Any], ...]:
    """A pod on node-1 with a device of a driver, and the kubelet's event about its start."""
    status = {"phase": "Pending", "startTime": "2026-09-20T09:40:00Z"}
    about = {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": about,
        "reason": "FailedPrepareDynamicResources",
        "lastTimestamp": NOW,
        "message": f"Failed to prepare dynamic resources: prepare dynamic resources: {message}",
    }
    return (
        device_class("gpu", f"device.driver == '{driver}'"),
        claim(
            "c",
            request("r", "gpu"),
            status=allocation("node-1", (driver, "gpu-0"), pod="p"),
            metadata={"uid": "c"},
        ),
        pod(
            "p", USES, metadata={"uid": "p", **metadata}, spec={"nodeName": "node-1"}, status=status
        ),
        *((event,) if message else ()),
    )


def pod_and_claim(driver: str) -> tuple[dict[str, Any], ...]:
    return (
        device_class("gpu", f"device.driver == '{driver}'"),
        claim("c", request("r", "gpu")),
        pod("p", USES, metadata={"uid": "p"}),
    )


def daemon_set(
    name: str, image: str, *, desired: int = 1, labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    containers = [{"name": "plugin", "image": image, **spec.pop("container", {})}]
    template = {"metadata": {"labels": labels or {}}, "spec": {"containers": containers, **spec}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "drivers", "uid": name},
        "spec": {"template": template},
        "status": {"desiredNumberScheduled": desired, "numberReady": 0},
    }


def plugin_pod(
    owner: str, on: str, container: dict[str, Any], image: str = "x/app:1", **more: Any
) -> dict[str, Any]:
    reference = {"kind": "DaemonSet", "name": owner, "uid": owner, "controller": True}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{owner}-{on}",
            "namespace": "drivers",
            "uid": f"{owner}-{on}",
            "ownerReferences": [reference],
        },
        "spec": {"nodeName": on, "containers": [{"name": "plugin", "image": image}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "plugin", **container}],
            **more,
        },
    }


CRASHES = {
    "restartCount": 11,
    "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    "lastState": {
        "terminated": {
            "exitCode": 1,
            "message": "failed parsing /var/lib/kubelet/plugins/x/claims.json: cannot unmarshal",
        }
    },
}
RUNS = {"ready": True, "state": {"running": {"startedAt": "2026-09-19T10:00:00Z"}}}


def test_the_last_words_of_a_crashing_plugin_are_the_cause() -> None:
    answer = explain(
        *pod_on_node(INTEL, UNREGISTERED.format(INTEL)),
        node("node-1"),
        daemon_set("intel", "ghcr.io/intel/intel-gpu-resource-driver:v0.11.0"),
        plugin_pod("intel", "node-1", CRASHES),
    )
    assert "pod drivers/intel-node-1 of driver gpu.intel.com keeps crashing" in answer.headline
    assert "11 restarts" in answer.headline
    assert "cannot unmarshal" in answer.headline
    assert "move the file /var/lib/kubelet/plugins/x/claims.json away" in answer.next[0].text
    assert "--previous" in answer.next[1].command


BIG = {"cel": {"expression": "device.attributes['gpu.intel.com'].model == 'big'"}}


def test_crashing_plugin_comes_before_fixes_lowering_the_demand() -> None:
    wanted = request("r", "gpu", selectors=[BIG])
    answer = explain(
        device_class("gpu", f"device.driver == '{INTEL}'"),
        claim("c", wanted),
        pod("p", USES, metadata={"uid": "p"}),
        node("node-1"),
        node("node-2"),
        slice_of(INTEL, "node-2", device("gpu-0", model="small")),
        daemon_set("intel", "ghcr.io/intel/intel-gpu-resource-driver:v0.11.0", desired=2),
        plugin_pod("intel", "node-1", CRASHES),
        plugin_pod("intel", "node-2", RUNS),
    )
    assert "of driver gpu.intel.com keeps crashing on node-1" in answer.headline
    lines = explain_text.render([answer], Canvas(100), now=0.0)
    page = explain_html.render([answer], now=0.0)
    assert lines.index("claims.json away") < lines.index("To make it fit")
    assert page.index("claims.json away") < page.index("<h2>To make it fit")


@pytest.mark.parametrize(
    ("reason", "message", "step"),
    [
        # As a kubelet of 1.37 reported them of a DaemonSet whose image the node did not have.
        (
            "ErrImageNeverPull",
            (
                'Container image "ghcr.io/intel/intel-gpu-resource-driver:v9" is not present with pull'
                " policy of Never"
            ),
            "correct the image of container plugin",
        ),
        ("ImagePullBackOff", "", "let node-1 pull it"),
        ("CreateContainerConfigError", 'secret "certs" not found', "see what container plugin"),
    ],
)
def test_log_of_a_never_started_plugin_is_not_read(reason: str, message: str, step: str) -> None:
    answer = explain(
        *pod_on_node(INTEL, UNREGISTERED.format(INTEL)),
        node("node-1"),
        daemon_set("intel", "ghcr.io/intel/intel-gpu-resource-driver:v9"),
        plugin_pod(
            "intel", "node-1", {"state": {"waiting": {"reason": reason, "message": message}}}
        ),
    )
    assert f"does not run on node-1, {reason}" in answer.headline
    assert step in answer.next[0].text
    assert "kubectl logs intel-node-1" not in " ".join(one.command or "" for one in answer.next)


@pytest.mark.parametrize(
    "container",
    [
        {"args": [f"--driver-name={UNKNOWN}"]},
        {"env": [{"name": "DRIVER_NAME", "value": UNKNOWN}]},
        {"command": ["plugin", f"/var/lib/kubelet/plugins/{UNKNOWN}/dra.sock"]},
    ],
)
def test_unknown_driver_is_found_by_its_registered_name(container: dict[str, Any]) -> None:
    answer = explain(
        *pod_on_node(UNKNOWN, UNREGISTERED.format(UNKNOWN)),
        node("node-1"),
        daemon_set("whatever", "x/whatever:1", container=container),
        plugin_pod("whatever", "node-1", CRASHES),
    )
    assert "pod drivers/whatever-node-1 of driver acc.example.com keeps crashing" in answer.headline


def test_daemon_set_with_the_name_of_a_driver_is_not_blamed() -> None:
    """It names another driver, runs another image, and runs where nothing is published."""
    answer = explain(
        *pod_on_node(UNKNOWN, UNREGISTERED.format(UNKNOWN)),
        node("node-1"),
        daemon_set("acc-dra-driver", "x/y:1", container={"args": [f"--name=other.{UNKNOWN}"]}),
        plugin_pod("acc-dra-driver", "node-1", CRASHES),
    )
    assert "acc-dra-driver" not in answer.headline
    assert "see whether driver acc.example.com runs on node-1" in answer.next[0].text


def test_no_step_starts_a_running_driver() -> None:
    objects = pod_on_node(INTEL, deletionTimestamp="2026-09-20T09:00:00Z")
    ended = {"exitCode": 0, "finishedAt": "2026-09-20T09:00:00Z"}
    objects[2]["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    answer = explain(
        *objects,
        node("node-1"),
        slice_of(INTEL, "node-1", device("gpu-0")),
        daemon_set("intel", "ghcr.io/intel/intel-gpu-resource-driver:v0.11.0"),
        plugin_pod("intel", "node-1", RUNS),
    )
    texts = " ".join(step.text for step in answer.next)
    assert "start driver" not in texts
    assert "read the log of driver gpu.intel.com on node-1, of pod drivers/intel-node-1" in texts


def test_a_node_without_the_label_of_the_daemon_set_is_labelled() -> None:
    """The chart of NVIDIA's driver selects nodes by affinity, not by nodeSelector."""
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": ["true"]}]}
        for key in ("feature.node.kubernetes.io/pci-10de.present", "nvidia.com/gpu.present")
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    answer = explain(
        *pod_and_claim(NVIDIA),
        node("cpu-1"),
        node("gpu-1", labels={"example.com/accelerator": "nvidia"}),
        daemon_set(
            "plugin",
            "x/dra-driver-nvidia-gpu:v0.4.1",
            desired=0,
            affinity={"nodeAffinity": required},
        ),
    )
    assert answer.headline.startswith("DaemonSet drivers/plugin of driver gpu.nvidia.com")
    assert "does not select gpu-1 and runs nowhere (desired 0)" in answer.headline
    assert answer.fixes[0].title == "label gpu-1 with nvidia.com/gpu.present=true"
    assert [change.target for change in answer.fixes[0].changes if isinstance(change, Patch)] == [
        "Node/gpu-1"
    ]


def test_taint_untolerated_by_the_daemon_set_is_named() -> None:
    tainted = node("gpu-1", labels={"nvidia.com/gpu.present": "true"})
    tainted["spec"] = {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}
    user = pod_and_claim(NVIDIA)
    user[-1]["spec"]["tolerations"] = [{"key": "team", "operator": "Exists"}]
    answer = explain(
        *user, tainted, daemon_set("plugin", "x/dra-driver-nvidia-gpu:v0.4.1", desired=0)
    )
    assert "does not tolerate taint team=a:NoSchedule of gpu-1" in answer.headline


def test_a_new_node_whose_plugin_starts_is_waited_for() -> None:
    new = node("gpu-1", labels={"nvidia.com/gpu.present": "true"})
    new["metadata"]["creationTimestamp"] = "2026-09-20T09:56:00Z"
    new["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW}]
    starting = {"state": {"waiting": {"reason": "PodInitializing"}}}
    init = [{"name": "prestart", "state": {"running": {"startedAt": NOW}}}]
    answer = explain(
        *pod_and_claim(NVIDIA),
        new,
        daemon_set("plugin", "x/dra-driver-nvidia-gpu:v0.4.1"),
        plugin_pod("plugin", "gpu-1", starting, initContainerStatuses=init),
    )
    assert answer.headline.startswith("gpu-1 is new (4m old); pod drivers/plugin-gpu-1")
    assert "init container prestart still runs" in answer.headline
    assert answer.next[0].text.startswith("wait until pod plugin-gpu-1 is ready")
    assert answer.fixes == ()


def test_a_daemon_of_a_compute_domain_is_not_its_drivers_plugin() -> None:
    label = {"resource.nvidia.com/computeDomain": "d"}
    answer = explain(
        *pod_on_node("compute-domain.nvidia.com", UNREGISTERED.format("compute-domain.nvidia.com")),
        node("node-1"),
        daemon_set("cd-x", "x/dra-driver-nvidia-gpu:v0.4.1", labels=label),
        plugin_pod("cd-x", "node-1", CRASHES),
    )
    assert "cd-x" not in answer.headline


def test_unready_compute_domain_is_the_reason_for_silence() -> None:
    driver = "compute-domain.nvidia.com"
    parameters = {"kind": "ComputeDomainChannelConfig", "domainID": "uid-of-domain"}
    objects = pod_on_node(
        driver, "NodePrepareResources: rpc error: code = DeadlineExceeded desc = x"
    )
    objects[1]["spec"]["devices"]["config"] = [
        {"opaque": {"driver": driver, "parameters": parameters}}
    ]
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "cd", "namespace": "ml", "uid": "uid-of-domain"},
        "spec": {"numNodes": 2},
        "status": {"status": "NotReady", "nodes": [{"name": "node-2", "status": "Ready"}]},
    }
    answer = explain(*objects, node("node-1"), slice_of(driver, "node-1", device("gpu-0")), domain)
    assert (
        "ComputeDomain ml/cd is NotReady (1 of 2 nodes joined: node-2 (Ready))" in answer.headline
    )
    assert "node-1 has not joined" in answer.headline


@pytest.mark.parametrize(
    ("message", "step"),
    [
        (
            (
                "pods is forbidden: unable to validate against any security context constraint:"
                " [Privileged containers are not allowed]"
            ),
            "SecurityContextConstraint",
        ),
        # As kube-controller-manager 1.37 wrote it into the condition of the Deployment.
        (
            (
                'pods "mps-control-daemon-1-bb5855bb7-5c8kh" is forbidden: violates PodSecurity'
                ' "baseline:latest": host namespaces (hostPID=true), privileged (container'
                ' "mps-control-daemon" must not set securityContext.privileged=true)'
            ),
            "have an administrator let namespace drivers run such pods",
        ),
    ],
)
def test_deployment_forbidden_to_run_is_the_reason_for_a_refusal(message: str, step: str) -> None:
    refused = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "mps-control-daemon-1", "namespace": "drivers"},
        "spec": {
            "template": {
                "spec": {"containers": [{"name": "m", "image": "x/dra-driver-nvidia-gpu:v0.4.1"}]}
            }
        },
        "status": {
            "conditions": [
                {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "reason": "FailedCreate",
                    "message": message,
                }
            ]
        },
    }
    words = "NodePrepareResources failed for ResourceClaim c: MPS control daemon is not yet ready"
    answer = explain(*pod_on_node(NVIDIA, words), node("node-1"), refused)
    assert "Deployment drivers/mps-control-daemon-1 of the driver has no pod" in answer.headline
    assert step in answer.next[0].text


@pytest.mark.parametrize(
    ("words", "on", "is_cause"),
    [
        ("MPS control daemon is not yet ready: control daemon not yet ready", "node-1", True),
        ("MPS control daemon is not yet ready: control daemon not yet ready", "node-2", False),
        ("error creating CDI spec file for claim: no space left", "node-1", False),
    ],
)
def test_daemon_awaited_by_the_driver_is_the_reason(words: str, on: str, is_cause: bool) -> None:
    """A node with kubelet 1.37 reported this of an image that it did not have."""
    message = (
        'Container image "x/dra-driver-nvidia-gpu:v9" is not present with pull policy of Never'
    )
    waits = {"state": {"waiting": {"reason": "ErrImageNeverPull", "message": message}}}
    daemon = plugin_pod("mps-control-daemon-1", on, waits)
    daemon["metadata"]["labels"] = {"pod-template-hash": "5c8"}
    daemon["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "mps-control-daemon-1-5c8",
            "uid": "r",
            "controller": True,
        }
    ]
    refusal = f"NodePrepareResources failed for ResourceClaim c: {words}"
    answer = explain(*pod_on_node(NVIDIA, refusal), node("node-1"), node("node-2"), daemon)
    assert (message in answer.headline) is is_cause
    assert answer.next[0].text.startswith("correct the image of container plugin") is is_cause


# -- after a restart of the node --


def test_a_refusal_after_a_reboot_is_newer_than_the_end_of_the_container() -> None:
    words = "NodePrepareResources failed for ResourceClaim c: claim is prepared already"
    objects = pod_on_node(UNKNOWN, words)
    ended = {"exitCode": 255, "reason": "Unknown", "finishedAt": "2026-09-20T09:28:00Z"}
    objects[2]["status"] = {
        "phase": "Running",
        "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
    }
    answer = explain(*objects, node("node-1"))
    assert "cannot prepare its devices again" in answer.headline
    assert "claim is prepared already" in answer.headline
    assert answer.next[0].text.startswith("recreate the pod")


def test_repeated_kubelet_events_are_counted_and_earlier_ones_reported() -> None:
    words = "NodePrepareResources failed for ResourceClaim c: claim is prepared already"
    objects = pod_on_node(UNKNOWN, words)
    ended = {"exitCode": 255, "reason": "Unknown", "finishedAt": "2026-09-20T09:28:00Z"}
    objects[2]["status"] = {
        "phase": "Running",
        "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
    }
    objects[3].update({"count": 12, "firstTimestamp": "2026-09-20T09:29:00Z"})
    notes = explain(*objects, node("node-1")).notes
    assert any("12 times since 2026-09-20T09:29:00Z, last at" in note for note in notes)
    assert any("ended with exit code 255 (Unknown) at 2026-09-20T09:28" in note for note in notes)


def test_container_running_since_the_refusal_outweighs_it() -> None:
    words = "NodePrepareResources failed for ResourceClaim c: claim is prepared already"
    objects = pod_on_node(UNKNOWN, words)
    objects[2]["status"] = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "state": {"running": {"startedAt": "2026-09-20T10:00:01Z"}},
            }
        ],
    }
    assert explain(*objects, node("node-1")).verdict == "allocated"


# -- two blockers --


def test_a_silent_node_does_not_hide_a_finalizer() -> None:
    lost = node("node-1")
    lost["status"]["conditions"] = [{"type": "Ready", "status": "Unknown", "message": "stopped"}]
    objects = pod_on_node(
        UNKNOWN, deletionTimestamp="2026-09-20T09:00:00Z", finalizers=["example.com/keep"]
    )
    answer = explain(*objects, lost)
    assert "finalizer example.com/keep keeps it" in answer.headline
    assert any("not even by force" in step.text for step in answer.next)


# -- nodes without a shell --


@pytest.mark.parametrize(
    ("os_image", "command"),
    [
        ("Ubuntu 24.04.3 LTS", "dractl discover --check"),
        ("Talos (v1.13.1)", "talosctl -n node-1 read /etc/cri/conf.d/cri.toml"),
        ("Bottlerocket OS 1.30.0", "kubectl debug node/node-1 -it --image=busybox"),
        ("Container-Optimized OS from Google", "kubectl debug node/node-1 -it --image=busybox"),
    ],
)
def test_check_on_the_node_suits_its_system(os_image: str, command: str) -> None:
    host = node("node-1")
    host["status"]["nodeInfo"] = {"osImage": os_image}
    answer = explain(*pod_on_node(UNKNOWN, UNREGISTERED.format(UNKNOWN)), host)
    assert command in [step.command for step in answer.next]


# -- the words of kubelet and runtime --


def pod_with_waiting_container(reason: str, message: str) -> tuple[dict[str, Any], ...]:
    objects = pod_on_node(NVIDIA)
    objects[2]["status"]["containerStatuses"] = [
        {"name": "main", "state": {"waiting": {"reason": reason, "message": message}}}
    ]
    return objects


def test_the_source_of_an_absent_mount_is_the_drivers_root() -> None:
    words = "failed to fulfil mount request: open /bin/nvidia-smi: no such file or directory"
    root = {"env": [{"name": "NVIDIA_DRIVER_ROOT", "value": "/"}]}
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "policy"},
        "spec": {"hostPaths": {"driverInstallDir": "/usr/local"}},
    }
    answer = explain(
        *pod_with_waiting_container("RunContainerError", words),
        node("node-1"),
        daemon_set("plugin", "x/dra-driver-nvidia-gpu:v0.4.1", container=root),
        policy,
    )
    assert "NVIDIA_DRIVER_ROOT of DaemonSet drivers/plugin is /" in answer.headline
    assert "driverInstallDir of ClusterPolicy policy is /usr/local" in answer.headline
    assert "Helm: nvidiaDriverRoot" in answer.next[0].text
    assert not any("correct the container's command" in step.text for step in answer.next)


def test_mount_from_a_volume_of_the_pod_is_not_the_drivers() -> None:
    words = "failed to fulfil mount request: open /data/x: no such file or directory"
    objects = pod_with_waiting_container("RunContainerError", words)
    objects[2]["spec"]["volumes"] = [{"name": "v", "hostPath": {"path": "/data"}}]
    answer = explain(*objects, node("node-1"))
    assert "driver root" not in " ".join(step.text for step in answer.next)


def test_an_absent_command_is_the_containers_own() -> None:
    words = 'exec: "trainer": executable file not found in $PATH: no such file or directory'
    answer = explain(*pod_with_waiting_container("RunContainerError", words), node("node-1"))
    assert answer.next[0].text == "correct the container's command, or its image"


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (
            "MountVolume.SetUp failed: hostPath type check failed: /data is not a directory",
            "make /data a directory on node-1",
        ),
        (
            'failed to generate spec: failed to mkdir "/data": mkdir /data: read-only file system',
            "see why /data cannot be created on node-1",
        ),
    ],
)
def test_unmountable_path_of_the_node_is_named(words: str, step: str) -> None:
    answer = explain(*pod_with_waiting_container("CreateContainerError", words), node("node-1"))
    assert answer.next[0].text.startswith(step)


def test_claim_forgotten_by_the_kubelet_needs_another_pod() -> None:
    words = "locked cache operation: unable to get claim info for claim c in namespace ml"
    answer = explain(
        *pod_with_waiting_container("CreateContainerConfigError", words), node("node-1")
    )
    assert "the kubelet has lost what it knew of claim c" in answer.headline
    assert "grace period" in answer.next[0].text


def test_program_without_access_to_its_device_is_not_at_fault() -> None:
    objects = pod_on_node(NVIDIA)
    message = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    objects[2]["status"] = {
        "phase": "Failed",
        "containerStatuses": [
            {"name": "main", "state": {"terminated": {"exitCode": 9, "message": message}}}
        ],
    }
    answer = explain(*objects, node("node-1"))
    assert "allocated and prepared, but the program does not reach them" in answer.headline
    assert "/dev/nvidia*" in answer.next[0].text


# -- what a driver has misread --

IB = {"dra.net/encapsulation": {"string": "infiniband"}, "dra.net/rdma": {"bool": False}}


def network_pod(selector: str) -> tuple[dict[str, Any], ...]:
    wanted = {"selectors": [{"cel": {"expression": selector}}]}
    return (
        device_class("nic", "device.driver == 'dra.net'"),
        claim("c", request("r", "nic", **wanted)),
        pod("p", USES, metadata={"uid": "p"}),
    )


def nic_slice(on: str, attributes: dict[str, Any]) -> dict[str, Any]:
    value = slice_of("dra.net", on, device("nic-0"))
    value["spec"]["devices"][0]["attributes"] = attributes
    return value


def test_contradictory_attributes_are_the_drivers_fault() -> None:
    answer = explain(
        *network_pod('device.attributes["dra.net"].rdma == true'),
        node("node-1"),
        nic_slice("node-1", IB),
    )
    assert "contradicts dra.net/encapsulation infiniband" in answer.headline
    assert not any("rdma" in fix.title for fix in answer.fixes)
    assert answer.next[0].text.startswith("look for a later version of driver dra.net")


def test_equal_hardware_on_another_node_shows_a_misread_attribute() -> None:
    model = {"dra.net/pciDevice": {"string": "MT2910"}}
    tainted = node("node-2", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}])
    answer = explain(
        *network_pod('device.attributes["dra.net"].rdma == true'),
        node("node-1"),
        tainted,
        nic_slice("node-1", {**model, "dra.net/rdma": {"bool": False}}),
        nic_slice("node-2", {**model, "dra.net/rdma": {"bool": True}}),
    )
    message = next(r.message for r in answer.reasons if r.code == "device-contradiction")
    assert "false of the device, and true of the same hardware on node-2" in message
    assert answer.headline.startswith("driver dra.net says dra.net/rdma false")


RDMA_POD = network_pod('device.attributes["dra.net"].rdma == true')
MODEL = {"dra.net/pciDevice": {"string": "MT2910"}}
MISREAD = {**MODEL, "dra.net/rdma": {"bool": False}}
READ = {**MODEL, "dra.net/rdma": {"bool": True}}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def test_a_misread_attribute_beside_another_obstacle_does_not_begin_the_headline() -> None:
    """With the right attribute, the taint of node-1 would still refuse the pod."""
    answer = explain(
        *RDMA_POD,
        node("node-1", taints=[TAINT]),
        node("node-2", taints=[TAINT]),
        nic_slice("node-1", MISREAD),
        nic_slice("node-2", READ),
    )
    assert answer.headline.startswith("does not fit on any of the 2 nodes: taint team=a")
    assert "dra.net/rdma" not in answer.headline
    assert "device-contradiction" in [reason.code for reason in answer.reasons]


def test_a_misread_attribute_begins_the_headline_if_the_other_value_lets_the_pod_fit() -> None:
    """Although the taint is the cause on the nearest node, node-2 only lacks the right value."""
    answer = explain(
        *RDMA_POD,
        node("node-1", taints=[TAINT]),
        node("node-2"),
        node("node-3", taints=[{**TAINT, "key": "zone"}]),
        nic_slice("node-1", MISREAD),
        nic_slice("node-2", MISREAD),
        nic_slice("node-3", READ),
    )
    assert answer.headline.startswith("driver dra.net says dra.net/rdma false of all 2 devices")
    assert (
        "; does not fit on any of the 3 nodes: nearest is node-1: taint team=a" in answer.headline
    )


def test_a_misread_attribute_is_on_the_page_where_every_node_has_another_cause() -> None:
    """A single change would also be enough on each of the other nodes."""
    tainted, incomplete = nic_slice("node-4", READ), nic_slice("node-5", READ)
    tainted["spec"]["devices"][0]["taints"] = [TAINT]
    incomplete["spec"]["pool"]["resourceSliceCount"] = 2
    held = allocation("node-3", ("dra.net", "nic-0"), pod="q")
    answer = explain(
        *RDMA_POD,
        *(node(f"node-{number}") for number in (1, 3, 4, 5)),
        node("node-2", taints=[TAINT]),
        *(nic_slice(f"node-{number}", READ) for number in (2, 3)),
        nic_slice("node-1", MISREAD),
        tainted,
        incomplete,
        claim("held", request("r", "nic"), status=held),
        pod("q", spec={"nodeName": "node-3"}, status={"phase": "Running"}),
    )
    assert answer.headline.startswith(
        "does not fit on any of the 5 nodes: no common reason; nearest is "
    )
    assert "dra.net/rdma" not in answer.headline
    page = explain_text.render([answer], Canvas(100), now=0.0)
    assert "  also: driver dra.net says dra.net/rdma false of the device" in page


def test_naturally_differing_values_are_no_contradiction() -> None:
    ethernet = {"dra.net/encapsulation": {"string": "ether"}, "dra.net/rdma": {"bool": False}}
    answer = explain(
        *network_pod('device.attributes["dra.net"].rdma == true'),
        node("node-1"),
        nic_slice("node-1", ethernet),
    )
    assert "contradicts" not in answer.headline


# -- claims that changed since --


def test_claim_younger_than_its_pod_was_replaced() -> None:
    value = pod(
        "p",
        USES,
        metadata={"uid": "p", "creationTimestamp": "2026-09-20T09:00:00Z"},
        spec={"nodeName": "node-1"},
        status={"phase": "Pending"},
    )
    newer = {"uid": "c", "creationTimestamp": "2026-09-20T09:30:00Z"}
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        claim("c", request("r", "gpu"), metadata=newer),
        claim("left-over", request("r", "gpu"), metadata={"uid": "l"}),
        node("node-1"),
        value,
    )
    assert answer.reasons[0].code == "claim-replaced"
    assert "it was replaced; the kubelet refuses it until the pod is recreated" in answer.headline
    assert "delete the claims like it that no pod names: left-over" in answer.next[1].text


def test_a_bare_pod_with_a_node_and_an_open_claim_was_placed_by_hand() -> None:
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        claim("c", request("r", "gpu")),
        node("node-1"),
        pod("p", USES, metadata={"uid": "p"}, spec={"nodeName": "node-1"}),
    )
    assert "spec.nodeName was set by hand" in answer.headline


def test_claim_absent_from_the_pods_status_is_found() -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "ml", "uid": "t"},
        "spec": {"spec": {"devices": {"requests": [request("r", "gpu")]}}},
    }
    made = {
        "name": "p-g-abc",
        "uid": "c",
        "annotations": {"resource.kubernetes.io/pod-claim-name": "g"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p"}],
    }
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        template,
        claim("p-g-abc", request("r", "gpu"), metadata=made),
        node("node-1"),
        pod(
            "p",
            {"name": "g", "resourceClaimTemplateName": "one"},
            metadata={"uid": "p"},
            status={"phase": "Pending"},
        ),
    )
    assert "claim ml/p-g-abc exists for it" in answer.headline
    assert answer.next[0].text.startswith("recreate the pod, or restart kube-controller-manager")


# -- who is evicted --


@pytest.mark.parametrize(("release", "evicted"), [("1.37", False), ("1.38", True)])
def test_extended_resources_are_evicted_from_1_38_on(release: str, evicted: bool) -> None:
    """kubernetes/kubernetes#141290."""
    taint = {"key": "example.com/bad", "effect": "NoExecute", "timeAdded": NOW}
    special = claim(
        "special",
        request("r", "gpu"),
        status=allocation("node-1", (UNKNOWN, "gpu-0"), pod="p"),
        metadata={
            "uid": "c",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        },
    )
    user = pod("p", metadata={"uid": "p"}, spec={"nodeName": "node-1"})
    user["spec"]["containers"] = [
        {"name": "main", "resources": {"limits": {"example.com/gpu": "1"}}}
    ]
    user["status"] = {
        "phase": "Running",
        "containerStatuses": [{"name": "main", **RUNS}],
        "extendedResourceClaimStatus": {
            "resourceClaimName": "special",
            "requestMappings": [
                {"containerName": "main", "resourceName": "example.com/gpu", "requestName": "r"}
            ],
        },
    }
    gpu = device_class("gpu", f"device.driver == '{UNKNOWN}'")
    gpu["spec"]["extendedResourceName"] = "example.com/gpu"
    state = state_of(
        gpu,
        special,
        node("node-1"),
        user,
        slice_of(UNKNOWN, "node-1", device("gpu-0", taints=[taint])),
    )
    (question,) = find_subjects(state, "pod/p", None)
    notes = " ".join(Explainer(state, Features.for_release(release)).explain(question).notes)
    assert ("the pod is not evicted" in notes) is not evicted
    assert ("for which pods are evicted" in notes) is evicted


@pytest.mark.parametrize(
    ("words", "ill"),
    [("GPU is lost (Xid 79)", True), ("the lease is taken by another claim", False)],
)
def test_a_device_is_only_replaced_where_the_words_call_it_ill(words: str, ill: bool) -> None:
    message = f"NodePrepareResources failed for ResourceClaim c: {words}"
    answer = explain(*pod_on_node(UNKNOWN, message), node("node-1"))
    assert any("reset or replace" in step.text for step in answer.next) is ill


def test_finalizer_keeps_an_ended_pod() -> None:
    """On a node of 1.37 the pod had succeeded, its claim was released, and it stayed."""
    objects = pod_on_node(
        UNKNOWN, deletionTimestamp="2026-09-20T09:00:00Z", finalizers=["example.com/keep"]
    )
    ended = {"exitCode": 0, "finishedAt": "2026-09-20T09:00:00Z"}
    objects[2]["status"] = {
        "phase": "Succeeded",
        "containerStatuses": [{"name": "main", "state": {"terminated": ended}}],
    }
    answer = explain(*objects, node("node-1"))
    assert "is Terminating" in answer.headline
    assert "finalizer example.com/keep keeps it" in answer.headline
    assert "keeps its devices" not in answer.headline
    assert answer.next[0].text.startswith("have the controller of finalizer example.com/keep")


@pytest.mark.parametrize(("container", "option"), [("gpus", " -c gpus"), ("other", "")])
def test_log_of_a_running_driver_is_that_of_its_container(container: str, option: str) -> None:
    """A pod of NVIDIA's driver may have several containers; gpus serves gpu.nvidia.com."""
    objects = pod_on_node(NVIDIA, deletionTimestamp="2026-09-20T09:00:00Z")
    ended = {"exitCode": 0, "finishedAt": "2026-09-20T09:00:00Z"}
    objects[2]["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    answer = explain(
        *objects,
        node("node-1"),
        slice_of(NVIDIA, "node-1", device("gpu-0")),
        daemon_set("nvidia", "x/dra-driver-nvidia-gpu:v0.4.1"),
        plugin_pod("nvidia", "node-1", {**RUNS, "name": container}),
    )
    (log,) = (step.command for step in answer.next if step.text.startswith("read the log of"))
    assert log == f"kubectl logs nvidia-node-1 -n drivers --tail=100{option}"


def test_other_reasons_stay_beside_a_crashing_plugin() -> None:
    leaving = pod(
        "q",
        {"name": "g", "resourceClaimName": "held"},
        metadata={"deletionTimestamp": "2026-09-20T09:00:00Z"},
        spec={"nodeName": "node-2"},
    )
    held = allocation("node-2", (INTEL, "gpu-0"), pod="q")
    answer = explain(
        *pod_and_claim(INTEL),
        node("node-1"),
        node("node-2"),
        slice_of(INTEL, "node-2", device("gpu-0")),
        claim("held", request("r", "gpu"), status=held),
        leaving,
        daemon_set("intel", "ghcr.io/intel/intel-gpu-resource-driver:v0.11.0", desired=2),
        plugin_pod("intel", "node-1", CRASHES),
        plugin_pod("intel", "node-2", RUNS),
    )
    assert "of driver gpu.intel.com keeps crashing on node-1" in answer.headline
    assert "holder-terminating" in [reason.code for reason in answer.reasons]


def equipped_node(name: str) -> dict[str, Any]:
    value = node(name, labels={"nvidia.com/gpu.present": "true"})
    value["status"]["conditions"] = [{"type": "Ready", "status": "True", "lastHeartbeatTime": NOW}]
    return value


def nvidia_plugin(on: str, container: str = "gpus") -> dict[str, Any]:
    value = plugin_pod(
        "nvidia",
        on,
        {**RUNS, "name": container},
        "x/dra-driver-nvidia-gpu:v0.4.1",
        conditions=[{"type": "Ready", "status": "True"}],
    )
    value["spec"]["containers"][0]["name"] = container
    return value


NVIDIA_PLUGINS = daemon_set("nvidia", "x/dra-driver-nvidia-gpu:v0.4.1")


@pytest.mark.parametrize("has_slice", [True, False])
def test_running_plugin_without_devices_is_not_asked_whether_it_runs(has_slice: bool) -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu#1008 (an empty slice) and #330 (none)."""
    slices = (slice_of(NVIDIA, "gpu-1"),) if has_slice else ()
    answer = explain(
        *pod_and_claim(NVIDIA),
        equipped_node("gpu-1"),
        NVIDIA_PLUGINS,
        nvidia_plugin("gpu-1"),
        *slices,
    )
    published = "a ResourceSlice without devices" if has_slice else "no ResourceSlice"
    assert f"runs on gpu-1, and publishes {published}" in answer.headline
    assert answer.next[0].command.startswith("kubectl logs nvidia-gpu-1 -n drivers")
    assert answer.next[1].text.startswith("restart pod nvidia-gpu-1 if the hardware is there")
    assert "running there?" not in str(answer.fixes)


def test_plugin_on_a_node_without_the_hardware_is_not_at_fault() -> None:
    answer = explain(*pod_and_claim(NVIDIA), node("cpu-1"), NVIDIA_PLUGINS, nvidia_plugin("cpu-1"))
    assert "and publishes" not in answer.headline


def test_plugin_without_the_container_of_its_driver_is_switched_on() -> None:
    """The chart runs compute-domains and gpus in one pod, and can leave either out."""
    answer = explain(
        *pod_and_claim(NVIDIA),
        equipped_node("gpu-1"),
        NVIDIA_PLUGINS,
        nvidia_plugin("gpu-1", "compute-domains"),
    )
    assert "has no container gpus, which serves driver gpu.nvidia.com" in answer.headline
    assert answer.next[0].text.startswith("switch on driver gpu.nvidia.com")


def test_log_of_an_init_container_running_for_long_is_read() -> None:
    """modelplaneai/modelplane#229: it waits for a driver root that the node does not have."""
    init = [{"name": "prestart", "state": {"running": {"startedAt": "2026-09-20T09:40:00Z"}}}]
    answer = explain(
        *pod_and_claim(NVIDIA),
        equipped_node("gpu-1"),
        NVIDIA_PLUGINS,
        plugin_pod(
            "nvidia",
            "gpu-1",
            {"state": {"waiting": {"reason": "PodInitializing"}}},
            initContainerStatuses=init,
        ),
    )
    assert "init container prestart still runs after 20m" in answer.headline
    assert answer.next[0].command == "kubectl logs nvidia-gpu-1 -n drivers -c prestart"


def test_compute_domain_waits_for_an_unregistered_driver() -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu#814: the domain is not the reason, but a result."""
    driver = "compute-domain.nvidia.com"
    objects = pod_on_node(driver, UNREGISTERED.format(driver))
    parameters = {"kind": "ComputeDomainChannelConfig", "domainID": "uid-of-domain"}
    objects[1]["spec"]["devices"]["config"] = [
        {"opaque": {"driver": driver, "parameters": parameters}}
    ]
    domain = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "cd", "namespace": "ml", "uid": "uid-of-domain"},
        "status": {"status": "NotReady"},
    }
    answer = explain(*objects, node("node-1"), slice_of(driver, "node-1", device("gpu-0")), domain)
    assert "ComputeDomain" not in answer.headline
    assert answer.next[0].text.startswith(f"see whether driver {driver} runs on node-1")


def test_device_no_longer_published_is_named_beside_the_refusal() -> None:
    """google/dranet#155: the claim has an interface that the driver no longer publishes."""
    message = "NodePrepareResources failed for ResourceClaim c: it is lost in the dark"
    objects = pod_on_node(UNKNOWN, message)
    answer = explain(*objects, node("node-1"), slice_of(UNKNOWN, "node-1", device("gpu-1")))
    assert answer.headline.endswith("its driver no longer publishes device gpu-0, which it has")
    assert answer.next[0].text.startswith("recreate the pod")
    incomplete = slice_of(UNKNOWN, "node-1", device("gpu-1"))
    incomplete["spec"]["pool"]["resourceSliceCount"] = 2
    for item in (slice_of(UNKNOWN, "node-1", device("gpu-0")), incomplete):
        assert "no longer" not in explain(*objects, node("node-1"), item).headline


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("NRI RunPodSandbox failed: x /var/run/netns/cni-1d2: y", "read the logs of the plug-ins"),
        ("could not open /var/run/netns/cni-1d2", "see what the kubelet says"),
        ("cni plugin not initialized", "see whether the network add-on"),
        ("[cni] not ready", "see whether the network add-on"),
    ],
)
def test_path_of_a_network_namespace_does_not_accuse_cni(words: str, step: str) -> None:
    """kubernetes-sigs/dranet#175: a driver's NRI hook fails, not the network add-on."""
    objects = pod_on_node(UNKNOWN, "x")
    objects[3]["reason"] = "FailedCreatePodSandBox"
    objects[3]["message"] = f"Failed to create pod sandbox: rpc error: {words}"
    answer = explain(*objects, node("node-1"), slice_of(UNKNOWN, "node-1", device("gpu-0")))
    assert answer.next[0].text.startswith(step)


def test_claim_that_another_scheduler_did_not_reserve_is_not_called_replaced() -> None:
    """volcano-sh/volcano#5119: the claim is allocated, and never was reserved for the pod."""
    message = "pod p (u) is not allowed to use ResourceClaim c (v)"
    answer = explain(
        *pod_on_node(UNKNOWN, message), node("node-1"), slice_of(UNKNOWN, "node-1", device("gpu-0"))
    )
    assert "or what put the pod there did not reserve it" in answer.headline
    assert "see what schedules it" in answer.next[1].text


def test_time_slice_that_the_gpu_does_not_support_is_explained() -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu#222: a Tesla P4, and a claim without a configuration."""
    message = (
        "NodePrepareResources failed for claim ml/c: error preparing devices: error setting"
        " timeslice config for requests: error setting time slice: error running nvidia-smi: exit"
        " status 3"
    )
    answer = explain(
        *pod_on_node(NVIDIA, message), node("node-1"), slice_of(NVIDIA, "node-1", device("gpu-0"))
    )
    assert "cannot set the time slice of that GPU" in answer.headline
    assert "TimeSlicingSettings" in answer.next[0].text


@pytest.mark.parametrize(("version", "is_optional"), [("v1.32.0", True), ("v1.34.1", False)])
def test_scheduler_without_the_gate_of_claims_is_thought_of(
    version: str, is_optional: bool
) -> None:
    """google/dranet#30: kube-scheduler 1.32 ran without DynamicResourceAllocation."""
    place = node("node-1")
    place["status"]["nodeInfo"] = {"kubeletVersion": version}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": "Scheduled",
        "message": "Successfully assigned ml/p to node-1",
    }
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        claim("c", request("r", "gpu")),
        place,
        pod("p", USES, metadata={"uid": "p"}, spec={"nodeName": "node-1"}),
        event,
    )
    assert answer.reasons[0].code == "claim-replaced"
    assert ("DynamicResourceAllocation=true" in answer.next[0].text) is is_optional


@pytest.mark.parametrize("is_mapped", [True, False])
def test_kubelet_that_counts_an_extended_resource_of_a_claim_is_updated(is_mapped: bool) -> None:
    """kubernetes/kubernetes#135725: a device plugin was removed, and its capacity 0 remains."""
    mapping = {"containerName": "main", "resourceName": "x.io/gpu", "requestName": "r"}
    extended = {"resourceClaimName": "c", "requestMappings": [mapping] if is_mapped else []}
    status = {
        "phase": "Failed",
        "reason": "OutOfx.io/gpu",
        "message": "Node didn't have enough resource: x.io/gpu, requested: 1, used: 0, capacity: 0",
        "extendedResourceClaimStatus": extended,
    }
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        claim("c", request("r", "gpu"), status=allocation("node-1", (UNKNOWN, "gpu-0"), pod="p")),
        node("node-1"),
        slice_of(UNKNOWN, "node-1", device("gpu-0")),
        pod("p", metadata={"uid": "p"}, spec={"nodeName": "node-1"}, status=status),
    )
    assert answer.headline.startswith("failed on node-1: OutOfx.io/gpu")
    assert ("claim c provides x.io/gpu" in answer.headline) is is_mapped
    assert ("DRAExtendedResource" in answer.next[0].text) is is_mapped


def test_the_eviction_of_a_terminating_pod_is_said() -> None:
    """kubernetes/kubernetes#141422: a taint ends the pod, and nobody has deleted it."""
    objects = pod_on_node(UNKNOWN, "Marking for deletion", deletionTimestamp=NOW)
    objects[3]["reason"] = "DeviceTaintManagerEviction"
    objects[3]["message"] = "Marking for deletion"
    answer = explain(*objects, node("node-1"), slice_of(UNKNOWN, "node-1", device("gpu-0")))
    assert (
        "the pod was not deleted by hand: event DeviceTaintManagerEviction (Marking for deletion)"
        in answer.notes
    )


def test_another_scheduler_is_asked_for_an_open_claim() -> None:
    """volcano-sh/volcano#5119, where the claim is not even allocated."""
    place = node("node-1")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": "Scheduled",
        "source": {"component": "volcano"},
        "message": "Successfully assigned ml/p to node-1",
    }
    spec = {"nodeName": "node-1", "schedulerName": "volcano"}
    answer = explain(
        device_class("gpu", f"device.driver == '{UNKNOWN}'"),
        claim("c", request("r", "gpu")),
        place,
        pod("p", USES, metadata={"uid": "p"}, spec=spec),
        event,
    )
    assert answer.reasons[0].code == "claim-replaced"
    assert "see whether Volcano (spec.schedulerName) is set up to" in answer.next[1].text


@pytest.mark.parametrize("newest", ["FailedMount", "Pulling"])
def test_plugin_whose_volume_cannot_be_mounted_is_not_waited_for(newest: str) -> None:
    """kubernetes-sigs/dra-driver-cpu#255: a host path of the plug-in that the node lacks."""
    message = "MountVolume.SetUp failed: hostPath type check failed: /k/plugins is not a directory"
    starting = plugin_pod(
        "nvidia", "gpu-1", {"state": {"waiting": {"reason": "ContainerCreating"}}}
    )
    about = {"kind": "Pod", "name": starting["metadata"]["name"], "namespace": "drivers"}
    events = [
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": reason, "namespace": "drivers"},
            "involvedObject": about,
            "reason": reason,
            "lastTimestamp": time,
            "message": message,
        }
        for reason, time in (("FailedMount", "2026-09-20T09:50:00Z"), (newest, NOW))
    ]
    answer = explain(
        *pod_and_claim(NVIDIA), equipped_node("gpu-1"), NVIDIA_PLUGINS, starting, *events
    )
    is_named = newest == "FailedMount"
    assert (f"cannot start on gpu-1: FailedMount: {message}" in answer.headline) is is_named
    assert answer.next[0].text.startswith("see what pod" if is_named else "wait until pod")


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ('err="driver failed to start: context deadline exceeded"', "see why the kubelet of gpu-1"),
        ("Error: unable to get checkpoint: checkpoint is corrupted", "end the pods on gpu-1"),
    ],
)
def test_last_words_of_a_crashing_plugin_lead_to_a_step(message: str, step: str) -> None:
    """kubernetes-sigs/dra-driver-cpu#231 and kubernetes-sigs/dra-driver-nvidia-gpu#1100"""
    crashing = plugin_pod(
        "nvidia",
        "gpu-1",
        {
            "restartCount": 9,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "message": message}},
        },
    )
    answer = explain(*pod_and_claim(NVIDIA), equipped_node("gpu-1"), NVIDIA_PLUGINS, crashing)
    assert answer.next[0].text.startswith(step)
