"""A real control plane into which a recorded cluster is put as it was, with a stand-in for its kubelets.

The scheduler and the controllers are started anew once the objects are there: while they run, a ReplicaSet that they
see before its pods would make others. What a server generates (uids) is new; references to it are rewritten.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dractl.views import Pod
from tests.conftest import ROOT, whole_dir
from tests.oracle import cluster_module, free_port, serve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Raw = Mapping[str, Any]

RELEASE = "1.37"
PARTS = ("kube-scheduler", "kube-controller-manager")
CONTROLLERS = (
    "resourceclaim-controller,namespace-controller,serviceaccount-controller,deployment-controller,"
    "replicaset-controller,job-controller,cronjob-controller,daemonset-controller,garbage-collector-controller,"
    "device-taint-eviction-controller,statefulset-controller,resourcequota-controller,persistentvolume-binder-controller"
)
# In the order in which they are created: what others refer to first.
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "Node": "/api/v1/nodes",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceTaintRule": "/apis/resource.k8s.io/v1/devicetaintrules",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    "ValidatingWebhookConfiguration": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/{}/daemonsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "ReplicaSet": "/apis/apps/v1/namespaces/{}/replicasets",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
    "Pod": "/api/v1/namespaces/{}/pods",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "LimitRange": "/api/v1/namespaces/{}/limitranges",
    "ResourceQuota": "/api/v1/namespaces/{}/resourcequotas",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings",
    "Event": "/api/v1/namespaces/{}/events",
}
# Workloads first: what they made would only be made again.
CLEARED = (
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "CronJob",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "ReplicaSet",
    "Pod",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "LimitRange",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "DeviceTaintRule",
    "ResourceSlice",
    "DeviceClass",
    "RuntimeClass",
    "StorageClass",
    "PriorityClass",
    "Node",
    "RoleBinding",
    "Role",
    "Event",
)
GENERATED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
)
BY_ADMISSION = ("priority", "preemptionPolicy")


def oracle() -> Any:
    """The module that starts a control plane; None where it is not, or its program is not built."""
    shared = whole_dir()
    if shared is None:
        return None
    module = cluster_module(shared)
    return module if module.program(RELEASE).exists() else None


class Plane:
    """etcd, API server, scheduler, controllers, and the kubelets of nodes that are Ready."""

    def __init__(
        self,
        module: Any,
        gates: Mapping[str, bool] | None = None,
        *,
        controllers: str = CONTROLLERS,
        apis: str = "",
    ) -> None:
        """``apis``: further API versions, such as ``scheduling.k8s.io/v1beta1=true``."""
        self.directory = Path(tempfile.mkdtemp(prefix="dractl-plane-"))
        self.cluster = module.Cluster(
            RELEASE, dict(gates or {}), scheduler=False, directory=self.directory
        )
        self.gates = gates or {}
        self.controllers = controllers
        self.apis = apis
        self.stopped = False
        self.ending_seconds = 0
        """How long the kubelets take to end a pod."""
        self.leaving: set[tuple[str, str]] = set()
        """Pods whose kubelet does not end them, though they are Terminating."""
        self.refused: set[tuple[str, str]] = set()
        """Pods whose kubelet will not be able to prepare their devices, and the uids of those that it could not."""
        self.refused_uids: set[str] = set()
        self.failures = self.directory / "kubectl-failures"
        self._done = threading.Event()
        self._kubelets = threading.Thread(target=self._run_kubelets, daemon=True)

    def __enter__(self) -> Self:
        if self.apis:
            serve(self.cluster, self.apis)
        self.cluster.start()
        config = self.directory / "kubeconfig"
        kubectl = self.directory / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\n{self.cluster.kube} kubectl --kubeconfig={config} "$@"\ncode=$?\n'
            f'[ $code = 0 ] || echo "$code: kubectl $*" >> {self.failures}\nexit $code\n'
        )
        kubectl.chmod(0o755)
        self._kubelets.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._kubelets.join(timeout=10)
        self.pause()
        self.cluster.stop()

    # -- requests ----------------------------------------------------------------------------------------------------
    def ask(
        self, method: str, path: str, body: Any = None, kind: str = "application/json"
    ) -> tuple[int, Any]:
        code, _, value = self.cluster.request(
            method, path, None if body is None else json.dumps(body), kind
        )
        return code, value

    def must(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        code, value = self.ask(method, path, body, kind)
        assert code < 300, (method, path, value)
        return value

    def all(self, kind: str) -> list[dict[str, Any]]:
        value = self.must("GET", PATHS[kind].replace("/namespaces/{}", ""))
        found: list[dict[str, Any]] = value["items"]
        return found

    def pods(self) -> list[dict[str, Any]]:
        return self.all("Pod")

    # -- scheduler and controllers -----------------------------------------------------------------------------------
    def pause(self) -> None:
        """Ends the scheduler and the controllers."""
        self.stopped = True
        for part in PARTS:
            pid = self.cluster.pids.pop(part, None)
            if pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def go(self) -> None:
        """Starts the scheduler and the controllers."""
        config = self.directory / "kubeconfig"
        gates = [f"--feature-gates={self.cluster.gates}"] if self.cluster.gates else []
        for part in PARTS:
            more = ["-v=3"] if part == "kube-scheduler" else [f"--controllers={self.controllers}"]
            access = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
            port = [
                f"--secure-port={free_port()}",
                f"--cert-dir={self.directory / ('certs-' + part)}",
            ]
            flags = [
                "--leader-elect=false",
                "--bind-address=127.0.0.1",
                *(f"--{flag}={config}" for flag in access),
            ]
            self.cluster._start(part, *flags, *port, *more, *gates)
        self.stopped = False

    # -- objects -----------------------------------------------------------------------------------------------------
    def clear(self) -> None:
        """Deletes everything that was loaded. Namespaces stay: their controller would take seconds for each."""
        self.leaving.clear()
        self.refused.clear()
        self.refused_uids.clear()
        gone = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        for kind in CLEARED:
            for value in self.all(kind):
                metadata = value["metadata"]
                if metadata.get("namespace", "").startswith("kube-") or metadata["name"].startswith(
                    "system-"
                ):
                    continue
                path = f"{PATHS[kind].format(metadata.get('namespace'))}/{metadata['name']}"
                if metadata.get("finalizers"):
                    self.ask(
                        "PATCH",
                        path,
                        {"metadata": {"finalizers": None}},
                        "application/merge-patch+json",
                    )
                self.ask("DELETE", path, gone)

    def load(self, objects: Sequence[Raw]) -> None:
        """Replaces what is there by ``objects``, as they are, with their status."""
        self.pause()
        self.clear()
        known: dict[str, str] = {}  # the new uids
        rank = {kind: position for position, kind in enumerate(PATHS)}
        for name in {
            c for o in objects if o["kind"] == "Pod" if (c := o["spec"].get("runtimeClassName"))
        }:
            if not any(o["kind"] == "RuntimeClass" for o in objects):
                self.must(
                    "POST", PATHS["RuntimeClass"], {"metadata": {"name": name}, "handler": name}
                )
        for value in sorted(objects, key=lambda o: rank.get(o["kind"], len(rank))):
            if value["kind"] in rank and not value["metadata"]["name"].startswith("system-"):
                self._create(value, known)
        self.go()

    def create(self, value: Raw) -> None:
        """Creates one object as it is, with its status."""
        self._create(value, {})

    def _create(self, value: Raw, known: dict[str, str]) -> None:
        kind, metadata = value["kind"], value["metadata"]
        namespace, name = metadata.get("namespace"), metadata["name"]
        path = PATHS[kind].format(namespace)
        made = json.loads(
            json.dumps({k: v for k, v in value.items() if k not in ("apiVersion", "status")})
        )
        made["metadata"] = {
            k: v for k, v in metadata.items() if k not in GENERATED and not k.startswith("deletion")
        }
        for owner in made["metadata"].get("ownerReferences", []):
            owner["uid"] = known.get(owner["uid"], owner["uid"])
        if kind == "Pod":
            made["spec"] = {k: v for k, v in made["spec"].items() if k not in BY_ADMISSION}
        if kind == "PersistentVolume" and "claimRef" in made["spec"]:
            used = made["spec"]["claimRef"]
            used["uid"] = known.get(used.get("uid"), used.get("uid"))
            used.pop("resourceVersion", None)
        if kind == "Event":
            about = made.get("involvedObject", {})
            about["uid"] = known.get(about.get("uid"), about.get("uid"))
            about.pop("resourceVersion", None)
        if kind == "Job":  # the server selects by a label of its own making
            made["spec"].pop("selector", None)
            for place in (made["spec"]["template"].get("metadata", {}), made["metadata"]):
                labels = place.get("labels", {})
                for key in [k for k in labels if k.endswith("controller-uid")]:
                    del labels[key]
        if kind == "Pod":
            for key, old in list(made["metadata"].get("labels", {}).items()):
                if key.endswith("controller-uid"):
                    made["metadata"]["labels"][key] = known.get(old, old)
        code, answer = self.ask("POST", path, made)
        merge = "application/merge-patch+json"
        if code == 409 and kind == "Namespace":
            answer = self.must("PATCH", f"{path}/{name}", {"metadata": made["metadata"]}, merge)
        else:
            assert code < 300, (kind, namespace, name, answer)
        known[metadata.get("uid", "")] = answer["metadata"]["uid"]
        if kind == "Node":  # the server taints every new node as not ready
            taints = {"taints": value["spec"].get("taints")}
            self.must("PATCH", f"{path}/{name}", {"spec": taints}, merge)
        status = json.loads(json.dumps(value.get("status") or {}))
        status.pop("observedGeneration", None)
        if kind == "Pod":  # the scheduler of this plane says it again
            untried = [
                c
                for c in status.get("conditions", [])
                if (c["type"], c["status"]) != ("PodScheduled", "False")
            ]
            status["conditions"] = untried
        for user in status.get("reservedFor", []) if kind == "ResourceClaim" else ():
            user["uid"] = known.get(user["uid"], user["uid"])
        if status and kind not in ("Namespace", "DeviceTaintRule", "PriorityClass"):
            self.must("PATCH", f"{path}/{name}/status", {"status": status}, merge)
        if "deletionTimestamp" in metadata:
            if kind == "Pod":
                self.leaving.add((namespace, name))
            self.must("DELETE", f"{path}/{name}")

    # -- kubelets ----------------------------------------------------------------------------------------------------
    def _run_kubelets(self) -> None:
        while not self._done.wait(0.4):
            if not self.stopped:
                with contextlib.suppress(OSError, HTTPException, AssertionError):
                    self.as_kubelets()

    def as_kubelets(self) -> None:
        """Pods that are bound run; those that are Terminating end. Nodes that are not Ready have no kubelet."""
        self._uncordon()
        pods = self.pods()
        busy = [p for p in pods if "nodeName" in p["spec"] or "deletionTimestamp" in p["metadata"]]
        if not busy:
            return
        ready = {n["metadata"]["name"] for n in self.all("Node") if _ready(n)}
        for pod in busy:
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            path = f"/api/v1/namespaces/{namespace}/pods/{name}"
            if pod["spec"].get("nodeName", "") and pod["spec"]["nodeName"] not in ready:
                continue
            if "deletionTimestamp" in pod["metadata"]:
                ends = (namespace, name) not in self.leaving
                if ends and _seconds_terminating(pod) >= self.ending_seconds:
                    # A new pod may have the name by now: kubelets name the uid, too.
                    uid = {"uid": pod["metadata"]["uid"]}
                    self.ask("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": uid})
            elif pod["status"].get("phase") == "Pending" and self.prepared(pod):
                now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                conditions = [
                    c for c in pod["status"].get("conditions", []) if c["type"] != "Ready"
                ]
                conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": now})
                body = {"status": {"phase": "Running", "conditions": conditions, "startTime": now}}
                self.ask("PATCH", f"{path}/status", body, "application/merge-patch+json")

    def _uncordon(self) -> None:
        """Removes the taint of nodes that are not cordoned any more, as the controller of node lifecycles does."""
        for node in self.all("Node"):
            taints = node["spec"].get("taints", [])
            left = [t for t in taints if t["key"] != "node.kubernetes.io/unschedulable"]
            if len(left) < len(taints) and not node["spec"].get("unschedulable"):
                path = f"/api/v1/nodes/{node['metadata']['name']}"
                self.ask(
                    "PATCH",
                    path,
                    {"spec": {"taints": left or None}},
                    "application/merge-patch+json",
                )

    def prepared(self, pod: Raw) -> bool:
        """True if the kubelet would start the pod: its claims are allocated and reserved for it."""
        names = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if names in self.refused or pod["metadata"]["uid"] in self.refused_uids:
            return False
        made = {
            s["name"]: s.get("resourceClaimName")
            for s in pod["status"].get("resourceClaimStatuses", [])
        }
        for entry in pod["spec"].get("resourceClaims", []):
            name = entry.get("resourceClaimName") or made.get(entry["name"])
            if name is None:
                return entry["name"] in made
            code, claim = self.ask(
                "GET", PATHS["ResourceClaim"].format(pod["metadata"]["namespace"]) + f"/{name}"
            )
            users = claim.get("status", {}).get("reservedFor", []) if code == 200 else []
            if not any(u["uid"] == pod["metadata"]["uid"] for u in users):
                return False
        return True

    def placed(self, pods: Iterable[Raw]) -> set[str]:
        """The uids of pods that have a node and their devices."""
        return {
            p["metadata"]["uid"] for p in pods if p["spec"].get("nodeName") and self.prepared(p)
        }

    def tried(self, pod: Raw) -> bool:
        """True once the scheduler has given a pod a node, or has said why not."""
        conditions = pod["status"].get("conditions", [])
        return bool(pod["spec"].get("nodeName")) or any(
            c["type"] == "PodScheduled" for c in conditions
        )

    # -- programs ----------------------------------------------------------------------------------------------------
    def dractl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        starter = "import sys; sys.argv[0] = 'dractl'; from dractl.cli.main import run; run()"
        command = [sys.executable, "-c", starter, *arguments]
        if self.cluster.gates:
            command += ["--feature-gates", self.cluster.gates]
        return subprocess.run(
            command, env=self._environment(), cwd=ROOT, capture_output=True, text=True, check=False
        )

    def paste(self, script: str) -> str:
        """Runs a script as somebody who pastes it; what failed, empty where nothing did."""
        self.failures.unlink(missing_ok=True)
        try:
            done = subprocess.run(
                ["bash", "-c", script],
                env=self._environment(),
                cwd=self.directory,
                capture_output=True,
                text=True,
                check=False,
                timeout=90,
            )
        except subprocess.TimeoutExpired:
            return "the script does not end"
        failed = self.failures.read_text() if self.failures.exists() else ""
        # What is to be deleted may be gone by then: pods that are evicted come and go.
        gone = (
            all("kubectl delete pod" in line for line in failed.splitlines())
            and "NotFound" in done.stderr
        )
        return "" if gone or not (failed or done.returncode) else f"{failed}{done.stderr}"

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.directory}{os.pathsep}{os.environ['PATH']}"}


def _seconds_terminating(pod: Raw) -> float:
    """How long ago the deletion of a pod was asked for."""
    metadata = pod["metadata"]
    end = datetime.fromisoformat(metadata["deletionTimestamp"])
    return time.time() - end.timestamp() + metadata.get("deletionGracePeriodSeconds", 0)


def _ready(node: Raw) -> bool:
    """True if a node's kubelet runs; of nodes without conditions nothing else is known."""
    conditions = node.get("status", {}).get("conditions", [])
    return all(c["status"] == "True" for c in conditions if c["type"] == "Ready")


def until(done: Any, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.3)
    return True


def kin(pod: Raw, pods: Sequence[Raw]) -> Iterator[Raw]:
    """The pod with the same name, and those of the same workload."""

    namespace, name, owner = (
        pod["metadata"]["namespace"],
        pod["metadata"]["name"],
        Pod(pod).workload,
    )
    for other in pods:
        if other["metadata"]["namespace"] != namespace or "deletionTimestamp" in other["metadata"]:
            continue
        if other["metadata"]["name"] == name or (
            owner is not None and Pod(other).workload == owner
        ):
            yield other
