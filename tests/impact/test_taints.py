"""Taints of devices: releases, gates, times, who finds another place."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.impact import Impact, find_taint_impact
from tests.explain.cluster import device, slice_of
from tests.simulation.cluster import DRIVER, machine, replica, scheduler_of, workload

KEY = "example.com/sick"


def rule(effect: str = "NoExecute", selector: Any = "driver", **taint: str) -> dict[str, Any]:
    spec: dict[str, Any] = {"taint": {"key": KEY, "effect": effect, **taint}}
    if selector is not None:
        spec["deviceSelector"] = {"driver": DRIVER} if selector == "driver" else selector
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "sick"},
        "spec": spec,
    }


def hit(*objects: Any, change: dict[str, Any], release: str = "1.37", **gates: bool) -> Impact:
    state = scheduler_of(*objects).state
    changes = {change["kind"]: {("", change["metadata"]["name"]): change}}
    return find_taint_impact(state, changes, Features.for_release(release, gates))


def effects(impact: Impact) -> dict[str, str]:
    return {pod.key[1]: pod.effect for pod in impact.pods}


PAIR = [
    workload("Deployment", "serve", replicas=1),
    *replica("a", "Deployment/serve", "n-1", "gpu-0"),
]


def test_a_new_pod_goes_where_no_device_is_tainted() -> None:
    cluster = [machine("n-1", "gpu-0"), machine("n-2", "gpu-0"), PAIR]
    impact = hit(*cluster, change=rule(selector={"pool": "n-1"}))
    (pod,) = impact.pods
    assert (pod.effect, pod.at, pod.fits) == ("evicted", 0, "n-2")
    assert f"DeviceTaintRule sick gives gpu-0 {KEY}:NoExecute" in pod.why
    assert not impact.pending


def test_a_pod_that_has_ended_is_deleted_and_not_said_to_end() -> None:
    """pkg/controller/devicetainteviction deletes pods by their claims, whatever their phase is."""
    ended, its_claim = replica("done", "", "n-1", "gpu-0")
    ended["status"]["phase"] = "Succeeded"
    (pod,) = hit(machine("n-1", "gpu-0"), ended, its_claim, change=rule()).pods
    assert pod.why.endswith("; it has ended, and is deleted")


def test_a_new_pod_without_a_place_waits() -> None:
    impact = hit(machine("n-1", "gpu-0"), PAIR, change=rule())
    assert impact.pods[0].fits is None
    assert [(pod.pod, pod.replaces) for pod in impact.pending] == [("ml/a", True)]


def test_a_pending_pod_loses_its_place_to_a_rule_without_eviction() -> None:
    """NoSchedule ends nothing: what runs stays, and what waits finds no device."""
    impact = hit(machine("n-1", "gpu-0", "gpu-1"), PAIR, replica("b"), change=rule("NoSchedule"))
    assert effects(impact) == {"a": "kept"}
    assert not impact.hits
    assert [(p.pod, p.before, p.after) for p in impact.pending] == [("ml/b", "n-1", None)]


def test_the_gate_of_rules_is_off_before_1_37() -> None:
    """pkg/features/kube_features.go: DRADeviceTaintRules is alpha in 1.35, beta and off in 1.36."""
    cluster = (machine("n-1", "gpu-0"), PAIR)
    assert effects(hit(*cluster, change=rule(), release="1.36")) == {}
    impact = hit(*cluster, change=rule(), release="1.36", DRADeviceTaintRules=True)
    assert effects(impact) == {"a": "evicted"}


def test_a_taint_in_a_slice_needs_no_gate_of_rules() -> None:
    sick = slice_of(DRIVER, "n-1", device("gpu-0", taints=[{"key": KEY, "effect": "NoExecute"}]))
    assert effects(hit(machine("n-1", "gpu-0"), PAIR, change=sick, release="1.36")) == {
        "a": "evicted"
    }
    impact = hit(machine("n-1", "gpu-0"), PAIR, change=sick, release="1.35")
    assert not impact.hits
    assert any("DRADeviceTaints is off" in note for note in impact.notes)


def test_a_taint_in_a_slice_ends_only_the_pods_of_its_device() -> None:
    taints = [{"key": KEY, "effect": "NoExecute"}]
    sick = slice_of(DRIVER, "n-1", device("gpu-0", taints=taints), device("gpu-1"))
    cluster = (machine("n-1", "gpu-0", "gpu-1"), PAIR, replica("b", "", "n-1", "gpu-1"))
    impact = hit(*cluster, change=sick)
    assert effects(impact) == {"a": "evicted"}
    assert [d.device for d in impact.devices] == [f"{DRIVER}/n-1/gpu-0"]
    assert f"its slice gives gpu-0 {KEY}:NoExecute" in impact.pods[0].why


def test_a_rule_without_selector_evicts_only_in_1_34() -> None:
    """Up to 1.34 the controller takes the slices of the tracker, in which such a rule taints every device; from 1.35 on
    it compares rules itself (pkg/controller/devicetainteviction ruleMatchesDevice at v1.35.8)."""
    cluster = (machine("n-1", "gpu-0"), PAIR)
    gates = {"DRADeviceTaints": True}
    old = hit(*cluster, change=rule(selector=None), release="1.34", **gates)
    assert effects(old) == {"a": "evicted"}
    gates["DRADeviceTaintRules"] = True
    later = hit(*cluster, change=rule(selector=None), release="1.35", **gates)
    assert effects(later) == {"a": "kept"}
    assert any("no pod is evicted" in note for note in later.notes)


def test_extended_resources_are_overlooked_up_to_1_37_1() -> None:
    """kubernetes/kubernetes#141290, #142289: pkg/controller/devicetainteviction at v1.37.1 and v1.37.2."""
    pod, claim = replica("a", "", "n-1", "gpu-0")
    pod["spec"]["resourceClaims"] = []
    pod["status"] = {
        "phase": "Running",
        "extendedResourceClaimStatus": {"resourceClaimName": claim["metadata"]["name"]},
    }
    cluster = (machine("n-1", "gpu-0"), [pod, claim])
    old = hit(*cluster, change=rule(), release="1.37.1")
    assert effects(old) == {"a": "kept"}
    assert "extended resource" in old.pods[0].why
    assert effects(hit(*cluster, change=rule(), release="1.37.2")) == {"a": "evicted"}


def test_an_update_of_the_effect_starts_the_time_anew() -> None:
    """pkg/registry/resource/devicetaintrule/strategy.go PrepareForUpdate, from 1.36 on."""
    stored = rule("NoSchedule", timeAdded="2025-01-01T00:00:00Z")
    pod, claim = replica("a", "", "n-1", "gpu-0")
    tolerations = [
        {"key": KEY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    ]
    claim["status"]["allocation"]["devices"]["results"][0]["tolerations"] = tolerations
    cluster = (machine("n-1", "gpu-0"), [pod, claim], stored)
    change = rule("NoExecute", timeAdded="2025-01-01T00:00:00Z")
    assert hit(*cluster, change=change).pods[0].at == 30
    gates = {"DRADeviceTaintRules": True, "DRADeviceTaints": True}
    assert hit(*cluster, change=change, release="1.35", **gates).pods[0].at == 0


def test_rule_without_devices_names_the_nearest() -> None:
    impact = hit(machine("n-1", "gpu-0"), PAIR, change=rule(selector={"pool": "n-11"}))
    assert not impact.devices
    assert any("there is no pool n-11; did you mean n-1?" in note for note in impact.notes)


def test_without_slices_the_devices_of_a_rule_are_unknown() -> None:
    impact = hit(PAIR, change=rule(selector={"pool": "n-2"}))
    assert any("which devices DeviceTaintRule sick selects is unknown" in n for n in impact.notes)
    assert not any("there is no pool n-2" in note for note in impact.notes)


def test_rule_without_effect_counts_what_it_would_evict() -> None:
    """The controller writes these counts into the rule's status (pkg/controller/devicetainteviction)."""
    impact = hit(machine("n-1", "gpu-0", "gpu-1"), PAIR, change=rule("None"))
    assert not impact.hits
    assert [step.text for step in impact.steps] == [
        "see what the eviction controller counts, once the rule is created"
    ]
    assert any(
        "selects 2 published devices and 1 allocated device; with NoExecute it would evict 1 pod"
        " in 1 namespace" in note
        for note in impact.notes
    )


def test_rule_with_effect_does_not_count_what_it_would_evict() -> None:
    impact = hit(machine("n-1", "gpu-0", "gpu-1"), PAIR, change=rule("NoExecute"))
    assert effects(impact) == {"a": "evicted"}
    assert not any("would evict" in note for note in impact.notes)


def test_pods_go_round_in_circles_with_a_shared_claim() -> None:
    """The claim stays allocated while the old pods are Terminating, as recorded in 08-shared-claim."""
    pods = [replica(name, "Deployment/serve", "n-1", "gpu-0")[0] for name in ("a", "b")]
    for pod in pods:
        pod["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimName": "a-g"}]
        pod["status"] = {"phase": "Running"}
    claim = replica("a", "", "n-1", "gpu-0")[1]
    claim["status"]["reservedFor"].append({"resource": "pods", "name": "b", "uid": "uid-b"})
    claim["status"]["allocation"]["allocationTimestamp"] = "2026-01-01T00:00:00Z"
    del claim["metadata"]["ownerReferences"]
    deployment = workload("Deployment", "serve", replicas=2)
    impact = hit(machine("n-1", "gpu-0"), [deployment, *pods, claim], change=rule())
    assert {pod.fits for pod in impact.pods} == {"n-1"}
    assert any("replace ml/a, ml/b get tainted devices" in note for note in impact.notes)


def test_undumped_kinds_are_unknown() -> None:
    impact = hit(slice_of(DRIVER, "n-1", device("gpu-0")), change=rule())
    assert {"Pod", "ResourceClaim"} <= {
        kind for kind in ("Pod", "ResourceClaim") for n in impact.notes if f"no {kind}s" in n
    }


def test_rule_refused_by_the_server_is_reported() -> None:
    impact = hit(machine("n-1", "gpu-0"), PAIR, change=rule("NoEvict"))
    assert not impact.hits
    assert any("refuses DeviceTaintRule sick" in note for note in impact.notes)


def test_rule_accepted_by_the_server_is_not_refused() -> None:
    impact = hit(machine("n-1", "gpu-0"), PAIR, change=rule())
    assert not any("refuses" in note for note in impact.notes)


def test_failing_job_takes_its_other_pods_with_it() -> None:
    """pkg/controller/job: with more failed pods than backoffLimit the Job fails, and its pods are deleted."""
    job = workload("Job", "train", backoffLimit=0, parallelism=2, completions=2)
    pods = [replica("a", "Job/train", "n-1", "gpu-0"), replica("b", "Job/train", "n-2", "gpu-0")]
    cluster = (machine("n-1", "gpu-0"), machine("n-2", "gpu-0"), job, *pods)
    impact = hit(*cluster, change=rule(selector={"pool": "n-1"}))
    assert {p.key[1]: (p.effect, p.at, p.fits) for p in impact.pods} == {
        "a": ("evicted", 0, None),
        "b": ("evicted", 0, None),
    }
    assert "Job ml/train fails" in impact.pods[1].why
