"""Verdict and exit code of each situation on a real node of Kubernetes 1.37.1, with containerd 2.2 and real drivers.

Those that are recorded are read from their dumps. Of the others the words of kubelet, runtime and driver were seen
there, and stand here on a pod that is made of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cli.main import main
from dractl.errors import InputError
from dractl.explain import Explainer, find_subjects
from dractl.explain.answer import FITS
from tests.conftest import whole_dir
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

DRIVER = "lab.node.test"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "
REFUSED = PREPARE + "NodePrepareResources failed for ResourceClaim c: "
# Recorded situations, and the verdict about the pod that each is about.
RECORDED = {
    "01-driver-stopped-before-prepare": "failing",
    "03-driver-stopped-slices-wiped-new-pod": "unallocatable",
    "05-example-config-interval": "failing",
    "07-device-lost-at-prepare": "failing",
    "09-cdi-file-broken": "failing",
    "11-container-crashes": "failing",
    "13-deleted-while-driver-down": "failing",
    "15-force-deleted-then-next": "allocated",
    "16a-prepare-hangs-15s": "allocated",
    "18-cdi-spec-dirs-elsewhere": "failing",
    "20-container-lists-no-claim": "failing",
    "22-device-unhealthy-while-running": "failing",
    "24-slices-deleted-by-hand": "allocated",
    "26-kubelet-stopped-node-still-ready": "allocated",
    "28-node-not-ready-new-pod": "blocked",
    "28c-node-not-ready-terminating": "failing",
    "30-cni-plugin-missing": "failing",
    "32-driver-killed-socket-left": "failing",
    "33-two-instances-of-one-driver": "unallocatable",
    "41-nvidia-timeslicing-gate-off": "failing",
    "43-nvidia-strategy-typo": "failing",
    "45-nvidia-kind-mig-for-gpu": "allocated",
    "46-dranet-plain": "allocated",
    "48-dranet-config-refused": "failing",
    "50-dracpu-not-enough": "unallocatable",
    "52-claim-shared-by-two-pods": "allocated",
    "54-extended-resource-prepare-fails": "failing",
    "56-runtimeclass-without-handler": "failing",
    "58-secret-volume-missing": "failing",
    "61-kubelet-restarted-driver-down": "allocated",
    "62-terminating-driver-gone-slices-wiped": "failing",
    "63b-containerd-down-running-pod": "allocated",
    "66-disk-pressure-evicted": "failing",
    "68-taint-rule-noexecute-then-four": "unallocatable",
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_situation(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shared = whole_dir()
    if shared is None or not (shared / "conformance" / "node" / name).is_dir():
        pytest.skip("the recorded situations are not here")
    folder = shared / "conformance" / "node" / name
    namespace, subject = json.loads((folder / "truth.json").read_text())["pod"].split("/")
    dump = str(folder / "dump.yaml.gz")
    code = main(
        ["explain", f"pod/{subject}", "-n", namespace, "-f", dump, "-o", "json", "--isolated"]
    )
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict, code) == (RECORDED[name], 0 if RECORDED[name] in FITS else 1)


def waits(reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    waiting = {"reason": reason, **({"message": message} if message else {})}
    return {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": waiting},
        **more,
    }


def ended_container(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    return {
        "name": "main",
        "ready": False,
        "restartCount": 2,
        "state": {"terminated": terminated_state(code, reason)},
        **more,
    }


def terminated_state(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"exitCode": code, "reason": reason, "startedAt": "2026-01-01T00:00:01Z"}


def runs(**more: Any) -> dict[str, Any]:
    running = {"startedAt": "2026-01-01T00:00:02Z"}
    return {"name": "main", "ready": True, "restartCount": 0, "state": {"running": running}, **more}


CREATING = waits("ContainerCreating")
UNRESOLVABLE = "CDI device injection failed: unresolvable CDI devices lab.node.test/device=1-dev-0"
NO_DEVICE_NODE = 'CDI device injection failed: failed to inject devices: failed to stat CDI host device "/dev/dev-0"'
SICK = {"health": "Unhealthy", "message": "ECC", "resourceID": "lab.node.test/device=1-dev-0"}
HEALTH = {"allocatedResourcesStatus": [{"name": "claim:c", "resources": [SICK]}]}
LEAVING = {"deletionTimestamp": "2026-01-01T00:01:00Z"}
SILENT = {
    "conditions": [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]
}
SANDBOX = "Failed to create pod sandbox: rpc error: code = Unknown desc = "

# (situation, verdict, code, status of container main or None, reason and message of kubelet's event, more)
SEEN: tuple[
    tuple[str, str, str | None, dict[str, Any] | None, tuple[str, str], dict[str, Any]], ...
] = (
    (
        "02-slices-wiped-old-pod",
        "failing",
        "not-prepared",
        CREATING,
        ("P", f"DRA driver {DRIVER} is not registered"),
        {"slices": False},
    ),
    (
        "04-config-refused-by-driver",
        "failing",
        "not-prepared",
        CREATING,
        ("R", 'invalid config: unknown mode: "turbo"'),
        {},
    ),
    (
        "06-example-config-kind",
        "failing",
        "not-prepared",
        CREATING,
        ("R", 'no kind "GpuSharing" is registered'),
        {},
    ),
    (
        "08-cdi-kind-mismatch",
        "failing",
        "not-prepared",
        waits("CreateContainerError", UNRESOLVABLE),
        ("", ""),
        {},
    ),
    (
        "10-cdi-device-node-absent",
        "failing",
        "not-prepared",
        waits("CreateContainerError", NO_DEVICE_NODE),
        ("", ""),
        {},
    ),
    (
        "12-image-missing",
        "failing",
        "not-started",
        waits("ErrImageNeverPull", "Container image is not present"),
        ("", ""),
        {},
    ),
    (
        "14-unprepare-refused",
        "failing",
        "pod-terminating",
        ended_container(0, "Completed"),
        ("Killing", "x"),
        {"metadata": LEAVING},
    ),
    (
        "16-prepare-hangs",
        "failing",
        "not-prepared",
        CREATING,
        ("P", "NodePrepareResources: rpc error: code = DeadlineExceeded"),
        {},
    ),
    ("17-cdi-off-in-containerd", "failing", "container-failed", ended_container(3), ("", ""), {}),
    (
        "19-cdi-files-gone-after-start",
        "failing",
        "not-prepared",
        waits(
            "CreateContainerError", UNRESOLVABLE, lastState={"terminated": terminated_state(137)}
        ),
        ("", ""),
        {},
    ),
    ("21-names-absent-request", "failing", "container-failed", ended_container(3), ("", ""), {}),
    (
        "22b-unhealthy-container-killed",
        "failing",
        "device-unhealthy",
        ended_container(137, **HEALTH),
        ("", ""),
        {},
    ),
    ("25-admin-access-beside-users", "allocated", None, runs(), ("", ""), {}),
    (
        "27-node-not-ready-assigned-pod",
        "failing",
        "node-not-ready",
        CREATING,
        ("", ""),
        {"node": SILENT},
    ),
    (
        "28b-node-not-ready-running-pod",
        "failing",
        "node-not-ready",
        runs(),
        ("", ""),
        {"node": SILENT},
    ),
    (
        "29-cni-configuration-gone",
        "failing",
        "not-started",
        CREATING,
        ("FailedCreatePodSandBox", SANDBOX + "cni plugin not initialized"),
        {},
    ),
    ("31-driver-serves-v1beta1-only", "allocated", None, runs(), ("", ""), {}),
    (
        "32b-driver-killed-later",
        "failing",
        "not-prepared",
        CREATING,
        ("P", f"DRA driver {DRIVER} is not registered"),
        {"slices": False},
    ),
    (
        "40-nvidia-plain",
        "failing",
        "not-prepared",
        CREATING,
        ("R", "failed to locate libcuda.so: not found"),
        {},
    ),
    (
        "42-nvidia-mps-gate-off",
        "failing",
        "not-prepared",
        CREATING,
        ("R", 'the "MPSSupport" feature gate is not enabled'),
        {},
    ),
    (
        "44-nvidia-unknown-field",
        "failing",
        "not-prepared",
        CREATING,
        ("R", 'strict decoding error: unknown field "x"'),
        {},
    ),
    (
        "45b-nvidia-kind-for-one-of-two",
        "failing",
        "not-prepared",
        CREATING,
        ("R", "cannot apply MigDeviceConfig"),
        {},
    ),
    ("47-dranet-interface-renamed", "allocated", None, runs(), ("", ""), {}),
    ("49-dracpu-one-cpu", "allocated", None, runs(), ("", ""), {}),
    ("53-extended-resource", "allocated", None, runs(), ("", ""), {}),
    (
        "55-init-container-without-claim",
        "failing",
        "container-failed",
        ended_container(3),
        ("", ""),
        {},
    ),
    (
        "57-configmap-missing",
        "failing",
        "not-started",
        waits("CreateContainerConfigError", 'configmap "absent" not found'),
        ("", ""),
        {},
    ),
    (
        "59-oom-killed",
        "failing",
        "container-failed",
        ended_container(137, "OOMKilled"),
        ("", ""),
        {},
    ),
    (
        "61b-container-died-driver-down",
        "allocated",
        None,
        runs(restartCount=1, lastState={"terminated": terminated_state(137)}),
        ("", ""),
        {},
    ),
    (
        "63-containerd-down",
        "failing",
        "not-started",
        CREATING,
        (
            "FailedCreatePodSandBox",
            SANDBOX + "dial unix /run/containerd/containerd.sock: connect: no such file",
        ),
        {},
    ),
)


@pytest.mark.parametrize(
    ("name", "verdict", "code", "status", "said", "more"), SEEN, ids=[row[0] for row in SEEN]
)
def test_a_recorded_situation_has_its_cause_and_steps(
    name: str,
    verdict: str,
    code: str | None,
    status: dict[str, Any],
    said: tuple[str, str],
    more: dict[str, Any],
) -> None:
    reason, message = said
    message = {"P": PREPARE, "R": REFUSED}.get(reason, "") + message
    reason = "FailedPrepareDynamicResources" if reason in ("P", "R") else reason
    begun = status["state"].keys() != {"waiting"} or "lastState" in status
    lists = [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}]
    placed = pod(
        "p",
        {"name": "c", "resourceClaimName": "c"},
        metadata={
            "uid": "p",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            **more.get("metadata", {}),
        },
        spec={"nodeName": "node-1", "containers": lists},
        status={"phase": "Running" if begun else "Pending", "containerStatuses": [status]},
    )
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": reason or "Started",
        "message": message,
        "lastTimestamp": "2026-01-01T00:05:00Z",
    }
    worker = node("node-1")
    worker["status"] = {**worker.get("status", {}), **more.get("node", {})}
    held = claim(
        "c",
        request("r", "lab"),
        status=allocation("node-1", (DRIVER, "dev-0"), pod="p"),
        metadata={"uid": "c"},
    )
    published = slice_of(
        DRIVER if more.get("slices", True) else "other.example.com", "node-1", device("dev-0")
    )
    state = state_of(
        device_class("lab", f"device.driver == '{DRIVER}'"), worker, published, held, placed, event
    )
    answer = Explainer(state, Features.for_release("1.37")).explain(
        find_subjects(state, "pod/p", None)[0]
    )
    assert (answer.verdict, answer.fits) == (verdict, verdict in FITS)
    assert (answer.reasons[0].code if answer.reasons else None) == code
    assert verdict == "allocated" or "runs on" not in answer.headline
    assert verdict == "allocated" or answer.next


def event_of_pod(reason: str, message: str, when: str = "2026-01-01T00:05:00Z") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e-{reason}", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
        "reason": reason,
        "message": message,
        "lastTimestamp": when,
    }


def test_23_a_pod_ended_by_the_eviction_controller_is_gone() -> None:
    """Exit code 3, as there is no such pod; its events still say why."""
    later = event_of_pod("Killing", "Stopping container main", "2026-01-01T00:06:00Z")
    state = state_of(
        node("node-1"), event_of_pod("DeviceTaintManagerEviction", "Marking for deletion"), later
    )
    with pytest.raises(
        InputError,
        match=r"no pod p in namespace ml.*DeviceTaintManagerEviction: Marking for deletion",
    ):
        find_subjects(state, "pod/p", "ml")


# 51, 67: kube-scheduler 1.37.1 refuses the node ("1 node(s) were unschedulable", "... had untolerated taint(s)").
# 65: the scheduler never sees the pod and its claim is not allocated, which is ``blocked`` in design.md section 3.
NOT_PLACED: tuple[tuple[str, dict[str, Any], dict[str, Any], str], ...] = (
    ("51-node-cordoned", {"unschedulable": True}, {}, "node-filter"),
    (
        "67-disk-pressure-new-pod",
        {"taints": [{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}]},
        {},
        "node-filter",
    ),
    ("65-node-name-by-hand", {}, {"nodeName": "node-1"}, "scheduler-bypass"),
)


@pytest.mark.parametrize(
    ("name", "spec", "wants", "code"), NOT_PLACED, ids=[row[0] for row in NOT_PLACED]
)
def test_a_situation_before_the_kubelet(
    name: str, spec: dict[str, Any], wants: dict[str, Any], code: str
) -> None:
    worker = node("node-1")
    worker["spec"] = {**worker.get("spec", {}), **spec}
    waiting = pod("p", {"name": "c", "resourceClaimName": "c"}, spec=wants)
    published = slice_of(DRIVER, "node-1", device("dev-0"))
    classes = device_class("lab", f"device.driver == '{DRIVER}'")
    state = state_of(classes, worker, published, claim("c", request("r", "lab")), waiting)
    answer = Explainer(state, Features.for_release("1.37")).explain(
        find_subjects(state, "pod/p", None)[0]
    )
    assert (answer.verdict, answer.fits, answer.reasons[0].code) == ("blocked", False, code)


def test_64_a_static_pod_with_a_claim() -> None:
    """The kubelet makes no mirror pod of it: there is no pod, and no event of one."""
    with pytest.raises(InputError, match="no pod p"):
        find_subjects(state_of(node("node-1")), "pod/p", "ml")


def test_all_situations_have_their_row() -> None:
    assert len(RECORDED) + len(SEEN) + len(NOT_PLACED) + len(("23", "64")) == 69


def test_a_crash_loop_never_runs() -> None:
    """200 looks at a container that ends again and again, as kubelet reports them."""
    looks = [
        waits(
            "CrashLoopBackOff",
            "back-off 40s",
            restartCount=3,
            lastState={"terminated": terminated_state(1)},
        ),
        ended_container(1),
        ended_container(137, "OOMKilled"),
        runs(ready=False, restartCount=3, lastState={"terminated": terminated_state(1)}),
    ]
    for number in range(200):
        test_a_recorded_situation_has_its_cause_and_steps(
            "",
            "failing",
            "container-failed",
            {**looks[number % 4], "restartCount": 2 + number},
            ("", ""),
            {},
        )


@pytest.mark.parametrize(("type_", "refused"), [("gpu", True), ("mig", False)])
def test_a_configuration_for_devices_of_another_type(type_: str, refused: bool) -> None:
    """45b: gpu.nvidia.com 0.4.1 refuses MigDeviceConfig for a request of GPUs, and passes over one without requests."""
    driver, parameters = (
        "gpu.nvidia.com",
        {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "MigDeviceConfig"},
    )
    for requests in (["r"], []):
        held = claim(
            "c", request("r", "lab"), status=allocation("node-1", (driver, "gpu-0"), pod="p")
        )
        config = {
            "source": "FromClaim",
            "requests": requests,
            "opaque": {"driver": driver, "parameters": parameters},
        }
        held["status"]["allocation"]["devices"]["config"] = [config]
        placed = pod(
            "p",
            {"name": "c", "resourceClaimName": "c"},
            metadata={"uid": "p"},
            spec={"nodeName": "node-1"},
        )
        placed["status"] = {"phase": "Pending", "containerStatuses": [CREATING]}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "ml"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"},
            "reason": "FailedPrepareDynamicResources",
            "message": f"{REFUSED}cannot apply MigDeviceConfig to device gpu-0",
            "lastTimestamp": "2026-01-01T00:05:00Z",
        }
        published = slice_of(driver, "node-1", device("gpu-0", type=type_))
        state = state_of(
            device_class("lab", f"device.driver == '{driver}'"),
            node("node-1"),
            published,
            held,
            placed,
            event,
        )
        answer = Explainer(state, Features.for_release("1.37")).explain(
            find_subjects(state, "pod/p", None)[0]
        )
        assert answer.verdict == "failing"
        assert ("gpu-0 is a gpu; did you mean GpuConfig?" in answer.headline) is (
            refused and requests != []
        )
