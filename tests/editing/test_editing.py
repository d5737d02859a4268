"""Answers to editors for a text and a position: | marks the position."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from dractl import drivers, editing
from dractl.editing import Range
from dractl.lint.repository import Repositories
from dractl.model import NEWEST, Target

TARGET = Target.of(NEWEST)
HEAD = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: c\nspec:\n  devices:\n    requests:\n"
REQUEST = HEAD + "    - name: gpu\n      exactly:\n"
CEL = (
    REQUEST
    + "        deviceClassName: gpu.nvidia.com\n        selectors:\n        - cel:\n            expression: "
)


class Marked(NamedTuple):
    """A text without its mark, and the line and column of the mark."""

    text: str
    line: int
    column: int


def split_mark(text: str) -> Marked:
    before, _, after = text.partition("|")
    return Marked(before + after, before.count("\n"), len(before.rpartition("\n")[2]))


def position_of(text: str, name: str) -> tuple[str, str, int, int]:
    whole, line, column = split_mark(text)
    return whole, name, line, column


def labels(text: str) -> list[str]:
    return [item.label for item in editing.completions(*split_mark(text), TARGET)]


def hover(text: str) -> editing.Hover | None:
    return editing.hover(*split_mark(text), TARGET)


def test_value_leads_to_the_object_that_it_names(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    shared = tmp_path / "base" / "class.yaml"
    shared.parent.mkdir()
    shared.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: fast\nspec: {}\n"
    )
    template = HEAD.replace("ResourceClaim", "ResourceClaimTemplate").replace(": c", ": gpus")
    text = (
        f"{template.split('spec:')[0]}---\n"
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  resourceClaims:\n"
        "  - name: gpu\n    resourceClaimTemplateName: gp|us\n"
    )
    name, repositories = str(tmp_path / "pod.yaml"), Repositories()

    (here,) = editing.definitions(*position_of(text, name), repositories)
    assert (here.file, here.range) == (name, Range(3, 8, 3, 12))
    (elsewhere,) = editing.definitions(
        *position_of(REQUEST + "        deviceClassName: fa|st\n", name), repositories
    )
    assert (elsewhere.file, elsewhere.range) == (str(shared), Range(3, 8, 3, 12))
    for nothing in ("deviceClassName: slow|", "deviceClass|Name: fast", "count: 1|"):
        assert not editing.definitions(
            *position_of(f"{REQUEST}        {nothing}", name), repositories
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REQUEST + "        |", "deviceClassName"),
        (REQUEST + "        dev|", "deviceClassName"),
        (REQUEST + "        |\n        count: 2\n", "allocationMode"),
        (HEAD + "    - |", "firstAvailable"),
        (HEAD.replace("    requests:\n", "    |"), "constraints"),
        (
            HEAD + "    - name: gpu\n    |",
            "constraints",
        ),  # the dash's column belongs to the map around the list
        (REQUEST + "        deviceClassName: |", "gpu.nvidia.com"),
        (REQUEST + "        allocationMode: |", "ExactCount"),
        (REQUEST + "        tolerations:\n        - operator: |", "Exists"),
        (REQUEST + "        adminAccess: |", "true"),
        (
            HEAD + "    constraints:\n    - matchAttribute: resource|",
            "resource.kubernetes.io/pcieRoot",
        ),
        ("apiVersion: resource.k8s.io/v1\nkind: |", "DeviceClass"),
        ("|", "apiVersion"),
        (CEL + "device.|", "attributes"),
        (CEL + 'device.driver == "gpu|"', "gpu.nvidia.com"),
        (CEL + 'device.attributes["|"]', "resource.kubernetes.io"),
        (CEL + 'device.attributes["gpu.nvidia.com"].arch|', "architecture"),
        (CEL + 'device.attributes[?"gpu.nvidia.com"].?|', "architecture"),
        (CEL + 'device.capacity["gpu.nvidia.com"].|', "memory"),
        (CEL + "device.attributes['gpu.nvidia.com'].architecture == '|'", "Hopper"),
        (CEL + '"device.attributes[\\"gpu.nvidia.com\\"].architecture == \\"|', "Hopper"),
        (CEL + "'device.attributes[''gpu.nvidia.com''].architecture == ''|", "Hopper"),
        (CEL + "device . attributes [ 'gpu.nvidia.com' ] . arch|", "architecture"),
        (CEL + "device.attributes['gpu.nvidia.com']['|", "architecture"),
        (CEL + "device.attributes['gpu.nvidia.com'].architecture in ['Ada Lovelace', '|", "Hopper"),
        (CEL + "device.attributes['gpu.nvidia.com'].?architecture.orValue('') == '|", "Hopper"),
        (CEL + "!(device.driver in ['|", "gpu.nvidia.com"),
        (CEL + ">-\n              'x' == 'y' && device.driver == '|", "gpu.nvidia.com"),
    ],
)
def test_fitting_completions_are_offered(text: str, expected: str) -> None:

    assert expected in labels(text)


@pytest.mark.parametrize(
    "expression",
    [
        "|-\n              true // device.@",
        "|-\n              // device.attributes['gpu.nvidia.com'].@",
        "|-\n              \"device.attributes['gpu.nvidia.com'].@",
        "|-\n              device.driver == 'a' + \"device.driver == 'gpu@",
        "other.device.@",
        "devices.attributes['gpu.nvidia.com'].@",
    ],
)
def test_comments_and_strings_are_not_read_as_lookups(expression: str) -> None:
    before = (CEL + expression).partition("@")[0]
    assert (
        editing.completions(before, before.count("\n"), len(before.rpartition("\n")[2]), TARGET)
        == []
    )


def test_a_block_scalar_is_an_expression() -> None:
    text = CEL + '>-\n              true &&\n              device.capacity["gpu.nvidia.com"].'
    found = editing.completions(text, text.count("\n"), len(text.rpartition("\n")[2]), TARGET)
    assert "memory" in [item.label for item in found]


def test_present_fields_are_not_offered_again() -> None:
    offered = labels(REQUEST + "        |\n        count: 2\n")
    assert "count" not in offered
    assert "deviceClassName" in offered


def test_attributes_are_not_offered_as_capacity() -> None:
    assert "architecture" not in labels(CEL + 'device.capacity["gpu.nvidia.com"].|')


def test_classes_of_the_same_text_are_offered() -> None:
    own = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: ours\n---\n"
    assert labels(own + REQUEST + "        deviceClassName: |")[0] == "ours"


def test_attributes_of_all_requests_come_first() -> None:
    """A constraint never holds for a device without its attribute."""
    requests = (
        REQUEST + "        deviceClassName: gpu.nvidia.com\n    - name: nic\n      exactly:\n"
    )
    nic = requests + "        deviceClassName: dranet\n    constraints:\n    - matchAttribute: |"
    first = labels(nic)[0]
    for driver in ("gpu.nvidia.com", "dra.net"):
        names = {row.name for row in drivers.find(driver).catalogue.attributes}
        assert first in names
    one = requests.partition("    - name: nic")[0] + "    constraints:\n    - matchAttribute: |"
    names = {row.name for row in drivers.find("gpu.nvidia.com").catalogue.attributes}
    offered = [name.removeprefix("gpu.nvidia.com/") for name in labels(one)]
    assert set(offered[: len(names)]) == names
    assert sorted(labels(one)) == sorted(labels(nic))


def test_drivers_of_classes_in_the_same_text_count() -> None:
    own = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: {}\nspec:\n"
        "  selectors:\n  - cel:\n      expression: device.driver == '{}'\n---\n"
    )
    claim = (
        REQUEST
        + "        deviceClassName: ours\n    - name: nic\n      exactly:\n"
        + "        deviceClassName: dra.net\n    constraints:\n    - matchAttribute: |"
    )
    first = labels(own.format("ours", "gpu.amd.com") + own.format("dra.net", "dra.net") + claim)[0]
    for driver in ("gpu.amd.com", "dra.net"):
        names = {row.name for row in drivers.find(driver).catalogue.attributes}
        assert first in names


def test_attributes_of_many_drivers_come_first_without_a_known_class() -> None:
    offered = labels(
        REQUEST + "        deviceClassName: x\n    constraints:\n    - matchAttribute: |"
    )
    assert offered[0].startswith("resource.kubernetes.io/")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # the descriptions of k8s.io/api of 1.37: resource/v1/types.go and core/v1/types.go
        (REQUEST + "        cou|nt: 2", "Count is used only when the count mode is"),
        (
            (
                "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n"
                "      containers:\n      - resources:\n          claims:\n          - na|me: gpu"
            ),
            "Name must match the name of one entry in pod.spec.resourceClaims",
        ),
        (
            HEAD.replace("/v1\n", "/v1beta1\n") + "    requ|ests: []",
            "Requests represent individual",
        ),
    ],
)
def test_hover_over_a_field_has_the_description_of_the_api(text: str, words: str) -> None:
    found = hover(text)
    assert found is not None
    assert words in found.text


def test_a_completion_replaces_the_word_before_the_position() -> None:
    text, line, column = split_mark(CEL + 'device.attributes["gpu.nvidia.com"].arch|')
    found = next(
        i for i in editing.completions(text, line, column, TARGET) if i.label == "architecture"
    )
    assert text.split("\n")[line][found.start : column] == "arch"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            CEL + 'device.attributes["gpu.nvidia.com"].archi|tecture == "Hopper"',
            ["string", '`"Hopper"`'],
        ),
        (
            CEL + 'device.attributes["gpu.nvidia.com"].add|ressingMode == "HMM"',
            ["since driver version 25.12 ("],
        ),
        (CEL + 'device.attributes["gpu.nvidia.com"].ind|ex == 0', ["removed in 25.8 (v25.8.0"]),
        (
            CEL + 'device.attributes["resource.kubernetes.io"].numa|Node == 0',
            [
                "may be absent: only where the function has a NUMA node",
                "a list with DRAListTypeAttributes",
            ],
        ),
        (CEL + 'device.driver == "gpu.nv|idia.com"', ["NVIDIA GPUs and MIG devices"]),
        (REQUEST + "        deviceClassName: mig.nv|idia.com", ["device.driver"]),
        (
            REQUEST + "        toler|ations: []",
            ["DeviceToleration", "since Kubernetes 1.33", "DRADeviceTaints"],
        ),
        (
            HEAD + "    constraints:\n    - matchAttribute: resource.kubernetes.io/pcie|Root",
            ["PCIe root complex"],
        ),
    ],
)
def test_hover_shows_known_facts(text: str, expected: list[str]) -> None:
    found = hover(text)
    assert found is not None
    for part in expected:
        assert part in found.text


@pytest.mark.parametrize(
    "text",
    [
        "# a com|ment\n",
        "--|-\n",
        REQUEST + "        deviceClassName: unkno|wn",
        REQUEST + "        count:\n          va|lue: 2",
        CEL + "tr|ue",
        CEL + ">-\n              // device.attributes['gpu.nvidia.com'].archi|tecture",
        CEL + ">-\n              \"device.attributes['gpu.nvidia.com'].archi|tecture\" == 'x'",
        "a: {b|",
        "- - |",
        "\t|",
    ],
)
def test_nothing_is_reported_where_nothing_is_known(text: str) -> None:
    assert hover(text) is None


def test_a_hover_covers_the_word() -> None:
    text, line, column = split_mark(
        CEL + 'device.attributes["gpu.nvidia.com"].archi|tecture == "Hopper"'
    )
    found = editing.hover(text, line, column, TARGET)
    assert found is not None
    assert text.split("\n")[line][found.start : found.end] == "architecture"


def test_findings_have_ranges_levels_and_fixes() -> None:
    text = REQUEST + "        deviceClassname: gpu.nvidia.com\n"
    found = editing.diagnostics(text, "claim.yaml", TARGET)
    unknown = next(item for item in found if item.code == "DRA003")
    assert unknown.level == "error"
    assert unknown.range == Range(9, 8, 9, 23)
    assert unknown.fix is not None
    assert unknown.fix.safe
    assert [(edit.range, edit.text) for edit in unknown.fix.edits] == [
        (Range(9, 8, 9, 23), "deviceClassName")
    ]


def test_likely_mistake_is_a_warning_and_no_error() -> None:
    text = CEL + 'device.attributes["gpu.nvidia.com"].architecture == "hopper"\n'
    found = editing.diagnostics(text, "claim.yaml", TARGET)
    assert {item.level for item in found if "hopper" in item.message} == {"warning"}


@pytest.mark.parametrize("text", ["", "a: [", "just words\n", "services:\n  web:\n    image: x\n"])
def test_texts_unrelated_to_dra_have_no_diagnostics(text: str) -> None:
    assert editing.diagnostics(text, "x.yaml", TARGET) == ()


def test_kinds_follow_the_version_named_in_the_file() -> None:
    assert "DeviceClass" in labels("kind: |")
    assert "DeviceClass" not in labels("apiVersion: v1\nkind: |")


def test_further_places_of_a_finding_are_those_in_its_file() -> None:
    found = editing.diagnostics(CEL + "a + b\n", "a.yaml", TARGET)
    (expression,) = [item for item in found if item.related]
    assert [(text, place.line) for text, place in expression.related] == [
        ("undeclared reference to 'b'", 12)
    ]


FLOW = HEAD + "    - name: gpu\n      exactly: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FLOW + "{deviceClassName: |", "gpu.nvidia.com"),
        (FLOW + "{deviceClassName: |}\n", "gpu.nvidia.com"),
        (FLOW + "{deviceClassName: |\n    - name: nic\n", "gpu.nvidia.com"),
        (FLOW + "{count: 2, deviceClassName: gpu.|, allocationMode: All}\n", "gpu.nvidia.com"),
        (FLOW + "{\n          deviceClassName: |,\n        }\n", "gpu.nvidia.com"),
        (FLOW + "{\n          deviceClassName:\n            |\n", "gpu.nvidia.com"),
        (FLOW + "{deviceClassName: gpu.nvidia.com, allo|", "allocationMode"),
        (FLOW + "{|}\n", "deviceClassName"),
        (FLOW + "{count: 2,\n        |\n", "deviceClassName"),
        (
            FLOW + "{count: 2}\n    constraints: [{requests: [gpu], matchAttribute: |",
            "dra.net/rdma",
        ),
        (FLOW + "{selectors: [{cel: {expression: 'device.|'}}]}\n", "attributes"),
        (FLOW + "{tolerations: [{key: a, operator: |}]}\n", "Exists"),
        ('{"apiVersion":"resource.k8s.io/v1","kind":|', "ResourceClaim"),
    ],
)
def test_completions_are_offered_in_flow_style(text: str, expected: str) -> None:
    assert expected in labels(text)


@pytest.mark.parametrize(
    "text",
    [
        FLOW + "{deviceClassName: gpu.nvidia.com} |",
        FLOW + "{deviceClassName: gpu.nvidia.com # a |",
        FLOW + "{{ .Values.request | }}",
        FLOW + "{selectors: [|",
    ],
)
def test_nothing_is_offered_behind_brackets_comments_and_in_actions(text: str) -> None:
    assert labels(text) == []


def test_a_completion_in_flow_style_replaces_the_word_alone() -> None:
    text = FLOW + "{\n        deviceClassName:\n          gpu|, count: 2}\n"
    assert {item.start for item in editing.completions(*split_mark(text), TARGET)} == {10}
    assert "count" not in labels(FLOW + "{|, count: 2}\n")


def test_a_hover_in_flow_style_ends_before_the_comma() -> None:
    found = hover(FLOW + "{deviceClassName: gpu.nv|idia.com, count: 2}\n")
    assert found is not None
    assert found.text.startswith("**gpu.nvidia.com**: DeviceClass")
    assert (found.start, found.end) == (33, 47)
    field = hover(FLOW + "{deviceClassName: gpu.nvidia.com, co|unt: 2}\n")
    assert field is not None
    assert (field.start, field.end) == (49, 54)


def test_a_hover_in_flow_style_describes_an_attribute_of_a_selector() -> None:
    found = hover(
        FLOW
        + "{selectors: [{cel: {expression: 'device.attributes[\"gpu.nvidia.com\"].archi|tecture'}}]}"
    )
    assert found is not None
    assert found.text.startswith("**gpu.nvidia.com/architecture**")


def test_a_class_in_flow_style_leads_to_its_definition() -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: fast}\n---\n"
        + FLOW
        + "{deviceClassName: fa|st, count: 2}\n"
    )
    definitions = editing.definitions(*position_of(text, "claim.yaml"), Repositories())
    assert [found.range.line for found in definitions] == [2]
    assert "fast" in labels(text.replace("fa|st", "|"))
