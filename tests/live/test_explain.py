"""explain against a real API server, scheduler and claim controller: what it prints as a fix makes the pod schedule.

Runs where the cluster program is built ($DRACTL_SHARED/oracle/kube/build.sh 1.37): `pytest -m live tests/live`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, shared_dir, whole_dir
from tests.oracle import cluster_module

if TYPE_CHECKING:
    from collections.abc import Iterator

# The cluster program leaves its log files and children to the operating system.
pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

SCENARIOS = (
    "class-name-typo",
    "template-name-typo",
    "claim-in-other-namespace",
    "selector-80gi-on-h100",
    "selector-wrong-domain",
    "selector-string-compared-with-version",
    "match-two-gpus-per-root",
    "match-types-differ",
    "device-taint-by-rule-for-driver",
    "count-more-than-a-node-has",
    "limit-32-two-requests",
    "capacity-request-on-dedicated-device",
    "two-requests-total-too-large",
    "in-use-by-other-namespace",
    "slice-node-selector-mismatch",
    "node-affinity-feature-label",
)
ORDER = ("Namespace", "Node", "DeviceClass", "ResourceSlice", "DeviceTaintRule", "ResourceQuota")
AFTER = ("ResourceClaimTemplate", "ResourceClaim")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    shared = whole_dir()
    if shared is None:
        pytest.skip("no conformance data, no cluster program")
    module = cluster_module(shared)
    if not module.program("1.37").exists():
        pytest.skip(f"{module.program('1.37')} is not built")
    folder = Path(tempfile.mkdtemp(prefix="dractl-live-"))
    with module.Cluster("1.37", directory=folder) as running:
        kubectl = folder / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\nexec {running.kube} kubectl --kubeconfig={running.kubeconfig} "$@"\n'
        )
        kubectl.chmod(0o755)
        yield running


def bare(value: dict[str, Any]) -> dict[str, Any]:
    """An object as somebody would create it."""
    metadata = {k: v for k, v in value["metadata"].items() if k in ("name", "namespace", "labels")}
    made = {k: v for k, v in value.items() if k not in ("metadata", "status")}
    made["metadata"] = metadata
    if value["kind"] == "Pod":
        made["spec"] = {
            k: v
            for k, v in value["spec"].items()
            if k not in ("nodeName", "priority", "preemptionPolicy")
        }
    return made


def create(cluster: Any, value: dict[str, Any]) -> None:
    cluster.kubectl(
        "create", "-f", "-", stdin=json.dumps(bare(value)), check=value["kind"] != "Namespace"
    )
    if value["kind"] == "Node":
        status = {"status": {k: value["status"][k] for k in ("allocatable", "capacity")}}
        name = value["metadata"]["name"]
        cluster.kubectl(
            "patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps(status)
        )
        # The API server taints every new node as not ready; a kubelet would have it removed.
        taints = {"spec": {"taints": value["spec"].get("taints")}}
        cluster.kubectl("patch", "node", name, "--type=merge", "-p", json.dumps(taints))


def set_up(cluster: Any, objects: list[dict[str, Any]], subject: tuple[str, str]) -> None:
    """Everything but what controllers make; pods that hold devices are scheduled before the subject is created."""
    own = [o for o in objects if not o["metadata"].get("ownerReferences")]
    for kind in (*ORDER, *AFTER):
        for value in own:
            if value["kind"] == kind:
                create(cluster, value)
    pods = [o for o in own if o["kind"] == "Pod"]
    holders = [p for p in pods if (p["metadata"]["namespace"], p["metadata"]["name"]) != subject]
    for value in holders:
        create(cluster, value)
    for value in holders:
        assert wait(
            cluster, value["metadata"]["namespace"], value["metadata"]["name"], scheduled=True
        )
    for value in pods:
        if value not in holders:
            create(cluster, value)


def tear_down(cluster: Any) -> None:
    for kinds in ("pods", "resourceclaims,resourceclaimtemplates,resourcequotas"):
        cluster.kubectl(
            "delete",
            kinds,
            "--all",
            "-A",
            "--force",
            "--grace-period=0",
            "--wait=true",
            "--timeout=20s",
            check=False,
        )
    cluster.kubectl(
        "delete",
        "resourceslices,deviceclasses,devicetaintrules,nodes",
        "--all",
        "--timeout=20s",
        check=False,
    )


def wait(cluster: Any, namespace: str, name: str, *, scheduled: bool, seconds: float = 20) -> bool:
    """Whether the pod gets a node; if not ``scheduled``, until the scheduler says no or three seconds have gone."""
    end = time.monotonic() + (seconds if scheduled else 3)
    while time.monotonic() < end:
        done = cluster.kubectl("get", "pod", name, "-n", namespace, "-o", "json", check=False)
        value = json.loads(done.stdout) if done.returncode == 0 else {}
        if value.get("spec", {}).get("nodeName"):
            return True
        if not scheduled and value.get("status", {}).get("conditions"):
            return False
        time.sleep(0.3)
    return False


def dractl(cluster: Any, *arguments: str, program: str = "dractl") -> tuple[int, str]:
    path = f"{cluster.dir}{os.pathsep}{os.environ['PATH']}"
    starter = f"import sys; sys.argv[0] = {program!r}; from dractl.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", starter, *arguments],
        env={**os.environ, "PATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, done.stdout


def apply(cluster: Any, script: str) -> None:
    """Runs what ``explain --patch`` prints, as somebody who pastes it."""
    path = f"{cluster.dir}{os.pathsep}{os.environ['PATH']}"
    # There is no kubelet that would end a pod.
    script = re.sub(
        r"^(kubectl delete pod .*?)( &&)?$",
        r"\1 --force --grace-period=0\2",
        script,
        flags=re.MULTILINE,
    )
    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=cluster.dir,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}: {done.stderr}"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_printed_fix_makes_the_pod_schedule(cluster: Any, scenario: str) -> None:
    folder = shared_dir() / "conformance/scheduling" / scenario
    expected = json.loads((folder / "expected.json").read_text())
    namespace, name = expected["pod"]["namespace"], expected["pod"]["name"]
    try:
        set_up(
            cluster, json.loads((folder / "objects.json").read_text())["items"], (namespace, name)
        )
        assert not wait(cluster, namespace, name, scheduled=False)
        code, out = dractl(cluster, "explain", f"pod/{name}", "-n", namespace, "-o", "json")
        answer = json.loads(out)
        assert code == 1
        assert answer["kubernetesVersion"] == "1.37"
        assert answer["kubernetesVersionAssumed"] is False
        assert answer["reasons"][0]["code"] in [
            expected["reason"],
            *(expected.get("alsoTrue") or []),
        ]
        _, patch = dractl(cluster, "explain", f"pod/{name}", "-n", namespace, "--patch")
        apply(cluster, patch)
        if cluster.kubectl("get", "pod", name, "-n", namespace, check=False).returncode != 0:
            pytest.fail("the fix removed the pod")
        assert wait(cluster, namespace, name, scheduled=True), patch
    finally:
        tear_down(cluster)


def reap(cluster: Any) -> None:
    """Ends what is being deleted, as a kubelet would."""
    for value in json.loads(cluster.kubectl("get", "pods", "-A", "-o", "json").stdout)["items"]:
        if "deletionTimestamp" in value["metadata"]:
            where = ("-n", value["metadata"]["namespace"], "--force", "--grace-period=0")
            cluster.kubectl("delete", "pod", value["metadata"]["name"], *where, check=False)


def workload(kind: str, replicas: int, **resources: Any) -> dict[str, Any]:
    """A workload of pods with one device each, or with the given resources."""
    container = {
        "name": "main",
        "image": "x",
        "resources": resources or {"claims": [{"name": "gpu"}]},
    }
    spec: dict[str, Any] = {"containers": [container]}
    if not resources:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    made: dict[str, Any] = {"metadata": {"name": "web", "namespace": "ml"}}
    if kind == "Job":
        job = {
            "parallelism": replicas,
            "completions": replicas,
            "template": {"spec": {**spec, "restartPolicy": "Never"}},
        }
        return {"apiVersion": "batch/v1", "kind": kind, **made, "spec": job}
    labels = {"app": "web"}
    scaled = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
        **(
            {"serviceName": "web", "podManagementPolicy": "Parallel"}
            if kind == "StatefulSet"
            else {}
        ),
    }
    return {"apiVersion": "apps/v1", "kind": kind, **made, "spec": scaled}


def set_up_free_gpus(cluster: Any) -> None:
    """The objects of a small cluster whose GPUs are all free, with a template for one."""
    folder = shared_dir() / "conformance/scheduling/in-use-by-other-namespace"
    objects = json.loads((folder / "objects.json").read_text())["items"]
    set_up(cluster, [o for o in objects if o["kind"] not in ("Pod", "ResourceClaim")], ("", ""))


def pods(cluster: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        cluster.kubectl("get", "pods", "-n", "ml", "-o", "json").stdout
    )["items"]
    return found


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Job"])
def test_workload_holding_the_devices_becomes_smaller(cluster: Any, kind: str) -> None:
    try:
        set_up_free_gpus(cluster)
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(workload(kind, 2)))
        end = time.monotonic() + 20
        while (
            sum("nodeName" in pod["spec"] for pod in pods(cluster)) < 2 and time.monotonic() < end
        ):
            time.sleep(0.3)
        alone = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "train-0", "namespace": "ml"},
        }
        alone["spec"] = workload("Deployment", 1)["spec"]["template"]["spec"]
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(alone))
        assert not wait(cluster, "ml", "train-0", scheduled=False)
        _, patch = dractl(cluster, "explain", "pod/train-0", "-n", "ml", "--patch")
        assert "kubectl delete" not in patch
        apply(cluster, patch)
        end = time.monotonic() + 20
        while (
            not wait(cluster, "ml", "train-0", scheduled=True, seconds=1) and time.monotonic() < end
        ):
            reap(cluster)
        assert wait(cluster, "ml", "train-0", scheduled=True, seconds=1), patch
    finally:
        cluster.kubectl(
            "delete",
            kind.lower(),
            "web",
            "-n",
            "ml",
            "--cascade=foreground",
            "--wait=false",
            check=False,
        )
        tear_down(cluster)


def test_a_deployment_is_changed_where_it_is_written(cluster: Any) -> None:
    try:
        set_up_free_gpus(cluster)
        named = [{"op": "add", "path": "/spec/extendedResourceName", "value": "nvidia.com/gpu"}]
        cluster.kubectl(
            "patch", "deviceclass", "gpu.nvidia.com", "--type=json", "-p", json.dumps(named)
        )
        cluster.kubectl(
            "create",
            "-f",
            "-",
            stdin=json.dumps(workload("Deployment", 1, limits={"nvidia.com/gpus": "1"})),
        )
        end = time.monotonic() + 20
        while (
            not any("conditions" in pod["status"] for pod in pods(cluster))
            and time.monotonic() < end
        ):
            time.sleep(0.3)
        (first,) = pods(cluster)
        _, patch = dractl(
            cluster, "explain", f"pod/{first['metadata']['name']}", "-n", "ml", "--patch"
        )
        assert "kubectl patch deployment web" in patch
        apply(cluster, patch)
        while (
            not any("nodeName" in pod["spec"] for pod in pods(cluster)) and time.monotonic() < end
        ):
            time.sleep(0.3)
        assert any("nodeName" in pod["spec"] for pod in pods(cluster)), patch
    finally:
        cluster.kubectl("delete", "deployment", "web", "-n", "ml", "--wait=false", check=False)
        tear_down(cluster)


def test_as_a_plug_in_of_kubectl(cluster: Any) -> None:
    folder = shared_dir() / "conformance/scheduling/class-name-typo"
    try:
        set_up(
            cluster, json.loads((folder / "objects.json").read_text())["items"], ("ml", "train-0")
        )
        wait(cluster, "ml", "train-0", scheduled=False)
        code, out = dractl(cluster, "explain", "pod/train-0", "-n", "ml", program="kubectl-dra")
        assert code == 1
        assert "there is gpu.nvidia.com" in out
        code, out = dractl(cluster, "explain", "-A", program="kubectl-dra")
        assert code == 1
        assert "pod ml/train-0" in out
    finally:
        tear_down(cluster)


SMALL = [
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}},
        "spec": {},
        "status": {
            k: {"cpu": "8", "memory": "32Gi", "pods": "110"} for k in ("allocatable", "capacity")
        },
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}},
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {},
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        },
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one", "namespace": "ml"},
        "spec": {
            "spec": {
                "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}
            }
        },
    },
]


def one_gpu(**more: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    return {
        "containers": [container],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
        **more,
    }


def test_workload_and_unchecked_parts_are_reported(cluster: Any) -> None:
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": one_gpu(nodeSelector={"none": "such"}),
            },
        },
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "nope"}}
    waits = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "waits", "namespace": "ml"},
        "spec": one_gpu(volumes=[volume]),
    }
    runs = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "runs", "namespace": "ml"},
        "spec": one_gpu(),
    }
    try:
        set_up(cluster, [*SMALL, runs, waits], ("ml", "waits"))
        create(cluster, web)
        cluster.kubectl(
            "wait",
            "--for=jsonpath={.status.replicas}=2",
            "deployment/web",
            "-n",
            "ml",
            "--timeout=20s",
        )
        assert not wait(cluster, "ml", "waits", scheduled=False)
        code, out = dractl(cluster, "explain", "pod/waits", "-n", "ml", "-o", "json")
        answer = json.loads(out)
        assert (code, answer["verdict"]) == (1, "blocked")
        assert 'persistentvolumeclaim "nope" not found' in answer["headline"]
        assert 'persistentvolumeclaim "nope" not found' in answer["schedulerMessage"]
        code, out = dractl(cluster, "explain", "pod/runs", "-n", "ml", "-o", "json")
        assert (code, json.loads(out)["verdict"]) == (0, "allocated")
        assert json.loads(out)["headline"].startswith("scheduled on node-1")  # there is no kubelet
        code, out = dractl(cluster, "explain", "deploy/web", "-n", "ml", "-o", "json")
        assert code == 1
        (both,) = json.loads(out)["subjects"]
        assert both["reasons"][0]["plugin"] == "NodeAffinity"
        assert len(both["alike"]) == 1
    finally:
        cluster.kubectl("delete", "deployment", "web", "-n", "ml", "--wait=true", check=False)
        tear_down(cluster)


def two_gpus(cluster: Any, **node: Any) -> None:
    """A node with two GPUs and a template for one of them."""
    small = json.loads(json.dumps(SMALL))
    small[0]["spec"].update(node)
    set_up(cluster, small, ("", ""))


def make_deployment(replicas: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": one_gpu(**spec)}
    made = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": made,
    }


def wait_for_pods(cluster: Any, done: Any, seconds: float = 30) -> list[dict[str, Any]]:
    """The pods of the namespace, once they are as ``done`` wants them; ends those that are being deleted."""
    end = time.monotonic() + seconds
    while not done(found := pods(cluster)) and time.monotonic() < end:
        reap(cluster)
        time.sleep(0.3)
    assert done(found), [
        (p["metadata"]["name"], p["spec"].get("nodeName"), p.get("status")) for p in found
    ]
    return found


def placed_pods(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [pod for pod in found if "nodeName" in pod["spec"]]


def apply_first_fix(cluster: Any, pod: dict[str, Any]) -> str:
    """Applies the first fix of a pod that waits; the script."""
    _, script = dractl(cluster, "explain", f"pod/{pod['metadata']['name']}", "-n", "ml", "--patch")
    assert "kubectl" in script
    apply(cluster, script)
    return script


def one_waits(found: list[dict[str, Any]], holding: int) -> bool:
    waiting = [
        pod for pod in found if "nodeName" not in pod["spec"] and pod["status"].get("conditions")
    ]
    return len(placed_pods(found)) == holding and len(waiting) == 1


def run_two(cluster: Any) -> None:
    """Marks the bound pods as running and ready, as a kubelet would."""
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    for pod in placed_pods(pods(cluster)):
        status = {
            "status": {
                "phase": "Running",
                "conditions": [*pod["status"].get("conditions", []), condition],
            }
        }
        name = pod["metadata"]["name"]
        cluster.kubectl(
            "patch",
            "pod",
            name,
            "-n",
            "ml",
            "--subresource=status",
            "--type=merge",
            "-p",
            json.dumps(status),
        )


def delete_workloads(cluster: Any) -> None:
    cluster.kubectl(
        "delete",
        "deployment,job",
        "--all",
        "-n",
        "ml",
        "--cascade=foreground",
        "--wait=false",
        check=False,
    )
    tear_down(cluster)


def test_rollout_waiting_for_itself_goes_on(cluster: Any) -> None:
    try:
        two_gpus(cluster)
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(make_deployment(2)))
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) == 2)
        run_two(cluster)
        cluster.kubectl("set", "env", "deployment/web", "-n", "ml", "A=b")
        cluster.kubectl("scale", "deployment/web", "-n", "ml", "--replicas=2")
        found = wait_for_pods(cluster, lambda found: one_waits(found, 2))
        waiting = next(pod for pod in found if "nodeName" not in pod["spec"])
        script = apply_first_fix(cluster, waiting)
        assert "maxUnavailable" in script
        new = waiting["metadata"]["labels"]["pod-template-hash"]
        wait_for_pods(
            cluster,
            lambda found: any(
                p["metadata"]["labels"]["pod-template-hash"] == new for p in placed_pods(found)
            ),
        )
    finally:
        delete_workloads(cluster)


def test_a_template_is_corrected_for_every_pod_of_a_job(cluster: Any) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {"spec": one_gpu(restartPolicy="Never")},
        },
    }
    try:
        two_gpus(cluster)
        wrong = json.loads(json.dumps(SMALL[-1]))
        wrong["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 3
        cluster.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(wrong))
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(job))
        found = wait_for_pods(
            cluster, lambda found: sum(bool(p["status"].get("conditions")) for p in found) == 2
        )
        script = apply_first_fix(cluster, found[0])
        assert "condition=Suspended" in script
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) >= 1)
        status = json.loads(
            cluster.kubectl("get", "job", "train", "-n", "ml", "-o", "json").stdout
        )["status"]
        assert not status.get("failed")
    finally:
        delete_workloads(cluster)


@pytest.mark.parametrize(
    ("node", "spec", "command"),
    [
        ({"unschedulable": True}, {}, "kubectl uncordon node-1"),
        ({"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}, {}, '"value": "a"'),
        ({}, {"nodeSelector": {"kubernetes.io/hostname": "node-01"}}, '"value": "node-1"'),
    ],
    ids=["cordoned", "tainted", "misspelt"],
)
def test_a_node_is_made_acceptable(
    cluster: Any, node: dict[str, Any], spec: dict[str, Any], command: str
) -> None:
    try:
        two_gpus(cluster, **node)
        if node.get("unschedulable"):
            cluster.kubectl("cordon", "node-1")
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(make_deployment(1, **spec)))
        (waiting,) = wait_for_pods(
            cluster, lambda found: len(found) == 1 and bool(found[0]["status"].get("conditions"))
        )
        assert command in apply_first_fix(cluster, waiting)
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) == 1)
    finally:
        delete_workloads(cluster)


def test_a_selector_is_guarded_within_the_cost_limit(cluster: Any) -> None:
    expression = "device.attributes['gpu.example.com'].productName.contains('H100')"
    try:
        two_gpus(cluster)
        slice_ = json.loads(json.dumps(SMALL[3]))
        slice_["spec"]["devices"][1]["attributes"] = {"productName": {"string": "NVIDIA H100"}}
        slice_["spec"]["pool"]["generation"] = 2
        cluster.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(slice_))
        picky = json.loads(json.dumps(SMALL[-1]))
        picky["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [
            {"cel": {"expression": expression}}
        ]
        cluster.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(picky))
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(make_deployment(1)))
        (waiting,) = wait_for_pods(
            cluster, lambda found: len(found) == 1 and bool(found[0]["status"].get("conditions"))
        )
        assert "'productName' in device.attributes" in apply_first_fix(cluster, waiting)
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) == 1)
    finally:
        delete_workloads(cluster)


def test_replicas_sharing_a_device_get_one_claim(cluster: Any) -> None:
    sharing = {"driver": "gpu.example.com", "parameters": {"sharing": {"strategy": "TimeSlicing"}}}
    try:
        two_gpus(cluster)
        shared = json.loads(json.dumps(SMALL[-1]))
        shared["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
        shared["spec"]["spec"]["devices"]["config"] = [{"opaque": sharing}]
        cluster.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(shared))
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(make_deployment(2)))
        found = wait_for_pods(cluster, lambda found: one_waits(found, 1))
        assert "resourceClaimName" in apply_first_fix(
            cluster, next(p for p in found if "nodeName" not in p["spec"])
        )
        wait_for_pods(
            cluster, lambda found: len(found) == 2 and len(placed_pods(found)) == 2, seconds=60
        )
    finally:
        delete_workloads(cluster)


def test_equal_replicas_all_get_less(cluster: Any) -> None:
    labels = {"app": "web"}
    made = {
        "replicas": 2,
        "serviceName": "web",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": one_gpu()},
    }
    kind = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": made,
    }
    try:
        two_gpus(cluster)
        both = json.loads(json.dumps(SMALL[-1]))
        both["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
        cluster.kubectl("replace", "--force", "-f", "-", stdin=json.dumps(both))
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(kind))
        found = wait_for_pods(cluster, lambda found: one_waits(found, 1))
        apply_first_fix(cluster, next(p for p in found if "nodeName" not in p["spec"]))
        wait_for_pods(cluster, lambda found: len(found) == 2 and len(placed_pods(found)) == 2)
    finally:
        cluster.kubectl("delete", "statefulset", "web", "-n", "ml", "--wait=false", check=False)
        delete_workloads(cluster)


def test_a_host_port_is_given_up(cluster: Any) -> None:
    try:
        two_gpus(cluster)
        web = make_deployment(2)
        web["spec"]["template"]["spec"]["containers"][0]["ports"] = [
            {"containerPort": 80, "hostPort": 8000}
        ]
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(web))
        found = wait_for_pods(cluster, lambda found: one_waits(found, 1))
        assert "hostPort" in apply_first_fix(
            cluster, next(p for p in found if "nodeName" not in p["spec"])
        )
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) >= 2)
    finally:
        delete_workloads(cluster)


def test_a_class_names_its_driver(cluster: Any) -> None:
    try:
        two_gpus(cluster)
        wrong = {"selectors": [{"cel": {"expression": "device.driver == 'example.com/gpu'"}}]}
        cluster.kubectl(
            "patch", "deviceclass", "gpu", "--type=merge", "-p", json.dumps({"spec": wrong})
        )
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(make_deployment(1)))
        (waiting,) = wait_for_pods(
            cluster, lambda found: len(found) == 1 and bool(found[0]["status"].get("conditions"))
        )
        assert "device.driver == 'gpu.example.com'" in apply_first_fix(cluster, waiting)
        wait_for_pods(cluster, lambda found: len(placed_pods(found)) == 1)
    finally:
        delete_workloads(cluster)
