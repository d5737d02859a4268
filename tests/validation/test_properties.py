"""What holds for every document: written by our encoder it gets the same verdict, and in v1 that of v1beta1."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from dractl.manifests import load
from dractl.model import Target, to_v1
from dractl.model.releases import COMPARED
from dractl.report.objects import to_json, to_yaml
from dractl.validation import validate
from tests.validation.rule_table import ALL

MISREAD = [
    "yes",
    "n",
    "~",
    "null",
    "0x10",
    "010",
    "1_0",
    "1e3",
    ".inf",
    "1:30",
    "2026-01-01",
    "=",
    "<<",
    "",
    " a",
    "a: b",
]
"""Texts that YAML 1.1 takes for something else, unless they are quoted."""

texts = st.sampled_from(MISREAD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.sampled_from(["a", "b", "gpu", "n", "1e3", "A", "", "a.b"])
qualified = st.sampled_from(["example.com/a", "model", "a/b/c", "a-b", "/a", "", "A.com/x"])
quantities = st.sampled_from(["1Gi", "0", "-1", "1e3", "500m", 4, 1.5])
expressions = st.sampled_from(
    [
        "true",
        "device.driver == 'gpu.example.com'",
        "1",
        "(",
        "device.capacity['a'].b == quantity('1Gi')",
        "a:\n  # b\n",
    ]
)
parameters = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def few(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(items, max_size=2)


body = {
    "deviceClassName": st.just("gpu.example.com") | names,
    "selectors": few(st.builds(lambda text: {"cel": {"expression": text}}, expressions)),
    "allocationMode": st.sampled_from(["ExactCount", "All", ""]),
    "count": st.integers(-1, 3),
    "tolerations": few(
        some(
            key=names,
            operator=st.sampled_from(["Exists", "Equal", "In"]),
            value=texts,
            effect=st.just("NoSchedule"),
        )
    ),
    "capacity": st.just({})
    | st.builds(lambda key, value: {"requests": {key: value}}, qualified, quantities),
}
alternatives = few(st.fixed_dictionaries({"name": names}, optional=body))
constraints = few(some(requests=few(names), matchAttribute=qualified, distinctAttribute=qualified))
config = few(
    some(
        requests=few(names),
        opaque=st.fixed_dictionaries(
            {"driver": st.just("gpu.example.com") | names, "parameters": parameters}
        ),
    )
)
attributes = st.dictionaries(
    qualified,
    some(
        int=st.integers(-(2**63), 2**63 - 1),
        bool=st.booleans(),
        string=texts,
        version=st.sampled_from(["1.2.3", "1"]),
    ),
    max_size=2,
)
basic = some(
    attributes=attributes,
    capacity=st.dictionaries(
        qualified, st.builds(lambda value: {"value": value}, quantities), max_size=2
    ),
    taints=few(st.fixed_dictionaries({"key": names, "effect": st.just("NoSchedule")})),
    nodeName=names,
)
metadata = st.fixed_dictionaries(
    {"name": st.sampled_from(["it", "1e3", "n", "A"])},
    optional={
        "labels": st.dictionaries(names, texts, max_size=2),
        "annotations": st.dictionaries(names, texts, max_size=2),
    },
)


def kind(
    name: str, version: str, spec: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    top = {
        "apiVersion": st.just(f"resource.k8s.io/{version}"),
        "kind": st.just(name),
        "metadata": metadata,
        "spec": spec,
    }
    return st.fixed_dictionaries(top)


def claims(version: str) -> st.SearchStrategy[dict[str, Any]]:
    flat = st.fixed_dictionaries({"name": names}, optional={**body, "firstAvailable": alternatives})
    wrapped = st.fixed_dictionaries(
        {"name": names}, optional={"exactly": some(**body), "firstAvailable": alternatives}
    )
    requests = few(flat if version == "v1beta1" else wrapped)
    devices = some(requests=requests, constraints=constraints, config=config)
    spec = st.fixed_dictionaries({"devices": devices})
    return kind("ResourceClaim", version, spec) | kind(
        "ResourceClaimTemplate", version, some(spec=spec)
    )


def slices(version: str) -> st.SearchStrategy[dict[str, Any]]:
    device = (
        st.fixed_dictionaries({"name": names}, optional={"basic": basic})
        if version == "v1beta1"
        else st.builds(lambda name, fields: {"name": name, **fields}, names, basic)
    )
    pool = st.fixed_dictionaries(
        {"name": st.just("node-1"), "resourceSliceCount": st.sampled_from([1, 2, 0])}
    )
    anywhere = some(nodeName=names, allNodes=st.booleans(), perDeviceNodeSelection=st.booleans())
    required = {"driver": st.just("gpu.example.com"), "pool": pool}
    spec = st.fixed_dictionaries(required, optional={"devices": few(device)})
    where = st.just({"nodeName": "node-1"}) | anywhere
    return kind(
        "ResourceSlice", version, st.builds(lambda there, fields: {**fields, **there}, where, spec)
    )


def classes(version: str) -> st.SearchStrategy[dict[str, Any]]:
    return kind(
        "DeviceClass",
        version,
        some(selectors=body["selectors"], config=config, extendedResourceName=qualified),
    )


def documents(version: str) -> st.SearchStrategy[dict[str, Any]]:
    return claims(version) | slices(version) | classes(version)


def target(release: str) -> Target:
    return Target.of(release, dict.fromkeys(ALL[release].split(), True))


def verdict(document: Any, release: str) -> set[tuple[str, str | None, str | None]]:
    return {(v.rule, v.type, v.field) for v in validate(document, target(release))}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_encoded_document_gets_the_same_verdict(version: str, data: st.DataObject) -> None:
    document = data.draw(documents(version))
    for written in (to_yaml([document]), to_json([document])):
        (read,) = load(["-"], stdin=written.encode()).documents
        assert read.value == document
        assert not read.faults
        assert verdict(read.value, "1.37") == verdict(document, "1.37")


@pytest.mark.parametrize("release", COMPARED)
@settings(max_examples=100, deadline=None)
@given(document=documents("v1beta1"))
def test_v1_gets_the_verdict_of_v1beta1(release: str, document: dict[str, Any]) -> None:
    converted = dict(to_v1(document))
    before, after = verdict(document, release), verdict(converted, release)
    assume(
        "wrong-type" not in {rule for rule, _, _ in before}
    )  # what does not decode is not converted
    assert converted["apiVersion"] == "resource.k8s.io/v1"
    assert bool({type_ for _, type_, _ in before} - {None}) == bool(
        {type_ for _, type_, _ in after} - {None}
    )


@settings(max_examples=100, deadline=None)
@given(document=documents("v1beta1") | documents("v1beta2"))
def test_conversion_leaves_the_document_and_v1_alone(document: dict[str, Any]) -> None:
    text = repr(document)
    converted = to_v1(document)
    assert repr(document) == text
    assert to_v1(converted) is converted
