"""Mixtures of faults: random clusters in which a pod fits, and faults that each keep it from every node.

What was put in is the truth: no expectation comes from dractl. The objects are such that an API server stores them.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.live.stories import (
    API,
    BASE,
    NVIDIA,
    claim,
    device_class,
    gpus,
    meta,
    node,
    pod_spec,
    request,
    slice_,
    taint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Made = dict[str, Any]

PART, PORT, DISK = "part.example.com", "port.example.com", "disk.example.com"
TEMPLATE, GENERATED = "devices", "train-devices-k2x9q"
NUMA = "resource.kubernetes.io/numaNode"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
TIER = {"tier": "batch"}
CARDS = ("whole", "half-0", "half-1")


@dataclass
class Mixture:
    """A cluster with a pod that waits; ``claims`` and ``pods`` are the specs in which its demands are written."""

    random: random.Random
    objects: list[Made] = field(default_factory=list)
    claims: list[Made] = field(default_factory=list)
    pods: list[Made] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    by_template: bool = True
    faults: list[Fault] = field(default_factory=list)

    def add(self, *values: Made) -> None:
        self.objects.extend(values)

    def get(self, kind: str, name: str) -> Made:
        return next(o for o in self.objects if (o["kind"], o["metadata"]["name"]) == (kind, name))

    # -- what faults do --
    def ask(self, name: str, device_class: str, count: int = 1, **more: Any) -> None:
        """Has the claim ask for more devices."""
        for spec in self.claims:
            spec["devices"]["requests"].append(request(name, device_class, count, **more))

    def edit_gpu(self, edit: Callable[[Made], object]) -> None:
        """Changes the request for GPUs."""
        for spec in self.claims:
            edit(spec["devices"]["requests"][0]["exactly"])

    def select(self, text: str) -> None:
        self.edit_gpu(lambda gpu: gpu["selectors"].append({"cel": {"expression": text}}))

    def constrain(self, **constraint: Any) -> None:
        for spec in self.claims:
            spec["devices"].setdefault("constraints", []).append(constraint)

    def edit_pods(self, edit: Callable[[Made], object]) -> None:
        for spec in self.pods:
            edit(spec)

    def demand(self, resource: str, amount: str) -> None:
        """Has the container ask for an amount of a resource of nodes."""
        for spec in self.pods:
            for kind in ("requests", "limits"):
                spec["containers"][0]["resources"].setdefault(kind, {})[resource] = amount

    def mount(self, claim_name: str) -> None:
        volume = {"name": claim_name, "persistentVolumeClaim": {"claimName": claim_name}}
        self.edit_pods(lambda spec: spec.setdefault("volumes", []).append(dict(volume)))

    def run(self, name: str, where: str, *claims: str, **more: Any) -> Made:
        """Adds a running pod of another team."""
        labels = more.pop("labels", {"app": name})
        value = pod(name, "eval", pod_spec(*claims, nodeName=where, **more), labels)
        value["status"] = {
            "phase": "Running",
            "startTime": "2026-10-01T08:00:00Z",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True"},
            ],
        }
        self.add(value)
        return value

    def hold(self, name: str, where: str, driver: str, device: str, **share: Any) -> None:
        """Adds a running pod that has a device of a node."""
        value = claim(name, request("held", driver, **share.pop("wants", {})), ns="eval")
        value["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        uid = self.run(name, where, f"={name}")["metadata"]["uid"]
        result = {"request": "held", "driver": driver, "pool": where, "device": device, **share}
        value["status"] = allocated(where, result) | {
            "reservedFor": [{"resource": "pods", "name": name, "uid": uid}]
        }
        self.add(value)


def allocated(where: str, result: Made) -> Made:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [where]}]}
    selector = {"nodeSelectorTerms": [term]}
    return {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": selector,
            "allocationTimestamp": "2026-10-01T08:00:00Z",
        }
    }


def pod(name: str, namespace: str, spec: Made, labels: dict[str, str]) -> Made:
    spec = {"schedulerName": "default-scheduler", "restartPolicy": "Always", **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, namespace, uid=f"uid-{namespace}-{name}", labels=labels),
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def make_cluster(seed: str, *, by_template: bool | None = None) -> Mixture:
    """Makes a cluster in which the pod ml/train fits."""
    made = Mixture(random.Random(seed))
    made.add(*copy.deepcopy(BASE), *(device_class(name) for name in (PART, PORT, DISK)))
    made.nodes = [f"gpu-{n + 1}" for n in range(made.random.choice([1, 2, 3]))]
    for name in made.nodes:
        made.add(node(name, labels={"pool": "gpu", ZONE: "zone-a"}), *devices_of(name))
    made.add(node("store-1", labels={"pool": "store", ZONE: "zone-b"}))
    made.add(slice_("store-1", [{"name": "disk-0"}], DISK), *volume("archive", "eval", "zone-b"))
    made.by_template = made.random.random() < 0.7 if by_template is None else by_template
    product = f"device.attributes['{NVIDIA}'].productName == 'NVIDIA H100 80GB HBM3'"
    wanted = {"devices": {"requests": [request(cel=product)]}}
    uses = TEMPLATE if made.by_template else f"={TEMPLATE}"
    spec = pod_spec(f"devices:{uses}", cpu="8", nodeSelector={"pool": "gpu"})
    waiting = pod("train", "ml", spec, {"app": "train"})
    kind = "ResourceClaimTemplate" if made.by_template else "ResourceClaim"
    written = {
        "apiVersion": API,
        "kind": kind,
        "metadata": meta(TEMPLATE, "ml"),
        "spec": {"spec": wanted} if made.by_template else wanted,
    }
    made.add(waiting, written)
    made.claims, made.pods = [wanted], [waiting["spec"]]
    if made.by_template:
        made.add(generate(made, waiting))
    for name in made.nodes:
        if made.random.random() < 0.4:
            made.hold(f"notebook-{name}", name, NVIDIA, "gpu-3")
    return made


def generate(made: Mixture, waiting: Made) -> Made:
    """Returns the claim that the controller has made for the pod."""
    value = claim(GENERATED, ns="ml")
    value["spec"] = copy.deepcopy(made.claims[0])
    value["metadata"] |= {
        "annotations": {"resource.kubernetes.io/pod-claim-name": "devices"},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "train",
                "uid": waiting["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    made.claims.append(value["spec"])
    waiting["status"]["resourceClaimStatuses"] = [
        {"name": "devices", "resourceClaimName": GENERATED}
    ]
    return value


def devices_of(name: str) -> list[Made]:
    """Returns the slices of a node: four GPUs, a card that can be halved, and a port that can be shared."""
    cards = gpus(name, 4)
    for number, device in enumerate(cards["spec"]["devices"]):
        device["attributes"][NUMA] = {"int": number // 2}
    memory = {"whole": "80", "half-0": "40", "half-1": "40"}
    parts = [
        {
            "name": part,
            "attributes": {"profile": {"string": part.partition("-")[0]}},
            "consumesCounters": [
                {"counterSet": "card", "counters": {"memory": {"value": memory[part]}}}
            ],
        }
        for part in CARDS
    ]
    two = {"resourceSliceCount": 2}
    counters = slice_(name, [], PART, pool=two, name=f"{name}-counters")
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "card", "counters": {"memory": {"value": "80"}}}]
    port = {
        "name": "port-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "100G"}},
    }
    disk = slice_(name, [{"name": "disk-0"}], DISK)
    return [cards, slice_(name, parts, PART, pool=two), counters, slice_(name, [port], PORT), disk]


# -- faults --


@dataclass(frozen=True)
class Fault:
    """One mistake. ``obstacles`` are the kinds, each with words of it, by one of which it is to be named."""

    name: str
    group: str
    """Of a group there is one fault in a mixture."""
    make: Callable[[Mixture], object]
    obstacles: Sequence[tuple[str, str]]
    by_hand: bool = False
    """True if no change of objects removes it: a driver, a kubelet or hardware has to."""
    stored: bool = True
    """False where no API server stores it, or a controller of a plane mends it."""


def part(profile: str) -> str:
    return f"device.attributes['{PART}'].profile == '{profile}'"


def two_whole_cards(made: Mixture) -> None:
    made.ask("card", PART, 2, cel=part("whole"))


def halves_in_use(made: Mixture) -> None:
    for name in made.nodes:
        made.hold(f"half-{name}", name, PART, "half-0", wants={"cel": part("half")})
    made.ask("card", PART, cel=part("whole"))


def ports_in_use(made: Mixture) -> None:
    for number, name in enumerate(made.nodes):
        made.hold(
            f"stream-{name}",
            name,
            PORT,
            "port-0",
            wants={"capacity": {"requests": {"bandwidth": "90G"}}},
            shareID=f"0f1c6a4e-2c1f-4a52-9d8d-00000000000{number}",
            consumedCapacity={"bandwidth": "90G"},
        )
    made.ask("port", PORT, capacity={"requests": {"bandwidth": "40G"}})


def gpus_in_use(made: Mixture) -> None:
    held = {o["metadata"]["name"] for o in made.objects}
    for name in made.nodes:
        for number in range(4):
            if number < 3 or f"notebook-{name}" not in held:
                made.hold(f"batch-{name}-{number}", name, NVIDIA, f"gpu-{number}")


def shared_claim_elsewhere(made: Mixture) -> None:
    value = claim("cache", request("disk", DISK), ns="ml")
    result = {"request": "disk", "driver": DISK, "pool": "store-1", "device": "disk-0"}
    loader = made.run("loader", "store-1", "=cache")
    loader["metadata"] |= {"namespace": "ml"}
    value["status"] = allocated("store-1", result) | {
        "reservedFor": [{"resource": "pods", "name": "loader", "uid": loader["metadata"]["uid"]}]
    }
    made.add(value)

    def use(spec: Made) -> None:
        spec["resourceClaims"].append({"name": "cache", "resourceClaimName": "cache"})
        spec["containers"][0]["resources"]["claims"].append({"name": "cache"})

    made.edit_pods(use)


def devices_over_quota(made: Mixture) -> None:
    """Leaves no room for the claim, which the controller then could not make."""
    made.objects[:] = [o for o in made.objects if o["metadata"]["name"] != GENERATED]
    del made.get("Pod", "train")["status"]["resourceClaimStatuses"]
    hard = {f"{NVIDIA}.deviceclass.resource.k8s.io/devices": "0"}
    made.add(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": meta("team", "ml"),
            "spec": {"hard": hard},
            "status": {"hard": hard, "used": dict(hard)},
        }
    )


def volume(name: str, namespace: str, zone: str) -> list[Made]:
    """Returns a claim for a volume, and the volume, which only nodes of a zone reach."""
    reach = {"nodeSelectorTerms": [{"matchExpressions": [expression(ZONE, zone)]}]}
    common = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    amount = {"storage": "10Gi"}
    done = {"pv.kubernetes.io/bind-completed": "yes"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta(name, namespace, uid=f"uid-{name}", annotations=done),
            "spec": {**common, "resources": {"requests": amount}, "volumeName": f"pv-{name}"},
            "status": {"phase": "Bound", "capacity": amount, "accessModes": ["ReadWriteOnce"]},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": meta(f"pv-{name}"),
            "spec": {
                **common,
                "capacity": amount,
                "csi": {"driver": "csi.example.com", "volumeHandle": name},
                "nodeAffinity": {"required": reach},
                "claimRef": {"namespace": namespace, "name": name, "uid": f"uid-{name}"},
            },
            "status": {"phase": "Bound"},
        },
    ]


def volume_elsewhere(made: Mixture) -> None:
    made.add(*volume("corpus", "ml", "zone-z"))
    made.mount("corpus")


def misspelt_volume(made: Mixture) -> None:
    made.add(*volume("corpus-v2", "ml", "zone-a"))
    made.mount("corpus")


def expression(key: str, value: str) -> Made:
    return {"key": key, "operator": "In", "values": [value]}


def set_condition(made: Mixture, kind: str, status: str, *taints: Made) -> None:
    """Has nodes in a condition, with the taints that the controller of node lifecycles adds."""
    for name in made.nodes:
        value = made.get("Node", name)
        others = [c for c in value["status"]["conditions"] if c["type"] != kind]
        value["status"]["conditions"] = [*others, {"type": kind, "status": status}]
        value["spec"]["taints"].extend(taints)


def nodes_full(made: Mixture) -> None:
    running = [o["spec"].get("nodeName") for o in made.objects if o["kind"] == "Pod"]
    for name in made.nodes:
        if name not in running:
            made.run(f"agent-{name}", name)
            running.append(name)
        made.get("Node", name)["status"]["allocatable"]["pods"] = str(running.count(name))


def cordoned(made: Mixture) -> None:
    for name in made.nodes:
        made.get("Node", name)["spec"]["unschedulable"] = True
        made.get("Node", name)["spec"]["taints"].append(taint("node.kubernetes.io/unschedulable"))


def nodes_tainted(made: Mixture) -> None:
    for name in made.nodes:
        made.get("Node", name)["spec"]["taints"].append(taint("team", value="vision"))


def require_near(kind: str, key: str, **labels: str) -> Callable[[Mixture], None]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return lambda made: made.edit_pods(
        lambda spec: spec.setdefault("affinity", {}).update({kind: copy.deepcopy(required)})
    )


def avoided_by_others(made: Mixture) -> None:
    term = {
        "topologyKey": HOST,
        "namespaces": ["ml"],
        "labelSelector": {"matchLabels": {"app": "train"}},
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    for name in made.nodes:
        made.run(f"quiet-{name}", name, affinity={"podAntiAffinity": required})


def spread(key: str, **more: Any) -> Callable[[Mixture], None]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "train"}},
        **more,
    }

    def make(made: Mixture) -> None:
        made.edit_pods(lambda spec: spec.update(topologySpreadConstraints=[dict(constraint)]))
        if "minDomains" in more:
            for name in made.nodes:
                made.run(f"peer-{name}", name, labels={"app": "train"})
                made.objects[-1]["metadata"]["namespace"] = "ml"

    return make


def class_of_nothing(made: Mixture) -> None:
    guard = f"device.driver == '{NVIDIA}'"
    product = f"device.attributes['{NVIDIA}'].productName"
    made.add(device_class("gpu-b300", f"{guard} && {product} == 'B300'"))
    made.edit_gpu(lambda gpu: gpu.update(deviceClassName="gpu-b300"))


def alternatives(made: Mixture) -> None:
    for spec in made.claims:
        (gpu, *others) = spec["devices"]["requests"]
        choices = [
            {
                "name": product.lower(),
                "deviceClassName": gpu["exactly"]["deviceClassName"],
                "count": 1,
                "selectors": [
                    {
                        "cel": {
                            "expression": f"device.attributes['{NVIDIA}'].productName == '{product}'"
                        }
                    }
                ],
            }
            for product in ("H200", "B200")
        ]
        spec["devices"]["requests"] = [{"name": "gpu", "firstAvailable": choices}, *others]


def rule(made: Mixture) -> None:
    tainted = {"key": "firmware", "value": "update", "effect": "NoSchedule"}
    made.add(
        {
            "apiVersion": API,
            "kind": "DeviceTaintRule",
            "metadata": meta("firmware"),
            "spec": {"deviceSelector": {"driver": NVIDIA}, "taint": tainted},
        }
    )


def newer_generation(made: Mixture) -> None:
    for name in made.nodes:
        made.get("ResourceSlice", f"{name}-{NVIDIA}")["spec"]["pool"] |= {
            "generation": 7,
            "resourceSliceCount": 3,
        }


def nothing_published(made: Mixture) -> None:
    gone = {f"{name}-{PORT}" for name in made.nodes}
    made.objects[:] = [o for o in made.objects if o["metadata"]["name"] not in gone]
    made.ask("port", PORT)


def gang_short(made: Mixture) -> None:
    """Has the pod wait for two more, which nobody has created."""
    policy = {"gang": {"minCount": 3}}
    made.add(
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": meta("ring", "ml", uid="uid-ring"),
            "spec": {"schedulingPolicy": policy},
        }
    )
    made.edit_pods(lambda spec: spec.update(schedulingGroup={"podGroupName": "ring"}))


UNREADY = [taint("node.kubernetes.io/not-ready", e) for e in ("NoSchedule", "NoExecute")]
FAULTS = (
    Fault(
        "two whole cards",
        "part",
        two_whole_cards,
        [("count", "card"), ("counters", PART), ("selector", "profile")],
    ),
    Fault("halves in use", "part", halves_in_use, [("device-in-use", "")]),
    Fault(
        "no such profile",
        "part",
        lambda made: made.ask("card", PART, cel=part("quarter")),
        [("selector", "profile")],
    ),
    Fault(
        "more than a port has",
        "port",
        lambda made: made.ask("port", PORT, capacity={"requests": {"bandwidth": "400G"}}),
        [("capacity", "bandwidth")],
    ),
    Fault("ports in use", "port", ports_in_use, [("device-in-use", "")]),
    Fault("nothing published", "port", nothing_published, [("devices", PORT)], by_hand=True),
    Fault("GPUs in use", "gpus", gpus_in_use, [("device-in-use", "")]),
    Fault(
        "shared claim elsewhere", "shared", shared_claim_elsewhere, [("claim-location", "cache")]
    ),
    Fault("devices over quota", "quota", devices_over_quota, [("quota", "ml/team")], stored=False),
    Fault("volume elsewhere", "volume", volume_elsewhere, [("volume", "corpus")], by_hand=True),
    Fault("misspelt volume", "volume", misspelt_volume, [("volume", "corpus")]),
    Fault(
        "extended resource",
        "resource",
        lambda made: made.demand("example.com/fpga", "2"),
        [("resource", "example.com/fpga")],
    ),
    Fault(
        "huge pages",
        "resource",
        lambda made: made.demand("hugepages-2Mi", "1Gi"),
        [("resource", "hugepages-2Mi")],
    ),
    Fault(
        "scratch space",
        "resource",
        lambda made: made.demand("ephemeral-storage", "2Ti"),
        [("resource", "ephemeral-storage")],
    ),
    Fault(
        "not ready",
        "node",
        lambda made: set_condition(made, "Ready", "False", *UNREADY),
        [("taint", "not-ready")],
        by_hand=True,
        stored=False,
    ),
    Fault(
        "disk pressure",
        "node",
        lambda made: set_condition(
            made, "DiskPressure", "True", taint("node.kubernetes.io/disk-pressure")
        ),
        [("taint", "disk-pressure")],
        by_hand=True,
        stored=False,
    ),
    Fault("nodes full", "node", nodes_full, [("pods", "")]),
    Fault("cordoned", "node", cordoned, [("cordon", "")]),
    Fault("tainted", "taint", nodes_tainted, [("taint", "team=vision")]),
    Fault(
        "no such neighbour",
        "near",
        require_near("podAffinity", HOST, app="feature-store"),
        [("pod-affinity", "podAffinity")],
    ),
    Fault("avoided by others", "avoid", avoided_by_others, [("pod-affinity", "quiet-")]),
    Fault("no such domain", "spread", spread("rack"), [("topology-spread", "")]),
    Fault("too few domains", "spread", spread(ZONE, minDomains=5), [("topology-spread", "")]),
    Fault(
        "no such attribute",
        "selector",
        lambda made: made.select(f"device.attributes['{NVIDIA}'].modle == 'H100'"),
        [("selector", "modle")],
    ),
    Fault(
        "too new",
        "selector",
        lambda made: made.select(
            f"device.attributes['{NVIDIA}'].driverVersion.isGreaterThan(semver('999.0.0'))"
        ),
        [("selector", "driverVersion")],
    ),
    Fault(
        "does not compile",
        "selector",
        lambda made: made.select(f"device.attributes['{NVIDIA}'].productName = 'H100'"),
        [("selector", "productName = 'H100'")],
        stored=False,
    ),
    Fault(
        "five GPUs",
        "count",
        lambda made: made.edit_gpu(lambda g: g.update(count=5)),
        [("count", "gpu")],
    ),
    Fault(
        "shared by no two",
        "count",
        lambda made: (
            made.edit_gpu(lambda gpu: gpu.update(count=2)),
            made.constrain(requests=["gpu"], matchAttribute=f"{NVIDIA}/uuid"),
        ),
        [("constraint", "uuid"), ("count", "gpu")],
    ),
    Fault(
        "class of nothing",
        "class",
        class_of_nothing,
        [("class", "gpu-b300"), ("devices", "gpu-b300")],
    ),
    Fault("alternatives", "alternatives", alternatives, [("selector", "productName")]),
    Fault("tainted by a rule", "rule", rule, [("device-taint", "")]),
    Fault("newer generation", "pool", newer_generation, [("pool", "")], by_hand=True),
    Fault("gang short", "gang", gang_short, [("gang", "PodGroup/ml/ring")], stored=False),
    Fault(
        "gate",
        "gate",
        lambda made: made.edit_pods(
            lambda spec: spec.update(schedulingGates=[{"name": "example.com/budget"}])
        ),
        [("scheduling-gate", "budget")],
    ),
)
APART = (
    {"alternatives", "selector", "count", "class"},  # each writes the request anew
    {"gpus", "rule", "pool", "class"},
    {"quota", "class"},
)
"""Groups of which one fault hides another: a device is held or missing, and its selector is asked all the same."""


def make_mixture(seed: str, count: int, *, stored: bool = False) -> Mixture:
    """Makes a cluster with ``count`` faults; with ``stored`` only such as a control plane
    keeps, and a change of objects cures."""
    made = make_cluster(seed)
    groups = list(dict.fromkeys(fault.group for fault in FAULTS))
    made.random.shuffle(groups)
    for group in groups:
        chosen = {fault.group for fault in made.faults}
        if len(chosen) == count or any(group in apart and chosen & apart for apart in APART):
            continue
        if group == "quota" and not made.by_template:
            continue
        of_group = [
            f for f in FAULTS if f.group == group and not (stored and (f.by_hand or not f.stored))
        ]
        if of_group:
            made.faults.append(made.random.choice(of_group))
    # What counts running pods comes last, and what takes the claim away.
    made.faults.sort(key=lambda fault: (fault.group == "quota", fault.name == "nodes full"))
    for fault in made.faults:
        fault.make(made)
    return made
