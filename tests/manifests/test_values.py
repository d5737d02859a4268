"""Values are what the API server's YAML library makes of a text."""

from __future__ import annotations

import json
import re
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dractl.manifests import Broken, jsontext, read_text, yamltext
from dractl.manifests.load import is_relevant
from dractl.manifests.shared_keys import SharedKeys
from dractl.manifests.source import Source

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "go-yaml.jsonl").read_text().split("\n")
    if line
]


def words(message: str) -> str:
    return re.sub(r"^(yaml: )?(line \d+: )?", "", message)


def test_values_and_errors_are_those_of_go_yaml(composer: str) -> None:
    wrong = []
    for case in CASES:
        source = Source("f", case["text"])
        found = list(yamltext.read(source)) if "---" not in case["text"] else []
        if "---" in case["text"]:
            continue
        if "err" in case:
            if not (found and isinstance(found[0], Broken)):
                wrong.append((case, found))
            continue
        wanted = json.loads(case["json"])
        value = found[0] if found else None
        if value is not None and not isinstance(value, Broken):
            value = value.value
        if json.dumps(value, default=str, sort_keys=True) != json.dumps(wanted, sort_keys=True):
            if isinstance(wanted, dict) and value == wanted:  # 1e21 is a float in both
                continue
            wrong.append((case, value))
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c\n", "mapping values are not allowed in this context"),
        ("a:\n\tb: 1\n", "found character that cannot start any token"),
        ("a: *nope\n", "unknown anchor 'nope' referenced"),
        ("a: &a [*a]\n", "anchor 'a' value contains itself"),
        ("a: .inf\n", "json: unsupported value: +Inf"),
        ("x: {<<: 5}\n", "map merge requires map or sequence of maps as the value"),
        ('a: "\\/"\n', "found unknown escape character"),
        ("a: !!int x\n", "cannot decode !!str `x` as a !!int"),
        ("a: !!binary '*'\n", "!!binary value contains invalid base64 data"),
    ],
)
def test_errors_are_reported_in_go_yamls_words(text: str, message: str) -> None:
    (broken,) = yamltext.read(Source("f", text))
    assert isinstance(broken, Broken)
    assert broken.message == message
    go = next((case["err"] for case in CASES if case["text"] == text), None)
    if go is not None:
        assert words(go) == message


def test_a_backslash_escaped_before_a_slash(one) -> None:
    assert one('kind: K\na: "\\\\/\\u0100"\n').value["a"] == "\\/\u0100"


def test_repeated_keys_are_faults_and_the_last_one_counts(one) -> None:
    document = one("kind: K\nspec:\n  count: 1\n  name: x\n  count: 2\n")
    assert document.value["spec"]["count"] == 2
    (fault,) = document.faults
    assert fault.message == 'key "count" already set in map'
    assert fault.path == ("spec", "count")
    assert (fault.position.line, fault.position.column, fault.position.end_column) == (5, 3, 8)


def test_a_merge_and_a_field_beside_it_repeat_the_key(one) -> None:
    document = one(
        "kind: K\na: &x {count: 1}\nb:\n  <<: *x\n  count: 2\nc:\n  count: 3\n  <<: *x\n"
    )
    assert document.value["b"] == {"count": 2}
    assert document.value["c"] == {
        "count": 1
    }  # go-yaml v2 lets the later one win, also when it is the merge
    assert [fault.path for fault in document.faults] == [("b", "count"), ("c", "count")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"a": 5.0, "b": 1.5, "c": 1e3}', {"a": 5, "b": 1.5, "c": 1000}),
        ('{"a": "\\ud83d\\ude00", "b": "\\ud83d"}', {"a": "😀", "b": "\ufffd"}),
        (
            '{"a": "\\ud83d", "b": [1, true, null, "\\udead", {"c": 2}]}',
            {"a": "\ufffd", "b": [1, True, None, "\ufffd", {"c": 2}]},
        ),
        (
            '{"a": "\\udc00\\udc00", "b": "\\udbff\\udfff"}',
            {"a": "\ufffd\ufffd", "b": "\U0010ffff"},
        ),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": 1, # why\n "b": 2}', {"a": 1, "b": 2}),
        ("\ufeff" + '{"a": 1}', {"a": 1}),
    ],
)
def test_json(one, text: str, wanted: object) -> None:
    assert one(text).value == wanted


def test_json_with_a_repeated_key_is_reported(one) -> None:
    document = one('{"kind": "K",\n "spec": [{"n": 1, "n": 2}]}')
    assert document.value["spec"][0]["n"] == 2
    (fault,) = document.faults
    assert (fault.message, fault.path) == ('key "n" already set in map', ("spec", 0, "n"))
    assert (fault.position.line, fault.position.column) == (2, 20)


@pytest.mark.parametrize("basic", [False, True])
def test_equal_attributes_in_a_large_list_are_one_value(
    monkeypatch: pytest.MonkeyPatch, basic: bool
) -> None:
    attributes = {
        "a": {"string": "x"},
        "b": {"string": "x"},
        "c": {"string": "y"},
        "d": {"int": 1.0},
    }
    device = {"basic": {"attributes": attributes}} if basic else {"attributes": attributes}
    text = json.dumps(
        {"kind": "X", "items": [{"spec": {"devices": [device, 1]}}, 2], "more": "\U0001f600"}
    )
    (small,) = read_text("small.json", text)
    monkeypatch.setattr(jsontext, "_MIN_LARGE_LENGTH", 0)
    (large,) = read_text("large.json", text)
    assert large.value == small.value
    assert list(large.value) == ["kind", "items", "more"]
    device = large.value["items"][0]["spec"]["devices"][0]
    read = (device["basic"] if basic else device)["attributes"]
    assert read["a"] is read["b"]
    assert type(read["d"]["int"]) is int
    place = ("items", 0, "spec", "devices")
    assert replace(large.locate(place), file="") == replace(small.locate(place), file="")


def test_dictionaries_with_the_same_keys_in_one_order_take_less_memory() -> None:
    keys = SharedKeys()
    attributes: list[dict[str, Any]] = [
        {"uuid": {"string": "a"}, "index": {"int": 1}},
        {"index": {"int": 1}, "uuid": {"string": "b"}},
        {f"attribute{number}": number for number in range(40)},
        {},
    ]
    for value in attributes:
        copy = keys.copy(value)
        assert copy == value
        assert list(copy) == list(value)
        assert sys.getsizeof(copy) <= sys.getsizeof(value)
    one = keys.copy(attributes[0])
    assert sys.getsizeof(one) < sys.getsizeof(attributes[0])
    one["uuid"] = {"string": "c"}
    assert keys.copy(attributes[0]) == attributes[0]


def test_devices_of_a_large_list_keep_their_own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    values: list[Any] = [
        {"string": "x"},
        {"int": 1},
        {"bool": True},
        {"int": 1.0},
        {},
        None,
        True,
        1,
    ]
    devices = [
        {"name": f"gpu-{index}", "attributes": dict(zip(order, choice, strict=True))}
        for order in ("abc", "cab")
        for index, choice in enumerate(product(values, repeat=3))
    ]
    items = [{"spec": {"devices": devices[start::7]}} for start in range(7)]
    text = json.dumps({"kind": "X", "items": items})
    monkeypatch.setattr(jsontext, "_MIN_LARGE_LENGTH", 0)
    (large,) = read_text("large.json", text)
    assert json.dumps(large.value["items"]) == json.dumps(items).replace("1.0", "1")


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "X", "items": [{"a": "\\ud800"}]}',
        '{"kind": "X", "items": 1}',
        '{"kind": "X"}',
        '{"kind": "X", "items": []}\n{"kind": "Y", "items": []}',
        '{"kind": "X", "items": [NaN]}',
        '{"kind": "X", "items": [01]}',
        '{"kind": "X", "items": [' + "[" * 300 + "]" * 300 + "]}",
    ],
    ids=["half a pair", "no list", "no items", "two values", "no number", "two numbers", "deep"],
)
def test_a_large_text_reads_as_a_small_one_does(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    small = read_text("a.json", text)
    monkeypatch.setattr(jsontext, "_MIN_LARGE_LENGTH", 0)
    large = read_text("a.json", text)
    assert [getattr(item, "value", item) for item in large] == [
        getattr(item, "value", item) for item in small
    ]


@pytest.mark.parametrize(
    ("data", "relevant"),
    [
        (b"limits: {nvidia.com/gpu: 1}", True),
        (b'{"limits": {"nvidia.com/gpu":1}}', True),
        (b"limits:\n  'nvidia.com/gpu' : '8'", True),
        (b"limits:\n  nvidia.com/gpu:  8", True),
        (b"requests: {cpu: 1}\nimage: registry.example.com/app:1", False),
    ],
)
def test_an_extended_resource_is_relevant_and_an_image_is_not(data: bytes, relevant: bool) -> None:
    assert is_relevant(data) is relevant


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # go-yaml v2 resolve.go: strconv.ParseInt(plain, 0, 64), and behind 0b and -0b once more with base 2.
        ("0b101", 5),
        ("-0b101", -5),
        ("+0b1111_0000", 240),
        ("0b-101", -5),
        ("0b+11", 3),
        ("0b-1" + "0" * 63, -(2**63)),
        ("-0b-1", "-0b-1"),
        ("0b102", "0b102"),
    ],
)
def test_binary_integers(text: str, value: int | str) -> None:
    (document,) = yamltext.read(Source("f", f"a: {text}\n"))
    assert not isinstance(document, Broken)
    assert document.value == {"a": value}
