"""Drains of a real node and restarts of its driver: what impact says before, and what then happened.

The node has a second one beside it, an object whose lease is kept alive: the scheduler places pods there, and nothing
runs them.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby, permutations
from typing import TYPE_CHECKING, Any, Self

from tests.live.node import CDI, DRIVER, NAME, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Raw = dict[str, Any]

OTHER = "node-2"
KINDS = (
    "nodes,namespaces,pods,deployments,replicasets,statefulsets,daemonsets,jobs,"
    "poddisruptionbudgets,resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses"
)
WIPING_SECONDS = 30
LABEL = {"app": "train"}


def template(name: str = "one") -> Raw:
    """A template of claims for one device of the lab driver."""
    requests = [{"name": "r", "exactly": {"deviceClassName": "lab"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def pod_spec(*, claim: bool = True, named: str = "", **more: Any) -> Raw:
    """The spec of a pod that runs until it is ended, with a claim of its own or one that is ``named``."""
    source = {"resourceClaimName": named} if named else {"resourceClaimTemplateName": "one"}
    container = {
        "name": "main",
        "image": "node.test/pause:1",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"claims": [{"name": "c"}]} if claim else {},
        **more.pop("main", {}),
    }
    return {
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        **({"resourceClaims": [{"name": "c", **source}]} if claim else {}),
        **more,
    }


def bare(name: str, **more: Any) -> Raw:
    metadata = {"name": name, "namespace": "default", "labels": LABEL, **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec(**more)}


def workload(kind: str, replicas: int = 1, metadata: Raw | None = None, **more: Any) -> Raw:
    """A Deployment, StatefulSet or DaemonSet named train."""
    pod = {"metadata": {"labels": LABEL, **(metadata or {})}, "spec": pod_spec(**more)}
    spec: Raw = {"selector": {"matchLabels": LABEL}, "template": pod}
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    if kind == "StatefulSet":
        # In order, each pod waits until the one before is ready: on the second node none ever is.
        spec |= {"serviceName": "train", "podManagementPolicy": "Parallel"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "train", "namespace": "default"},
        "spec": spec,
    }


def budget(name: str = "guard", **spec: Any) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": LABEL}, **spec},
    }


def named_claim(name: str = "shared") -> Raw:
    requests = [{"name": "r", "exactly": {"deviceClassName": "lab"}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": requests}},
    }


def other_slice(devices: int) -> Raw:
    """The devices that the driver would publish for the second node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{OTHER}-lab"},
        "spec": {
            "driver": DRIVER,
            "nodeName": OTHER,
            "pool": {"name": OTHER, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"dev-{number}"} for number in range(devices)],
        },
    }


@dataclass(frozen=True)
class Play:
    """One change of the node or of its driver."""

    name: str
    objects: Sequence[Raw]
    change: Sequence[str]
    """The arguments of ``dractl impact``."""
    act: Callable[[Node], None]
    """Makes the change, as far as it ends."""
    running: int = 1
    """The pods that run before."""
    room: int = 0
    """The devices of the second node."""
    before: Callable[[Node], None] = lambda _: None
    """Makes something else before impact is asked."""
    after: Callable[[Node], None] = lambda _: None
    """Undoes what keeps the node from being cleaned."""


@dataclass
class Outcome:
    """The prediction of impact and the outcome of each pod."""

    said: Mapping[str, Any] = field(default_factory=dict)
    code: int = 0
    dump: str = ""
    before: dict[str, str] = field(default_factory=dict)
    happened: dict[str, str] = field(default_factory=dict)
    """By pod: ``gone``, ``terminating``, ``running`` or ``pending``."""
    placed: list[str] = field(default_factory=list)
    """The nodes of the pods that were created meanwhile; "" for none."""

    def _list_replicas(self) -> list[list[str]]:
        """The pods of each owner, by their names."""
        names = sorted(self.happened)
        return [list(group) for _, group in groupby(names, lambda name: name.rpartition("-")[0])]

    def differences(self) -> list[str]:
        """Return the differences from impact."""
        allowed = {
            "evicted": {"gone"},
            "blocked": {"terminating", "running", "pending"},
            "kept": {"running"},
            "waits": {"terminating", "pending", "running"},
        }
        faults = []
        said = {pod["pod"].partition("/")[2]: pod for pod in self.said["pods"]}
        effects = {name: said[name]["effect"] if name in said else "" for name in self.happened}
        for names in self._list_replicas():
            # Which replica a budget lets go first is open.
            orders = permutations(effects[name] for name in names)
            if not any(
                all(
                    self.happened[name] in allowed.get(effect, {self.before[name]})
                    for name, effect in zip(names, order, strict=True)
                )
                for order in orders
            ):
                faults += [
                    f"{n}: said {effects[n] or 'nothing'}, was {self.happened[n]}" for n in names
                ]
        # Those that wait for something else have no new pod yet.
        fits = sorted(pod["fits"] or "" for pod in said.values() if pod["effect"] != "waits")
        created = sorted(self.placed)
        if [node for node in fits if node] != [node for node in created if node]:
            faults.append(f"new pods: said {fits}, were on {created}")
        ends = any(pod["effect"] in ("evicted", "blocked") for pod in said.values())
        if self.code != int(ends):
            faults.append(f"exit code {self.code}")
        return faults


class TwoNodes(Node):
    """The node, and an object beside it that counts as a node."""

    def __enter__(self) -> Self:
        super().__enter__()
        status = {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "60"},
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "60"},
        }
        self.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": OTHER}})
        self.kubectl(
            "patch", "node", OTHER, "--subresource=status", "--type=merge", "-p",
            json.dumps({"status": status | {"nodeInfo": {"kubeletVersion": "v1.37.1"}}}),
        )  # fmt: skip
        self._ends = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()
        return self

    def __exit__(self, *arguments: object) -> None:
        self._ends.set()
        self._heart.join()
        super().__exit__(*arguments)

    def _beat(self) -> None:
        while not self._ends.is_set():
            now = datetime.now(UTC)
            ready = {
                "type": "Ready",
                "status": "True",
                "reason": "KubeletReady",
                "lastHeartbeatTime": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
            patch = json.dumps({"status": {"conditions": [ready]}})
            self.kubectl("patch", "node", OTHER, "--subresource=status", "-p", patch, check=False)
            self._ends.wait(10)

    def clean(self) -> None:
        for kind in ("deployments,statefulsets,daemonsets,poddisruptionbudgets", "resourceslices"):
            names = (f"{OTHER}-lab",) if kind == "resourceslices" else ("--all", "-n", "default")
            self.kubectl("delete", kind, *names, "--ignore-not-found", "--wait=false")
        self.kubectl("uncordon", NAME)
        self.faults()
        self.part("start", "lab")
        for line in self.kubectl("get", "pods", "-o", "name").split():
            self.kubectl(
                "patch", line, "--type=merge", "-p", '{"metadata":{"finalizers":null}}', check=False
            )
        elsewhere = ("--field-selector", f"spec.nodeName={OTHER}")
        self.kubectl("delete", "pods", *elsewhere, "--force", "--grace-period=0", check=False)
        self.kubectl(
            "delete", "pods", "--all", "--field-selector", "spec.nodeName=", "--force",
            "--grace-period=0", check=False,
        )  # fmt: skip
        super().clean()

    def pods(self) -> list[Raw]:
        value = json.loads(self.kubectl("get", "pods", "-n", "default", "-o", "json"))
        items: list[Raw] = value["items"]
        return items

    def drain(self, *flags: str, seconds: int = 25) -> None:
        self.kubectl(
            "drain", NAME, "--ignore-daemonsets", f"--timeout={seconds}s", *flags, check=False
        )

    def count_ready(self) -> int:
        """Count pods with the condition Ready."""
        conditions = (c for pod in self.pods() for c in pod["status"].get("conditions", []))
        return sum(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    def count_running(self) -> int:
        return sum(state_of(pod) == "running" for pod in self.pods())


def state_of(pod: Mapping[str, Any] | None) -> str:
    """Return the outcome of a pod."""
    if pod is None:
        return "gone"
    if pod["metadata"].get("deletionTimestamp"):
        return "terminating"
    statuses = pod["status"].get("containerStatuses", [])
    started = any({"running", "terminated"} & set(one.get("state", {})) for one in statuses)
    return "running" if started else "pending"


def carry_out(node: TwoNodes, play: Play) -> Outcome:
    """Play one change, and compare."""
    node.clean()
    if play.room:
        node.apply(other_slice(play.room))
    node.kubectl("cordon", OTHER)  # everything begins on the real node
    node.apply(template(), *play.objects)
    node.until(f"{play.name} runs", lambda: node.count_running() >= play.running)
    node.kubectl("uncordon", OTHER)
    play.before(node)
    pods = node.pods()
    before = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in pods}
    outcome = Outcome(dump=node.kubectl("get", KINDS, "-A", "-o", "yaml"))
    outcome.before = {pod["metadata"]["name"]: state_of(pod) for pod in pods}
    file = node.folder / "dump.yaml"
    file.write_text(outcome.dump)
    done = node.dractl("impact", *play.change, "-f", str(file), "-o", "json", "--isolated")
    outcome.code, outcome.said = done.returncode, json.loads(done.stdout)
    play.act(node)
    found = {pod["metadata"]["uid"]: pod for pod in node.pods()}
    outcome.happened = {name: state_of(found.get(uid)) for uid, name in before.items()}
    outcome.placed = [
        pod["spec"].get("nodeName", "") for uid, pod in found.items() if uid not in before
    ]
    play.after(node)
    return outcome


# -- the plays --


def _drain(*flags: str, seconds: int = 25) -> Callable[[Node], None]:
    def act(node: Node) -> None:
        assert isinstance(node, TwoNodes)
        node.drain(*flags, seconds=seconds)

    return act


def _stop_driver(node: Node) -> None:
    """Stop the driver, and wait until the kubelet has deleted its slices."""
    node.part("stop", "lab")
    node.until(
        "slices are gone",
        lambda: f"{NAME}-" not in node.kubectl("get", "resourceslices", "-o", "name"),
        WIPING_SECONDS + 30,
    )


def _delete_pods_without_driver(node: Node) -> None:
    """Delete the pods while the driver is away, and give the kubelet time to end them."""
    node.kubectl("delete", "pods", "--all", "-n", "default", "--wait=false")
    time.sleep(15)


def _restart_driver(node: Node) -> None:
    node.part("stop", "lab")
    time.sleep(5)
    node.part("start", "lab")
    time.sleep(10)


def _delete_while_stopped(node: Node) -> None:
    node.part("stop", "lab")
    node.kubectl("delete", "pods", "--all", "-n", "default", "--wait=false")
    time.sleep(8)


def _place_while_stopped(node: Node) -> None:
    node.part("stop", "lab")
    node.apply(bare("late", nodeSelector={"kubernetes.io/hostname": NAME}))
    time.sleep(12)


def _hold(node: Node) -> None:
    """Give the dump's situation a moment in which nothing changes."""
    time.sleep(10)


def _reboot(node: Node) -> None:
    """End every process of the node and empty /run, as a reboot does, and start all but the driver.

    The pods wait until it has registered; then their containers start again.
    """
    for part in ("kubelet", "lab"):
        node.part("kill", part)
    for task in node.part("ctr", "task", "ls", "-q", check=False).stdout.split():
        node.part("ctr", "task", "rm", "-f", task, check=False)
    node.part("stop", "containerd")
    for file in CDI.glob("*"):
        file.unlink()
    for part in ("containerd", "kubelet"):
        node.part("start", part)
    assert isinstance(node, TwoNodes)
    node.until("containers are gone", lambda: node.count_ready() == 0)
    time.sleep(20)
    assert node.count_ready() == 0, "a container started without its driver"
    node.part("start", "lab")
    node.until("containers are back", lambda: node.count_ready() > 0)


DRAIN = (f"node/{NAME}", "--drain")
UNREADY = {"readinessProbe": {"exec": {"command": ["/absent"]}}}
PLAYS = (
    Play("deployment", [workload("Deployment", 2)], DRAIN, _drain(), running=2, room=2),
    Play("no-room", [workload("Deployment", 2)], DRAIN, _drain(), running=2, room=1),
    Play(
        "budget-allows-none",
        [workload("Deployment", 2), budget(minAvailable=2)],
        DRAIN,
        _drain(),
        running=2,
        room=2,
    ),
    Play(
        "budget-allows-one",
        [workload("Deployment", 2), budget(minAvailable=1)],
        DRAIN,
        _drain(),
        running=2,
    ),
    Play(
        "two-budgets",
        [workload("Deployment", 1), budget("a", minAvailable=0), budget("b", minAvailable=0)],
        DRAIN,
        _drain(),
        room=2,
    ),
    Play(
        "unready-may-go",
        [
            workload("Deployment", 1, main=UNREADY),
            budget(minAvailable=1, unhealthyPodEvictionPolicy="AlwaysAllow"),
        ],
        DRAIN,
        _drain(),
        room=1,
    ),
    Play("bare-pod", [bare("alone")], DRAIN, _drain()),
    Play(
        "finalizer",
        [workload("Deployment", 1, metadata={"finalizers": ["example.com/hold"]})],
        DRAIN,
        _drain(seconds=15),
    ),
    Play("stateful-set", [workload("StatefulSet", 2)], DRAIN, _drain(), running=2, room=2),
    Play("daemon-set", [workload("DaemonSet", claim=False)], DRAIN, _drain()),
    Play(
        "without-driver",
        [workload("Deployment", 2)],
        DRAIN,
        _drain(seconds=20),
        running=2,
        room=2,
        before=_stop_driver,
    ),
    Play(
        "shared-claim",
        [named_claim(), workload("Deployment", 2, named="shared")],
        DRAIN,
        _drain(),
        running=2,
        room=2,
    ),
    Play(
        "restart-driver",
        [workload("Deployment", 2)],
        (f"driver/{DRIVER}", "--node", NAME, "--restart"),
        _restart_driver,
        running=2,
    ),
    Play(
        "restart-while-terminating",
        [bare("a"), bare("b")],
        (f"driver/{DRIVER}", "--node", NAME, "--restart"),
        _hold,
        running=2,
        before=_delete_while_stopped,
    ),
    Play(
        "restart-while-starting",
        [bare("a")],
        (f"driver/{DRIVER}", "--node", NAME, "--restart"),
        _hold,
        before=_place_while_stopped,
    ),
    Play(
        "stop-driver",
        [bare("a"), bare("b")],
        (f"driver/{DRIVER}", "--node", NAME),
        _stop_driver,
        running=2,
    ),
    Play(
        "stop-while-terminating",
        [bare("a")],
        (f"driver/{DRIVER}", "--node", NAME),
        _stop_driver,
        before=_delete_while_stopped,
    ),
    Play(
        "empty-dir",
        [workload("Deployment", volumes=[{"name": "scratch", "emptyDir": {}}])],
        DRAIN,
        _drain("--delete-emptydir-data"),
        room=1,
    ),
    Play(
        "refused",
        [bare("alone", claim=False, metadata={"labels": {}}), workload("Deployment", 2)],
        DRAIN,
        _drain(),
        running=3,
    ),
    Play(
        "stateful-set-budget",
        [workload("StatefulSet", 2), budget(maxUnavailable=1)],
        DRAIN,
        _drain(),
        running=2,
    ),
    Play("reboot", [workload("Deployment", 1)], (f"node/{NAME}", "--reboot"), _reboot),
    Play("cordon", [workload("Deployment", 2)], (f"node/{NAME}", "--cordon"), _hold, running=2),
)
