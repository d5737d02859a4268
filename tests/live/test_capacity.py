"""fit against a real scheduler: copies are created until three stay pending; as many got a node as fit said."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import whole_dir
from tests.explain.cluster import device, device_class, node, request, slice_of
from tests.live.test_explain import dractl
from tests.oracle import control_plane

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

ROOT = "resource.kubernetes.io/pcieRoot"
GPU, NIC = "gpu.example.com", "nic.example.com"
DRA = "/apis/resource.k8s.io/v1"
PATHS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "DeviceClass": f"{DRA}/deviceclasses",
    "ResourceSlice": f"{DRA}/resourceslices",
    "ResourceClaimTemplate": f"{DRA}/namespaces/fit/resourceclaimtemplates",
    "ResourceClaim": f"{DRA}/namespaces/fit/resourceclaims",
    "ResourceQuota": "/api/v1/namespaces/fit/resourcequotas",
    "Pod": "/api/v1/namespaces/fit/pods",
}
MERGE = "application/merge-patch+json"
NOW = {"gracePeriodSeconds": 0}
GATES = "DRAConsumableCapacity=true,DRAPartitionableDevices=true,DRAExtendedResource=true,DRADeviceTaints=true"
NAMESPACE = {"name": "fit", "labels": {"resource.kubernetes.io/admin-access": "true"}}


@pytest.fixture(scope="module", params=["1.34", "1.37"])
def plane(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    shared = whole_dir()
    if shared is None:
        pytest.skip("no conformance data, no cluster program")
    folder = tmp_path_factory.mktemp("plane")
    with control_plane(shared, request.param, folder, GATES, scheduler=True) as running:
        kubectl = running.dir / "kubectl"
        kubectl.write_text(
            f'#!/bin/sh\nexec {running.kube} kubectl --kubeconfig={running.kubeconfig} "$@"\n'
        )
        kubectl.chmod(0o755)
        post(running, {"kind": "Namespace", "apiVersion": "v1", "metadata": NAMESPACE})
        yield running


def post(plane: Any, value: dict[str, Any]) -> bool:
    """Creates an object; False if quota forbids it. A Node gets its status, and a quota that of its controller, which
    does not run."""
    kind, name = value["kind"], value["metadata"]["name"]
    path = PATHS[kind]
    status, _, answer = plane.request("POST", f"{path}?fieldValidation=Strict", json.dumps(value))
    if status == 403 and "exceeded quota" in str(answer):
        return False
    assert status == 201, answer
    if kind == "Node":
        ready = {"type": "Ready", "status": "True", "reason": "x", "message": "x"}
        amounts = value["status"]["allocatable"]
        made = {"status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}}
        plane.request("PATCH", f"{path}/{name}/status", json.dumps(made), MERGE)
        # The API server taints every new node as not ready.
        taints = {"spec": {"taints": value["spec"].get("taints")}}
        plane.request("PATCH", f"{path}/{name}", json.dumps(taints), MERGE)
    if kind == "ResourceQuota":
        hard = value["spec"]["hard"]
        used = {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}}
        plane.request("PATCH", f"{path}/{name}/status", json.dumps(used), MERGE)
    return True


def list_objects(plane: Any, kind: str) -> list[dict[str, Any]]:
    _, _, answer = plane.request("GET", PATHS[kind])
    found: list[dict[str, Any]] = answer["items"]
    return found


def clear(plane: Any) -> None:
    """Deletes what a fleet has. Claims go at once: nobody has to prepare anything."""
    for kind in (
        "Pod",
        "ResourceQuota",
        "ResourceClaimTemplate",
        "ResourceSlice",
        "Node",
        "DeviceClass",
    ):
        plane.request("DELETE", PATHS[kind], json.dumps(NOW))
    end = time.monotonic() + 30
    while (claims := list_objects(plane, "ResourceClaim")) and time.monotonic() < end:
        for claim in claims:
            path = f"{PATHS['ResourceClaim']}/{claim['metadata']['name']}"
            free = {"status": {"reservedFor": None, "allocation": None}}
            plane.request("PATCH", f"{path}/status", json.dumps(free), MERGE)
            plane.request("DELETE", path)
            plane.request("PATCH", path, json.dumps({"metadata": {"finalizers": None}}), MERGE)
    assert not claims


# -- fleets ------------------------------------------------------------------------------------------------------------


def devices(driver: str, name: str, *roots: str, **more: Any) -> dict[str, Any]:
    word = driver.partition(".")[0]
    made = (device(f"{word}-{i}", idx=i, **{ROOT: root}) | more for i, root in enumerate(roots))
    return slice_of(driver, name, *made)


def template(*requests: dict[str, Any], name: str = "shape", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "fit"},
        "spec": {"spec": {"devices": {"requests": list(requests), **more}}},
    }


def copy(*templates: str, **spec: Any) -> dict[str, Any]:
    """A pod with a claim of each template; ``requests`` are those of its container."""
    amounts = spec.pop("requests", {})
    claims = [{"name": f"c{i}"} for i in range(len(templates))]
    resources = {
        "claims": claims,
        "requests": amounts,
        "limits": {k: v for k, v in amounts.items() if "/" in k},
    }
    uses = [c | {"resourceClaimTemplateName": t} for c, t in zip(claims, templates, strict=True)]
    container = {"name": "main", "image": "example.com/image", "resources": resources}
    spec = {"containers": [container], "resourceClaims": uses, **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "copy", "namespace": "fit"},
        "spec": spec,
    }


def worker(name: str, pods: str = "110", **more: Any) -> dict[str, Any]:
    return node(name, allocatable={"pods": pods}, **more)


def shareable_device(name: str, value: str, **policy: Any) -> dict[str, Any]:
    memory = {"value": value} | ({"requestPolicy": policy} if policy else {})
    return {"name": name, "allowMultipleAllocations": True, "capacity": {"memory": memory}}


def partition(name: str, slices: int) -> dict[str, Any]:
    taken = [{"counterSet": "gpu-0", "counters": {"slices": {"value": str(slices)}}}]
    return {
        "name": name,
        "attributes": {"profile": {"string": f"{slices}g"}},
        "consumesCounters": taken,
    }


def partitions(name: str, *sizes: int, release: str) -> list[dict[str, Any]]:
    """A GPU of seven slices and its partitions; counters have a slice of their own since 1.35."""
    counters = [{"name": "gpu-0", "counters": {"slices": {"value": "7"}}}]
    parts = slice_of(GPU, name, *(partition(f"p{i}", size) for i, size in enumerate(sizes)))
    if release == "1.34":
        parts["spec"]["sharedCounters"] = counters
        return [parts]
    parts["spec"]["pool"]["resourceSliceCount"] = 2
    alone = slice_of(GPU, name, resourceSliceCount=2)
    alone["metadata"]["name"] += "-counters"
    del alone["spec"]["devices"]
    alone["spec"]["sharedCounters"] = counters
    return [parts, alone]


def request_alternatives(*counts: int) -> dict[str, Any]:
    options = [
        {"name": f"n{n}", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": n}
        for n in counts
    ]
    return {"name": "gpu", "firstAvailable": options}


ONE = request("gpu", "gpu")
SICK = [{"key": "xid", "value": "79", "effect": "NoSchedule"}]


def fleet(name: str, release: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The objects of a fleet, and a copy."""
    pair = template(
        request("gpu", "gpu", 2), request("nic", "nic"), constraints=[{"matchAttribute": ROOT}]
    )
    mixed = [worker("a"), devices(GPU, "a", *"rrrr"), worker("b"), devices(GPU, "b", "r", "r", "r")]
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "fit"},
    }
    fleets: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
        "one": ([template(ONE), *mixed, worker("c")], copy("shape")),
        "aligned": (
            [
                pair,
                *(
                    worker("a"),
                    devices(GPU, "a", "r1", "r1", "r2", "r2", "r3"),
                    devices(NIC, "a", "r1", "r3"),
                ),
                *(worker("b"), devices(GPU, "b", "r1", "r1"), devices(NIC, "b", "r1", "r1")),
            ],
            copy("shape"),
        ),
        "few-pods": (
            [template(ONE), worker("a", pods="2"), devices(GPU, "a", *"rrrr")],
            copy("shape"),
        ),
        "all-on-a-node": (
            [
                template(
                    {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
                ),
                *mixed,
            ],
            copy("shape"),
        ),
        "two-claims": (
            [template(ONE), template(request("gpu", "gpu", 2), name="other"), *mixed],
            copy("shape", "other"),
        ),
        "shared-capacity": (
            [
                template(request("gpu", "gpu", capacity={"requests": {"memory": "15Gi"}})),
                *(
                    worker("a"),
                    slice_of(
                        GPU, "a", shareable_device("d0", "40Gi"), shareable_device("d1", "80Gi")
                    ),
                ),
                worker("b"),
                slice_of(
                    GPU,
                    "b",
                    shareable_device(
                        "d0", "80Gi", default="10Gi", validRange={"min": "10Gi", "step": "10Gi"}
                    ),
                ),
            ],
            copy("shape"),
        ),
        "partitions": (
            [
                template(ONE),
                worker("a"),
                *partitions("a", 3, 1, 1, 4, 2, 1, release=release),
                worker("b"),
            ],
            copy("shape"),
        ),
        "distinct": (
            [
                template(request("gpu", "gpu", 2), constraints=[{"distinctAttribute": ROOT}]),
                *(
                    worker("a"),
                    devices(GPU, "a", "r1", "r1", "r1", "r2"),
                    worker("b"),
                    devices(GPU, "b", "r1", "r2"),
                ),
            ],
            copy("shape"),
        ),
        "first-available": (
            [
                template(request_alternatives(3, 2)),
                *mixed,
                worker("c"),
                devices(GPU, "c", *"rrrrr"),
            ],
            copy("shape"),
        ),
        "tainted-devices": (
            [
                template(request("gpu", "gpu", tolerations=[{"key": "xid", "operator": "Exists"}])),
                template(ONE, name="other"),
                *(
                    worker("a"),
                    devices(GPU, "a", "r", "r", taints=SICK),
                    worker("b"),
                    devices(GPU, "b", *"rrr"),
                ),
            ],
            copy("shape", "other"),
        ),
        "node-selector-and-taints": (
            [
                template(ONE),
                *(worker("a", labels={"zone": "x"}), devices(GPU, "a", "r", "r")),
                *(worker("b", labels={"zone": "y"}), devices(GPU, "b", *"rrr")),
                worker("c", labels={"zone": "x"}, taints=[{"key": "t", "effect": "NoSchedule"}]),
                devices(GPU, "c", *"rrr"),
                worker("d", labels={"zone": "x"}, unschedulable=True),
                devices(GPU, "d", *"rrr"),
            ],
            copy(
                "shape",
                nodeSelector={"zone": "x"},
                tolerations=[{"key": "t", "operator": "Exists"}],
            ),
        ),
        "cpu": ([template(ONE), *mixed], copy("shape", requests={"cpu": "3"})),
        "extended-resource": (
            [worker("a"), devices(GPU, "a", *"rrr"), worker("b"), devices(GPU, "b", "r")],
            copy(requests={"example.com/gpu": "1"}),
        ),
        "admin-access": (
            [
                template(request("gpu", "gpu", adminAccess=True)),
                worker("a", pods="4"),
                devices(GPU, "a", "r"),
            ],
            copy("shape"),
        ),
        "quota-of-claims": (
            [
                template(ONE),
                *mixed,
                quota | {"spec": {"hard": {"count/resourceclaims.resource.k8s.io": "3"}}},
            ],
            copy("shape"),
        ),
        "quota-of-devices": (
            [
                template(request("gpu", "gpu", 2)),
                *mixed,
                quota | {"spec": {"hard": {"gpu.deviceclass.resource.k8s.io/devices": "5"}}},
            ],
            copy("shape"),
        ),
        "quota-of-pods": (
            [template(ONE), *mixed, quota | {"spec": {"hard": {"pods": "2"}}}],
            copy("shape"),
        ),
    }
    return fleets[name]


FLEETS = [
    *(
        "one",
        "aligned",
        "few-pods",
        "all-on-a-node",
        "two-claims",
        "shared-capacity",
        "partitions",
        "distinct",
    ),
    *(
        "first-available",
        "tainted-devices",
        "node-selector-and-taints",
        "cpu",
        "extended-resource",
        "admin-access",
    ),
    *("quota-of-claims", "quota-of-devices", "quota-of-pods"),
]
CLASSES = [
    device_class("gpu", f"device.driver == '{GPU}'"),
    device_class("nic", f"device.driver == '{NIC}'"),
]


@pytest.mark.parametrize("name", FLEETS)
def test_as_many_fit_as_the_scheduler_places(plane: Any, name: str, tmp_path: Any) -> None:
    objects, pod = fleet(name, plane.release)
    classes = json.loads(json.dumps(CLASSES))
    if name == "extended-resource":
        classes[0]["spec"]["extendedResourceName"] = "example.com/gpu"
    try:
        for value in [*classes, *objects]:
            assert post(plane, value)
        workload = tmp_path / "workload.json"
        body = {"metadata": {}, "spec": pod["spec"]}
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": pod["metadata"],
            "spec": {"template": body},
        }
        workload.write_text(json.dumps(job))
        arguments = (
            "-f",
            str(workload),
            "--devices",
            "cluster",
            "--feature-gates",
            GATES,
            "-o",
            "json",
            "--isolated",
        )
        _, text = dractl(plane, "fit", "job/copy", "-n", "fit", *arguments)
        said = json.loads(text)
        placed, messages, refused = play(plane, pod, said["fits"] + 3)
        assert said["fits"] == placed.total()
        assert {n["name"]: n["fits"] for n in said["nodes"] if n["fits"]} == dict(placed) or refused
        if messages and not refused:
            assert said["schedulerMessage"] in messages
    finally:
        clear(plane)


def play(plane: Any, pod: dict[str, Any], count: int) -> tuple[Counter[str], set[str], bool]:
    """Creates copies; how many each node got, what the scheduler says of the others, and whether a quota refused any:
    which nodes the copies before it got is a matter of score then."""
    names = [f"copy-{number}" for number in range(count)]
    created = [
        name
        for name in names
        if post(plane, pod | {"metadata": {"name": name, "namespace": "fit"}})
    ]
    end, last, same = time.monotonic() + 60, None, 0
    while time.monotonic() < end and same < 12:
        pods = list_objects(plane, "Pod")
        now = [(p["spec"].get("nodeName"), refusals(p)) for p in pods]
        same = same + 1 if now == last else 0
        last = now
        if same >= 3 and all(where or why for where, why in now):
            break
        time.sleep(0.4)
    placed = Counter(p["spec"]["nodeName"] for p in pods if p["spec"].get("nodeName"))
    messages = {why for p in pods if not p["spec"].get("nodeName") for why in refusals(p)}
    silent = any(not p["spec"].get("nodeName") and not refusals(p) for p in pods)
    return placed, messages, silent or len(created) < count


def refusals(pod: dict[str, Any]) -> list[str]:
    conditions = pod.get("status", {}).get("conditions", ())
    return [
        c["message"] for c in conditions if c["type"] == "PodScheduled" and c["status"] == "False"
    ]
