"""DRA733 unaligned-alternative."""

from __future__ import annotations

import pytest

from tests.lint.written import found

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: pair}
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - {name: aligned, deviceClassName: gpu.example.com}
      - {name: anywhere, deviceClassName: gpu.example.com}
    - name: nic
      firstAvailable:
      - {name: aligned, deviceClassName: nic.example.com}
      - {name: anywhere, deviceClassName: nic.example.com}
    - name: disk
      exactly: {deviceClassName: disk.example.com}
    constraints:
    - {requests: [NAMES], matchAttribute: resource.kubernetes.io/pcieRoot}
"""


@pytest.mark.parametrize(
    "names", ["gpu/aligned, nic/aligned", "gpu, nic/aligned", "nic/aligned, gpu/aligned"]
)
def test_later_request_outside_the_constraint_is_found(names: str) -> None:
    (advice,) = found(CLAIM.replace("NAMES", names), "DRA733")
    assert (advice.severity, advice.path) == (
        "warning",
        "spec.devices.requests[1].firstAvailable[1]",
    )
    assert "before the scheduler tries other devices for request gpu" in advice.message


@pytest.mark.parametrize(
    "names", ["gpu/aligned, nic", "gpu, nic", "gpu/aligned", "nic/aligned", "gpu/aligned, disk", ""]
)
def test_alternatives_of_the_first_request_alone_are_meant(names: str) -> None:
    assert not found(CLAIM.replace("NAMES", names), "DRA733")


def test_an_alternative_before_the_aligned_one_is_preferred_on_purpose() -> None:
    assert not found(CLAIM.replace("NAMES", "gpu/aligned, nic/anywhere"), "DRA733")


def test_distinct_attributes_align_nothing() -> None:
    text = CLAIM.replace("NAMES", "gpu/aligned, nic/aligned")
    assert not found(text.replace("matchAttribute", "distinctAttribute"), "DRA733")
