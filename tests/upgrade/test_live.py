"""A control plane upgraded over the same etcd, release by release: whatever changed had been told before."""

from __future__ import annotations

import copy
import json
import os
import signal
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cluster.sources import from_objects
from dractl.cluster.state import describe
from dractl.model.releases import COMPARED
from dractl.upgrade import Input, UpgradeInput, plan
from tests.explain.cluster import device, device_class, request
from tests.oracle import cluster_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dractl.upgrade import Plan

# The planes' processes and their logs outlive the objects that started them.
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]
API = "/apis/resource.k8s.io/v1"
KINDS = "nodes,namespaces,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,pods,deployments"
PLURALS = {"DeviceClass": "deviceclasses"}
SCOPED = ("ResourceClaim", "ResourceClaimTemplate")
SELECTOR = "device.driver == 'gpu.example.com'"


@pytest.fixture
def plane(whole: Path, tmp_path: Path) -> Iterator[Any]:
    """A control plane of the oldest release, which `upgrade` restarts as another one."""
    module = cluster_module(whole)
    for release in COMPARED:
        if not module.program(release).exists():
            pytest.skip(f"{module.program(release)} is not built")

    class Plane(module.Cluster):  # type: ignore[misc]
        """Remembers how each part was started."""

        arguments: dict[str, tuple[str, ...]]

        def _start(self, part: str, *args: str) -> None:
            self.__dict__.setdefault("arguments", {})[part] = args
            super()._start(part, *args)

        def upgrade(self, release: str) -> None:
            parts = [part for part in self.pids if part != "etcd"]
            for part in reversed(parts):
                os.kill(self.pids[part], signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(self.pids[part], 0)
            self.release, self.kube = release, module.program(release)
            for part in parts:
                self._start(part, *self.arguments[part])
                if part == "kube-apiserver":
                    self._wait("/readyz", 120)

    with Plane(COMPARED[0], directory=tmp_path / "plane") as found:
        yield found


def claim_spec(*requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"devices": {"requests": list(requests), **more}}


def object_of(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": "ml"} if kind in SCOPED else {})
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def pod(name: str, **source: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [
                {"name": "c", "image": "example.com/i", "resources": {"claims": [{"name": "d"}]}}
            ],
            "resourceClaims": [{"name": "d", **source}],
        },
    }


def slice_of(
    node: str, *devices: dict[str, Any], number: int = 0, count: int = 1, **more: Any
) -> dict[str, Any]:
    pool = {"name": f"{node}{more.pop('pool', '')}", "generation": 1, "resourceSliceCount": count}
    spec = {
        "driver": more.pop("driver", "gpu.example.com"),
        "nodeName": node,
        "pool": pool,
        "devices": list(devices),
    }
    return object_of("ResourceSlice", f"{node}-{pool['name']}-{number}", {**spec, **more})


SPECS = {
    "one": claim_spec(request("r", "gpu")),
    "four": claim_spec(request("r", "gpu", 4)),
    "all": claim_spec(
        {"name": "r", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}}
    ),
    "incomplete": claim_spec(request("r", "half")),
    "tolerating": claim_spec(
        {
            "name": "r",
            "exactly": {"deviceClassName": "gpu", "tolerations": [{"operator": "Exists"}]},
        }
    ),
    "alternatives": claim_spec(
        {
            "name": "r",
            "firstAvailable": [
                {"name": "many", "deviceClassName": "gpu", "count": 9},
                {"name": "few", "deviceClassName": "gpu", "count": 2},
            ],
        }
    ),
    "apart": claim_spec(
        request("r", "gpu", 2), constraints=[{"distinctAttribute": "gpu.example.com/root"}]
    ),
    "amount": claim_spec(
        {
            "name": "r",
            "exactly": {
                "deviceClassName": "gpu",
                "capacity": {"requests": {"gpu.example.com/memory": "1Gi"}},
            },
        }
    ),
    "same-root": claim_spec(
        request("r", "gpu", 2), constraints=[{"matchAttribute": "gpu.example.com/root"}]
    ),
    "error": claim_spec(
        request(
            "r",
            "gpu",
            selectors=[{"cel": {"expression": "device.attributes['gpu.example.com'].absent == 1"}}],
        )
    ),
}


def objects() -> list[dict[str, Any]]:
    """Return the objects that the oldest release stores."""
    made: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    ]
    made += [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": n, "labels": {"kubernetes.io/hostname": n}},
        }
        for n in ("node-1", "node-2", "node-3")
    ]
    made += [
        device_class("gpu", SELECTOR),
        device_class("half", "device.driver == 'half.example.com'"),
        {**device_class("extended", SELECTOR)},
        device_class("upper", "device.driver == 'GPU.example.com'"),
    ]
    made[-2]["spec"]["extendedResourceName"] = "example.com/gpu"
    gpus = [device(f"gpu-{n}", root=f"r{n // 2}") for n in range(8)]
    made += [slice_of("node-1", *gpus), slice_of("node-2", *gpus)]
    made += [slice_of("node-3", device("half-0"), driver="half.example.com", count=2, pool="-half")]
    shared = copy.deepcopy(gpus[:1])
    shared[0] |= {"allowMultipleAllocations": True}
    made += [slice_of("node-3", *shared, driver="share.example.com", pool="-share")]
    made += [
        object_of("ResourceClaimTemplate", name, {"spec": spec}) for name, spec in SPECS.items()
    ]
    made += [object_of("ResourceClaim", f"own-{name}", spec) for name, spec in SPECS.items()]
    made += [object_of("ResourceClaim", "joined", SPECS["one"])]
    made += [
        pod("first", resourceClaimName="joined"),
        pod("second", resourceClaimTemplateName="one"),
    ]
    return made


PROBES = [
    *(pod(f"of-{name}", resourceClaimTemplateName=name) for name in SPECS),
    pod("joins", resourceClaimName="joined"),
    pod("owns", resourceClaimName="own-four"),
]
"""Pods that are created and deleted again, in each release."""
MANIFESTS = [
    *(
        object_of("ResourceClaimTemplate", f"new-{name}", {"spec": spec})
        for name, spec in SPECS.items()
    ),
    {**device_class("new-extended", SELECTOR), "spec": {"extendedResourceName": "example.com/new"}},
    slice_of(
        "node-1", device("Upper-0") | {"name": "upper-0"}, driver="GPU.example.com", pool="-upper"
    ),
    slice_of(
        "node-2",
        device("part-0")
        | {"consumesCounters": [{"counterSet": "set", "counters": {"x": {"value": "1"}}}]},
        pool="-parts",
        sharedCounters=[{"name": "set", "counters": {"x": {"value": "1"}}}],
    ),
]


def test_every_change_had_been_reported(plane: Any, record_property: Any) -> None:
    made = objects()
    assert len(made) >= 30
    for value in made:
        done = plane.kubectl("create", "-f", "-", stdin=json.dumps(value), check=False)
        assert done.returncode == 0, (describe(value), done.stderr)
    _give_capacity(plane)
    for name in ("first", "second"):
        plane.kubectl(
            "wait", "-n", "ml", f"pod/{name}", "--for=condition=PodScheduled", "--timeout=60s"
        )
    silent, changed = [], 0
    for before, after in pairwise(COMPARED):
        told = _told(plane, before, after)
        old = _seen(plane)
        plane.upgrade(after)
        new = _seen(plane)
        for name in old:
            if old[name] != new[name]:
                changed += 1
                if name not in told:
                    silent.append((after, name, old[name], new[name]))
    record_property("cases", changed)
    assert not silent
    assert changed >= 10


def _give_capacity(plane: Any) -> None:
    capacity = {"status": {"capacity": {"cpu": "8", "memory": "8Gi", "pods": "110"}}}
    ready = [{"type": "Ready", "status": "True"}]
    for name in ("node-1", "node-2", "node-3"):
        status = {
            "status": {
                **capacity["status"],
                "allocatable": capacity["status"]["capacity"],
                "conditions": ready,
            }
        }
        plane.kubectl("patch", "node", name, "--subresource=status", "-p", json.dumps(status))
    # The admission plugin TaintNodesByCondition adds it, and no node controller takes it away.
    plane.kubectl(
        "taint", "nodes", "--all", "node.kubernetes.io/not-ready:NoSchedule-", check=False
    )


def _told(plane: Any, before: str, after: str) -> set[str]:
    """The objects of which the plan says that something breaks or changes."""
    dump = json.loads(plane.kubectl("get", "-A", KINDS, "-o", "json").stdout)["items"]
    manifests = tuple(Input(value) for value in (*MANIFESTS, *PROBES))
    found: Plan = plan(UpgradeInput(manifests, from_objects(dump)), before, after)
    return {
        name
        for step in found.steps
        for one in step.findings
        if one.level != "info"
        for name in one.objects
    }


def _seen(plane: Any) -> dict[str, Any]:
    """What a release makes of each object: stored ones as they are read, and whether they could be created again; what
    it makes of the manifests; where the probes are placed."""
    dump = json.loads(plane.kubectl("get", "-A", KINDS, "-o", "json").stdout)["items"]
    seen: dict[str, Any] = {}
    for value in dump:
        name, stays = describe(value), value["kind"] in ("ResourceClaim", "DeviceClass")
        if not value["apiVersion"].startswith("resource") or value["metadata"].get(
            "ownerReferences"
        ):
            continue
        code, spec = _created(plane, value)
        seen[name] = (value["spec"], code) if stays else (code, spec)
    seen |= {describe(value): _created(plane, value) for value in MANIFESTS}
    seen |= {describe(value): _probed(plane, value) for value in PROBES}
    return seen


def _created(plane: Any, value: dict[str, Any]) -> tuple[int, Any]:
    metadata = {"name": f"{value['metadata']['name']}-again"}
    where = ""
    if value["kind"] in SCOPED:
        metadata["namespace"], where = "ml", "/namespaces/ml"
    plural = PLURALS.get(value["kind"], f"{value['kind'].lower()}s")
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": value["kind"],
        "metadata": metadata,
        "spec": value["spec"],
    }
    path = f"{API}{where}/{plural}?dryRun=All&fieldValidation=Strict"
    code, _, answer = plane.request("POST", path, json.dumps(body))
    return code, answer["spec"] if code < 300 else None


def _probed(plane: Any, value: dict[str, Any]) -> bool:
    """True if a pod is placed when it is created now; it is deleted again."""
    name = value["metadata"]["name"]
    plane.kubectl("create", "-f", "-", stdin=json.dumps(value))
    wait = ["wait", "-n", "ml", f"pod/{name}", "--timeout=8s"]
    placed = plane.kubectl(*wait, "--for=condition=PodScheduled", check=False)
    plane.kubectl("delete", "-n", "ml", f"pod/{name}", "--force", "--grace-period=0", "--wait=true")
    plane.kubectl(
        "wait", "-n", "ml", "--for=delete", "--timeout=60s", *_claims_of(plane, name), check=False
    )
    return placed.returncode == 0


def _claims_of(plane: Any, name: str) -> list[str]:
    claims = json.loads(plane.kubectl("get", "-n", "ml", "resourceclaims", "-o", "json").stdout)[
        "items"
    ]
    owned = [
        c
        for c in claims
        if any(o["name"] == name for o in c["metadata"].get("ownerReferences") or ())
    ]
    return [f"resourceclaim/{claim['metadata']['name']}" for claim in owned]
