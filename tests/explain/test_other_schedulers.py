"""Pods of other schedulers: who that is, whether it runs, its words, and kube-scheduler's view beside them.

Conditions, events and names of labels are those of the schedulers' code, as
``dractl/facts/data/schedulers.json`` names it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import validate
from msgspec import Struct

from dractl.allocation import Features
from dractl.cli.main import main
from dractl.cluster.changes import Patch
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.report.explain.json import as_json
from dractl.resources import data_dir
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
MINE = claim("c", request("r", "gpu"))
CLUSTER = (
    GPU,
    node("node-1"),
    slice_of("gpu.example.com", "node-1", device("gpu-0", model="A")),
    MINE,
)
COREDNS = pod("coredns-1", namespace="kube-system", status={"phase": "Running"})


class Installed(Struct, frozen=True):
    """A scheduler as its chart or manifest installs it."""

    name: str
    """spec.schedulerName of its pods."""
    title: str
    namespace: str
    deployment: str
    image: str
    takes_claims: bool

    def workload(self, **spec: Any) -> dict[str, Any]:
        """Its Deployment, with one replica that is available."""
        container = {"name": "scheduler", "image": self.image, **spec.pop("container", {})}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.deployment, "namespace": self.namespace},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}, **spec},
            "status": {"replicas": 1, "availableReplicas": 1},
        }


KAI = Installed(
    "kai-scheduler",
    "KAI Scheduler 0.14.1",
    "kai-scheduler",
    "kai-scheduler-default",
    "ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.14.1",
    True,
)
VOLCANO = Installed(
    "volcano",
    "Volcano 1.15.1",
    "volcano-system",
    "volcano-scheduler",
    "docker.io/volcanosh/vc-scheduler:v1.15.1",
    True,
)
YUNIKORN = Installed(
    "yunikorn",
    "Apache YuniKorn 1.9.0",
    "yunikorn",
    "yunikorn-scheduler",
    "apache/yunikorn:scheduler-1.9.0",
    False,
)
SLURM = Installed(
    "slurm-bridge-scheduler",
    "slurm-bridge 1.2.1",
    "slinky",
    "slurm-bridge-scheduler",
    "ghcr.io/slinkyproject/slurm-bridge-scheduler:1.2.1",
    False,
)
KOORDINATOR = Installed(
    "koord-scheduler",
    "Koordinator 1.8.0",
    "koordinator-system",
    "koord-scheduler",
    "ghcr.io/koordinator-sh/koord-scheduler:v1.8.0",
    True,
)
EVERY = (KAI, VOLCANO, YUNIKORN, SLURM, KOORDINATOR)
by_name = pytest.mark.parametrize("scheduler", EVERY, ids=lambda one: one.name)


def pod_of_scheduler(name: str, **more: Any) -> dict[str, Any]:
    """A pod that waits, of a scheduler."""
    spec = {"schedulerName": name, **more.pop("spec", {})}
    metadata = {"uid": "u", **more.pop("metadata", {})}
    entry = {"name": "g", "resourceClaimName": "c"}
    return pod("p", entry, spec=spec, metadata=metadata, **more)


def explain(*objects: dict[str, Any], subject: str = "pod/p") -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, subject, "ml")
    return Explainer(state, Features.for_release("1.37")).explain(question)


def refused_status(reason: str, message: str) -> dict[str, Any]:
    """The status of a pod that its scheduler has no place for."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-27T08:00:00Z",
    }
    return {"phase": "Pending", "conditions": [condition]}


def event(component: str, reason: str, message: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{component}-{reason}", "namespace": "ml"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "u"},
        "reason": reason,
        "message": message,
        "source": {"component": component},
        "lastTimestamp": "2026-11-27T08:01:00Z",
        **more,
    }


def paths_of_changes(answer: Explanation) -> list[str]:
    """The paths that the fixes change, or assume to change."""
    patches = [
        change
        for fix in answer.fixes
        for change in (*fix.changes, *fix.tried)
        if isinstance(change, Patch)
    ]
    return [str(operation["path"]) for patch in patches for operation in patch.operations]


def profile_of(name: str, **plugins: Any) -> dict[str, Any]:
    """A ConfigMap with a profile, as in Kubernetes' page on multiple schedulers."""
    profile = {"schedulerName": name, **({"plugins": plugins} if plugins else {})}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
        "leaderElection": {"leaderElect": False},
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-config", "namespace": "kube-system"},
        "data": {f"{name}-config.yaml": yaml.safe_dump(configuration)},
    }


def second(name: str, *arguments: str) -> dict[str, Any]:
    """The Deployment of Kubernetes' page on multiple schedulers."""
    command = ["/usr/local/bin/kube-scheduler", "--bind-address=0.0.0.0", *arguments]
    image = "gcr.io/my-gcp-project/my-kube-scheduler:1.0"
    volumes = [{"name": "config-volume", "configMap": {"name": f"{name}-config"}}]
    containers = [{"name": "kube-second-scheduler", "image": image, "command": command}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"template": {"spec": {"containers": containers, "volumes": volumes}}},
    }


# -- who it is, and whether it runs --


@by_name
def test_a_running_scheduler_is_named_and_is_no_mistake(scheduler: Installed) -> None:
    answer = explain(*CLUSTER, scheduler.workload(), pod_of_scheduler(scheduler.name))
    assert answer.reasons[0].code == "other-scheduler"
    assert f"{scheduler.title} schedules the pod" in answer.headline
    assert "kube-scheduler would place it on node-1" in answer.headline
    assert "did you mean" not in answer.headline
    assert answer.fixes == ()
    assert answer.scheduler is not None
    assert answer.scheduler.runs is True
    assert answer.scheduler.allocates_claims is scheduler.takes_claims
    target = f"Deployment/{scheduler.namespace}/{scheduler.deployment}"
    assert answer.scheduler.workloads == (target,)


def test_kube_scheduler_would_place_the_pod_on_one_of_the_nodes() -> None:
    second = (node("node-2"), slice_of("gpu.example.com", "node-2", device("gpu-0", model="A")))
    answer = explain(*CLUSTER, *second, VOLCANO.workload(), pod_of_scheduler(VOLCANO.name))
    assert "kube-scheduler would place it on one of node-1, node-2" in answer.headline


@by_name
def test_an_unseen_scheduler_is_unknown_and_not_absent(scheduler: Installed) -> None:
    answer = explain(*CLUSTER, pod_of_scheduler(scheduler.name))
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "scheduler-bypass")
    assert "the input does not show whether it runs" in answer.headline
    assert answer.scheduler is not None
    assert answer.scheduler.runs is None
    assert set(paths_of_changes(answer)) <= {"/spec/schedulerName"}


@by_name
def test_a_scheduler_is_absent_where_all_pods_are_shown(scheduler: Installed) -> None:
    answer = explain(*CLUSTER, COREDNS, pod_of_scheduler(scheduler.name))
    assert "nothing of it runs" in answer.headline
    assert answer.scheduler is not None
    assert answer.scheduler.runs is False
    assert set(paths_of_changes(answer)) <= {"/spec/schedulerName"}


def test_pod_leaves_a_scheduler_only_if_it_does_not_run() -> None:
    """The input does not show whether it does: the condition stands beside the change."""
    leave, start = explain(*CLUSTER, pod_of_scheduler("kai-scheduler")).fixes
    assert leave.title.startswith("remove schedulerName from the pod")
    assert leave.effect.startswith("only if KAI Scheduler does not run")
    assert (start.title, start.changes) == ("start KAI Scheduler, unless it runs", ())


def test_pod_without_a_queue_may_leave_a_stopped_scheduler() -> None:
    answer = explain(*CLUSTER, COREDNS, pod_of_scheduler("kai-scheduler"))
    leave, start = answer.fixes
    assert leave.title.startswith("remove schedulerName from the pod")
    assert leave.effect.startswith("only if the pod does not need KAI Scheduler")
    assert (start.title, start.changes) == ("start KAI Scheduler", ())


def test_a_pod_of_a_queue_keeps_its_scheduler() -> None:
    subject = pod_of_scheduler(
        "kai-scheduler", metadata={"labels": {"kai.scheduler/queue": "team-a"}}
    )
    (fix,) = explain(*CLUSTER, subject).fixes
    assert (fix.title, fix.changes) == ("start KAI Scheduler, unless it runs", ())


@by_name
def test_the_pods_of_a_scheduler_show_it_as_its_deployment_does(scheduler: Installed) -> None:
    running = pod(
        f"{scheduler.deployment}-5d9-x2",
        namespace=scheduler.namespace,
        spec={"containers": [{"name": "scheduler", "image": scheduler.image}]},
        status={"phase": "Running"},
    )
    answer = explain(*CLUSTER, running, pod_of_scheduler(scheduler.name))
    assert answer.reasons[0].code == "other-scheduler"
    assert scheduler.title in answer.headline


def test_a_deployment_without_replicas_runs_nothing() -> None:
    answer = explain(*CLUSTER, COREDNS, KAI.workload(replicas=0), pod_of_scheduler("kai-scheduler"))
    assert answer.reasons[0].code == "scheduler-bypass"
    assert "nothing of it runs" in answer.headline


def test_a_scheduler_under_another_name_is_known_by_its_arguments() -> None:
    workload = KAI.workload(container={"args": ["--scheduler-name=gpu-queue"]})
    answer = explain(*CLUSTER, workload, pod_of_scheduler("gpu-queue"))
    assert "KAI Scheduler 0.14.1 schedules the pod" in answer.headline
    other = explain(*CLUSTER, workload, pod_of_scheduler("kai-scheduler"))
    assert "does not show whether it runs" in other.headline


def test_an_unavailable_replica_is_reported() -> None:
    workload = {**KAI.workload(), "status": {"replicas": 1}}
    notes = explain(*CLUSTER, workload, pod_of_scheduler("kai-scheduler")).notes
    assert any("none of its replicas is available" in note for note in notes)


# -- claims --


def test_silent_allocating_scheduler_leaves_the_verdict_open() -> None:
    answer = explain(*CLUSTER, KAI.workload(), pod_of_scheduler("kai-scheduler"))
    assert answer.verdict == "undecided"
    assert any("kube-scheduler's structured allocator" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("scheduler", "predicate"),
    [
        (YUNIKORN, "does not allocate claims"),
        (SLURM, "does not take pods with spec.resourceClaims"),
    ],
    ids=["yunikorn", "slurm-bridge"],
)
def test_scheduler_without_claims_blocks_the_pod(scheduler: Installed, predicate: str) -> None:
    answer = explain(*CLUSTER, scheduler.workload(), pod_of_scheduler(scheduler.name))
    assert answer.verdict == "blocked"
    assert predicate in answer.headline


def test_slurm_bridge_takes_devices_as_extended_resources() -> None:
    answer = explain(*CLUSTER, SLURM.workload(), pod_of_scheduler("slurm-bridge-scheduler"))
    assert "deviceclass.resource.kubernetes.io/CLASS" in answer.next[0].text


def test_a_version_older_than_claims_allocates_none() -> None:
    old = {**KOORDINATOR.workload(container={"image": "koordinator-sh/koord-scheduler:v1.7.0"})}
    answer = explain(*CLUSTER, old, pod_of_scheduler("koord-scheduler"))
    assert answer.verdict == "blocked"
    assert "allocates claims only from 1.8.0 on" in answer.headline


def test_limits_are_reported_for_affected_claims() -> None:
    alternatives = {
        "name": "r",
        "firstAvailable": [
            {"name": "a", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        ],
    }
    objects = (*CLUSTER[:-1], claim("c", alternatives), pod_of_scheduler("kai-scheduler"))
    notes = " ".join(explain(*objects, KAI.workload()).notes)
    assert "firstAvailable ends in an error" in notes
    assert "firstAvailable" not in " ".join(
        explain(*CLUSTER, KAI.workload(), pod_of_scheduler("kai-scheduler")).notes
    )


@pytest.mark.parametrize(
    ("version", "limited"), [("v1.14.0", True), ("v1.15.1", False)], ids=["old", "new"]
)
def test_limits_of_old_versions_are_reported_for_these_alone(version: str, limited: bool) -> None:
    image = f"docker.io/volcanosh/vc-scheduler:{version}"
    workload = VOLCANO.workload(container={"image": image})
    notes = explain(*CLUSTER, workload, pod_of_scheduler("volcano")).notes
    limits = any("predicate.DynamicResourceAllocationEnable" in note for note in notes)
    assert limits is limited


def test_pod_placed_by_yunikorn_has_no_node_name_to_remove() -> None:
    placed = pod_of_scheduler("yunikorn", spec={"nodeName": "node-1"})
    answer = explain(*CLUSTER, YUNIKORN.workload(), placed)
    assert answer.reasons[0].code == "scheduler-bypass"
    assert "Apache YuniKorn 1.9.0 schedules it, and allocates no claims" in answer.headline
    assert answer.fixes == ()
    assert not any("nodeName" in step.text for step in answer.next)


# -- its own words --


def test_the_condition_and_the_events_of_kai_are_quoted() -> None:
    message = "Resources were found for 12 pods while 16 are required for gang scheduling."
    answer = explain(
        *CLUSTER,
        KAI.workload(),
        pod_of_scheduler("kai-scheduler", status=refused_status("Unschedulable", message)),
        event("binder", "BindingError", "Failed to bind pod ml/p to node node-1: timeout"),
        event("kubelet", "FailedMount", "not the scheduler's"),
    )
    assert answer.verdict == "blocked"
    assert f'says: "{message}"' in answer.headline
    quotations = [note for note in answer.notes if note.startswith("KAI Scheduler 0.14.1 says")]
    assert "in condition PodScheduled (Unschedulable, 2026-11-27T08:00:00Z): " in quotations[0]
    assert "Failed to bind pod ml/p to node node-1: timeout" in quotations[1]
    assert len(quotations) == 2


def test_words_show_a_scheduler_whose_pods_are_not_shown() -> None:
    status = refused_status("SchedulingSkipped", "application quota exceeded")
    answer = explain(*CLUSTER, pod_of_scheduler("yunikorn", status=status))
    assert answer.reasons[0].code == "other-scheduler"
    assert answer.scheduler is not None
    assert answer.scheduler.runs is True


def test_an_event_of_the_new_api_names_its_reporter_in_another_field() -> None:
    task = event("", "PodUnschedulable", "", note="Task ml/p is pending", source={})
    task |= {"reportingController": "yunikorn", "apiVersion": "events.k8s.io/v1"}
    task["regarding"] = task.pop("involvedObject")
    answer = explain(*CLUSTER, YUNIKORN.workload(), pod_of_scheduler("yunikorn"), task)
    assert any("Task ml/p is pending" in note for note in answer.notes)


def test_a_scheduling_gate_is_no_word_of_the_scheduler() -> None:
    gated = refused_status(
        "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"
    )
    answer = explain(*CLUSTER, pod_of_scheduler("volcano", status=gated))
    assert answer.reasons[0].code == "scheduler-bypass"


@pytest.mark.parametrize(
    ("scheduler", "api", "annotation", "status"),
    [
        (
            KAI,
            "scheduling.run.ai/v2alpha2",
            "pod-group-name",
            {
                "schedulingConditions": [
                    {
                        "type": "UnschedulableOnNodePool",
                        "status": "True",
                        "reasons": [
                            {"reason": "OverLimit", "message": "queue a is over its limit"}
                        ],
                    }
                ]
            },
        ),
        (
            VOLCANO,
            "scheduling.volcano.sh/v1beta1",
            "scheduling.k8s.io/group-name",
            {
                "phase": "Inqueue",
                "conditions": [
                    {
                        "type": "Unschedulable",
                        "status": "True",
                        "reason": "NotEnoughResources",
                        "message": "queue a is over its limit",
                    }
                ],
            },
        ),
    ],
    ids=["kai", "volcano"],
)
def test_the_status_of_the_group_is_quoted(
    scheduler: Installed, api: str, annotation: str, status: dict[str, Any]
) -> None:
    group = {
        "apiVersion": api,
        "kind": "PodGroup",
        "metadata": {"name": "ring", "namespace": "ml"},
        "status": status,
    }
    subject = pod_of_scheduler(scheduler.name, metadata={"annotations": {annotation: "ring"}})
    answer = explain(*CLUSTER, scheduler.workload(), group, subject)
    assert any("PodGroup ml/ring" in note and "over its limit" in note for note in answer.notes)
    assert any("the pod is in group ring" in note for note in answer.notes)
    assert any("podgroups.scheduling." in step.command for step in answer.next)


def test_the_queue_of_the_pod_is_named() -> None:
    subject = pod_of_scheduler(
        "kai-scheduler", metadata={"labels": {"kai.scheduler/queue": "team-a"}}
    )
    answer = explain(*CLUSTER, KAI.workload(), subject)
    assert any("the pod is in queue team-a" in note for note in answer.notes)


# -- kube-scheduler's view --


@pytest.mark.parametrize("shown", [True, False], ids=["shown", "not shown"])
def test_a_pod_without_a_feasible_node_gets_the_cause_and_keeps_its_scheduler(shown: bool) -> None:
    selector = {"cel": {"expression": "device.attributes['gpu.example.com'].model == 'B'"}}
    wants = claim("c", request("r", "gpu", selectors=[selector]))
    subject = pod_of_scheduler(
        "kai-scheduler", metadata={"labels": {"kai.scheduler/queue": "team-a"}}
    )
    answer = explain(*CLUSTER[:-1], wants, subject, *([KAI.workload()] if shown else []))
    assert "kube-scheduler's view: does not fit on the only node" in answer.headline
    assert answer.reasons[1].code == "selector-false"
    assert answer.verdict == ("unallocatable" if shown else "blocked")
    assert answer.fixes[0].title.startswith("change model")
    operations = [o for change in answer.fixes[0].changes for o in change.operations]
    assert not any("schedulerName" in operation["path"] for operation in operations)


# -- names --


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("kai-schedulr", "kai-scheduler"),
        ("defualt-scheduler", "default-scheduler"),
        ("kube-scheduler", "default-scheduler"),
        ("my-schedular", "my-scheduler"),
    ],
)
def test_misspelt_name_is_corrected_to_a_running_scheduler(written: str, meant: str) -> None:
    answer = explain(
        *CLUSTER, KAI.workload(), profile_of("my-scheduler"), pod_of_scheduler(written)
    )
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "scheduler-bypass")
    assert f"did you mean {meant}?" in answer.headline
    (fix,) = answer.fixes
    (change,) = fix.changes
    assert isinstance(change, Patch)
    assert change.operations == ({"op": "replace", "path": "/spec/schedulerName", "value": meant},)


def test_the_name_is_corrected_in_the_template_of_a_job() -> None:
    spec = pod_of_scheduler("kai-schedulr")["spec"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "uid": "j"},
        "spec": {"template": {"spec": spec}},
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j"}
    subject = pod_of_scheduler(
        "kai-schedulr", metadata={"ownerReferences": [{**owner, "controller": True}]}
    )
    answer = explain(*CLUSTER, KAI.workload(), job, subject)
    patches = [change for change in answer.fixes[0].changes if isinstance(change, Patch)]
    assert [patch.target for patch in patches] == ["Job/ml/train"]


def test_a_misspelt_name_of_an_unseen_scheduler_is_a_question_without_a_fix() -> None:
    answer = explain(*CLUSTER, COREDNS, pod_of_scheduler("kai-schedulr"))
    assert "did you mean kai-scheduler?" in answer.headline
    assert answer.fixes == ()


def test_pod_of_an_unknown_stopped_scheduler_gets_the_default_one() -> None:
    answer = explain(*CLUSTER, COREDNS, pod_of_scheduler("gpu-placer"))
    assert "no scheduler of that name runs" in answer.headline
    assert paths_of_changes(answer) == ["/spec/schedulerName"]


def test_pod_of_a_possibly_running_unknown_scheduler_keeps_it() -> None:
    answer = explain(*CLUSTER, pod_of_scheduler("gpu-placer"))
    assert answer.reasons[0].code == "scheduler-bypass"
    assert answer.fixes == ()


def test_running_unknown_scheduler_is_left_alone() -> None:
    placer = Installed("gpu-placer", "", "ops", "gpu-placer", "example.com/placer:3", False)
    answer = explain(*CLUSTER, COREDNS, placer.workload(), pod_of_scheduler("gpu-placer"))
    assert answer.reasons[0].code == "other-scheduler"
    assert answer.fixes == ()
    assert answer.scheduler is not None
    assert answer.scheduler.allocates_claims is None


# -- second kube-schedulers --


def test_the_verdict_holds_for_a_profile_of_kube_scheduler() -> None:
    answer = explain(*CLUSTER, profile_of("my-scheduler"), pod_of_scheduler("my-scheduler"))
    assert answer.verdict == "allocatable"
    assert any("ConfigMap/kube-system/my-scheduler-config" in note for note in answer.notes)
    assert any("what its profile changes was not checked" in note for note in answer.notes)
    assert answer.scheduler is not None
    assert answer.scheduler.kube_scheduler


def test_verdict_holds_for_a_kube_scheduler_running_under_the_name() -> None:
    workload = second("gpu-scheduler", "--config=/etc/kubernetes/my-scheduler/my-scheduler.yaml")
    for name in ("my-scheduler", "gpu-scheduler"):
        answer = explain(*CLUSTER, workload, pod_of_scheduler(name))
        assert answer.verdict == "allocatable", name
        assert answer.scheduler is not None
        assert answer.scheduler.workloads == ("Deployment/kube-system/gpu-scheduler",)


def test_a_kube_scheduler_with_a_configuration_answers_to_its_profiles_alone() -> None:
    objects = (*CLUSTER, COREDNS, profile_of("my-scheduler"), second("my-scheduler"))
    assert explain(*objects, pod_of_scheduler("my-scheduler")).verdict == "allocatable"
    assert explain(*objects, pod_of_scheduler("gpu-placer")).reasons[0].code == "scheduler-bypass"


def test_changes_of_the_profile_are_named() -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    answer = explain(
        *CLUSTER, profile_of("my-scheduler", **plugins), pod_of_scheduler("my-scheduler")
    )
    assert any("enables Coscheduling" in note for note in answer.notes)


@pytest.mark.parametrize("name", ["*", "DynamicResources"])
def test_a_profile_without_dynamic_resources_allocates_nothing(name: str) -> None:
    plugins = {"multiPoint": {"disabled": [{"name": name}]}}
    objects = (profile_of("my-scheduler", **plugins), second("my-scheduler"))
    answer = explain(*CLUSTER, *objects, pod_of_scheduler("my-scheduler"))
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "other-scheduler")
    assert "disables plugin DynamicResources" in answer.headline


def test_the_kube_scheduler_of_the_control_plane_has_no_name_of_its_own() -> None:
    static = pod(
        "kube-scheduler-master-1",
        namespace="kube-system",
        spec={
            "containers": [
                {
                    "name": "kube-scheduler",
                    "image": "registry.k8s.io/kube-scheduler:v1.37.2",
                    "command": ["kube-scheduler", "--kubeconfig=/etc/kubernetes/scheduler.conf"],
                }
            ]
        },
        status={"phase": "Running"},
    )
    answer = explain(*CLUSTER, static, pod_of_scheduler("kube-scheduler"))
    assert "did you mean default-scheduler?" in answer.headline


def test_slurm_bridge_is_not_taken_for_a_second_kube_scheduler() -> None:
    plugins = {"multiPoint": {"disabled": [{"name": "*"}]}}
    config = profile_of("slurm-bridge-scheduler", **plugins)
    answer = explain(*CLUSTER, config, SLURM.workload(), pod_of_scheduler("slurm-bridge-scheduler"))
    assert "slurm-bridge 1.2.1 schedules the pod" in answer.headline


# -- reports --


def test_scheduler_is_in_the_report_with_null_for_unknowns() -> None:
    value = {"schema": "dractl/explain/v1"} | as_json(
        explain(*CLUSTER, pod_of_scheduler("volcano"))
    )
    validate(value, json.loads((data_dir("schemas") / "dractl" / "explain-v1.json").read_bytes()))
    assert value["scheduler"]["runs"] is None
    assert value["scheduler"]["name"] == "volcano"


@pytest.mark.parametrize("code", ["other-scheduler", "scheduler-bypass"])
def test_the_pages_call_no_scheduler_a_mistake(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rule", code]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "nobody allocates the claims" not in page
    assert "Use the default scheduler" not in page


def test_fit_names_the_scheduler_of_the_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.json"
    objects = [*CLUSTER, KAI.workload(), pod_of_scheduler("kai-scheduler")]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    main(["fit", "pod/p", "-n", "ml", "-f", str(dump), "--isolated"])
    printed = capsys.readouterr()
    assert "the pod names scheduler kai-scheduler (KAI Scheduler 0.14.1)" in printed.err
    assert "kube-scheduler ignores" not in printed.out


def test_upgrade_names_uncompared_schedulers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.json"
    mine = pod_of_scheduler("my-scheduler", metadata={"name": "q", "uid": "q"})
    objects = [
        *CLUSTER,
        KAI.workload(),
        profile_of("my-scheduler"),
        pod_of_scheduler("kai-scheduler"),
        mine,
    ]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    main(["upgrade", str(dump), "--from", "1.36", "--to", "1.37", "--isolated"])
    printed = capsys.readouterr().out
    assert "pods of the scheduler kai-scheduler (KAI Scheduler 0.14.1)" in printed
    assert "what the profile of kube-scheduler my-scheduler changes" in printed
