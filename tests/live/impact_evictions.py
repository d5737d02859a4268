"""Changes of device taints on a real control plane: which pods the eviction controller deletes, and when.

There is no kubelet: a pod that the scheduler has placed is set to Running by hand, and one that is deleted is gone at
once, since its grace period is 0.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Raw = dict[str, Any]
    Kubectl = Callable[..., str]

DRIVER = "gpu.example.com"
NAMESPACE = "ml"
KINDS = (
    "nodes,namespaces,pods,deployments,replicasets,statefulsets,jobs,poddisruptionbudgets,"
    "resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses,devicetaintrules"
)
API = "resource.k8s.io/v1"
KEY = "example.com/broken"
CLASS = {
    "apiVersion": API,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}


def slice_of(node: str, devices: Sequence[Raw], *, generation: int = 1, name: str = "") -> Raw:
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{node}-gpu"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "devices": list(devices),
        },
    }


def devices(count: int, **taint: str) -> list[Raw]:
    """Devices gpu-0 ..., each with a taint if one is given."""
    taints = {"taints": [{"key": KEY, **taint}]} if taint else {}
    return [{"name": f"gpu-{number}", **taints} for number in range(count)]


def pod(name: str, *tolerations: Raw) -> tuple[Raw, Raw]:
    """A pod and its claim for one device."""
    exactly: Raw = {"deviceClassName": "gpu", "tolerations": list(tolerations)}
    claim = {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}],
        "resourceClaims": [{"name": "c", "resourceClaimName": name}],
    }
    metadata = {"name": name, "namespace": NAMESPACE}
    return claim, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


TEMPLATE = {
    "apiVersion": API,
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu", "namespace": NAMESPACE},
    "spec": {
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
    },
}


def job(**spec: Any) -> Raw:
    """A Job of two pods that run at the same time, with a claim each."""
    pod_spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}],
        "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "gpu"}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": NAMESPACE},
        "spec": {"parallelism": 2, "completions": 2, "template": {"spec": pod_spec}, **spec},
    }


def tolerate(seconds: int | None = None, **fields: str) -> Raw:
    toleration: Raw = {"key": KEY, "operator": "Exists", "effect": "NoExecute", **fields}
    toleration = {name: value for name, value in toleration.items() if value}
    return toleration | ({} if seconds is None else {"tolerationSeconds": seconds})


def rule(name: str = "sick", effect: str = "NoExecute", **spec: Any) -> Raw:
    taint = {"key": KEY, "value": "yes", "effect": effect, **spec.pop("taint", {})}
    selector = spec.pop("selector", {"driver": DRIVER})
    return {
        "apiVersion": API,
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": {"taint": taint, **({} if selector is None else {"deviceSelector": selector})},
    }


@dataclass(frozen=True)
class Situation:
    name: str
    objects: Sequence[Raw]
    change: Callable[[], Sequence[Raw]]
    before: Callable[[Kubectl], object] = lambda _: None
    watched: int = 20
    pods: int = 0
    """The pods that controllers create, besides those of ``objects``."""


@dataclass
class Record:
    dump: str
    change: str
    at: dict[str, int] = field(default_factory=dict)
    """Seconds after the change by deleted pod."""
    messages: dict[str, str] = field(default_factory=dict)
    """The message of the condition that the controller left in the status of each rule."""

    def differences(self, said: Mapping[str, Any], watched: int) -> list[str]:
        evicted = {
            pod["pod"].partition("/")[2]: pod["at"]
            for pod in said["pods"]
            if pod["effect"] == "evicted" and (pod["at"] is None or pod["at"] <= watched)
        }
        faults = [f"{name} was deleted" for name in sorted(self.at.keys() - evicted.keys())]
        faults += [f"{name} was kept" for name in sorted(evicted.keys() - self.at.keys())]
        for name, at in self.at.items():
            if name in evicted and abs(evicted[name] - at) > 3:
                faults.append(f"{name} at {evicted[name]}, was {at}")
        return faults


def record(kubectl: Kubectl, situation: Situation) -> Record:
    """Play one situation on a control plane without any other object of its kinds."""
    _clear(kubectl)
    nodes = [_node(name) for name in ("worker-1", "worker-2")]
    _apply(kubectl, CLASS, *nodes, *situation.objects)
    count = situation.pods + sum(value["kind"] == "Pod" for value in situation.objects)
    _until(lambda: sum(bool(p["spec"].get("nodeName")) for p in _pods(kubectl)) == count)
    for one in _pods(kubectl):
        conditions = [{"type": "Ready", "status": "True"}]
        status = json.dumps({"status": {"phase": "Running", "conditions": conditions}})
        name = one["metadata"]["name"]
        kubectl(
            "patch", "pod", name, "-n", NAMESPACE, "--subresource=status", "--type=merge", "-p",
            status,
        )  # fmt: skip
    situation.before(kubectl)
    names = {one["metadata"]["name"] for one in _pods(kubectl)}
    dump = kubectl("get", KINDS, "-A", "-o", "yaml")
    change = json.dumps({"apiVersion": "v1", "kind": "List", "items": situation.change()})
    start = time.monotonic()
    for item in situation.change():
        stored = kubectl("get", item["kind"], item["metadata"]["name"], "-o", "name", check=False)
        kubectl("replace" if stored.strip() else "create", "-f", "-", stdin=json.dumps(item))
    found = Record(dump, change)
    while (seconds := time.monotonic() - start) < situation.watched:
        # A finalizer of its Job keeps a deleted pod that no kubelet ends.
        present = {
            one["metadata"]["name"]
            for one in _pods(kubectl)
            if not one["metadata"].get("deletionTimestamp")
        }
        for name in names - present - found.at.keys():
            found.at[name] = round(seconds)
        time.sleep(0.5)
    rules = json.loads(kubectl("get", "devicetaintrules", "-o", "json"))["items"]
    for one in rules:
        for condition in one.get("status", {}).get("conditions", []):
            found.messages[one["metadata"]["name"]] = condition["message"]
    return found


def _pods(kubectl: Kubectl) -> list[Raw]:
    items: list[Raw] = json.loads(kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]
    return items


def _apply(kubectl: Kubectl, *objects: Raw) -> None:
    for value in objects:
        kubectl("create", "-f", "-", stdin=json.dumps(value))
        if value["kind"] == "Node":
            status = json.dumps({"status": value["status"]})
            name = value["metadata"]["name"]
            kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", status)
            kubectl("patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}')


def _node(name: str) -> Raw:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "60"}
    status = {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": "v1.37.1"},
    }
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _clear(kubectl: Kubectl) -> None:
    kubectl("create", "namespace", NAMESPACE, check=False)
    kubectl("create", "serviceaccount", "default", "-n", NAMESPACE, check=False)
    kubectl("delete", "jobs,resourceclaimtemplates", "--all", "-n", NAMESPACE, check=False)
    everything = "devicetaintrules,resourceslices,deviceclasses,nodes"
    kubectl("delete", everything, "--all", "--wait=false", check=False)
    kubectl("delete", "pods", "--all", "-n", NAMESPACE, "--force", "--grace-period=0", check=False)
    kubectl("delete", "resourceclaims", "--all", "-n", NAMESPACE, check=False)


def _until(holds: Callable[[], bool], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.3)


def _in(seconds: int) -> str:
    moment = datetime.fromtimestamp(time.time() + seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _take_reservation(kubectl: Kubectl) -> None:
    """Give the claim of pod b to another pod, which does not exist."""
    other = [{"resource": "pods", "name": "other", "uid": "00000000-0000-0000-0000-000000000000"}]
    patch = json.dumps({"status": {"reservedFor": other}})
    kubectl(
        "patch", "resourceclaim", "b", "-n", NAMESPACE, "--subresource=status", "--type=merge",
        "-p", patch,
    )  # fmt: skip


def _remove_devices(kubectl: Kubectl) -> None:
    """Publish none of the devices any more, as a driver does that has moved them into pods."""
    patch = json.dumps({"spec": {"devices": [{"name": "gpu-9"}]}})
    kubectl("patch", "resourceslice", "worker-1-gpu", "--type=merge", "-p", patch)


FULL = slice_of("worker-1", devices(4))
SITUATIONS = (
    Situation("rehearsal", [FULL, *pod("a"), *pod("b", tolerate())], lambda: [rule(effect="None")]),
    Situation(
        "unpublished-device",
        [FULL, *pod("a"), *pod("b", tolerate())],
        lambda: [rule()],
        before=_remove_devices,
    ),
    Situation(
        "older-generation",
        [slice_of("worker-1", devices(2), generation=2), *pod("a")],
        lambda: [slice_of("worker-1", devices(2, effect="NoExecute"), name="old")],
    ),
    Situation(
        "newer-generation",
        [slice_of("worker-1", devices(2)), *pod("a"), *pod("b", tolerate(6))],
        lambda: [slice_of("worker-1", devices(2, effect="NoExecute"), generation=2, name="new")],
    ),
    Situation(
        "toleration-without-effect",
        [FULL, *pod("a", tolerate(effect="")), *pod("b", tolerate(effect="NoSchedule"))],
        lambda: [rule()],
    ),
    Situation(
        "toleration-by-value",
        [
            FULL,
            *pod("a", tolerate(operator="Equal", value="no")),
            *pod("b", tolerate(operator="Equal", value="yes")),
            *pod("c", tolerate(key="")),
        ],
        lambda: [rule()],
    ),
    Situation(
        "several-tolerations",
        [
            FULL,
            *pod("a", tolerate(12), tolerate(5)),
            *pod("b", tolerate(5), tolerate()),
            *pod("c", tolerate(-3)),
        ],
        lambda: [rule()],
    ),
    Situation("no-selector", [FULL, *pod("a")], lambda: [rule(selector=None)]),
    Situation(
        "reserved-for-another", [FULL, *pod("a"), *pod("b")], lambda: [rule()], _take_reservation
    ),
    Situation(
        "time-to-come",
        [FULL, *pod("a"), *pod("b", tolerate(4))],
        lambda: [rule(taint={"timeAdded": _in(8)})],
    ),
    Situation(
        "two-rules",
        [FULL, *pod("a", tolerate(9)), *pod("b", tolerate())],
        lambda: [rule("slow"), rule("fast", selector={"device": "gpu-1"}, taint={"key": "x/y"})],
    ),
    Situation(
        "job-fails",
        [slice_of("worker-1", devices(2)), TEMPLATE, job(backoffLimit=0)],
        lambda: [rule(selector={"device": "gpu-0"})],
        pods=2,
    ),
    Situation(
        "job-ignores-evictions",
        [
            slice_of("worker-1", devices(2)),
            TEMPLATE,
            job(
                backoffLimit=0,
                podFailurePolicy={
                    "rules": [
                        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
                    ]
                },
            ),
        ],
        lambda: [rule(selector={"device": "gpu-0"})],
        pods=2,
    ),
    Situation("no-device", [FULL, *pod("a")], lambda: [rule(selector={"pool": "worker-9"})]),
)
