"""The walk: what decodes, where a fault is said to be, and what the user is told to write instead.

The expectations come from the recorded answers of kube-apiserver (conformance/validation) and from the sources that the
modules name; the recorded ones are compared in full in tests/conformance/test_decoding.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.model import Target
from dractl.validation.decoding import decode, identify
from dractl.validation.scalars import number
from dractl.validation.shapes import Record

if TYPE_CHECKING:
    from dractl.validation.violation import Violation

V1 = "resource.k8s.io/v1"


def violations(document: dict[str, Any], release: str = "1.37") -> list[Violation]:
    target = Target.of(release)
    shape = identify(document, target)
    assert isinstance(shape, Record)
    return decode(document, shape, target, ())


def claim(request: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    devices = {"requests": [{"name": "a"}, {"name": "gpu", **request}]}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "spec": {"devices": devices},
    }


def exactly(**fields: Any) -> dict[str, Any]:
    return claim({"exactly": fields})


def slice_with(device: dict[str, Any], version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "spec": {"devices": [device]},
    }


REQUEST = ("spec", "devices", "requests", 1)


@pytest.mark.parametrize(
    ("document", "path", "nearest"),
    [
        (
            claim({"deviceClassName": "x"}),
            (*REQUEST, "deviceClassName"),
            "spec.devices.requests[1].exactly.deviceClassName",
        ),
        (claim({"deviceclassname": "x"}), (*REQUEST, "deviceclassname"), "exactly.deviceClassName"),
        (claim({"Exactly": {}}), (*REQUEST, "Exactly"), "exactly"),
        (exactly(name="x"), (*REQUEST, "exactly", "name"), "spec.devices.requests[1].name"),
        (exactly(counts=1), (*REQUEST, "exactly", "counts"), "count"),
        (
            {"apiVersion": V1, "kind": "DeviceClass", "selectors": []},
            ("selectors",),
            "spec.selectors",
        ),
        (
            {"apiVersion": V1, "kind": "ResourceClaim", "spec": {"constraints": []}},
            ("spec", "constraints"),
            "spec.devices.constraints",
        ),
        (
            {"apiVersion": V1, "kind": "ResourceClaimTemplate", "spec": {"devices": {}}},
            ("spec", "devices"),
            "spec.spec.devices",
        ),
        (
            {"apiVersion": V1, "kind": "ResourceClaim", "metadata": {"nme": "x"}},
            ("metadata", "nme"),
            "name",
        ),
    ],
)
def test_unknown_field_names_the_meant_one(
    document: dict[str, Any], path: Any, nearest: str
) -> None:
    (found,) = violations(document)
    assert (found.rule, found.type, found.path, found.key) == (
        "unknown-field",
        "BadRequest",
        path,
        True,
    )
    assert found.nearest == nearest
    assert nearest in found.said


@pytest.mark.parametrize(
    ("document", "release", "words"),
    [
        (claim({"exactly": {}}, "v1beta1"), "1.36", "v1beta1 has no such wrapper"),
        (
            slice_with({"name": "a", "basic": {}}),
            "1.36",
            "write its fields next to the device's name",
        ),
        (
            slice_with({"name": "a", "nodeAllocatableResourceMappings": {}}),
            "1.37",
            "nodeAllocatableResources",
        ),
        (claim({"firstAvailable": [{"adminAccess": True}]}), "1.37", "cannot ask for admin access"),
        (
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "spec": {"resourceClaims": [{"name": "a", "source": {"resourceClaimName": "b"}}]},
            },
            "1.37",
            "since 1.31 resourceClaimName and resourceClaimTemplateName are next to the name",
        ),
        (
            {"apiVersion": V1, "kind": "ResourceClaim", "spec": {"resourceClassName": "a"}},
            "1.37",
            "classic DRA was removed in 1.32",
        ),
    ],
)
def test_formerly_valid_field_names_its_successor(
    document: dict[str, Any], release: str, words: str
) -> None:
    (found,) = violations(document, release)
    assert found.rule == "unknown-field"
    assert words in found.said


@pytest.mark.parametrize(
    ("release", "field"),
    [("1.36", "derivedAttributes"), ("1.33", "capacity"), ("1.32", "tolerations")],
)
def test_a_field_of_a_later_release_says_since_when_it_is_known(release: str, field: str) -> None:
    version = {"1.36": "v1", "1.33": "v1beta2"}.get(release, "v1beta1")
    body: dict[str, Any] = {field: []}
    document = claim(body if version == "v1beta1" else {"exactly": body}, version)
    (found,) = violations(document, release)
    since = {"derivedAttributes": "1.37", "capacity": "1.34", "tolerations": "1.33"}[field]
    assert f"Kubernetes {since}" in found.said


IN_EXACTLY = "ExactDeviceRequest.spec.devices.requests.exactly"


@pytest.mark.parametrize(
    ("document", "value", "field", "go_type"),
    [
        (exactly(count="2"), "string", f"{IN_EXACTLY}.count", "int64"),
        (exactly(count=1.5), "number 1.5", f"{IN_EXACTLY}.count", "int64"),
        (exactly(count=1e23), "number 1e+23", f"{IN_EXACTLY}.count", "int64"),
        (exactly(count=2**63), "number 9223372036854775808", f"{IN_EXACTLY}.count", "int64"),
        (exactly(deviceClassName=True), "bool", f"{IN_EXACTLY}.deviceClassName", "string"),
        (exactly(selectors=["true"]), "string", f"{IN_EXACTLY}.selectors", "v1.DeviceSelector"),
        (claim({"name": 5}), "number", "DeviceRequest.spec.devices.requests.name", "string"),
        (
            slice_with({"attributes": {"a": {"bool": 1}}}),
            "number",
            "DeviceAttribute.spec.devices.attributes.bool",
            "bool",
        ),
        (
            slice_with({"attributes": []}),
            "array",
            "Device.spec.devices.attributes",
            "map[v1.QualifiedName]v1.DeviceAttribute",
        ),
    ],
)
def test_a_wrong_type_is_reported_in_the_words_of_go(
    document: dict[str, Any], value: str, field: str, go_type: str
) -> None:
    (found,) = violations(document)
    assert (found.rule, found.type) == ("wrong-type", "BadRequest")
    assert found.said.endswith(
        f"json: cannot unmarshal {value} into Go struct field {field} of type {go_type}"
    )


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (
            {"capacity": {"m": {"value": "80GB"}}},
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ({"capacity": {"m": {"value": "1K"}}}, "unable to parse quantity's suffix"),
        (
            {"taints": [{"timeAdded": "now"}]},
            'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
        ),
        (
            {"taints": [{"timeAdded": "2026-02-29T00:00:00Z"}]},
            'parsing time "2026-02-29T00:00:00Z": day out of range',
        ),
        (
            {"taints": [{"timeAdded": "2100-02-29T00:00:00Z"}]},
            'parsing time "2100-02-29T00:00:00Z": day out of range',
        ),
        (
            {"taints": [{"timeAdded": "2026-13-01T00:00:00Z"}]},
            'parsing time "2026-13-01T00:00:00Z": month out of range',
        ),
        (
            {"taints": [{"timeAdded": "2026-01-01T00:00:00+25:00"}]},
            'parsing time "2026-01-01T00:00:00+25:00": time zone offset hour out of range',
        ),
        (
            {"taints": [{"timeAdded": "\u00e9"}]},
            r'parsing time "\xc3\xa9" as "2006-01-02T15:04:05Z07:00": cannot parse "\xc3\xa9" as "2006"',
        ),
        (
            {"taints": [{"timeAdded": "2026-02-01T00:00:00Zx"}]},
            'parsing time "2026-02-01T00:00:00Zx": extra text: "x"',
        ),
    ],
)
def test_a_type_with_a_decoder_of_its_own_has_its_words(device: dict[str, Any], said: str) -> None:
    (found,) = violations(slice_with(device))
    assert (found.rule, found.type) == ("wrong-type", "BadRequest")
    assert found.said.endswith(said)


def test_a_value_is_shown_on_one_line_and_not_in_full() -> None:
    (found,) = violations(exactly(count="a\n\t" + "b" * 1000))
    assert r'not the string "a\n\tbbb' in found.message
    assert len(found.message) < 300


@pytest.mark.parametrize(
    "document",
    [
        exactly(count=5.0),
        exactly(count=None, selectors=None, capacity=None, tolerations=[None]),
        exactly(
            capacity={"requests": {"memory": 5, "a": 1.5, "b": "1e3", "c": None, "d": " 1Gi "}}
        ),
        {"apiVersion": V1, "kind": "ResourceClaim", "metadata": None, "spec": None, "status": None},
        {
            "apiVersion": V1,
            "kind": "DeviceClass",
            "spec": {"config": [{"opaque": {"parameters": "text"}}]},
        },
        slice_with({"taints": [{"timeAdded": "2026-02-28T9:04:05,25+24:00"}]}),
    ],
)
def test_value_accepted_by_the_decoder_is_no_fault(document: dict[str, Any]) -> None:
    assert violations(document) == []


def test_a_wrong_type_hides_unknown_fields() -> None:
    found = violations(exactly(count="2", foo=1))
    assert [violation.rule for violation in found] == ["wrong-type"]


def test_each_fault_is_reported_once_in_document_order() -> None:
    found = violations(exactly(b=1, a={"c": {"d": 1}}))
    assert [violation.field for violation in found] == [
        "spec.devices.requests[1].exactly.b",
        "spec.devices.requests[1].exactly.a",
    ]


@pytest.mark.parametrize("name", ["0x", "metadata", "", "a.b", "a" * 100_000, "\U0001f600"])
def test_any_key_can_be_an_unknown_field(name: str) -> None:
    (found,) = violations(claim({name: 1}))
    assert found.path == (*REQUEST, name)


def test_no_more_unknown_fields_are_listed_than_the_server_lists() -> None:
    document = claim({f"x{number:03}": 1 for number in range(300)})
    found = violations(document)
    assert [found[0].path[-1], found[-1].path[-1], len(found)] == ["x000", "x099", 100]


def test_depth_below_opaque_parameters_is_nobodys_business() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    document = {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "spec": {"config": [{"opaque": {"parameters": deep}}]},
    }
    assert violations(document) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5.0, "5"), (1.5, "1.5"), (-0.25, "-0.25"), (1e20, "100000000000000000000"), (1e21, "1e+21"),
        (1.25e300, "1.25e+300"),
        (1e-6, "0.000001"), (1e-7, "1e-7"), (2**64 - 1, "18446744073709551615"), (2**64, "18446744073709552000"),
        (10**400, "+Inf"),
    ],
)  # fmt: skip
def test_numbers_are_shown_as_go_writes_them(value: float, text: str) -> None:
    """encoding/json encode.go floatEncoder: exponents below 1e-6 and from 1e21 on."""
    assert number(value) == text
