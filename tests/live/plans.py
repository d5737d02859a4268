"""Clusters in which pods have to move, each with nodes, a driver and a namespace of its own.

Several of them are in one cluster: a device of another driver serves nobody else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Raw = dict[str, Any]

API = "resource.k8s.io/v1"
VERSIONS = {"Job": "batch/v1", "ReplicaSet": "apps/v1", "Deployment": "apps/v1"}
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
HASH = "5d4f8"
"""The pod-template-hash of the pods of Deployments."""
SINCE = "2026-10-01T08:00:00Z"


@dataclass(frozen=True)
class Work:
    """A workload and its pods that run, or a bare pod."""

    name: str
    kind: str
    places: Sequence[str]
    """The node and the GPUs of each pod: ``a 0 1``."""
    nics: int = 0
    """The NICs of each pod: nic-0 and so on of its node."""
    claim: str = ""
    """The claim that its pods name; by default each has one of a template."""
    priority_class: str = ""

    @property
    def gpus(self) -> int:
        """The GPUs of each pod."""
        return len(self.places[0].split()) - 1


@dataclass(frozen=True)
class Wanted:
    """The pod, or the Deployment with its pods, that waits."""

    gpus: int
    nics: int = 0
    node: str = ""
    """The only node to which it may go."""
    replicas: int = 0
    """The pods of a Deployment; 0 for a bare pod."""
    priority_class: str = ""
    aligned: bool = False
    """Whether its devices have to be at one PCIe root."""

    @property
    def subject(self) -> str:
        """The argument of ``dractl plan``."""
        return "deploy/wanted" if self.replicas else "pod/wanted"


@dataclass(frozen=True)
class Situation:
    """A cluster in which a pod waits until others have moved."""

    name: str
    gpus: Mapping[str, int]
    """The GPUs of each node, two at each PCIe root."""
    works: Sequence[Work]
    wanted: Wanted
    moves: Mapping[str, int]
    """How many pods of each workload have to move, as one sees who looks at the cluster."""
    nics: Mapping[str, int] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    """``minAvailable`` of a PodDisruptionBudget, by workload."""
    gang: str = ""
    """The Job whose pods are a gang."""
    is_open: bool = False
    """Whether the scheduler may choose among several nodes."""

    def node(self, letter: str) -> str:
        return f"{self.name}-{letter}"

    @property
    def driver(self) -> str:
        return f"{self.name}.example.com"


def list_objects(situation: Situation) -> list[Raw]:
    """Return the objects of a cluster; PodGroups are :func:`group_of`."""
    return [
        _object("v1", "Namespace", situation.name),
        *(_device_class(situation, kind) for kind in ("gpu", "nic")),
        *(o for letter in situation.gpus for o in _list_machine(situation, letter)),
        *(_budget(situation, name, least) for name, least in situation.budgets.items()),
        *(o for work in situation.works for o in _list_work(situation, work)),
        *_list_wanted(situation),
    ]


def priority_classes() -> list[Raw]:
    """Return classes whose pods preempt nobody: they would not wait for a move."""
    return [
        {
            **_object("scheduling.k8s.io/v1", "PriorityClass", name),
            "value": value,
            "preemptionPolicy": "Never",
        }
        for name, value in (("important", 1000), ("research", 100))
    ]


def group_of(situation: Situation) -> Raw:
    """Return the PodGroup of the situation's gang."""
    count = next(len(work.places) for work in situation.works if work.name == situation.gang)
    return {
        **_object("scheduling.k8s.io/v1beta1", "PodGroup", situation.gang, situation.name),
        "spec": {"schedulingPolicy": {"gang": {"minCount": count}}},
    }


def _object(version: str, kind: str, name: str, namespace: str = "", **metadata: Any) -> Raw:
    place = {"namespace": namespace} if namespace else {}
    uid = f"{kind}/{namespace}/{name}"
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, **place, "uid": uid, **metadata},
    }


def _owner(owner: Raw) -> list[Raw]:
    metadata = owner["metadata"]
    fields = {name: metadata[name] for name in ("name", "uid")}
    return [
        {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True, **fields}
    ]


# -- nodes --


def _device_class(situation: Situation, kind: str) -> Raw:
    expression = f"device.driver == '{kind}.{situation.driver}'"
    return {
        **_object(API, "DeviceClass", f"{situation.name}-{kind}"),
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _list_machine(situation: Situation, letter: str) -> list[Raw]:
    name = situation.node(letter)
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    status = {
        "allocatable": amounts,
        "capacity": amounts,
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "nodeInfo": {"kubeletVersion": "v1.37.1"},
    }
    labels = {"kubernetes.io/hostname": name}
    machine = {**_object("v1", "Node", name, labels=labels), "spec": {}, "status": status}
    counts = {"gpu": situation.gpus[letter], "nic": situation.nics.get(letter, 0)}
    slices = [_slice(situation, name, kind, count) for kind, count in counts.items() if count]
    return [machine, *slices]


def _slice(situation: Situation, node: str, kind: str, count: int) -> Raw:
    devices = [
        {
            "name": f"{kind}-{number}",
            "attributes": {PCIE_ROOT: {"string": f"pci0000:{number // 2:02x}"}},
        }
        for number in range(count)
    ]
    return {
        **_object(API, "ResourceSlice", f"{node}-{kind}"),
        "spec": {
            "driver": f"{kind}.{situation.driver}",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


# -- pods and their claims --


def _claim_spec(situation: Situation, gpus: int, nics: int, *, aligned: bool = False) -> Raw:
    requests = [
        {
            "name": kind,
            "exactly": {
                "deviceClassName": f"{situation.name}-{kind}",
                "allocationMode": "ExactCount",
                "count": count,
            },
        }
        for kind, count in (("gpu", gpus), ("nic", nics))
        if count
    ]
    constraints = {"constraints": [{"matchAttribute": PCIE_ROOT}]} if aligned else {}
    return {"devices": {"requests": requests, **constraints}}


def _template(situation: Situation, name: str, spec: Raw) -> Raw:
    return {**_object(API, "ResourceClaimTemplate", name, situation.name), "spec": {"spec": spec}}


def _pod_spec(source: Raw, **more: Any) -> Raw:
    container = {
        "name": "main",
        "image": "registry.example.com/work:1",
        "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "devices"}]},
    }
    return {
        "containers": [container],
        "resourceClaims": [{"name": "devices", **source}],
        **{name: value for name, value in more.items() if value},
    }


def _list_work(situation: Situation, work: Work) -> list[Raw]:
    """Return a workload, its pods, and their claims."""
    source = (
        {"resourceClaimName": work.claim}
        if work.claim
        else {"resourceClaimTemplateName": work.name}
    )
    group = {"podGroupName": work.name} if situation.gang == work.name else {}
    spec = _pod_spec(
        source,
        priorityClassName=work.priority_class,
        preemptionPolicy="Never" if work.priority_class else "",
        restartPolicy="Never" if work.kind == "Job" else "",
        schedulingGroup=group,
    )
    owners = _list_owners(situation, work, spec)
    claim_spec = _claim_spec(situation, work.gpus, work.nics)
    objects = list(owners)
    if not work.claim:
        objects.append(_template(situation, work.name, claim_spec))
    pods = [
        _running_pod(situation, work, number, owners, spec) for number in range(len(work.places))
    ]
    claims: dict[str, Raw] = {}
    for pod, place in zip(pods, work.places, strict=True):
        name = work.claim or f"{pod['metadata']['name']}-devices"
        user = {"resource": "pods", **{k: pod["metadata"][k] for k in ("name", "uid")}}
        if name not in claims:
            claims[name] = _allocated_claim(situation, work, name, pod, place, claim_spec)
        claims[name]["status"]["reservedFor"].append(user)
    return [*objects, *pods, *claims.values()]


def _list_owners(situation: Situation, work: Work, spec: Raw) -> list[Raw]:
    """Return the workload; of a Deployment its ReplicaSet, which owns the pods, comes last."""
    if work.kind == "Pod":
        return []
    labels, count = {"app": work.name}, len(work.places)
    owner = _object(VERSIONS.get(work.kind, "apps/v1"), work.kind, work.name, situation.name)
    template = {"metadata": {"labels": labels}, "spec": spec}
    if work.kind == "Job":
        return [
            {**owner, "spec": {"parallelism": count, "completions": count, "template": template}}
        ]
    body = {"replicas": count, "selector": {"matchLabels": labels}, "template": template}
    if work.kind == "StatefulSet":
        # Its pods have no label of a revision: a rolling update would replace them.
        update = {"updateStrategy": {"type": "OnDelete"}}
        return [{**owner, "spec": {**body, **update, "serviceName": work.name}}]
    hashed = {**labels, "pod-template-hash": HASH}
    replica_set = _object(
        "apps/v1",
        "ReplicaSet",
        f"{work.name}-{HASH}",
        situation.name,
        labels=hashed,
        ownerReferences=_owner(owner),
    )
    replica_body = {
        "replicas": count,
        "selector": {"matchLabels": hashed},
        "template": {"metadata": {"labels": hashed}, "spec": spec},
    }
    return [{**owner, "spec": body}, {**replica_set, "spec": replica_body}]


def _running_pod(
    situation: Situation, work: Work, number: int, owners: Sequence[Raw], spec: Raw
) -> Raw:
    name = {
        "Pod": work.name,
        "StatefulSet": f"{work.name}-{number}",
        "Job": f"{work.name}-{'klmnp'[number]}7d2x",
        "Deployment": f"{work.name}-{HASH}-{'bcdfg'[number]}x4zt",
    }[work.kind]
    labels = {"app": work.name}
    finalizers = {}
    if work.kind == "Deployment":
        labels["pod-template-hash"] = HASH
    if work.kind == "StatefulSet":
        labels["statefulset.kubernetes.io/pod-name"] = name
    if work.kind == "Job":
        uid = owners[0]["metadata"]["uid"]
        labels |= {"controller-uid": uid, "batch.kubernetes.io/controller-uid": uid}
        labels |= {"job-name": work.name, "batch.kubernetes.io/job-name": work.name}
        finalizers = {"finalizers": ["batch.kubernetes.io/job-tracking"]}
    references = {"ownerReferences": _owner(owners[-1])} if owners else {}
    identity = {"hostname": name, "subdomain": work.name} if work.kind == "StatefulSet" else {}
    node = situation.node(work.places[number].split()[0])
    conditions = [{"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")]
    status = {"phase": "Running", "startTime": SINCE, "conditions": conditions}
    if not work.claim:
        statuses = [{"name": "devices", "resourceClaimName": f"{name}-devices"}]
        status["resourceClaimStatuses"] = statuses
    return {
        **_object("v1", "Pod", name, situation.name, labels=labels, **references, **finalizers),
        "spec": {**spec, **identity, "nodeName": node},
        "status": status,
    }


def _allocated_claim(
    situation: Situation, work: Work, name: str, pod: Raw, place: str, spec: Raw
) -> Raw:
    letter, *gpus = place.split()
    node = situation.node(letter)
    devices = [f"gpu-{gpu}" for gpu in gpus] + [f"nic-{nic}" for nic in range(work.nics)]
    results = [
        {
            "request": device[:3],
            "driver": f"{device[:3]}.{situation.driver}",
            "pool": node,
            "device": device,
        }
        for device in devices
    ]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    metadata: Raw = {"finalizers": ["resource.kubernetes.io/delete-protection"]}
    if not work.claim:
        metadata["ownerReferences"] = _owner(pod)
        metadata["annotations"] = {"resource.kubernetes.io/pod-claim-name": "devices"}
    return {
        **_object(API, "ResourceClaim", name, situation.name, **metadata),
        "spec": spec,
        "status": {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": terms},
            },
            "reservedFor": [],
        },
    }


def _list_wanted(situation: Situation) -> list[Raw]:
    wanted = situation.wanted
    node = situation.node(wanted.node) if wanted.node else ""
    spec = _pod_spec(
        {"resourceClaimTemplateName": "wanted"},
        nodeSelector={"kubernetes.io/hostname": node} if node else {},
        priorityClassName=wanted.priority_class,
        preemptionPolicy="Never" if wanted.priority_class else "",
    )
    claim_spec = _claim_spec(situation, wanted.gpus, wanted.nics, aligned=wanted.aligned)
    template = _template(situation, "wanted", claim_spec)
    if not wanted.replicas:
        return [template, {**_object("v1", "Pod", "wanted", situation.name), "spec": spec}]
    labels = {"app": "wanted"}
    body = {
        "replicas": wanted.replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": spec},
    }
    return [template, {**_object("apps/v1", "Deployment", "wanted", situation.name), "spec": body}]


def _budget(situation: Situation, name: str, least: int) -> Raw:
    spec = {"minAvailable": least, "selector": {"matchLabels": {"app": name}}}
    return {**_object("policy/v1", "PodDisruptionBudget", name, situation.name), "spec": spec}


SITUATIONS = (
    Situation(
        "one-move",
        {"a": 2, "b": 2},
        [Work("x", "StatefulSet", ["a 0"]), Work("y", "Pod", ["b 0"])],
        Wanted(2),
        {"x": 1},
    ),
    Situation(
        "two-moves-in-order",  # x needs both GPUs of b, which it has once y has left
        {"a": 2, "b": 2, "c": 1},
        [Work("x", "StatefulSet", ["a 0 1"]), Work("y", "StatefulSet", ["b 0"])],
        Wanted(2, node="a"),
        {"x": 1, "y": 1},
    ),
    Situation(
        "three-moves",
        {"a": 4, "b": 2, "c": 1, "d": 1},
        [
            Work("large", "StatefulSet", ["a 0 1"]),
            Work("other", "StatefulSet", ["a 2"]),
            Work("small", "Deployment", ["b 0"]),
        ],
        Wanted(4),
        {"large": 1, "other": 1, "small": 1},
    ),
    Situation(
        "gang",
        {"a": 2, "b": 2, "c": 1},
        [Work("ring", "Job", ["a 0", "b 0"]), Work("z", "Pod", ["b 1"])],
        Wanted(2, node="a"),
        {"ring": 2},
        gang="ring",
    ),
    Situation(
        "budget",  # web may not lose a pod, api may lose one
        {"a": 2, "b": 2, "c": 2},
        [Work("web", "Deployment", ["a 0", "c 0"]), Work("api", "Deployment", ["b 0", "c 1"])],
        Wanted(2),
        {"api": 1},
        budgets={"web": 2, "api": 1},
    ),
    Situation(
        "priority",
        {"a": 2, "b": 2},
        [
            Work("x", "StatefulSet", ["a 0"], priority_class="important"),
            Work("y", "Deployment", ["b 0"]),
        ],
        Wanted(2, priority_class="research"),
        {"y": 1},
    ),
    Situation(
        "one-root",  # three GPUs are free, no two of them at one root
        {"a": 6, "b": 1},
        [Work("x", "StatefulSet", ["a 0"]), Work("y", "Pod", ["a 2"]), Work("z", "Pod", ["a 4"])],
        Wanted(2, node="a", aligned=True),
        {"x": 1},
    ),
    Situation(
        "two-drivers",  # c has the GPUs, but no NIC
        {"a": 2, "b": 1, "c": 2, "d": 1},
        [Work("x", "StatefulSet", ["a 0"], nics=1), Work("y", "Deployment", ["c 0"])],
        Wanted(2, nics=1),
        {"x": 1},
        nics={"a": 1, "b": 1},
    ),
    Situation(
        "two-replicas",
        {"a": 2, "b": 1, "c": 1},
        [Work("web", "Deployment", ["a 0", "a 1"])],
        Wanted(2),
        {"web": 2},
    ),
    Situation(
        "job",  # which recreates its pod after ten seconds
        {"a": 2, "b": 1},
        [Work("train", "Job", ["a 0"])],
        Wanted(2),
        {"train": 1},
    ),
    Situation(
        "shared-claim",  # the pods of both keep the claim, and with it their node
        {"a": 2, "b": 2},
        [
            Work("both", "Deployment", ["a 0", "a 0"], claim="both"),
            Work("x", "StatefulSet", ["b 0"]),
        ],
        Wanted(2),
        {"x": 1},
    ),
    Situation(
        "claim-by-name",
        {"a": 2, "b": 1},
        [Work("solo", "Deployment", ["a 0"], claim="solo")],
        Wanted(2),
        {"solo": 1},
    ),
    Situation(
        "several-pods-wait",
        {"a": 2, "b": 2, "c": 1, "d": 1},
        [Work("x", "StatefulSet", ["a 0"]), Work("y", "Deployment", ["b 0"])],
        Wanted(2, replicas=2),
        {"x": 1, "y": 1},
    ),
    Situation(
        "several-nodes-have-room",
        {"a": 2, "b": 1, "c": 1},
        [Work("x", "StatefulSet", ["a 0"])],
        Wanted(2),
        {"x": 1},
        is_open=True,
    ),
)
