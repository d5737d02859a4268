"""Every validation rule: what it says, as which cause, at which field, and that it says nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dractl.model import Target
from dractl.validation import validate
from dractl.validation.opaque import json_length
from tests.validation.rule_ids import RULE_IDS
from tests.validation.rule_table import ALL, ROWS, Row, claim, device, exact, opaque, published


def target(row: Row) -> Target:
    return Target.of(
        row.release, dict.fromkeys(ALL[row.release].split(), True) if row.gates == "all" else {}
    )


@pytest.mark.parametrize(
    "row",
    ROWS,
    ids=[f"{i}-{'-'.join(sorted({c[0] for c in r.causes}))}" for i, r in enumerate(ROWS)],
)
def test_the_server_says(row: Row) -> None:
    found = validate(row.document, target(row))
    assert {(v.rule, v.type, v.field) for v in found if v.type} == row.causes


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_a_path_leads_into_the_document(row: Row) -> None:
    """To the value at fault, or to where one is missing: then all but the last step is there."""
    for violation in validate(row.document, target(row)):
        value: Any = row.document
        for step in violation.path[:-1]:
            value = None if value is None else value[step]
        last = violation.path[-1] if violation.path else None
        missing = value is None or (isinstance(value, dict) and last not in value)
        assert missing or last is None or value[last] is not value
        if missing:
            assert violation.type in {
                "FieldValueRequired",
                "FieldValueInvalid",
                "FieldValueNotSupported",
            }


def test_every_rule_has_a_row() -> None:
    elsewhere = {"RC-19", "PC-14", "RS-44", *(rule for rule in RULE_IDS if rule.startswith("CS-"))}
    assert {rule for row in ROWS for rule, _, _ in row.causes} == set(RULE_IDS) - elsewhere


ADMIN = claim(exact("a"), exact("b", adminAccess=True), exact("c", adminAccess=True))


@pytest.mark.parametrize(
    "labels",
    [{}, {"resource.kubernetes.io/admin-access": "True"}, {"resource.k8s.io/admin-access": "true"}],
)
def test_admin_access_wants_a_label_on_the_namespace(labels: dict[str, str]) -> None:
    """pkg/registry/resource/utils.go AuthorizedForAdmin: the first request that asks, with the path of v1beta1."""
    found = validate(ADMIN, Target.of("1.37"), namespaces={"default": labels})
    assert [(v.rule, v.type, v.field) for v in found] == [
        ("RC-19", "FieldValueForbidden", "spec.devices.requests[1].adminAccess")
    ]
    assert found[0].path == ("spec", "devices", "requests", 1, "exactly", "adminAccess")


def test_admin_access_in_a_namespace_with_the_label() -> None:
    labels = {"resource.kubernetes.io/admin-access": "true"}
    assert validate(ADMIN, Target.of("1.37"), namespaces={"default": labels}) == []


def test_of_an_unknown_namespace_nothing_is_reported() -> None:
    assert validate(ADMIN, Target.of("1.37"), namespaces={"other": {}}) == []


def test_nearest_request_is_offered() -> None:
    document = claim(
        exact("gpus"), exact("nics"), constraints=[{"requests": ["gpu"], "matchAttribute": "a/b"}]
    )
    (violation,) = validate(document, Target.of("1.37"))
    assert violation.allowed == ("gpus", "nics")
    assert violation.nearest == "gpus"


def test_the_supported_values_are_reported() -> None:
    (violation,) = validate(claim(exact(allocationMode="exactcount")), Target.of("1.37"))
    assert violation.allowed == ("All", "ExactCount")
    assert violation.nearest == "ExactCount"
    assert (
        violation.message
        == 'Unsupported value: "exactcount": supported values: "All", "ExactCount"'
    )


def test_a_wrong_key_is_pointed_at_not_its_value() -> None:
    (violation,) = validate(published(device(attributes={"a-b": {"int": 1}})), Target.of("1.37"))
    assert violation.path == ("spec", "devices", 0, "attributes", "a-b")
    assert violation.key


def test_the_place_in_an_expression_is_reported() -> None:
    document = claim(
        exact(selectors=[{"cel": {"expression": 'device.driver == "a" &&\n  device.nme == "b"'}}])
    )
    (violation,) = validate(document, Target.of("1.37"))
    assert violation.offset == len('device.driver == "a" &&\n  device')


def test_a_long_key_is_cut_in_a_path() -> None:
    """validation.go truncateIfTooLong: at 96 bytes; the code that 1.37 generates does not."""
    key = "d" * 60 + ".example.com/" + "n" * 32
    document = published(device(attributes={key: {"string": "x" * 65}}))
    fields = {v.field for v in validate(document, Target.of("1.37")) if v.rule == "RS-19"}
    assert fields == {f"spec.devices[0].attributes[{key[:47]}...{key[-46:]}].string"}


def test_a_hundred_thousand_values_take_no_time() -> None:
    """Nothing is quadratic in what a document holds."""
    devices = [
        device(f"d{i}", attributes={f"a{j}": {"int": j} for j in range(100)}) for i in range(1000)
    ]
    found = validate(published(*devices), Target.of("1.36"))
    assert [v.rule for v in found] == ["RS-12"]


def test_many_wrong_references_take_no_time() -> None:
    """1.34 looks at every item of a list that is too long; what is offered for each stays few."""
    references = [f"q{i}" for i in range(3000)]
    requests = [exact(f"r{i}") for i in range(3000)]
    document = claim(*requests, constraints=[{"requests": references, "matchAttribute": "a/b"}])
    wrong = [v for v in validate(document, Target.of("1.34")) if v.rule == "RC-21"]
    assert len(wrong) == 3000
    assert max(len(v.allowed) for v in wrong) <= 64


def attributes(version: str, count: int = 1) -> dict[str, Any]:
    made = published(
        device(attributes={f"a{i}": {"int": 1} for i in range(count - 1)} | {"a-b": {"int": 1}})
    )
    made["apiVersion"] = f"resource.k8s.io/{version}"
    (only,) = made["spec"]["devices"]
    made["spec"]["devices"] = [{"name": only.pop("name"), "basic": only}]
    return made


@pytest.mark.parametrize(
    ("release", "document", "causes"),
    [
        # The types are those of each release's validation.go.
        (
            "1.33",
            attributes("v1beta1"),
            {("FieldValueTypeInvalid", "spec.devices[0].attributes[a-b]")},
        ),
        (
            "1.32",
            attributes("v1beta1", 33),
            {
                ("FieldValueInvalid", "spec.devices[0].basic"),
                ("FieldValueTypeInvalid", "spec.devices[0].basic.attributes[a-b]"),
            },
        ),
        (
            "1.32",
            claim({"name": "a"}, version="v1beta1"),
            {("FieldValueRequired", "spec.devices.requests[0].deviceClassName")},
        ),
        (
            "1.32",
            claim(
                {"name": "a", "deviceClassName": "b", "allocationMode": "x", "selectors": [{}]},
                version="v1beta1",
            ),
            {
                ("FieldValueNotSupported", "spec.devices.requests[0].allocationMode"),
                ("FieldValueRequired", "spec.devices.requests[0].selectors[0].cel"),
            },
        ),
        (
            "1.33",
            claim({"name": "a"}, version="v1beta2"),
            {("FieldValueRequired", "spec.devices.requests[0]")},
        ),
        (
            "1.31",
            claim(
                *({"name": f"r{i}", "deviceClassName": "a"} for i in range(33)), version="v1alpha3"
            ),
            {("FieldValueTooLong", "spec.devices.requests")},
        ),
    ],
)
def test_older_releases(
    release: str, document: dict[str, Any], causes: set[tuple[str, str]]
) -> None:
    assert {(v.type, v.field) for v in validate(document, Target.of(release)) if v.type} == causes


WITHOUT_BASIC = [{"name": "a", "basic": {}}, {"name": "b"}, {"name": "c", "basic": None}]


@pytest.mark.parametrize(
    ("release", "version"), [("1.31", "v1alpha3"), ("1.32", "v1alpha3"), ("1.32", "v1beta1")]
)
def test_a_device_needs_basic_up_to_1_32(release: str, version: str) -> None:
    document = published(*WITHOUT_BASIC) | {"apiVersion": f"resource.k8s.io/{version}"}
    assert [
        (v.rule, v.type, v.field, v.path, v.message) for v in validate(document, Target.of(release))
    ] == [
        (
            "RS-44",
            "FieldValueRequired",
            f"spec.devices[{i}].basic",
            ("spec", "devices", i, "basic"),
            "Required value",
        )
        for i in (1, 2)
    ]


@pytest.mark.parametrize(
    ("release", "version"), [("1.33", "v1alpha3"), ("1.33", "v1beta1"), ("1.37", "v1beta1")]
)
def test_a_device_needs_no_basic_since_1_33(release: str, version: str) -> None:
    """pkg/apis/resource/v1beta1/conversion.go Convert_v1beta1_Device_To_resource_Device skips a ``basic`` of nil."""
    document = published(*WITHOUT_BASIC) | {"apiVersion": f"resource.k8s.io/{version}"}
    assert [v for v in validate(document, Target.of(release)) if v.type] == []


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": [1, 2.5, True, False, None, "x"]},
        {"é": "<\u2028&>"},
        {"a": {"b": []}, "c": ['"', "\n"]},
        [[], {}],
    ],
)
def test_length_of_parameters_is_measured_as_json(value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":  # encoding/json HTMLEscape
        text = text.replace(character, f"\\u{ord(character):04x}")
    assert json_length(value) == len(text.encode())


def test_parameters_nested_deeper_than_python_calls() -> None:
    parameters: dict[str, Any] = {}
    for _ in range(100_000):
        parameters = {"a": parameters}
    found = validate(claim(config=[opaque(parameters=parameters)]), Target.of("1.37"))
    assert [violation.rule for violation in found] == ["RC-29"]
