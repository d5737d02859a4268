"""Fields of manifests that an API server drops: whether they were in effect before."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.manifests import load
from dractl.model import Target
from dractl.upgrade import Finding, server

TOLERATING = b"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: tolerating}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, tolerations: [{operator: Exists}]}
"""
ADMIN = b"""\
apiVersion: resource.k8s.io/v1alpha3
kind: ResourceClaim
metadata: {name: admin}
spec:
  devices:
    requests:
    - {name: gpu, deviceClassName: gpu, adminAccess: true}
"""


def differences(
    manifest: bytes, before: str, after: str, gates: dict[str, bool] | None = None
) -> list[Finding]:
    (document,) = load(["-"], stdin=manifest).documents
    targets: list[Any] = [Target.of(release, gates) for release in (before, after)]
    return list(server.differences([server.Input(document.value)], *targets, {}, {}))


def test_a_dropped_field_whose_gate_was_off_breaks_nothing() -> None:
    """pkg/registry/resource/resourceclaim/strategy.go of 1.34 has no DRADeviceTaints, that of 1.35 drops tolerations;
    with the gate off the allocator of neither looks at taints (features.DeviceTaints in allocator_stable.go).
    """
    (finding,) = differences(TOLERATING, "1.34", "1.35")
    assert (finding.code, finding.level) == ("field-dropped", "changes")
    assert "spec.devices.requests[0].exactly.tolerations: 1.35 drops it silently" in finding.message
    assert "no effect without DRADeviceTaints" in finding.message


def test_with_its_gate_the_field_stays() -> None:
    assert not differences(TOLERATING, "1.34", "1.35", {"DRADeviceTaints": True})


def test_dropped_field_without_a_gate_was_in_effect() -> None:
    """DRAAdminAccess came with 1.32; before, the scheduler of 1.31 gave access with no gate (KEP-5018)."""
    (finding,) = differences(ADMIN, "1.31", "1.32")
    assert (finding.code, finding.level) == ("field-dropped", "breaks")
    assert "adminAccess" in finding.message


@pytest.mark.parametrize("step", [("1.35", "1.36"), ("1.36", "1.37")])
def test_field_no_longer_dropped_is_no_loss(step: tuple[str, str]) -> None:
    levels = {finding.level for finding in differences(TOLERATING, *step)}
    assert levels <= {"changes"}
