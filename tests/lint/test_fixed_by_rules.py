"""Fixes that messages know, and what the API server then gets."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.lint.fixes import apply_text_fixes
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, documents, found, pod, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


def apply_fixes(text: str, *, safe: bool = False) -> str:
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"))
    fixes = [finding.fix for finding in report.findings if finding.fix is not None]
    assert {fix.safe for fix in fixes} == {
        safe
    }  # unsafe: the server refuses or drops it, and what was meant is a guess
    after, _ = apply_text_fixes(text, fixes)
    left = lint(load(["-"], stdin=after.encode()), Target.of("1.37")).findings
    assert not [finding for finding in left if finding.severity != "info"]
    return after


@pytest.mark.parametrize(
    ("written", "meant", "of_class"),
    [
        (
            f'{GPU}.memory.compareTo(quantity("40Gi")) >= 0',
            'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0',
            "gpu.nvidia.com",
        ),
        (f'{GPU}.architecture = "Hopper"', f'{GPU}.architecture == "Hopper"', "gpu.nvidia.com"),
        (
            f'{GPU}.driverVersion >= "580.0.0"',
            f'{GPU}.driverVersion.compareTo(semver("580.0.0")) >= 0',
            "gpu.nvidia.com",
        ),
        (
            'device.attributes["dra.net"].ifName == "eth1"',
            '"ifName" in device.attributes["dra.net"] && device.attributes["dra.net"].ifName == "eth1"',
            "dranet",
        ),
    ],
)
def test_selectors(written: str, meant: str, of_class: str) -> None:
    assert apply_fixes(selecting(written, of_class)) == selecting(meant, of_class)


def test_an_equals_sign_in_a_string_is_none() -> None:
    text = selecting(f'{GPU}.productName = "a=b"', "gpu.nvidia.com")
    (finding,) = [
        item
        for item in lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
        if item.api
    ]
    assert finding.fix is not None
    assert '== "a=b"' in apply_text_fixes(text, [finding.fix])[0]


def test_where_class_and_domain_are_equally_likely_none_is_offered() -> None:
    (finding,) = found(selecting(f'{GPU}.productName.contains("H100")', "gpu.amd.com"), "DRA717")
    assert finding.fix is None


ALTERNATIVES = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - {name: big, deviceClassName: gpu.vendor.example, count: 2}
      - {name: small, deviceClassName: gpu.vendor.example, count: 3}
    constraints:
    - {requests: [NAME], matchAttribute: resource.kubernetes.io/pcieRoot}
"""


def test_an_alternative_without_its_request() -> None:
    assert apply_fixes(ALTERNATIVES.replace("NAME", "big")) == ALTERNATIVES.replace(
        "NAME", "gpu/big"
    )


def test_the_only_request() -> None:
    constraint = (
        "constraints:\n- {requests: [NAME], matchAttribute: resource.kubernetes.io/pcieRoot}"
    )
    text = claim("gpus gpu.vendor.example {count: 2}", constraint)
    assert apply_fixes(text.replace("NAME", "nic")) == text.replace("NAME", "gpus")


def test_the_name_of_a_claim_in_any_workload() -> None:
    text = documents(claim("gpu gpu.vendor.example"), pod("gpu=gpus"))
    assert (
        apply_fixes(text.replace("claims: [{name: gpu}]", "claims: [{name: gpuu}]"), safe=True)
        == text
    )


TWICE = "spec:\n  spec:\n    devices:\n      requests:\n\n      - name: gpu\n        exactly: {deviceClassName: gpu}\n"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (TWICE, TWICE.replace("\n  ", "\n").replace("spec:\nspec:\n", "spec:\n", 1)),
        ("spec: {spec: {devices: {}}}\n", "spec: {devices: {}}\n"),
        ("spec:\n  spec: {devices: {}}\n", "spec:\n  devices: {}\n"),
        (TWICE.replace("  spec:\n", "  spec: # why\n"), ""),
        (TWICE.replace("  spec:\n", "  spec:\n    # why\n"), ""),
    ],
)
def test_a_spec_around_the_spec_goes_unless_a_comment_would_go_with_it(
    written: str, meant: str
) -> None:
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: gpus}\n"
    report = lint(load(["-"], stdin=(head + written).encode()), Target.of("1.37"))
    (finding,) = [item for item in report.findings if "spec belongs at spec" in item.message]
    if meant:
        assert finding.fix is not None
        assert apply_text_fixes(head + written, [finding.fix])[0] == head + meant
    else:
        assert finding.fix is None


def test_fields_of_requests_beside_them() -> None:
    text = claim("gpu gpu.vendor.example", "tolerations: [{key: a, operator: Exists}]")
    (finding,) = lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
    assert finding.help == "tolerations belongs in requests[].exactly"


IN_BRACES = claim("gpu gpu.nvidia.com")
IN_LINES = IN_BRACES.rstrip().replace(
    " {deviceClassName: gpu.nvidia.com}", "\n        deviceClassName: gpu.nvidia.com"
)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (
            "\n      tolerations:\n      - operator: Exists\n",
            "\n        tolerations:\n        - operator: Exists\n",
        ),
        (
            "\n    tolerations: [{operator: Exists}]\n",
            "\n        tolerations: [{operator: Exists}]\n",
        ),
        ("\n        allocationMode: All\n        count: 2\n", "\n        allocationMode: All\n"),
    ],
    ids=["beside exactly", "in devices", "count with All"],
)
def test_a_field_of_a_request_in_lines(wrong: str, right: str) -> None:
    assert apply_fixes(IN_LINES + wrong) == IN_LINES + right


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("}\n      tolerations: [{operator: Exists}]\n", ", tolerations: [{operator: Exists}]}\n"),
        (", allocationMode: All, count: 2}\n", ", allocationMode: All}\n"),
    ],
    ids=["beside exactly", "count with All"],
)
def test_a_field_of_a_request_in_braces(wrong: str, right: str) -> None:
    text = IN_BRACES.rstrip("}\n")
    assert apply_fixes(text + wrong) == text + right


def test_numeric_amount_has_no_unit_to_remove() -> None:
    text = claim("gpu a.com {capacity: {requests: {memory: [80 GB]}}}")
    found = lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
    assert found
    assert not any(finding.fix and "write" in finding.fix.title for finding in found)


@pytest.mark.parametrize(
    ("of_class", "written", "meant"),
    [
        ("dra.cpu", "dra.cpu/cpu: 4 cores", "dra.cpu/cpu: 4"),
        ("a.com", "memory: 80 GB", "memory: 80G"),
        ("a.com", "x: 40GiB", "x: 40Gi"),
    ],
)
def test_units(of_class: str, written: str, meant: str) -> None:
    text = claim(f"gpu {of_class} {{capacity: {{requests: {{{written}}}}}}}")
    assert apply_fixes(text) == text.replace(written, meant)


USER = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: gpus}]
  containers:
  - name: c
    image: x
    resources:
      RESOURCES
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("limits:\n        claims:\n        - name: gpu", "claims:\n      - name: gpu"),
        (
            "limits:\n        cpu: 1\n        claims: [{name: gpu}]",
            "limits:\n        cpu: 1\n      claims: [{name: gpu}]",
        ),
        ("claims: [{name: gpu, request: gpuu}]", "claims: [{name: gpu, request: gpu}]"),
    ],
    ids=["limits alone", "limits", "the only request"],
)
def test_claims_of_a_container(wrong: str, right: str) -> None:
    def text(resources: str) -> str:
        return documents(USER.replace("RESOURCES", resources), claim("gpu gpu.nvidia.com"))

    assert apply_fixes(text(wrong)) == text(right)
