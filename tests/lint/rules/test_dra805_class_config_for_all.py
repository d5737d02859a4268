"""DRA805 class-config-for-all."""

from __future__ import annotations

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import NICS, claim, device_class, documents


def test_up_to_1_33_the_configuration_of_a_class_is_for_all_requests() -> None:
    guard = 'device.driver == "gpu.example.com"'
    mixed = (
        claim("a shared\nb whole\nc nic.example.com").replace("exactly: {", "").replace("}\n", "\n")
    )
    mixed = mixed.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1").replace(
        "{name: gpus\n", "{name: gpus}\n"
    )
    text = documents(
        device_class("shared", guard, config="gpu.example.com"), device_class("whole", guard), NICS
    )
    text = text.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1") + "---\n" + mixed
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.33"))
    (advice,) = [finding for finding in report.findings if finding.code == "DRA805"]
    assert (advice.severity, advice.path) == ("info", "spec.devices.requests[1].deviceClassName")
    assert not [
        f
        for f in lint(load(["-"], stdin=text.encode()), Target.of("1.34")).findings
        if f.code == "DRA805"
    ]
