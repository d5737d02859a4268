"""Facts that were true once: what is released, and what versions after it bring."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import pytest

from dractl.drivers import Options, render
from dractl.lint import lint
from dractl.lint.inventory import TriedDevices
from dractl.machines import machine
from dractl.manifests import load
from dractl.model import Target, decode
from tests.lint.written import claim, found as found_at_newest, selecting

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.lint.finding import Finding

GPU = 'device.attributes["gpu.nvidia.com"]'
NUMA = 'device.attributes["resource.kubernetes.io"].numaNode == 0'
SLICE = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: s}}
spec:
  driver: gpu.nvidia.com
  nodeName: n
  pool: {{name: n, generation: 1, resourceSliceCount: 1}}
  devices:
  - {{name: d, attributes: {{{attributes}}}}}
"""


def find(text: str, code: str, versions: Mapping[str, str] = MappingProxyType({})) -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"), versions=versions)
    return [finding for finding in report.findings if finding.code == code]


def test_numa_nodes_of_gpus_are_released() -> None:
    """0.5.0 is a release (kubernetes-sigs/dra-driver-nvidia-gpu#1365)."""
    assert find(selecting(NUMA, "gpu.nvidia.com"), "DRA715") == []


def test_a_stated_version_is_judged() -> None:
    (finding,) = find(selecting(NUMA, "gpu.nvidia.com"), "DRA715", {"gpu.nvidia.com": "0.4.1"})
    assert finding.severity == "warning"
    assert "only from v0.5.0 on; this is judged as 0.4.1" in finding.message


def test_value_only_on_main_is_a_note_without_a_fix() -> None:
    (finding,) = find(selecting(f'{GPU}.type == "vgpu"', "any"), "DRA719")
    assert (finding.severity, finding.fix) == ("info", None)
    assert "only from main on, seen on 2026-11-22 and not released yet" in finding.message
    (finding,) = find(selecting(f'{GPU}.profileSlug == "12q"', "any"), "DRA715")
    assert finding.severity == "info"
    assert find(selecting(f'{GPU}.profileSlug == "12q"', "any"), "DRA714") == []


def test_absence_names_its_version_and_date() -> None:
    (finding,) = find(selecting(f'{GPU}.nosuchthing == "1"', "gpu.nvidia.com"), "DRA714")
    assert "known to v0.5.1" in str(finding.help)


PAIR = "constraints: [{{requests: [gpu, nic], matchAttribute: {name}}}]"
REFUSED = "config: [{opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConf}}}]"
TOLERANT = "tolerations: [{{key: {key}, operator: Exists, effect: {effect}}}]"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            claim("gpu gpu.nvidia.com\nnic dranet", PAIR.format(name="gpu.nvidia.com/parentUUID")),
            "DRA720",
        ),
        (selecting(f'{GPU}.architecture.startsWith("hop")', "gpu.nvidia.com"), "DRA721"),
        (selecting(f'{GPU}.type == "tpu"', "gpu.nvidia.com"), "DRA719"),
        (
            claim(
                f"r gpu.nvidia.com {{{TOLERANT.format(key='gpu.nvidia.com/gpulost', effect='NoSchedule')}}}"
            ),
            "DRA726",
        ),
        (
            claim(
                f"r gpu.nvidia.com {{{TOLERANT.format(key='gpu.nvidia.com/zzz', effect='NoSchedule')}}}"
            ),
            "DRA726",
        ),
        (claim("gpu gpu.nvidia.com", REFUSED), "DRA711"),
        (selecting(f'{GPU}.architcture == "Hopper"', "gpu.nvidia.com"), "DRA713"),
        (
            claim(
                "g gpu.nvidia.com {count: 2}",
                "constraints: [{matchAttribute: gpu.nvidia.com/architcture}]",
            ),
            "DRA713",
        ),
        (selecting(f"{GPU}.index == 0", "gpu.nvidia.com"), "DRA715"),
        (
            selecting(
                'device.attributes["a.example.com"].architecture == "Hopper"', "gpu.nvidia.com"
            ),
            "DRA717",
        ),
        (claim("gpu gpu.nvidia.com {capacity: {requests: {tensors: 1}}}"), "DRA725"),
    ],
)
def test_impossible_value_names_its_version_and_date(text: str, code: str) -> None:
    (finding,) = find(text, code)
    assert re.search(
        r"(known to|newest is) v0\.5\.1, read on 2026-1", f"{finding.message} {finding.help}"
    )


def test_attribute_of_no_described_device_names_its_version_and_date() -> None:
    rendered = render(machine("2xH100"), Options("node", Target.of("1.37")), ["gpu.nvidia.com"])
    of_class = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.nvidia.com}, spec: {}}"
    classes = {"gpu.nvidia.com": load(["-"], stdin=of_class.encode()).documents[0].value}
    text = claim("g gpu.nvidia.com {count: 2}", "constraints: [{matchAttribute: a.test/b}]")
    inventory = TriedDevices(map(decode, rendered.slices), classes)
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"), devices=inventory)
    (finding,) = [one for one in report.findings if one.code == "DRA753"]
    assert "gpu.nvidia.com is known to v0.5.1" in str(finding.help)


def test_a_version_newer_than_all_known_makes_it_a_note() -> None:
    (finding,) = find(
        selecting(f'{GPU}.nosuchthing == "1"', "gpu.nvidia.com"),
        "DRA714",
        {"gpu.nvidia.com": "0.9.0"},
    )
    assert finding.severity == "info"
    assert "0.9.0 is newer" in finding.message


def test_value_of_a_slice_is_not_reported_absent() -> None:
    text = selecting(f'{GPU}.nosuchthing == "1"', "gpu.nvidia.com")
    assert find(f"{text}\n---{SLICE.format(attributes='nosuchthing: {string: x}')}", "DRA714") == []
    text = selecting(f'{GPU}.type == "tpu"', "any")
    assert find(text, "DRA719") != []
    assert find(f"{text}\n---{SLICE.format(attributes='type: {string: tpu}')}", "DRA719") == []


def test_a_field_of_dranets_main_is_a_note() -> None:
    config = "config: [{opaque: {driver: dra.net, parameters: {interface: {addressing: SLAAC}}}}]"
    (finding,) = find(claim("nic dranet", config), "DRA711")
    assert (finding.severity, finding.fix) == ("info", None)
    assert "dra.net v1.4.0 would refuse this" in finding.message
    assert find(claim("nic dranet", config), "DRA711", {"dra.net": "main"}) == []
    (finding,) = find(claim("nic dranet", config), "DRA711", {"dra.net": "1.2"})
    assert "dra.net 1.2 would refuse this" in finding.message


def test_tolerations_of_neuron_taints() -> None:
    """Set by the Neuron Observer (beta since 2026-10); their keys are not known."""
    tolerant = "tolerations: [{key: neuron.aws.com/faulty, operator: Exists, effect: NoSchedule}]"
    assert found_at_newest(claim(f"r neuron.aws.com {{{tolerant}}}"), "DRA726") == []


def test_attribute_of_another_amd_driver_is_no_mistake() -> None:
    """Project-HAMi/amd-dra-driver has brand and uuid; by which name it publishes them was not verified."""
    text = selecting('device.attributes["gpu.amd.com"].brand == "Instinct"', "gpu.amd.com")
    assert find(text, "DRA714") == []
    (finding,) = find(text, "DRA716")
    assert (finding.severity, finding.confidence) == ("info", "possible")


DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: driver}}
spec:
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      resourceClaims: [{{name: c, resourceClaimTemplateName: t}}]
      containers: [{{name: d, image: "r/dra-driver-nvidia-gpu:{tag}", resources: {{claims: [{{name: c}}]}}}}]
"""


def test_the_version_of_an_image_in_the_input_is_judged() -> None:
    text = selecting(NUMA, "gpu.nvidia.com")
    (finding,) = find(f"{text}\n---{DAEMON_SET.format(tag='v0.4.1')}", "DRA715")
    assert "this is judged as v0.4.1" in finding.message
    for tag in ("v0.5.1", "latest", "sha-12ab"):
        assert find(f"{text}\n---{DAEMON_SET.format(tag=tag)}", "DRA715") == []


def test_classes_of_gke_are_known_by_name() -> None:
    assert find(claim("nic mrdma.google.com"), "DRA722") == []
    assert find(claim("nic mrdma.gogle.com"), "DRA722") != []
    selector = 'device.attributes["dra.net"].cloudNetwork == "a"'
    assert find(selecting(selector, "mrdma.google.com"), "DRA714") == []


def test_unknown_values_of_a_slice_are_noted() -> None:
    text = SLICE.format(attributes="nosuchthing: {string: x}, type: {string: tpu}")
    (note,) = lint(load(["-"], stdin=text.encode()), Target.of("1.37")).notes
    assert "slices of gpu.nvidia.com have attribute nosuchthing, type tpu" in note
    assert "known to v0.5.1, read on" in note
    assert "dractl facts" in note
    text = SLICE.format(attributes="type: {string: gpu}")
    assert lint(load(["-"], stdin=text.encode()), Target.of("1.37")).notes == ()


def test_note_holds_no_invalid_name() -> None:
    text = SLICE.format(attributes="'##[group]': {string: x}, type: {string: gpu}")
    assert lint(load(["-"], stdin=text.encode()), Target.of("1.37")).notes == ()


@pytest.mark.parametrize(
    ("product", "name", "brand", "memory"),
    [
        ("A800", "NVIDIA A800-SXM4-80GB", "Nvidia", "80Gi"),
        ("H800", "NVIDIA H800", "Nvidia", "81559Mi"),
        ("H20", "NVIDIA H20", "Nvidia", "97871Mi"),
        ("H200-NVL", "NVIDIA H200 NVL", "Nvidia", "143771Mi"),
        ("H800-PCIe", "NVIDIA H800 PCIe", "Nvidia", "81559Mi"),
        ("GH200-144GB", "NVIDIA GH200 144G HBM3e", "Nvidia", "146831Mi"),
        ("PG506-232", "NVIDIA PG506-232", "Nvidia", "96Gi"),
        ("A100-PCIe-40GB", "NVIDIA A100-PCIE-40GB", "Nvidia", "40Gi"),
        ("RTX-A6000", "NVIDIA RTX A6000", "NvidiaRTX", "49140Mi"),
        ("RTX-4090", "NVIDIA GeForce RTX 4090", "GeForce", "24564Mi"),
    ],
)
def test_products_as_nvidia_smi_prints_them(
    product: str, name: str, brand: str, memory: str
) -> None:
    """NVIDIA/open-gpu-kernel-modules README.md for the names; nvidia-smi for memory and brand."""
    rendered = render(machine(product), Options("node", Target.of("1.37")), ["gpu.nvidia.com"])
    (device,) = rendered.slices[0]["spec"]["devices"]
    assert device["attributes"]["productName"] == {"string": name}
    assert device["attributes"]["brand"] == {"string": brand}
    assert device["capacity"]["memory"]["value"] == memory
