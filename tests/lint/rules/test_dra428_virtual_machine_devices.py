"""DRA428 virtual-machine-devices: kubevirt/kubevirt pkg/dra/admitter/dra_admitter.go."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, documents, found, template

MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm}
spec:
  template:
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
      domain:
        devices:
          DEVICES
"""
TEMPLATE = template(claim("gpu gpu.example.com"))
HOME = "spec.template.spec.domain.devices"


def machine(devices: str) -> str:
    return documents(TEMPLATE, MACHINE.replace("DEVICES", devices))


@pytest.mark.parametrize(
    "devices",
    [
        "gpus: [{name: a, claimName: gpu, requestName: gpu}]",
        "gpus: [{name: a, deviceName: nvidia.com/A100}]",
        "hostDevices: [{name: a, claimName: gpu, requestName: gpu}, {name: b, deviceName: x.com/nic}]",
        "gpus: [{name: a, claimName: '${CLAIM}', requestName: gpu}]",
        "disks: []",
    ],
)
def test_devices_accepted_by_kubevirt_are_fine(devices: str) -> None:
    assert found(machine(devices), "DRA428") == []


@pytest.mark.parametrize(
    ("devices", "path", "words", "severity"),
    [
        (
            "gpus: [{name: a, claimName: gpux, requestName: gpu}]",
            f"{HOME}.gpus[0].claimName",
            "not in resourceClaims: gpu",
            "error",
        ),
        (
            "gpus: [{name: a, claimName: gpu, requestName: gpus}]",
            f"{HOME}.gpus[0].requestName",
            "no request gpus, but gpu",
            "warning",
        ),
        (
            "gpus: [{name: a, claimName: gpu, requestName: gpu}, {name: b, claimName: gpu, requestName: gpu}]",
            f"{HOME}.gpus[1]",
            "is used twice",
            "error",
        ),
        (
            "{gpus: [{claimName: gpu, requestName: gpu}], hostDevices: [{claimName: gpu, requestName: gpu}]}",
            f"{HOME}.hostDevices[0]",
            "is used twice",
            "error",
        ),
        ("gpus: [{name: a, claimName: gpu}]", f"{HOME}.gpus[0]", "requestName", "error"),
        ("gpus: [{name: a}]", f"{HOME}.gpus[0]", "either deviceName", "error"),
        (
            "gpus: [{name: a, deviceName: x.com/a, claimName: gpu, requestName: gpu}]",
            f"{HOME}.gpus[0]",
            "not both",
            "error",
        ),
        (
            "gpus: [{name: a, deviceName: x.com/a}, {name: b, claimName: gpu, requestName: gpu}]",
            f"{HOME}.gpus",
            "only one of the two",
            "error",
        ),
    ],
)
def test_devices_refused_by_kubevirt_are_found(
    devices: str, path: str, words: str, severity: str
) -> None:
    (finding,) = found(machine(devices), "DRA428")
    assert (finding.path, finding.severity) == (path, severity)
    assert words in finding.message


def test_values_of_the_wrong_type_do_no_harm() -> None:
    for devices in ("gpus: 3", "gpus: [3, [], {claimName: []}]", "hostDevices: {a: b}"):
        found(machine(devices), "DRA428")
