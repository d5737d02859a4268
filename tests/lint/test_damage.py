"""Whatever stands in a document, lint ends in findings: the examples of the rules with parts of them replaced."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings, strategies as st

from dractl.lint import lint, registry
from dractl.lint.inventory import TriedDevices
from dractl.manifests import load
from dractl.model import Target, decode
from dractl.model.releases import RELEASES

EXAMPLES = [
    [document for document in yaml.safe_load_all(text) if document]
    for rule in registry.rules().values()
    for heading in ("Example", "Use instead")
    if rule.code not in ("DRA001", "DRA004") and (text := rule.example(heading))
]
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-1",
        "devices": [
            {
                "name": "gpu-0",
                "attributes": {"model": {"string": "A100"}},
                "capacity": {"memory": {"value": "1Gi"}},
            }
        ],
    },
}
CLASS = {"spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]}}
JUNK = st.sampled_from(
    [
        None,
        0,
        -1,
        3.5,
        True,
        "",
        "a/b/c",
        "Ünï\u0007",
        [],
        [None],
        {},
        {"": None},
        {"x": [{}]},
        "device.x(",
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
    return [path] * bool(path) + [
        place for key, item in items for place in places(item, (*path, key))
    ]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_damaged_documents_never_break_a_rule(data: st.DataObject) -> None:
    documents = [
        copy.deepcopy(document)
        for _ in range(2)
        for document in data.draw(st.sampled_from(EXAMPLES))
    ]
    for document in documents:
        for _ in range(data.draw(st.integers(0, 3))):
            path = data.draw(st.sampled_from(places(document) or [("kind",)]))
            holder = document
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = copy.deepcopy(data.draw(JUNK))
    text = "\n---\n".join(json.dumps(document) for document in documents)
    inventory = data.draw(
        st.sampled_from([None, TriedDevices([decode(SLICE)], {"gpu.example.com": CLASS})])
    )
    report = lint(
        load(["-"], stdin=text.encode()),
        Target.of(data.draw(st.sampled_from(RELEASES))),
        devices=inventory,
    )
    lines = text.splitlines()
    for finding in report.findings:
        assert 1 <= finding.position.line <= len(lines)
        assert 1 <= finding.position.column <= len(lines[finding.position.line - 1]) + 1
    json.dumps(report.to_json())
