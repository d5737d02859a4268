"""The meaning of a refusal, looked up among the objects of the input."""

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.explain.diagnosis.refusals import fill_command, fill_text
from dractl.facts.pack import Pack, forget
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

NVIDIA, DRANET, CPU = "gpu.nvidia.com", "dra.net", "dra.cpu"
OTHER_UID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
HELD = f"requested device gpu-0 is already allocated to different claim {OTHER_UID}"


def explain(
    words: str, *objects: dict[str, Any], driver: str = NVIDIA, kind: str = "gpu"
) -> Explanation:
    prefix = (
        ""
        if words.startswith("NodePrepare")
        else "NodePrepareResources failed for ResourceClaim c: "
    )
    return explain_event(
        "FailedPrepareDynamicResources",
        f"Failed to prepare dynamic resources: prepare dynamic resources: {prefix}{words}",
        *objects,
        driver=driver,
        kind=kind,
    )


def explain_event(
    reason: str, words: str, *objects: dict[str, Any], driver: str, kind: str = "gpu"
) -> Explanation:
    about = {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"}
    state = state_of(
        device_class("gpu", f"device.driver == '{driver}'"),
        node("node-1"),
        slice_of(driver, "node-1", device("gpu-0", type=kind)),
        claim(
            "c",
            request("r", "gpu"),
            status=allocation("node-1", (driver, "gpu-0"), pod="p"),
            metadata={"uid": "c"},
        ),
        pod(
            "p",
            {"name": "g", "resourceClaimName": "c"},
            metadata={"uid": "p"},
            spec={"nodeName": "node-1"},
            status={"phase": "Pending"},
        ),
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "ml"},
            "involvedObject": about,
            "reason": reason,
            "message": words,
        },
        *objects,
    )
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def steps(answer: Explanation) -> list[str]:
    return [step.text for step in answer.next]


def plugin(tag: str) -> dict[str, Any]:
    image = f"registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:{tag}"
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "plugin", "namespace": "dra"},
        "spec": {"template": {"spec": {"containers": [{"name": "gpus", "image": image}]}}},
    }


def test_uid_without_a_claim_is_a_stale_checkpoint() -> None:
    answer = explain(HELD)
    assert (
        f"claim {OTHER_UID}, for which driver {NVIDIA} still has the device prepared"
        in answer.headline
    )
    assert "is nobody's: its checkpoint is stale" in answer.headline
    assert steps(answer)[0].startswith(f"restart the plugin of driver {NVIDIA} on node-1")


def test_a_uid_of_another_claim_names_its_pod() -> None:
    other = claim(
        "d",
        request("r", "gpu"),
        status=allocation("node-1", (NVIDIA, "gpu-0"), pod="q"),
        metadata={"uid": OTHER_UID},
    )
    answer = explain(HELD, other)
    assert "still has the device prepared for claim ml/d of pod q" in answer.headline
    assert "stale" not in answer.headline


def test_the_other_pods_of_a_shared_claim_are_named() -> None:
    shared = allocation("node-1", (DRANET, "gpu-0"), pod="p")
    shared["reservedFor"].append({"resource": "pods", "name": "q", "uid": "q"})
    also = claim("c", request("r", "gpu"), status=shared, metadata={"uid": "c"})
    answer = explain("driver only supports one pod per claim, got 2", also, driver=DRANET)
    assert "the claim is also for q" in answer.headline
    assert "ResourceClaimTemplate" in steps(answer)[0]


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (NVIDIA, "the flux capacitor is empty"),
        ("acc.example.com", "0x80004005 (unspecified)"),
        (DRANET, "Das Gerät wird gerade verwendet"),
        (CPU, ""),
    ],
)
def test_words_without_an_entry_are_quoted_with_a_hint_to_the_log(driver: str, words: str) -> None:
    answer = explain(words, driver=driver)
    assert (
        f"cannot prepare its devices: NodePrepareResources failed for ResourceClaim c: {words}"
        in (answer.headline)
    )
    assert steps(answer) == [
        f"read the log of driver {driver} on node-1: it has more details than the event"
    ]


def test_a_sound_device_is_never_reset_for_a_configuration_or_a_cache() -> None:
    for words in (
        "unable to create CDI spec file for claim: invalid device, empty device edits",
        "error validating GPU config: unknown time-slice interval: Longest",
        "unable to get checkpoint: checkpoint is corrupted",
    ):
        assert not any("reset" in text or "replace" in text for text in steps(explain(words)))


def test_wrong_configuration_does_not_hide_the_message_of_the_driver() -> None:
    wrong = claim(
        "c",
        request("r", "gpu"),
        status=allocation("node-1", (NVIDIA, "gpu-0"), pod="p"),
        metadata={"uid": "c"},
    )
    parameters = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": 1}
    opaque = {"driver": NVIDIA, "parameters": parameters}
    wrong["spec"]["devices"]["config"] = [{"opaque": opaque}]
    answer = explain(HELD, wrong)
    assert "its checkpoint is stale" in answer.headline
    assert not any("correct the parameters" in text for text in steps(answer))
    answer = explain("error validating config: invalid GPU sharing settings", wrong)
    assert "correct the parameters" in steps(answer)[0]


def test_a_healthy_pod_reads_no_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[str] = []
    read = Pack.read

    def record(self: Pack, name: str, kind: type[Any]) -> Any:
        names.append(name)
        return read(self, name, kind)

    forget()
    monkeypatch.setattr(Pack, "read", record)
    healthy = pod(
        "p",
        {"name": "g", "resourceClaimName": "c"},
        metadata={"uid": "p"},
        spec={"nodeName": "node-1"},
        status={"phase": "Running"},
    )
    state = state_of(
        device_class("gpu", f"device.driver == '{NVIDIA}'"),
        node("node-1"),
        slice_of(NVIDIA, "node-1", device("gpu-0")),
        claim(
            "c",
            request("r", "gpu"),
            status=allocation("node-1", (NVIDIA, "gpu-0"), pod="p"),
            metadata={"uid": "c"},
        ),
        healthy,
    )
    (question,) = find_subjects(state, "pod/p", None)
    assert Explainer(state, Features.for_release("1.37")).explain(question).verdict == "allocated"
    assert not [name for name in names if name.startswith(("refusals/", "known"))]


@pytest.mark.parametrize(("kind", "is_explained"), [("vfio", True), ("gpu", False)])
def test_the_type_of_the_pods_devices_decides(kind: str, is_explained: bool) -> None:
    """Only a GPU for vfio-pci is waited for until no process has it open (cmd/gpu-kubelet-plugin/vfio-device.go)."""
    words = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    answer = explain(words, kind=kind)
    assert ("before it gives it to vfio-pci" in answer.headline) == is_explained


def test_a_lost_gpu_is_reset_or_replaced() -> None:
    answer = explain("error getting GPU device handle: GPU is lost")
    assert "reset or replace the GPU" in steps(answer)[0]


def test_restart_is_no_cure_for_a_gpu_held_by_a_process() -> None:
    words = (
        "NodePrepareResources: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
    )
    answer = explain(words, kind="vfio")
    assert "process" in answer.headline
    assert any("fuser" in text or "lsof" in text for text in steps(answer))
    assert not any("restart it" in text for text in steps(answer))
    assert "restart it" in steps(explain(words))[0]


def test_devices_of_another_driver_are_distinguished_from_lost_ones() -> None:
    both = claim(
        "c",
        request("r", "gpu"),
        request("s", "cpu"),
        status=allocation("node-1", ("gpu.amd.com", "gpu-0"), (CPU, "cpudevnuma000"), pod="p"),
        metadata={"uid": "c"},
    )
    words = (
        "error preparing devices for claim c: prepare failed: requested GPU is not allocatable: "
    )
    answer = explain(words + "cpudevnuma000", both, driver="gpu.amd.com")
    assert f"cpudevnuma000 is a device of driver {CPU} in the same claim" in answer.headline
    assert f"give the devices of {CPU} a claim of their own" in steps(answer)
    answer = explain(words + "gpu-0", both, driver="gpu.amd.com")
    assert "has no device gpu-0 in its own list" in answer.headline


def test_kubelet_words_are_not_a_fault_of_the_driver() -> None:
    answer = explain("pod p (p) is not allowed to use ResourceClaim c (c)")
    assert "claim c is not reserved for this pod" in answer.headline


def test_names_from_a_message_are_quoted_in_commands() -> None:
    command = "kubectl get pod {pod} -o jsonpath='{{.status}}'"
    assert fill_command(command, {"pod": "p"}) == "kubectl get pod p -o jsonpath='{.status}'"
    assert fill_command(command, {"pod": "$(reboot)"}).startswith("kubectl get pod '$(reboot)' ")
    assert fill_command(command, {"pod": "--all"}) == ""
    assert fill_command(command, {"pod": "a\nb"}) == ""
    assert fill_command(command, {}) == ""


def test_a_clause_without_its_value_is_left_out() -> None:
    assert fill_text("the others are {sharers}", {"sharers": ""}) == ""
    assert fill_text("the words are {words}", {"words": "{node}"}) == "the words are {node}"


def test_driver_called_through_nri_is_understood() -> None:
    words = (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to run sandbox: "
        "RunPodSandbox pod ml/p using host network can not claim host devices"
    )
    answer = explain_event("FailedCreatePodSandBox", words, driver=DRANET)
    assert "the pod uses the host's network" in answer.headline
    assert "leave hostNetwork out of the pod" in steps(answer)[0]


def test_a_hook_of_a_cdi_file_is_no_fault_of_the_image() -> None:
    words = (
        "Error: failed to create containerd task: OCI runtime create failed: runc create failed: "
        "unable to start container process: error during container init: error running "
        "createContainer hook #0: fork/exec /usr/bin/nvidia-cdi-hook: no such file or directory"
    )
    answer = explain_event("Failed", words, driver=NVIDIA)
    assert "a hook that the CDI file of the device runs on node-1 failed" in answer.headline
    assert not any("command" in text for text in steps(answer))


def test_two_cdi_files_with_one_device_are_both_named() -> None:
    words = (
        "Error: CDI device injection failed: failed to inject devices: conflicting device "
        '"nvidia.com/gpu=0" (specs "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml")'
    )
    answer = explain_event("Failed", words, driver=NVIDIA)
    assert "/etc/cdi/nvidia.yaml and /var/run/cdi/nvidia.yaml" in answer.headline


def test_words_about_an_image_are_not_the_drivers() -> None:
    words = 'Error: ErrImagePull: "registry.example/app:1": not found, does not exist'
    answer = explain_event("FailedMount", words, driver="qat.intel.com")
    assert "qat.intel.com" not in answer.headline
