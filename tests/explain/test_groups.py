"""explain about a whole group: counted by hand on small fleets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from dractl.allocation import Features
from dractl.cli.main import main
from dractl.explain import Explainer
from dractl.explain.fleet.groups import Group, explain_groups
from dractl.report.canvas import Canvas
from dractl.report.explain import groups as groups_text
from dractl.resources import data_dir
from tests.capacity.test_placing import GPU, gpus, template
from tests.explain.cluster import (
    allocation,
    claim,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.cluster.state import ClusterState

BIG = device_class("big", "device.driver == 'big.example.com'")
ONE = template("one", request("gpu", "gpu"))
USES = {"name": "gpu", "resourceClaimTemplateName": "one"}


def workload(
    kind: str, replicas: int | None, *claims: dict[str, str], **spec: Any
) -> dict[str, Any]:
    counted = {} if replicas is None else {"parallelism" if kind == "Job" else "replicas": replicas}
    body = pod("unnamed", *claims)["spec"]
    made = {"metadata": {"labels": {"app": "web"}}, "spec": body}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": "web", "namespace": "ml"}
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": metadata,
        "spec": {**counted, **spec, "template": made},
    }


def explain_names(state: ClusterState, name: str = "deploy/web") -> list[Group]:
    return explain_groups(Explainer(state, Features.for_release("1.37")), [name], "ml", {})


def replica(name: str, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "uid": "w",
        "controller": True,
    }
    metadata = {"uid": f"uid-{name}", "ownerReferences": [owner], **more.pop("metadata", {})}
    return pod(name, USES, metadata=metadata, spec=spec or {}, **more)


def test_replicas_of_a_manifest_are_placed_until_one_stays_pending() -> None:
    state = state_of(
        GPU,
        ONE,
        workload("Deployment", 8, USES),
        node("a"),
        gpus("a", *"rrr"),
        node("b"),
        gpus("b", "r", "r"),
    )
    (group,) = explain_names(state)
    assert (group.replicas, group.placed, group.fits, group.complete) == (8, 0, 5, False)
    assert group.pod == "web-5"
    assert group.reasons[0].code == "device-in-use"
    assert (group.most, group.proven) == (5, True)
    assert explain_names(
        state.replace("Deployment", ("ml", "web"), workload("Deployment", 5, USES))
    )[0].complete


@pytest.mark.parametrize(
    ("kind", "count", "more", "replicas"),
    [
        ("StatefulSet", 3, {}, 3),
        ("Job", 4, {}, 4),
        ("Job", 4, {"completions": 2}, 2),
        ("DaemonSet", None, {}, None),
    ],
)
def test_each_kind_says_how_many_pods_it_wants(
    kind: str, count: int | None, more: dict[str, Any], replicas: int | None
) -> None:
    state = state_of(GPU, ONE, workload(kind, count, USES, **more), node("a"), gpus("a", "r"))
    found = explain_names(state, f"{kind.lower()}/web")
    assert [one.replicas for one in found] == ([] if replicas is None else [replicas])


def test_it_is_unknown_how_many_replicas_fit_without_slices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = [GPU, ONE, workload("Deployment", 4, USES)]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    main(["explain", "-f", str(path), "deploy/web", "-n", "ml", "--isolated"])
    text = capsys.readouterr().out
    assert text.startswith("? deployment ml/web: whether any of the 4 replicas fits is unknown\n")
    assert "no other order" not in text
    assert "stops at" not in text


def test_existing_pods_are_counted_and_missing_ones_made() -> None:
    held = claim(
        "running-gpu",
        request("r", "gpu"),
        status=allocation("a", ("gpu.example.com", "gpu-0"), pod="running"),
    )
    waits = replica("waits", status={"phase": "Pending"})
    waits["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "waits-gpu"}]
    state = state_of(
        *(GPU, ONE, workload("Deployment", 4, USES), node("a"), gpus("a", "r", "r", "r")),
        *(replica("running", {"nodeName": "a"}, status={"phase": "Running"}), waits),
        *(held, claim("waits-gpu", request("gpu", "gpu"))),
        replica(
            "leaves", {"nodeName": "a"}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}
        ),
        replica("over", status={"phase": "Failed"}),
    )
    (group,) = explain_names(state)
    assert (group.replicas, group.placed, group.fits) == (4, 1, 2)


def test_another_alternative_would_place_all() -> None:
    either = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "pair", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2},
            {
                "name": "single",
                "deviceClassName": "gpu",
                "allocationMode": "ExactCount",
                "count": 1,
            },
        ],
    }
    state = state_of(
        GPU, template("one", either), workload("Deployment", 4, USES), node("a"), gpus("a", *"rrrr")
    )
    (group,) = explain_names(state)
    assert (group.fits, group.most, group.proven) == (2, 4, True)
    assert [(c.request, c.alternative, c.fits) for c in group.choices] == [
        ("gpu/gpu", "pair", 2),
        ("gpu/gpu", "single", 4),
    ]


def gang(least: int, *pods: dict[str, Any]) -> ClusterState:
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ml"},
    }
    return state_of(GPU, BIG, ONE, {**group, "spec": spec}, node("a"), gpus("a", "r", "r"), *pods)


@pytest.mark.parametrize(("least", "starts"), [(2, True), (3, False)])
def test_a_gang_starts_with_its_minimum_or_not_at_all(least: int, starts: bool) -> None:
    member = {"schedulingGroup": {"podGroupName": "g"}}
    state = gang(least, *(pod(f"w{i}", USES, spec=member) for i in range(3)))
    (group,) = explain_names(state, "podgroup/g")
    assert (group.replicas, group.fits, group.minimum, group.starts) == (3, 2, least, starts)
    assert [reason.code for reason in group.reasons] == ["device-in-use"]  # all three pods exist


def test_pods_name_their_group_in_1_35_and_for_scheduler_plugins() -> None:
    reference = {"workloadRef": {"name": "g", "podGroup": "workers"}}
    of_1_35 = {
        "apiVersion": "scheduling.k8s.io/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": "g", "namespace": "ml"},
        "spec": {"podGroups": [{"name": "workers", "policy": {"gang": {"minCount": 2}}}]},
    }
    state = state_of(
        GPU,
        ONE,
        of_1_35,
        node("a"),
        gpus("a", "r"),
        *(pod(f"w{i}", USES, spec=reference) for i in range(2)),
    )
    assert [(g.replicas, g.minimum) for g in explain_names(state, "workload/g")] == [(2, 2)]
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    crd = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "spec": {"minMember": 3},
    }
    crd["metadata"] = {"name": "g", "namespace": "ml"}
    pods = [pod(f"w{i}", USES, metadata={"labels": labels}) for i in range(2)]
    state = state_of(GPU, ONE, crd, node("a"), gpus("a", "r"), *pods)
    assert [(g.replicas, g.fits, g.minimum) for g in explain_names(state, "podgroup/g")] == [
        (2, 1, 3)
    ]


def test_another_order_of_unequal_pods_places_all() -> None:
    """The worker takes the only big GPU unless the leader, which needs it, goes first."""
    either = {
        "name": "gpu",
        "firstAvailable": [
            {"name": "big", "deviceClassName": "big", "allocationMode": "ExactCount", "count": 1},
            {"name": "small", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1},
        ],
    }
    member = {"schedulingGroup": {"podGroupName": "g"}}
    big = slice_of("big.example.com", "a", {"name": "big-0"})
    leader = pod("z-leader", {"name": "gpu", "resourceClaimTemplateName": "leader"}, spec=member)
    worker = pod("a-worker", {"name": "gpu", "resourceClaimTemplateName": "worker"}, spec=member)
    claims = [template("leader", request("gpu", "big")), template("worker", either)]
    (group,) = explain_names(gang(2, big, leader, worker, *claims), "podgroup/g")
    assert (group.fits, group.pod, group.order) == (1, "z-leader", ("z-leader", "a-worker"))


def test_replica_returns_to_its_volume() -> None:
    """A StatefulSet keeps the volume claims of replicas that it has ended; others it makes from its template."""
    template_of = {"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}
    replicas = workload("StatefulSet", 2, USES, volumeClaimTemplates=[template_of])
    kept = {
        "name": "data-web-0",
        "namespace": "ml",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
    }
    bound = {"storageClassName": "fast", "volumeName": "pv"}
    there = {
        "matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": ["gone"]}
        ]
    }
    where = {"nodeAffinity": {"required": {"nodeSelectorTerms": [there]}}}
    first = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "csi.example.com"}
    objects = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            **first,
        },
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kept, "spec": bound},
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": where},
    ]
    state = state_of(GPU, ONE, replicas, node("a"), gpus("a", "r", "r"), *objects)
    (group,) = explain_names(state, "sts/web")
    assert (group.fits, group.pod) == (1, "web-0")
    assert "data-web-0" in group.reasons[0].message
    (group,) = explain_names(
        state.replace("PersistentVolumeClaim", ("ml", "data-web-0"), None), "sts/web"
    )
    assert group.complete


def test_the_report_counts_the_group_and_the_exit_code_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items = [GPU, ONE, workload("Deployment", 6, USES), node("a"), gpus("a", *"rrrrr")]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    arguments = ["explain", "deploy/web", "-f", str(path), "-n", "ml", "--isolated"]
    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert "deployment ml/web: 5 of 6 replicas fit" in out
    assert "the sixth (web-5) stops at:" in out
    assert main([*arguments, "-o", "json"]) == 1
    value = json.loads(capsys.readouterr().out)
    jsonschema.validate(
        value, json.loads((data_dir("schemas") / "dractl" / "explain-v1.json").read_text())
    )
    assert [(g["name"], g["fits"], g["pod"]) for g in value["groups"]] == [
        ("Deployment/ml/web", 5, "web-5")
    ]
    assert main([*arguments, "-o", "html"]) == 1
    page = capsys.readouterr().out
    assert "<b>deployment ml/web</b>: 5 of 6 replicas fit" in page
    assert "the sixth (web-5) stops at:" in page
    assert main(["explain", str(path), "--isolated"]) == 1
    assert "deployment ml/web: 5 of 6 replicas fit" in capsys.readouterr().out


def test_colours_take_no_room() -> None:
    group = Group("Deployment/ml/trainer", replicas=4, placed=0, fits=3, pod="trainer-3")
    plain, painted = (groups_text.text([group], Canvas(width=50, color=c)) for c in (False, True))
    assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
    assert painted != plain
    assert plain.splitlines()[0] == "✗ deployment ml/trainer: 3 of 4 replicas fit"
