"""What else stands in a repository counts: gates of drivers, objects that add attributes, labels of namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, documents

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint.finding import Finding

SRIOV = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: sriov}
spec:
  selectors:
  - cel: {expression: 'device.driver == "sriovnetwork.k8snetworkplumbingwg.io"'}
  - cel: {expression: 'device.attributes["k8s.cni.cncf.io"].resourceName == "fast"'}
"""
ADDED_ATTRIBUTE = """\
apiVersion: sriovnetwork.k8snetworkplumbingwg.io/v1alpha1
kind: DeviceAttributes
metadata: {name: fast}
spec: {attributes: {k8s.cni.cncf.io/resourceName: {string: fast}}}
"""
SHARED = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
    config:
    - opaque:
        driver: gpu.nvidia.com
        parameters:
          apiVersion: resource.nvidia.com/v1beta1
          kind: GpuConfig
          sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: nvidia-dra-driver-gpu}
spec: {values: {featureGates: {TimeSlicingSettings: %s}}}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ai}\n"
ADMIN = claim("gpu gpu.example.com {allocationMode: All, adminAccess: true}")


def find(folder: Path, code: str, release: str = "1.37", **files: str) -> list[Finding]:
    """The findings of a rule in the first file: alone, and the same within all."""
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    first = str(folder / f"{next(iter(files))}.yaml")
    alone, whole = (
        lint(load([path]), Target.of(release)).findings for path in (first, str(folder))
    )
    assert [item.message for item in alone] == [
        item.message for item in whole if item.position.file == first
    ]
    return [item for item in alone if item.code == code]


def test_attribute_added_by_another_object_is_known(tmp_path: Path) -> None:
    assert find(tmp_path, "DRA716", sriov=SRIOV, added=ADDED_ATTRIBUTE) == []


def test_nothing_adds_the_attribute(tmp_path: Path) -> None:
    (finding,) = find(tmp_path, "DRA716", sriov=SRIOV)
    assert "(set only by a DeviceAttributes object)" in finding.message


@pytest.mark.parametrize(("value", "count"), [("true", 0), ("false", 1)])
def test_gate_set_by_a_release_of_the_driver_is_known(
    tmp_path: Path, value: str, count: int
) -> None:
    assert len(find(tmp_path, "DRA729", claim=SHARED, release_=RELEASE % value)) == count


@pytest.mark.parametrize(("namespace", "severity"), [(NAMESPACE, "warning"), ("", "info")])
def test_namespaces_of_which_none_has_the_label(
    tmp_path: Path, namespace: str, severity: str
) -> None:
    files = {"claim": ADMIN, "namespace": namespace} if namespace else {"claim": ADMIN}
    assert [item.severity for item in find(tmp_path, "DRA152", **files)] == [severity]


def test_dropped_and_then_missing_field_is_one_mistake(tmp_path: Path) -> None:
    listed = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1}
spec:
  driver: dra.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: a, attributes: {root: {strings: [one]}}}]
"""
    (finding,) = find(tmp_path, "DRA318", "1.36", slices=listed)
    assert "silently drops" in finding.message
    assert lint(load([str(tmp_path / "slices.yaml")]), Target.of("1.36")).findings == (finding,)


def test_channels_are_shared_on_purpose(tmp_path: Path) -> None:
    user = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      resourceClaims: [{name: shared, resourceClaimName: one}]
      containers: [{name: c, image: x, resources: {claims: [{name: shared}]}}]
"""
    named = claim("gpu CLASS").replace("{name: gpus}", "{name: one}")
    for at, (name, count) in enumerate((("imex.nvidia.com", 0), ("gpu.nvidia.com", 1))):
        folder = tmp_path / str(at)
        folder.mkdir()
        assert (
            len(find(folder, "DRA424", all=documents(user, named.replace("CLASS", name)))) == count
        )


KUEUE = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  deviceClassMappings: [{name: gpus, deviceClassNames: [big.example.co]}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: big.example.com}
spec: {selectors: [{cel: {expression: device.driver == "example.com"}}]}
"""
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: all}
spec: {resourceGroups: [{coveredResources: [cpu, %s]}]}
"""


@pytest.mark.parametrize(("resource", "count"), [("gpu", 2), ("gpus", 1), ("memory", 1)])
def test_mappings_of_kueue_are_held_against_classes_and_quotas(
    tmp_path: Path, resource: str, count: int
) -> None:
    said = [item.message for item in find(tmp_path, "DRA423", kueue=KUEUE, queue=QUEUE % resource)]
    assert len(said) == count
    assert "did you mean big.example.com?" in said[-1]


USER = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: gpus}]
  containers:
  - {name: a, image: x, resources: {claims: [{name: NAME}]}}
"""


def test_a_misspelt_claim_of_a_container_is_one_mistake(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(
        documents(USER.replace("NAME", "gpuu"), claim("gpu gpu.nvidia.com"))
    )
    findings = lint(load([str(tmp_path / "pod.yaml")]), Target.of("1.37")).findings
    assert [item.code for item in findings] == ["DRA409"]


@pytest.mark.parametrize(
    ("container", "said"),
    [("{name: b}", "image: Required value"), ("{name: a, image: y}", 'Duplicate value: "a"')],
)
def test_container_missed_by_a_patch_is_found(tmp_path: Path, container: str, said: str) -> None:
    text = documents(
        USER.replace("NAME", "gpu") + f"  - {container}\n", claim("gpu gpu.nvidia.com")
    )
    (finding,) = find(tmp_path, "DRA417", all=text)
    assert said in finding.message
    assert finding.severity == "error"
