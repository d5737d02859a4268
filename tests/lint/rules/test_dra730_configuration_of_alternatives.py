"""DRA730 configuration-of-alternatives: the drivers' code is named in the pack of facts."""

from __future__ import annotations

import pytest

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: gpus, namespace: ml}}
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - {{name: big, deviceClassName: gpu.nvidia.com, count: 2}}
      - {{name: small, deviceClassName: gpu.nvidia.com}}
    - name: aux
      exactly: {{deviceClassName: gpu.nvidia.com}}
    config:
    - requests: [{requests}]
      opaque: {{driver: {driver}, parameters: {{}}}}
"""


def find(driver: str, requests: str) -> list[Finding]:
    text = CLAIM.format(driver=driver, requests=requests)
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"))
    return [finding for finding in report.findings if finding.code == "DRA730"]


@pytest.mark.parametrize("driver", ["gpu.nvidia.com", "dra.net"])
def test_a_configuration_of_the_parent_is_found(driver: str) -> None:
    (finding,) = find(driver, "aux, gpu")
    assert finding.help is not None
    assert "gpu/big, gpu/small" in finding.help
    assert finding.path is not None
    assert finding.path.endswith("requests[1]")


@pytest.mark.parametrize("requests", ["gpu/big, gpu/small", "aux", ""])
def test_named_alternatives_and_other_requests_are_not_found(requests: str) -> None:
    assert find("gpu.nvidia.com", requests) == []


def test_drivers_not_known_for_it_are_not_found() -> None:
    assert find("driver.example.org", "gpu") == []
    assert find("gpu.intel.com", "gpu") == []
