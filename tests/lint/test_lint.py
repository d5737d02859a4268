"""Findings point at the right token, say what the API would say, and are taken out where somebody says so."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from dractl.errors import UsageError
from dractl.lint import Report, Selection, lint, registry
from dractl.manifests import load
from dractl.model import Target

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, namespace: ml}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        count: -1
"""


def run(text: str, release: str = "1.37", **options: object) -> Report:
    inputs = load(["-"], stdin=dedent(text).encode(), stdin_name="claim.yaml")
    return lint(inputs, Target.of(release), **options)  # type: ignore[arg-type]


def test_finding_has_the_message_of_the_server_and_its_place() -> None:
    (found,) = run(CLAIM).to_json()["findings"]
    assert found == {
        "code": "DRA116",
        "name": "count-not-positive",
        "severity": "error",
        "confidence": "certain",
        "message": "spec.devices.requests[0].exactly.count: Invalid value: -1: must be greater than zero",
        "file": "claim.yaml",
        "line": 10,
        "column": 16,
        "endLine": 10,
        "endColumn": 18,
        "document": 0,
        "path": "spec.devices.requests[0].exactly.count",
        "object": {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "namespace": "ml",
            "name": "gpus",
        },
        "fingerprint": found["fingerprint"],
        "api": {"type": "FieldValueInvalid", "field": "spec.devices.requests[0].exactly.count"},
    }


def test_the_fingerprint_does_not_depend_on_the_line() -> None:
    (first,) = run(CLAIM).findings
    (moved,) = run("# a comment\n---\n" + CLAIM.replace("count: -1", "count:   -2")).findings
    assert moved.position.line > first.position.line
    assert moved.fingerprint == first.fingerprint
    (other,) = run(CLAIM.replace("name: gpus", "name: others")).findings
    assert other.fingerprint != first.fingerprint


def test_a_cel_error_points_into_a_block_scalar() -> None:
    text = """\
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata: {name: gpu.example.com}
    spec:
      selectors:
      - cel:
          expression: |
            device.driver == "gpu.example.com" &&
              device.capacity["gpu.example.com"].memory > quantity("1Gi")
    """
    (found,) = [f for f in run(text).findings if f.code == "DRA113"]
    line = dedent(text).splitlines()[found.position.line - 1]
    assert line[found.position.column - 1] == ">"
    assert found.api is not None
    assert (found.api.type, found.api.field) == (
        "FieldValueInvalid",
        "spec.selectors[0].cel.expression",
    )
    assert found.message == (
        "the expression does not compile: found no matching overload for '_>_' applied to "
        "'(kubernetes.Quantity, kubernetes.Quantity)'"
    )
    assert found.api.message is not None
    assert (
        "\n | ..device.capacity".replace("..", "  ") in found.api.message
    )  # as kube-apiserver says it


def test_each_issue_of_an_expression_has_its_place() -> None:
    text = """\
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata: {name: gpu.example.com}
    spec:
      selectors:
      - cel:
          expression: |
            device.driver == first &&
              second && "\\u00e9" == third
      - cel: {expression: "1"}
    """
    found, number = (f for f in run(text).findings if f.code == "DRA113")
    lines = dedent(text).splitlines()
    places = [
        (found.message, found.position),
        *((item.message, item.position) for item in found.related),
    ]
    assert len(places) == 3
    for (message, place), name in zip(places, ("first", "second", "third"), strict=True):
        assert message.endswith(f"undeclared reference to '{name}'")
        assert lines[place.line - 1][place.column - 1 :].startswith(name)
    assert [item["line"] for item in found.to_json()["related"]] == [
        place.line for _, place in places[1:]
    ]
    assert number.message == "the expression must evaluate to bool or the unknown type, not int"


def test_a_typo_of_a_standard_attribute_is_found_with_the_right_name() -> None:
    for written in (
        "resource.kubernbetes.io/pcieRoot",
        "resource.kubernetes.io/pcieroot",
        "resource.kubernetes.io/pciRoot",
        "resource.k8s.io/pcieRoot",
        "kubernetes.io/pcieRoot",
    ):
        text = (
            CLAIM.replace("count: -1", "count: 2")
            + f"    constraints:\n    - matchAttribute: {written}\n"
        )
        (found,) = run(text).findings
        assert (found.code, found.severity) == ("DRA701", "error")
        assert "did you mean resource.kubernetes.io/pcieRoot?" in found.message
        assert (found.position.line, found.position.column) == (12, 23)
        assert found.fix is not None
        assert [edit.text for edit in found.fix.edits] == ["resource.kubernetes.io/pcieRoot"]


@pytest.mark.parametrize(
    "name", ["gpu.nvidia.com/pcieRoot", "dra.net/numaNode", "resource.kubernetes.io/pciBusID"]
)
def test_attributes_of_vendors_are_left_alone(name: str) -> None:
    text = (
        CLAIM.replace("count: -1", "count: 2") + f"    constraints:\n    - matchAttribute: {name}\n"
    )
    assert not run(text).findings


def test_after_a_wrong_type_the_rest_is_judged_too_but_not_as_the_server_says_it() -> None:
    report = run(
        CLAIM.replace("count: -1", 'count: "2"')
        + "    constraints:\n    - matchAttribute: kubernetes.io/pcieRoot\n"
    )
    assert [finding.code for finding in report.findings] == ["DRA002", "DRA701"]
    assert [finding.code for finding in report.findings if finding.api] == ["DRA002"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "requests: {name: gpu_1, exactly: {deviceClassName: gpu.example.com}}",
            [("DRA002", "{"), ("DRA103", "gpu_1")],
            id="map-for-list",
        ),
        pytest.param(
            "requests: [{name: gpu, exactly: [{deviceClassName: gpu.example.com, count: -1}]}]",
            [("DRA002", "["), ("DRA116", "-1")],
            id="list-for-map",
        ),
        pytest.param(
            "requests: {gpu: {exactly: {deviceClassName: gpu.example.com, count: -1}}}",
            [("DRA002", "{"), ("DRA116", "-1")],
            id="map-by-name",
        ),
    ],
)
def test_mistaken_lists_and_maps_are_read_as_meant(text: str, found: list[tuple[str, str]]) -> None:
    report = run(CLAIM.partition("    requests:")[0] + f"    {text}\n")
    places = [
        (f.code, f.excerpt[f.position.column - 1 : f.position.end_column - 1])
        for f in report.findings
    ]
    assert [
        (code, place[: len(start)]) for (code, place), (_, start) in zip(places, found, strict=True)
    ] == found


def test_a_claim_of_a_container_may_be_written_as_a_string() -> None:
    pod = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      resourceClaims: {gpu: {resourceClaimName: gpu}}
      containers: [{name: c, image: x, resources: {claims: [gpux]}}]
    """
    report = run(pod)
    assert [(f.code, f.position.line) for f in report.findings if f.severity == "error"] == [
        ("DRA002", 5),
        ("DRA002", 6),
        ("DRA409", 6),
    ]


def test_unrelated_documents_are_not_counted() -> None:
    text = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
    ---
    apiVersion: gpu.example.com/v1
    kind: DeviceClass
    spec: {whatever: 1}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec: {containers: [{name: c, image: x, unknown: 1}]}
    """
    report = run(text)
    assert not report.findings


def test_one_broken_document_does_not_hide_the_others() -> None:
    report = run("kind: [\n---\n" + CLAIM)
    assert [finding.code for finding in report.findings] == ["DRA001", "DRA116"]
    assert report.documents == 2
    assert report.findings[0].excerpt == "---"


def test_a_flat_request_is_one_fault() -> None:
    text = (
        CLAIM.replace("      exactly:\n", "").replace("        ", "      ")
        + "      selectors: []\n"
    )
    found, below = run(text).findings
    assert (found.code, below.code) == ("DRA003", "DRA116")
    assert (found.position.line, below.position.line) == (8, 9)
    assert below.api is None  # the server stops at the unknown fields
    assert (
        "spec.devices.requests[0].exactly.deviceClassName; so do count, selectors" in found.message
    )
    assert found.fix is None  # the server would reject the count all the same
    accepted, *_ = run(text.replace("count: -1", "count: 1")).findings
    assert accepted.fix is not None
    assert accepted.fix.safe


# -- comments --


@pytest.mark.parametrize(
    "text",
    [
        CLAIM.replace("count: -1", "count: -1  # dractl: ignore[DRA116] a test"),
        CLAIM.replace(
            "        count: -1",
            "        # dractl: ignore[count-not-positive]\n        # more\n        count: -1",
        ),
        "# dractl: ignore-file[DRA1]\n" + CLAIM,
    ],
)
def test_a_comment_takes_a_finding_out(text: str) -> None:
    report = run(text)
    assert not report.findings
    assert report.suppressed == 1


def test_a_comment_at_the_key_speaks_for_a_block_scalar() -> None:
    text = """\
    apiVersion: resource.k8s.io/v1
    kind: DeviceClass
    metadata: {name: gpu.example.com}
    spec:
      selectors:
      - cel:
          expression: |  # dractl: ignore[DRA113]
            device.driver ==
              1
    """
    report = run(text)
    assert not report.findings
    assert report.suppressed == 1


@pytest.mark.parametrize(
    ("comment", "code", "said"),
    [
        ("ignore[DRA702]", "DRA901", "no DRA702 finding on line 10"),
        ("ignore[DRA1160]", "DRA902", "unknown rule DRA1160"),
        ("ignore", "DRA902", "names no rule"),
    ],
)
def test_useless_comment_is_a_finding(comment: str, code: str, said: str) -> None:
    report = run(CLAIM.replace("count: -1", f"count: 1  # dractl: {comment}"))
    (found,) = report.findings
    assert found.code == code
    assert said in found.message
    assert found.position.line == 10
    assert found.excerpt[found.position.column - 1] == "#"


def test_disabled_rule_is_no_unused_ignore() -> None:
    text = CLAIM.replace("count: -1", "count: 1  # dractl: ignore[DRA702]")
    assert not run(text, config=Selection(codes=frozenset({"DRA901", "DRA116"}))).findings


# -- selection --


def test_selected_and_ignored_codes() -> None:
    assert not run(CLAIM, config=Selection(registry.expand(["DRA7"], "--select"))).findings
    assert run(CLAIM, config=Selection(registry.expand(["DRA1", "DRA7"], "--select"))).findings
    assert not run(CLAIM, config=Selection(per_file=(("claim.*", frozenset({"DRA116"})),))).findings
    assert run(CLAIM, config=Selection(per_file=(("other/", frozenset({"DRA116"})),))).findings


def test_an_unknown_code_offers_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        registry.expand(["count-zer"], "--select")
    assert caught.value.hint == "did you mean count-zero?"


def test_a_baseline_takes_out_as_many_as_it_holds() -> None:
    (found,) = run(CLAIM).findings
    config = Selection(known={found.fingerprint: 1})
    assert not run(CLAIM, config=config).findings
    twice = run(CLAIM + "---\n" + CLAIM, config=config).findings
    assert [finding.code for finding in twice if finding.code == found.code] == [found.code]


# -- namespaces --

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n---\n"


@pytest.mark.parametrize(
    ("namespace", "found"),
    [
        ("", ["DRA152"]),
        (NAMESPACE, ["DRA119"]),
        (NAMESPACE.replace("name: ml", "name: other"), ["DRA152"]),
        (
            NAMESPACE.replace(
                "name: ml", "name: ml, labels: {resource.kubernetes.io/admin-access: 'true'}"
            ),
            [],
        ),
    ],
)
def test_namespaces_of_the_run_decide_about_admin_access(namespace: str, found: list[str]) -> None:
    report = run(namespace + CLAIM.replace("count: -1", "adminAccess: true"))
    assert [finding.code for finding in report.findings] == found


# -- several documents --


def test_older_versions_are_advised_with_their_own_paths() -> None:
    text = """\
    apiVersion: resource.k8s.io/v1beta1
    kind: ResourceClaim
    metadata: {name: gpus}
    spec:
      devices:
        requests:
        - {name: gpu, deviceClassName: gpu.example.com, count: 0}
    """
    (found,) = [f for f in run(text, "1.33").findings if f.code == "DRA704"]
    assert found.path == "spec.devices.requests[0].count"


def test_items_of_a_list_are_linted_where_they_stand() -> None:
    inner = json.dumps(
        {
            "kind": "List",
            "apiVersion": "v1",
            "items": [
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceClaim",
                    "metadata": {"name": "gpus"},
                    "spec": {
                        "devices": {
                            "requests": [{"name": "gpu", "exactly": {"deviceClassName": "A"}}]
                        }
                    },
                }
            ],
        },
        indent=1,
    )
    (found,) = run(inner).findings
    assert found.code == "DRA109"
    assert inner.splitlines()[found.position.line - 1][found.position.column - 1 :].startswith(
        '"A"'
    )


def test_field_of_a_disabled_gate_is_advice() -> None:
    text = CLAIM.replace("count: -1", "capacity: {requests: {gpu.example.com/memory: 10Gi}}")
    assert not run(text, "1.37").findings
    (found,) = run(text, "1.35").findings
    assert (found.code, found.severity, found.api) == ("DRA802", "warning", None)
    assert "DRAConsumableCapacity" in found.message
