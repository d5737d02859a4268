"""The text about a cluster of 40 claims fits one screen of 40 lines and 100 columns, and counts what it leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dractl.cluster.sources import from_objects
from dractl.drivers import Options, render
from dractl.machines import machine
from dractl.model import Target
from dractl.report.canvas import Canvas
from dractl.report.upgrade import text as upgrade_text
from dractl.upgrade import UpgradeInput, plan
from tests.explain.cluster import claim, device_class, pod, request

if TYPE_CHECKING:
    from collections.abc import Iterator

GPU = 'device.attributes["gpu.nvidia.com"]'
SELECTORS = (f"{GPU}.index == 0", f"{GPU}.minor < 4", f'{GPU}.architecture == "Hopper"', "true")
RULE = {
    "apiVersion": "resource.k8s.io/v1alpha3",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "sick"},
    "spec": {
        "deviceSelector": {"deviceClassName": "gpu"},
        "taint": {"key": "example.com/sick", "effect": "NoSchedule"},
    },
}


def cluster() -> Iterator[dict[str, Any]]:
    """8 nodes of 8 GPUs with NVIDIA's driver 25.3 and old kubelets; 40 claims in 4 namespaces, each used by a pod."""
    for number in range(8):
        options = Options(f"n{number}", Target.of("1.34"), {"gpu.nvidia.com": "25.3"})
        yield from render(machine("dgx-h100"), options, ["gpu.nvidia.com"]).slices
        info = {"kubeletVersion": "v1.34.1", "containerRuntimeVersion": "containerd://1.7.29"}
        status = {"nodeInfo": info, "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number}"},
            "status": status,
        }
    yield device_class("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
    yield RULE
    for number in range(40):
        node, name, namespace = (
            f"n{number // 8}",
            f"c{number}",
            ("ml", "dev", "web", "batch")[number % 4],
        )
        result = {
            "request": "gpu",
            "driver": "gpu.nvidia.com",
            "pool": node,
            "device": f"gpu-{number % 8}",
        }
        user = {"resource": "pods", "name": f"p{number}", "uid": f"u{number}"}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        selectors = [{"cel": {"expression": SELECTORS[number % 4]}}]
        held = claim(name, request("gpu", "gpu.nvidia.com", selectors=selectors), status=status)
        held["metadata"]["namespace"] = namespace
        runs = pod(f"p{number}", {"name": "g", "resourceClaimName": name})
        runs["metadata"] |= {"namespace": namespace, "uid": f"u{number}"}
        runs["spec"]["nodeName"], runs["status"] = node, {"phase": "Running"}
        yield from (held, runs)


def test_a_cluster_of_forty_claims_fits_one_screen() -> None:
    found = plan(
        UpgradeInput((), from_objects(cluster()), versions={"gpu.nvidia.com": "0.5.1"}),
        "1.34",
        "1.37",
    )
    text = upgrade_text.render(found, Canvas(width=100, unicode=True))
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 100
    assert " …" not in text
    assert "field cannot be modified once set" in " ".join(text.split())
    assert found.count("breaks") + found.count("changes") > 8
    for level, noun in (("breaks", "break"), ("changes", "behaviour change"), ("info", "note")):
        shown = len(re.findall(rf"^  {level.upper()} ", text, re.MULTILINE))
        hidden = sum(
            int(count) for count in re.findall(rf"(\d+) {noun}s?[,;]", text.partition("\n")[2])
        )
        assert shown + hidden == found.count(level)  # type: ignore[arg-type]
    assert (
        len(upgrade_text.render(found, Canvas(width=100, unicode=True), every=True).splitlines())
        > 40
    )
