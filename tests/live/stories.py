"""Situations as they page somebody, invented: what is created, who is asked about, what the answer must bring across.

``says`` and ``does`` are lists of ideas; each idea is a list of wordings in lower case, one of which must occur in the
headline, the first two reasons and the notes (``says``), or in the first two fixes and next steps (``does``).
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.live.plane import PATHS, until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.live.plane import Plane

    Made = dict[str, Any]
    Step = Sequence[Made] | Callable[[Plane], object]

API = "resource.k8s.io/v1"
NVIDIA = "gpu.nvidia.com"
PRODUCTS = {
    "H100": ("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0", "81559Mi"),
    "A100": ("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0", "40Gi"),
}


@dataclass(frozen=True)
class Story:
    """``subject`` is ``namespace/kind/name``, or the start of a pod's name as ``namespace/pod/name*``."""

    name: str
    steps: Sequence[Step]
    subject: str
    says: Sequence[Sequence[str]] = ()
    does: Sequence[Sequence[str]] | None = ()
    applies: bool = True
    """The first fix, pasted, makes the pod run."""
    gates: Mapping[str, bool] = field(default_factory=dict)
    verdict: str = ""


def meta(name: str, namespace: str | None = None, **more: Any) -> Made:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def node(
    name: str, taints: Sequence[Made] = (), labels: Mapping[str, str] | None = None, **more: Any
) -> Made:
    given = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    amounts = {
        "cpu": "64",
        "memory": "512Gi",
        "pods": "110",
        "ephemeral-storage": "1Ti",
        **more.pop("amounts", {}),
    }
    ready = {"type": "Ready", "status": more.pop("ready", "True"), "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels={**given, **(labels or {})}),
        "spec": {"taints": list(taints), **more},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]},
    }


def gpu(number: int, product: str = "H100", **changed: Any) -> Made:
    """One device of the NVIDIA driver; ``changed`` replaces attributes, None removes one."""
    name, architecture, compute, memory = PRODUCTS[product]
    attributes: Made = {
        "architecture": {"string": architecture},
        "brand": {"string": "Nvidia"},
        "cudaComputeCapability": {"version": compute},
        "cudaDriverVersion": {"version": "13.0.0"},
        "driverVersion": {"version": "580.82.7"},
        "productName": {"string": name},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{number + 1:x}1:00.0"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number + 1:x}0"},
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-d001bf8f-c373-5542-8bca-caaba041de{number:02x}"},
    }
    more = {key: changed.pop(key) for key in ("taints", "capacity") if key in changed}
    attributes.update(changed)
    attributes = {key: value for key, value in attributes.items() if value is not None}
    capacity = {"memory": {"value": memory}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": capacity, **more}


def slice_(where: str, devices: Sequence[Made], driver: str = NVIDIA, **more: Any) -> Made:
    pool = {"name": where, "generation": 1, "resourceSliceCount": 1, **more.pop("pool", {})}
    spec = {"driver": driver, "pool": pool, "devices": list(devices)}
    spec.update(more.pop("reach", {"nodeName": where}))
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": meta(more.pop("name", f"{where}-{driver}")),
        "spec": {**spec, **more},
    }


def gpus(where: str, count: int, product: str = "H100", **changed: Any) -> Made:
    return slice_(where, [gpu(i, product, **changed) for i in range(count)])


def device_class(name: str, expression: str | None = None, **more: Any) -> Made:
    text = f"device.driver == '{name}'" if expression is None else expression
    spec = {"selectors": [{"cel": {"expression": text}}], **more}
    return {"apiVersion": API, "kind": "DeviceClass", "metadata": meta(name), "spec": spec}


def class_of_type(name: str, kind: str) -> Made:
    return device_class(
        name, f"device.driver == '{NVIDIA}' && device.attributes['{NVIDIA}'].type == '{kind}'"
    )


CLASSES = [
    class_of_type(NVIDIA, "gpu"),
    class_of_type("mig.nvidia.com", "mig"),
    class_of_type("vfio.gpu.nvidia.com", "vfio"),
]
NAMESPACES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(n)}
    for n in ("ml", "eval", "kube-amd")
][:2]
BASE = [*NAMESPACES, *CLASSES]


def request(
    name: str = "gpu", device_class: str = NVIDIA, count: int | None = 1, **more: Any
) -> Made:
    """``cel="..."`` is a selector; ``count=None`` asks for all devices."""
    exactly: Made = {"deviceClassName": device_class}
    exactly.update({"allocationMode": "All"} if count is None else {"count": count})
    if "cel" in more:
        exactly["selectors"] = [{"cel": {"expression": more.pop("cel")}}]
    return {"name": name, "exactly": {**exactly, **more}}


def devices(*requests: Made, **more: Any) -> Made:
    return {"devices": {"requests": list(requests or [request()]), **more}}


def template(
    name: str, *requests: Made, ns: str = "ml", labels: Mapping[str, str] | None = None, **more: Any
) -> Made:
    spec = {
        "spec": devices(*requests, **more),
        **({"metadata": {"labels": labels}} if labels else {}),
    }
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": meta(name, ns),
        "spec": spec,
    }


def claim(name: str, *requests: Made, ns: str = "ml", **more: Any) -> Made:
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": meta(name, ns),
        "spec": devices(*requests, **more),
    }


def pod_spec(*claims: str, cpu: str | None = "1", **more: Any) -> Made:
    """Claims are ``template`` or ``=claim``; the entry is named ``gpu``, or by ``name:``."""
    entries = []
    for number, text in enumerate(claims):
        name, _, rest = text.rpartition(":")
        name = name or ("gpu" if not number else f"gpu{number}")
        field_ = "resourceClaimName" if rest.startswith("=") else "resourceClaimTemplateName"
        entries.append({"name": name, field_: rest.lstrip("=")})
    resources: Made = {"claims": [{"name": e["name"]} for e in entries]}
    if cpu:
        resources["requests"] = {"cpu": cpu, "memory": "1Gi"}
    for key in ("limits", "requests"):
        resources.setdefault(key, {}).update(more.pop(key, {}))
    container = {"name": "main", "image": "registry.example.com/app:1", "resources": resources}
    container.update(more.pop("container", {}))
    return {"containers": [container], "resourceClaims": entries, **more}


def pod(
    name: str, *claims: str, ns: str = "ml", labels: Mapping[str, str] | None = None, **more: Any
) -> Made:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, ns, **({"labels": labels} if labels else {})),
        "spec": pod_spec(*claims, **more),
    }


def owned(kind: str, name: str, replicas: int, *claims: str, ns: str = "ml", **more: Any) -> Made:
    """A Deployment, StatefulSet or DaemonSet; ``strategy`` and ``labels`` are its own, the rest is the pod's."""
    labels = {"app": name, **more.pop("labels", {})}
    own = {key: more.pop(key) for key in ("strategy", "podManagementPolicy") if key in more}
    spec: Made = {"selector": {"matchLabels": {"app": name}}, **own}
    spec["template"] = {"metadata": {"labels": labels}, "spec": pod_spec(*claims, **more)}
    if kind == "StatefulSet":
        spec["serviceName"] = name
    if kind != "DaemonSet":
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta(name, ns), "spec": spec}


def deployment(name: str, replicas: int, *claims: str, **more: Any) -> Made:
    return owned("Deployment", name, replicas, *claims, **more)


def job(name: str, pods: int, *claims: str, ns: str = "ml", **more: Any) -> Made:
    spec = {"template": {"spec": {**pod_spec(*claims, **more), "restartPolicy": "Never"}}}
    spec |= {"parallelism": pods, "completions": pods}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(name, ns), "spec": spec}


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Made:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


# -- what happens besides --


def path_of(kind: str, namespace: str, name: str) -> str:
    return f"{PATHS[kind].format(namespace)}/{name}"


def patch(kind: str, full_name: str, value: Made) -> Callable[[Plane], object]:
    namespace, _, name = full_name.rpartition("/")
    body = "application/merge-patch+json"
    return lambda plane: plane.must("PATCH", path_of(kind, namespace, name), value, body)


def delete(kind: str, full_name: str, *, force: bool = True) -> Callable[[Plane], object]:
    namespace, _, name = full_name.rpartition("/")
    body = {"gracePeriodSeconds": 0} if force else None
    return lambda plane: plane.must("DELETE", path_of(kind, namespace, name), body)


def replace(value: Made) -> Callable[[Plane], object]:
    def act(plane: Plane) -> None:
        metadata = value["metadata"]
        plane.must(
            "DELETE", path_of(value["kind"], metadata.get("namespace", ""), metadata["name"])
        )
        create(plane, value)

    return act


def unprepared(pod: str) -> Callable[[Plane], object]:
    """Before the pod is created: its kubelet will not be able to prepare its devices."""
    namespace, _, name = pod.partition("/")
    return lambda plane: plane.refused.add((namespace, name))


def refused(pod: str, message: str) -> Callable[[Plane], object]:
    """The kubelet's event about claims that it cannot prepare."""

    def act(plane: Plane) -> None:
        namespace, _, name = pod.partition("/")
        value = plane.must("GET", path_of("Pod", namespace, name))
        plane.refused_uids.add(value["metadata"]["uid"])
        plane.refused.discard((namespace, name))  # the next one of the name starts
        about = {
            "kind": "Pod",
            "namespace": namespace,
            "name": name,
            "uid": value["metadata"]["uid"],
        }
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        event = {
            "metadata": meta(f"{name}.1", namespace),
            "involvedObject": about,
            "reason": "FailedPrepareDynamicResources",
            "type": "Warning",
            "message": message,
            "source": {"component": "kubelet"},
            "firstTimestamp": now,
            "lastTimestamp": now,
        }
        plane.must("POST", PATHS["Event"].format(namespace), event)

    return act


def unready(name: str) -> Callable[[Plane], object]:
    """A node whose kubelet does not answer any more, as the controller of node lifecycles marks it."""

    def act(plane: Plane) -> None:
        taints = [
            taint("node.kubernetes.io/unreachable", effect)
            for effect in ("NoSchedule", "NoExecute")
        ]
        patch("Node", name, {"spec": {"taints": taints}})(plane)
        status = {
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
                ]
            }
        }
        plane.must(
            "PATCH", path_of("Node", "", name) + "/status", status, "application/merge-patch+json"
        )

    return act


def create(plane: Plane, value: Made) -> None:
    plane.create(value)


def settle(plane: Plane, seconds: float = 15) -> None:
    """Until the scheduler has looked at every pod, twice in a row."""
    calm = 0

    def quiet() -> bool:
        nonlocal calm
        pods = plane.pods()
        done = all(plane.tried(p) for p in pods) and not any(
            "deletionTimestamp" in p["metadata"] for p in pods
        )
        calm = calm + 1 if done else 0
        return calm > 3

    until(quiet, seconds)


def tell(plane: Plane, story: Story) -> None:
    """Plays the steps of a story on a control plane that is cleared before."""
    plane.load([])
    for step in story.steps:
        if callable(step):
            step(plane)
        else:
            for value in step:
                plane.create(json.loads(json.dumps(value)))
        settle(plane)
