"""Compares ``dractl explain`` with a real kube-scheduler on random small clusters.

    nice -n 10 python tests/conformance/fuzz_explain.py --release 1.37 --count 300 --seed 1

Every case is made from its seed alone: nodes, slices, classes, pods that hold devices, and one pending pod. They are
created in a control plane (``$DRACTL_SHARED/oracle/cluster.py``); the pod is kept back by a scheduling gate until
everything is read as a dump. Then the gate is taken away, and what the scheduler does is put beside what explain says
of the dump: scheduled or not, the devices on the node that was chosen, and the message. A difference is tried a second
time before it counts. Some orders are random upstream (pools up to 1.35, the node that an error names); these are not
compared."""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from dractl.allocation import Features  # noqa: E402
from dractl.cluster import ClusterState  # noqa: E402
from dractl.explain import Explainer, find_subjects  # noqa: E402
from dractl.manifests import load  # noqa: E402
from dractl.report.explain.json import as_json  # noqa: E402
from tests.conftest import whole_dir  # noqa: E402
from tests.oracle import control_plane  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Object = dict[str, Any]

HOLD = "fuzz.example.com/hold"
PRIORITIES = {"high": "PreemptLowerPriority", "patient": "Never"}
NAMESPACES = {"ml": {"team": "a"}, "other": {"team": "b"}}
DRA = "/apis/resource.k8s.io/v1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "Node": "/api/v1/nodes",
    "DeviceClass": f"{DRA}/deviceclasses",
    "ResourceSlice": f"{DRA}/resourceslices",
    "DeviceTaintRule": "/apis/resource.k8s.io/{rules}/devicetaintrules",
    "ResourceClaimTemplate": f"{DRA}/namespaces/{{namespace}}/resourceclaimtemplates",
    "ResourceClaim": f"{DRA}/namespaces/{{namespace}}/resourceclaims",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
}
RULES = {"1.34": "v1alpha3", "1.35": "v1alpha3", "1.36": "v1beta2"}
SELECTORS = (
    'device.attributes["{d}"].model == "A"',
    'device.attributes["{d}"].model == "B"',
    'device.attributes["{d}"].numa == 0',
    'device.capacity["{d}"].memory.compareTo(quantity("40Gi")) >= 0',
    'device.capacity["{d}"].memory.compareTo(quantity("80Gi")) >= 0',
    "true",
)
BROKEN_SELECTOR = 'device.attributes["{d}"].nothing == 1'
DRIVERS = ("gpu.acme.io", "nic.acme.io")
EXTENDED = "acme.io/gpu"
# What the pending pod wishes beside devices, each drawn by itself.
WISHES = (
    "node-selector",
    "node-affinity",
    "node-fields",
    "pod-affinity",
    "pod-anti-affinity",
    "spread",
    "tolerations",
    "port",
    "resources",
    "sidecar",
    "extended",
    "shared-claim",
    "missing",
    "gate",
    "scheduler",
    "priority",
)
RARE = {
    "missing": 0.08,
    "gate": 0.04,
    "scheduler": 0.04,
    "node-fields": 0.08,
    "extended": 0.15,
    "priority": 0.08,
}


class Maker:
    """One random cluster. ``attempt`` only makes its names other ones."""

    def __init__(self, seed: int, attempt: int = 0, always: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self.mark = f"{seed}-{attempt}"
        r = self.random
        self.wishes = {wish for wish in WISHES if r.random() < RARE.get(wish, 0.13)} | set(always)
        self.parts = {
            p
            for p in ("taints", "rules", "stale", "incomplete", "broken", "shared-pool")
            if r.random() < 0.2
        }
        self.objects: list[Object] = []
        self.devices: dict[
            str, list[tuple[str, str, str]]
        ] = {}  # node -> free devices (driver, pool, device)
        self.nodes: list[str] = []
        self.pods: list[Object] = []

    def case(self) -> list[Object]:
        """The objects in the order of their creation, the pending pod last."""
        r = self.random
        self._nodes()
        drivers = DRIVERS[: r.choice((1, 1, 2))]
        for driver in drivers:
            self._driver(driver)
        if "rules" in self.parts:
            self._rule(r.choice(drivers))
        for number in range(r.choice((0, 1, 1, 2, 3))):
            self._holder(number)
        self._pending()
        return self.objects

    def _add(self, kind: str, name: str, *, namespace: str | None = None, **parts: Any) -> Object:
        core = kind in ("Node", "Pod", "Namespace")
        metadata: Object = {"name": name, **parts.pop("metadata", {})}
        if namespace:
            metadata["namespace"] = namespace
        value = {
            "apiVersion": "v1" if core else "resource.k8s.io/v1",
            "kind": kind,
            "metadata": metadata,
            **parts,
        }
        self.objects.append(value)
        return value

    # -- nodes and devices --

    def _nodes(self) -> None:
        r = self.random
        for number in range(r.choice((2, 2, 3, 4))):
            name = f"n{number}-{self.mark}"
            self.nodes.append(name)
            labels = {"kubernetes.io/hostname": name}
            if r.random() < 0.9:
                labels["zone"] = r.choice("ab")
            if r.random() < 0.5:
                labels["rack"] = r.choice(("1", "2", "10", "x"))
            spec: Object = {}
            if r.random() < 0.12:
                spec["unschedulable"] = True
            if r.random() < 0.2:
                effect = r.choice(("NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"))
                spec["taints"] = [
                    {"key": "dedicated", "value": r.choice(("", "gpu")), "effect": effect}
                ]
            amounts = {
                "cpu": r.choice(("2", "4", "3500m")),
                "memory": r.choice(("4Gi", "8Gi")),
                "pods": r.choice(("110", "110", "1", "2")),
                "ephemeral-storage": "10Gi",
            }
            if r.random() < 0.1:
                del amounts[r.choice(sorted(amounts))]
            if "extended" in self.wishes and r.random() < 0.4:
                amounts[EXTENDED] = r.choice(("0", "1", "2"))
            status: Object = {"allocatable": amounts, "capacity": amounts}
            if r.random() < 0.2:
                status["conditions"] = [
                    {"type": "Ready", "status": "False", "reason": "KubeletNotReady"}
                ]
            self._add("Node", name, metadata={"labels": labels}, spec=spec, status=status)

    def _driver(self, driver: str) -> None:
        r = self.random
        expression = f'device.driver == "{driver}"'
        classes = {driver: [expression]}
        if r.random() < 0.4:
            classes["special"] = [expression, self._selector(driver)]
        for name, expressions in classes.items():
            spec: Object = {"selectors": [{"cel": {"expression": text}} for text in expressions]}
            if name == "gpu.acme.io" and "extended" in self.wishes and r.random() < 0.7:
                spec["extendedResourceName"] = EXTENDED
            if name not in {
                o["metadata"]["name"] for o in self.objects if o["kind"] == "DeviceClass"
            }:
                self._add("DeviceClass", name, spec=spec)
        for node in self.nodes:
            if r.random() < 0.85:
                self._pool(driver, node, f"{node}-pool", {"nodeName": node})
        if "shared-pool" in self.parts:
            where: Object = r.choice(
                (
                    {"allNodes": True},
                    {
                        "nodeSelector": {
                            "nodeSelectorTerms": [{"matchExpressions": [self._expression()]}]
                        }
                    },
                )
            )
            self._pool(driver, None, f"fabric-{self.mark}", where)

    def _pool(self, driver: str, node: str | None, pool: str, where: Object) -> None:
        r = self.random
        devices = [self._device(driver, number) for number in range(r.choice((1, 1, 2, 3, 4)))]
        parts = [devices[:1], devices[1:]] if len(devices) > 1 and r.random() < 0.3 else [devices]
        generation = r.choice((1, 2)) if "stale" in self.parts else 1
        count = len(parts) + ("incomplete" in self.parts and r.random() < 0.4)
        for number, part in enumerate(parts):
            names = {"name": pool, "generation": generation, "resourceSliceCount": count}
            spec = {"driver": driver, "pool": names, "devices": part, **where}
            self._add("ResourceSlice", f"{pool}-{driver}-{number}", spec=spec)
        if generation > 1 and r.random() < 0.7:
            other = {
                "name": pool,
                "generation": generation + r.choice((-1, 1)),
                "resourceSliceCount": 1,
            }
            old = [self._device(driver, number) for number in range(r.choice((1, 2)))]
            place = (
                where if r.random() < 0.6 or node is None else {"nodeName": r.choice(self.nodes)}
            )
            self._add(
                "ResourceSlice",
                f"{pool}-{driver}-old",
                spec={"driver": driver, "pool": other, "devices": old, **place},
            )
        if node is not None:
            self.devices.setdefault(node, []).extend((driver, pool, d["name"]) for d in devices)

    def _device(self, driver: str, number: int) -> Object:
        r = self.random
        device: Object = {
            "name": f"d{number}",
            "attributes": {"model": {"string": r.choice("AAB")}, "numa": {"int": r.choice((0, 1))}},
            "capacity": {"memory": {"value": r.choice(("40Gi", "80Gi", "20Gi"))}},
        }
        if "taints" in self.parts and r.random() < 0.4:
            device["taints"] = [
                {"key": "sick", "effect": r.choice(("NoSchedule", "NoSchedule", "None"))}
            ]
        return device

    def _rule(self, driver: str) -> None:
        r = self.random
        selector: Object = {"driver": driver}
        if r.random() < 0.7:
            selector["pool"] = f"{r.choice(self.nodes)}-pool"
            if r.random() < 0.5:
                selector["device"] = "d0"
        taint = {"key": "service", "value": "soon", "effect": "NoSchedule"}
        self._add(
            "DeviceTaintRule",
            f"rule-{self.mark}",
            spec={"deviceSelector": selector, "taint": taint},
        )

    # -- claims --

    def _selector(self, driver: str) -> str:
        broken = "broken" in self.parts and self.random.random() < 0.3
        return (BROKEN_SELECTOR if broken else self.random.choice(SELECTORS)).replace("{d}", driver)

    def _spec(self) -> Object:
        r = self.random
        classes = [o["metadata"]["name"] for o in self.objects if o["kind"] == "DeviceClass"]
        requests: list[Object] = []
        for number in range(r.choice((1, 1, 1, 2))):
            if r.random() < 0.15:
                options = [{"name": f"s{n}", **self._exactly(classes)} for n in range(2)]
                requests.append({"name": f"r{number}", "firstAvailable": options})
            else:
                requests.append({"name": f"r{number}", "exactly": self._exactly(classes)})
        devices: Object = {"requests": requests}
        if r.random() < 0.25:
            domain = r.choice(DRIVERS)
            devices["constraints"] = [{"matchAttribute": f"{domain}/{r.choice(('model', 'numa'))}"}]
        return {"devices": devices}

    def _exactly(self, classes: list[str]) -> Object:
        r = self.random
        name = r.choice(classes)
        driver = name if name in DRIVERS else r.choice(DRIVERS)
        exactly: Object = {"deviceClassName": name}
        if r.random() < 0.15:
            exactly["allocationMode"] = "All"
        else:
            exactly["count"] = r.choice((1, 1, 1, 2, 2, 3))
        if r.random() < 0.4:
            exactly["selectors"] = [{"cel": {"expression": self._selector(driver)}}]
        if r.random() < 0.25:
            exactly["tolerations"] = [
                {"operator": "Exists", **({"key": "sick"} if r.random() < 0.5 else {})}
            ]
        if "missing" in self.wishes and r.random() < 0.2:
            exactly["deviceClassName"] = "nowhere"
        return exactly

    # -- pods --

    def _pod(self, name: str, namespace: str, spec: Object, labels: Object) -> Object:
        container: Object = {"name": "main", "image": "example.com/x"}
        whole = {"terminationGracePeriodSeconds": 0, "containers": [container], **spec}
        return self._add("Pod", name, namespace=namespace, metadata={"labels": labels}, spec=whole)

    def _holder(self, number: int) -> None:
        r = self.random
        node = r.choice(self.nodes)
        namespace = r.choice(("ml", "ml", "other"))
        name = f"holder{number}-{self.mark}"
        spec: Object = {"nodeName": node, "tolerations": [{"operator": "Exists"}]}
        free = self.devices.get(node, [])
        if free and r.random() < 0.8:
            taken = r.sample(free, r.choice((1, min(2, len(free)))))
            for device in taken:
                free.remove(device)
            self._held(name, namespace, node, taken)
            spec["resourceClaims"] = [{"name": "c", "resourceClaimName": f"claim-{name}"}]
        if r.random() < 0.25:
            terms = [self._pod_term()]
            spec["affinity"] = {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            }
        pod = self._pod(
            name, namespace, spec, {"app": r.choice("xyz"), "tier": r.choice(("1", "2"))}
        )
        self._resources(pod)
        if r.random() < 0.3:
            pod["spec"]["containers"][0]["ports"] = [self._port()]
        self.pods.append(pod)

    def _held(
        self, holder: str, namespace: str, node: str, taken: list[tuple[str, str, str]]
    ) -> None:
        requests = [
            {"name": f"r{n}", "exactly": {"deviceClassName": d[0], "count": 1}}
            for n, d in enumerate(taken)
        ]
        results = [
            {"request": f"r{n}", "driver": d[0], "pool": d[1], "device": d[2]}
            for n, d in enumerate(taken)
        ]
        field = {"key": "metadata.name", "operator": "In", "values": [node]}
        allocation: Object = {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
        if self.random.random() < 0.8:  # schedulers up to 1.35 wrote none
            allocation["allocationTimestamp"] = "2026-01-01T00:00:00Z"
        status: Object = {"allocation": allocation}
        reserved = self.random.random() < 0.85
        if reserved:
            status["reservedFor"] = [{"resource": "pods", "name": holder}]
        claim = self._add(
            "ResourceClaim",
            f"claim-{holder}",
            namespace=namespace,
            spec={"devices": {"requests": requests}},
        )
        claim["status"] = status
        claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]

    def _port(self) -> Object:
        r = self.random
        port: Object = {
            "containerPort": 80,
            "hostPort": r.choice((80, 81)),
            "protocol": r.choice(("TCP", "TCP", "UDP")),
        }
        if r.random() < 0.3:
            port["hostIP"] = r.choice(("10.0.0.1", "10.0.0.2"))
        return port

    def _resources(self, pod: Object) -> None:
        r = self.random
        for container in pod["spec"]["containers"]:
            requests = {}
            if r.random() < 0.6:
                requests["cpu"] = r.choice(("500m", "1", "2", "3"))
            if r.random() < 0.4:
                requests["memory"] = r.choice(("1Gi", "3Gi", "5Gi"))
            kind = "requests" if r.random() < 0.7 else "limits"
            container["resources"] = {kind: requests} if requests else {}

    def _expression(self) -> Object:
        return self.random.choice(
            (
                {"key": "zone", "operator": "In", "values": ["a"]},
                {"key": "zone", "operator": "NotIn", "values": ["a"]},
                {"key": "rack", "operator": "Exists"},
                {"key": "rack", "operator": "DoesNotExist"},
                {"key": "rack", "operator": "Gt", "values": ["1"]},
                {"key": "rack", "operator": "Lt", "values": ["5"]},
                {"key": "zone", "operator": "In", "values": ["nowhere"]},
            )
        )

    def _pod_term(self) -> Object:
        r = self.random
        term: Object = {"topologyKey": r.choice(("kubernetes.io/hostname", "zone", "rack"))}
        if r.random() < 0.95:
            term["labelSelector"] = self._label_selector()
        if r.random() < 0.2:
            term["namespaces"] = [r.choice(("ml", "other"))]
        if r.random() < 0.25:
            term["namespaceSelector"] = r.choice(({}, {"matchLabels": {"team": "b"}}))
        if r.random() < 0.15 and "labelSelector" in term:
            term[r.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["tier"]
        return term

    def _label_selector(self) -> Object:
        return self.random.choice(
            (
                {"matchLabels": {"app": "x"}},
                {"matchLabels": {"app": "y"}},
                {"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "z"]}]},
                {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]},
                {},
            )
        )

    def _pending(self) -> None:
        r = self.random
        spec: Object = {}
        affinity: Object = {}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        if "node-selector" in self.wishes:
            spec["nodeSelector"] = r.choice(({"zone": "a"}, {"zone": "b"}, {"rack": "1"}))
        if "node-affinity" in self.wishes:
            terms = [
                {"matchExpressions": [self._expression() for _ in range(r.choice((1, 2)))]}
                for _ in range(r.choice((1, 1, 2)))
            ]
            affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": terms}}
        if "node-fields" in self.wishes:
            affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": self._field_terms()}}
        for wish, key in (
            ("pod-affinity", "podAffinity"),
            ("pod-anti-affinity", "podAntiAffinity"),
        ):
            if wish in self.wishes:
                affinity[key] = {required: [self._pod_term() for _ in range(r.choice((1, 1, 2)))]}
        if affinity:
            spec["affinity"] = affinity
        if "spread" in self.wishes:
            spec["topologySpreadConstraints"] = [
                self._spread(key)
                for key in r.sample(("zone", "kubernetes.io/hostname", "rack"), r.choice((1, 1, 2)))
            ]
        if "tolerations" in self.wishes:
            spec["tolerations"] = [
                r.choice(
                    (
                        {"key": "dedicated", "operator": "Exists"},
                        {
                            "key": "dedicated",
                            "operator": "Equal",
                            "value": "gpu",
                            "effect": "NoSchedule",
                        },
                        {"operator": "Exists"},
                        {
                            "key": "node.kubernetes.io/unschedulable",
                            "operator": "Exists",
                            "effect": "NoSchedule",
                        },
                    )
                )
            ]
        if "scheduler" in self.wishes:
            spec["schedulerName"] = "volcano"
        if "priority" in self.wishes:
            spec["priorityClassName"] = r.choice(sorted(PRIORITIES))
        if "gate" in self.wishes:
            spec["schedulingGates"] = [{"name": "example.com/wait"}]
        spec["resourceClaims"] = self._pod_claims()
        pod = self._pod(
            f"asking-{self.mark}",
            "ml",
            spec,
            {"app": r.choice("xyz"), "tier": r.choice(("1", "2"))},
        )
        self.objects.remove(pod)
        container = pod["spec"]["containers"][0]
        if "resources" in self.wishes:
            self._resources(pod)
        if "port" in self.wishes:
            container["ports"] = [self._port()]
        name = EXTENDED
        if "extended" in self.wishes:
            name = r.choice(
                (
                    EXTENDED,
                    EXTENDED,
                    "acme.io/other",
                    f"deviceclass.resource.kubernetes.io/{DRIVERS[0]}",
                )
            )
            limits = container.setdefault("resources", {}).setdefault("limits", {})
            limits[name] = r.choice(("1", "2"))
        if "sidecar" in self.wishes:
            helper: Object = {
                "name": "helper",
                "image": "example.com/x",
                "resources": {"requests": {"cpu": r.choice(("1", "2"))}},
            }
            if "extended" in self.wishes and r.random() < 0.6:
                helper["resources"]["limits"] = {
                    r.choice((EXTENDED, name)): r.choice(("1", "2", "3"))
                }
            if r.random() < 0.5:
                helper["restartPolicy"] = "Always"
                if r.random() < 0.4:
                    helper["ports"] = [self._port()]
            pod["spec"]["initContainers"] = [helper]
        self.objects.append(pod)

    def _field_terms(self) -> list[Object]:
        r = self.random
        names = [*self.nodes, f"gone-{self.mark}"]
        terms: list[Object] = []
        for _ in range(r.choice((1, 1, 2))):
            field = {
                "key": "metadata.name",
                "operator": r.choice(("In", "In", "NotIn")),
                "values": [r.choice(names)],
            }
            term: Object = {"matchFields": [field]}
            if r.random() < 0.3:
                term["matchExpressions"] = [self._expression()]
            terms.append(term)
        return terms

    def _spread(self, key: str) -> Object:
        r = self.random
        constraint: Object = {
            "topologyKey": key,
            "maxSkew": r.choice((1, 1, 2)),
            "whenUnsatisfiable": "DoNotSchedule",
        }
        if r.random() < 0.9:
            constraint["labelSelector"] = self._label_selector()
        if r.random() < 0.25:
            constraint["minDomains"] = r.choice((2, 3))
        if r.random() < 0.25:
            constraint["nodeTaintsPolicy"] = "Honor"
        if r.random() < 0.25:
            constraint["nodeAffinityPolicy"] = "Ignore"
        if r.random() < 0.15 and "labelSelector" in constraint:
            constraint["matchLabelKeys"] = ["tier"]
        if r.random() < 0.15:
            constraint["whenUnsatisfiable"] = "ScheduleAnyway"
            constraint.pop("minDomains", None)
        return constraint

    def _pod_claims(self) -> list[Object]:
        r = self.random
        entries: list[Object] = []
        for number in range(r.choice((0, 1, 1, 1, 1, 2))):
            name = f"wanted{number}-{self.mark}"
            gone = "missing" in self.wishes and r.random() < 0.5
            if r.random() < 0.5:
                if not gone:
                    self._add(
                        "ResourceClaimTemplate", name, namespace="ml", spec={"spec": self._spec()}
                    )
                entries.append({"name": f"c{number}", "resourceClaimTemplateName": name})
            else:
                if not gone:
                    self._add("ResourceClaim", name, namespace="ml", spec=self._spec())
                entries.append({"name": f"c{number}", "resourceClaimName": name})
        held = [
            o
            for o in self.objects
            if o["kind"] == "ResourceClaim" and "status" in o and o["metadata"]["namespace"] == "ml"
        ]
        if held and "shared-claim" in self.wishes:
            entries.append(
                {"name": "shared", "resourceClaimName": r.choice(held)["metadata"]["name"]}
            )
        return entries


class Bench:
    """A control plane, one case at a time."""

    def __init__(self, cluster: Any, release: str, features: Features) -> None:
        self.cluster = cluster
        self.release = release
        self.features = features
        self.pool = ThreadPoolExecutor(8)
        for name, labels in NAMESPACES.items():
            metadata = {"name": name, "labels": labels}
            self._send(
                "POST",
                PATHS["Namespace"],
                {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata},
            )
        for name, policy in PRIORITIES.items():
            made = {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
            }
            self._send(
                "POST", PATHS["PriorityClass"], {**made, "value": 1000, "preemptionPolicy": policy}
            )

    def _send(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> Any:
        text = None if body is None else json.dumps(body)
        status, _, answer = self.cluster.request(method, path, text, content)
        if status >= 300:
            raise RefusedError(
                f"{method} {path}: {answer.get('message') if isinstance(answer, dict) else answer}"
            )
        return answer

    def _path(self, kind: str, namespace: str | None = None) -> str:
        path = PATHS[kind].format(rules=RULES.get(self.release, "v1"), namespace=namespace)
        return path.replace("/namespaces/None", "")

    def _create(self, value: Object) -> Object:
        kind, metadata = value["kind"], value["metadata"]
        path = self._path(kind, metadata.get("namespace"))
        body = {key: part for key, part in value.items() if key != "status"}
        if kind == "DeviceTaintRule":
            body["apiVersion"] = f"resource.k8s.io/{RULES.get(self.release, 'v1')}"
        made: Object = self._send("POST", path, body)
        own = f"{path}/{metadata['name']}"
        if kind == "Node":
            # The API server taints every new node as not ready; a kubelet would have it removed.
            taints = {"spec": {"taints": value["spec"].get("taints")}}
            self._send("PATCH", own, taints, "application/merge-patch+json")
            self._send(
                "PATCH",
                f"{own}/status",
                {"status": value["status"]},
                "application/merge-patch+json",
            )
        return made

    def set_up(self, objects: list[Object]) -> None:
        """Creates all but the last; statuses of claims name the pods that were created."""
        first = [o for o in objects[:-1] if o["kind"] != "Pod"]
        pods = [o for o in objects[:-1] if o["kind"] == "Pod"]
        list(self.pool.map(self._create, [o for o in first if o["kind"] == "Node"]))
        list(self.pool.map(self._create, [o for o in first if o["kind"] != "Node"]))
        made = {o["metadata"]["name"]: o for o in self.pool.map(self._create, pods)}
        for value in first:
            if value["kind"] != "ResourceClaim" or "status" not in value:
                continue
            status = json.loads(json.dumps(value["status"]))
            for consumer in status.get("reservedFor", []):
                consumer["uid"] = made[consumer["name"]]["metadata"]["uid"]
            own = f"{self._path('ResourceClaim', value['metadata']['namespace'])}/{value['metadata']['name']}"
            self._send("PATCH", f"{own}/status", {"status": status}, "application/merge-patch+json")

    def dump(self) -> list[Object]:
        """All objects, as ``kubectl get -o json`` lists them."""
        found: list[Object] = []
        for kind in PATHS:
            answer = self._send("GET", self._path(kind))
            found += [
                {"apiVersion": answer["apiVersion"], "kind": kind, **item}
                for item in answer["items"]
            ]
        return found

    def clear(self) -> None:
        """Deletes everything but namespaces, and waits until it is gone."""
        kinds = [kind for kind in reversed(PATHS) if kind not in ("Namespace", "PriorityClass")]
        end = time.monotonic() + 20
        for kind in kinds:
            while time.monotonic() < end:
                items = self._send("GET", self._path(kind))["items"]
                if not items:
                    break
                list(self.pool.map(lambda item, kind=kind: self._delete(kind, item), items))

    def _delete(self, kind: str, item: Object) -> None:
        own = f"{self._path(kind, item['metadata'].get('namespace'))}/{item['metadata']['name']}"
        if item["metadata"].get("finalizers"):
            self.cluster.request(
                "PATCH", own, '{"metadata":{"finalizers":null}}', "application/merge-patch+json"
            )
        self.cluster.request("DELETE", f"{own}?gracePeriodSeconds=0")

    def ask(self, objects: list[Object]) -> tuple[list[Object], Object, Object]:
        """The dump before the decision, what the scheduler did, and what explain says."""
        self.set_up(objects)
        pod = json.loads(json.dumps(objects[-1]))
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        own = f"{self._path('Pod', namespace)}/{name}"
        gates = pod["spec"].get("schedulingGates")
        pod["spec"]["schedulingGates"] = gates or [{"name": HOLD}]
        self._create(pod)
        self._wait_for_claims(own, objects)
        time.sleep(0.3)  # until the scheduler's caches have everything
        dump = self.dump()
        if not gates:
            for value in dump:
                if value["kind"] == "Pod" and value["metadata"]["name"] == name:
                    del value["spec"]["schedulingGates"]
                    value["status"].pop("conditions", None)
            self._send(
                "PATCH",
                own,
                [{"op": "remove", "path": "/spec/schedulingGates"}],
                "application/json-patch+json",
            )
        said = explain(dump, namespace, name, self.features)
        return dump, self._outcome(own, said, gated=bool(gates)), said

    def _wait_for_claims(self, own: str, objects: list[Object]) -> None:
        """Until the claim controller has done what it can."""
        templates = {o["metadata"]["name"] for o in objects if o["kind"] == "ResourceClaimTemplate"}
        wanted = sum(
            r.get("resourceClaimTemplateName") in templates
            for r in objects[-1]["spec"]["resourceClaims"]
        )
        end = time.monotonic() + 5
        while wanted and time.monotonic() < end:
            if (
                len(self._send("GET", own).get("status", {}).get("resourceClaimStatuses", []))
                >= wanted
            ):
                return
            time.sleep(0.1)

    def _outcome(self, own: str, said: Object, *, gated: bool) -> Object:
        """Return the result of the scheduler; a pod that it does not look at has no condition. It may release a claim and try
        again, so a refusal that explain does not expect is given more time."""
        start = time.monotonic()
        while True:
            pod = self._send("GET", own)
            condition = next(
                (c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled"),
                None,
            )
            passed = time.monotonic() - start
            if pod["spec"].get("nodeName"):
                break
            written = None if condition is None or stale(condition, gated) else condition["message"]
            agreed = not fits(said) and said["schedulerMessage"] == written
            if (agreed and passed > 0.7) or passed > 4:
                break
            time.sleep(0.1)
        uid = pod["metadata"]["uid"]
        claims = self._send("GET", self._path("ResourceClaim", pod["metadata"]["namespace"]))[
            "items"
        ]
        results = [
            (d["driver"], d["pool"], d["device"])
            for claim in claims
            if any(c["uid"] == uid for c in claim.get("status", {}).get("reservedFor", []))
            for d in claim["status"]["allocation"]["devices"]["results"]
        ]
        refused = (
            condition
            if condition and condition["status"] == "False" and not stale(condition, gated)
            else {}
        )
        return {
            "node": pod["spec"].get("nodeName"),
            "reason": refused.get("reason"),
            "message": refused.get("message"),
            "devices": sorted(results),
        }


class RefusedError(Exception):
    """The API server does not take an object of a case."""


def stale(condition: Object, gated: bool) -> bool:
    """Whether a condition is of the gate that was taken away: the scheduler has not looked at the pod since."""
    return condition.get("reason") == "SchedulingGated" and not gated


def explain(dump: list[Object], namespace: str, name: str, features: Features) -> Object:
    """explain's answer about a pod of a dump, as its JSON."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"apiVersion": "v1", "kind": "List", "items": dump}, file)
        file.flush()
        state = ClusterState.from_documents(load([file.name], relevant_only=False).documents)
    (question,) = find_subjects(state, f"pod/{name}", namespace)
    answer: Object = as_json(Explainer(state, features).explain(question))
    return answer


def fits(said: Mapping[str, Any]) -> bool:
    return said["verdict"] in ("allocatable", "allocated")


def differences(real: Object, said: Object) -> list[str]:
    """Return the differences of explain and the scheduler: verdict, devices, message."""
    if (real["node"] is not None) != fits(said):
        return ["verdict"]
    if real["node"] is not None:
        found = [
            sorted((d["driver"], d["pool"], d["device"]) for d in n["allocation"])
            for n in said["nodes"]
            if n["name"] == real["node"] or real["node"] in n.get("like", ())
        ]
        if found != [real["devices"]] and not any("random order" in note for note in said["notes"]):
            return ["devices"]
        return []
    # An error names the node whose filter was the first to fail, which is a race.
    want, got = (
        re.sub(r"\bn\d+-[0-9]+-[0-9]+\b", "NODE", text or "")
        for text in (real["message"], said["schedulerMessage"])
    )
    wrong = [] if want == got else ["message"]
    return wrong if said["reasons"] else [*wrong, "no reason"]


def summarize(said: Object) -> Object:
    reasons = [(r["code"], r["message"]) for r in said["reasons"]]
    nodes = [{k: n[k] for k in ("name", "verdict", "allocation")} for n in said["nodes"]]
    return {
        "verdict": said["verdict"],
        "message": said["schedulerMessage"],
        "reasons": reasons,
        "nodes": nodes,
    }


class Comparison:
    """Compares cases of seeds; prints differences and counts what happened."""

    def __init__(self, bench: Bench, always: Sequence[str], save: Path | None) -> None:
        self.bench = bench
        self.always = always
        self.save = save
        self.counts: Counter[str] = Counter()

    def run(self, seeds: range, deadline: float) -> None:
        for seed in seeds:
            if time.time() > deadline:
                return
            try:
                self._case(seed)
            except RefusedError as refused:
                self.counts["not a case"] += 1
                print(f"{seed}: {refused}", file=sys.stderr)

    def _case(self, seed: int) -> None:
        for attempt in range(2):
            objects = Maker(seed, attempt, self.always).case()
            try:
                dump, real, said = self.bench.ask(objects)
            finally:
                self.bench.clear()
            wrong = differences(real, said)
            if not wrong:
                break
        else:
            self.counts.update(f"DIFFERENT {kind}" for kind in wrong)
            print(
                f"\n{seed} {wrong}\n  real {json.dumps(real)}\n  said {json.dumps(summarize(said))}",
                flush=True,
            )
            if self.save is not None:
                self.save.mkdir(parents=True, exist_ok=True)
                saved = {"kind": "List", "apiVersion": "v1", "items": dump, "real": real}
                (self.save / f"{self.bench.release}-{seed}.json").write_text(
                    json.dumps(saved, indent=1)
                )
        done = "scheduled" if real["node"] else real["reason"] or "not looked at"
        self.counts.update(("cases", done))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--release", default="1.37")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--feature-gates", default="", help="A=true,B=false")
    parser.add_argument(
        "--always", nargs="*", default=(), choices=WISHES, help="wishes that every pod has"
    )
    parser.add_argument("--minutes", type=float, default=60, help="stop after so long")
    parser.add_argument("--save", type=Path, help="a folder for the dumps of cases that differ")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the control plane goes down with us
    shared = whole_dir()
    if shared is None:
        print("fuzz_explain: no shared folder", file=sys.stderr)
        return 3
    gates = {
        k: v.lower() == "true"
        for k, _, v in (g.partition("=") for g in arguments.feature_gates.split(",") if g)
    }
    features = Features.for_release(arguments.release, gates)
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    deadline = time.time() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory(prefix="dractl-fuzz-") as folder:
        up = control_plane(
            shared, arguments.release, Path(folder), arguments.feature_gates, scheduler=True
        )
        with up as cluster:
            bench = Bench(cluster, arguments.release, features)
            comparison = Comparison(bench, arguments.always, arguments.save)
            try:
                comparison.run(seeds, deadline)
            finally:
                print(arguments.release, dict(comparison.counts), flush=True)
    return int(any(name.startswith("DIFFERENT") for name in comparison.counts))


if __name__ == "__main__":
    sys.exit(main())
