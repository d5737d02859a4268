"""Plain YAML has the value that libyaml's nodes have, or none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dractl.manifests import plainyaml, yamltext
from dractl.manifests.chunks import Chunk, Unreadable
from dractl.manifests.composing import compose
from dractl.manifests.source import Source
from dractl.manifests.text import bad_character

CLAIM = """\
# a claim
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec:
  devices:
    requests:
    - name: gpu  # eight of them
      exactly:
        count: 8
        selectors:
        - cel:
            expression: |-
              device.driver == "a" &&
                true # no comment

        - cel: {expression: 'true'}
    constraints:
    - requests: [gpu, "nic"]
  on: yes
  ratio: 1e3
"""


def by_libyaml(text: str) -> Any:
    chunk = Chunk(0, len(text))
    try:
        node = compose(text, chunk)
        decoder = yamltext._Decoder(Source("x", text), 0, aliases="*" in text)
        value = None if node is None else decoder.decode(node)
    except Unreadable:
        return "refused"
    return "given twice" if decoder.faults else value


def test_a_claim_with_a_literal_block_is_plain() -> None:
    text = CLAIM
    value = plainyaml.read(text)
    assert value == by_libyaml(text)
    assert value["spec"]["true"] is True
    assert value["spec"]["ratio"] == 1000
    selectors = value["spec"]["devices"]["requests"][0]["exactly"]["selectors"]
    assert selectors[0]["cel"]["expression"] == 'device.driver == "a" &&\n  true # no comment'


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1",
        "a: *x",
        "a: !!str 1",
        "<<: {a: b}",
        "a: 1\na: 2",
        "a: b\n  c: d",
        "a: b\n  more words",
        "a: >-\n  folded\n",
        'a: "\\n"',
        "a: 'it''s'",
        "- - a",
        "? a\n: b",
        "a:\tb",
        "a: b: c",
        "- |",
        "a: .nan",
        "null: 1",
        "word",
        "a: [b, [c]]",
        "a: |\n  text that the file ends with",
        "a: |2\n   b\nc: d\n",
        "ä: b",
    ],
)
def test_yaml_beyond_the_plain_subset_is_left_to_libyaml(text: str) -> None:
    assert plainyaml.read(text) is plainyaml.UNKNOWN


def test_equal_lines_have_separate_collections() -> None:
    text = "a: [x]\nb: {c: d}\ne:\n- [x]\n- [x]\n- {c: d}\n- {c: d}\n"
    first, second = plainyaml.read(text), plainyaml.read(text)
    found = [*first.values(), *first["e"], *second.values(), *second["e"]]
    assert len({id(value) for value in found}) == len(found)
    assert first == second == by_libyaml(text)


@pytest.mark.parametrize("length", [1, 200, 255, 256, 257, 100_000])
def test_a_line_of_any_length(length: int) -> None:
    word = "w" * length
    assert plainyaml.read(f"a: {word}\n{word[:250]}: b\n") == {"a": word, word[:250]: "b"}
    assert plainyaml.read(f"a: {word}: b\n") is plainyaml.UNKNOWN


WORDS = "- |: |  |\n  |\n- | # c|k: v|  - k: v|[a, b]|{a: b}|null|on|0x1f|1.5|-1|--f|a:b|.inf|...|a b|'q'|\"q\"|::"
TOKENS = st.sampled_from(
    [*"ab1y~-:#'\"|>[]{},&*!?%@`=\\ \n", *WORDS.split("|"), "k: |\n", "k: |-\n    t\n"]
)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(CLAIM)), st.integers(0, 4), st.lists(TOKENS, max_size=4))
def test_mutated_claim_has_the_value_of_libyaml(at: int, cut: int, tokens: list[str]) -> None:
    text = CLAIM[:at] + "".join(tokens) + CLAIM[at + cut :]
    value = plainyaml.read(text)
    if value is not plainyaml.UNKNOWN and bad_character(text, 0, len(text)) is None:
        assert repr(value) == repr(by_libyaml(text))


FLOW_CLAIM = (
    "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: one, labels: {}},"
    " spec: {devices: {requests: [{name: gpu, exactly: {count: 8, deviceClassName: 'a.b'}}],"
    ' constraints: [{requests: [gpu, "nic"], "matchAttribute":"a.b/c"}]}, on: yes, ratio: 1e3}}'
)


def test_a_claim_in_flow_style_is_plain() -> None:
    value = plainyaml.read(f"{FLOW_CLAIM}\n")
    assert value == by_libyaml(FLOW_CLAIM)
    assert value["spec"]["devices"]["constraints"] == [
        {"requests": ["gpu", "nic"], "matchAttribute": "a.b/c"}
    ]
    assert value["spec"]["true"] is True
    assert value["spec"]["ratio"] == 1000


def test_commas_in_quotes_and_at_any_distance_are_plain() -> None:
    text = """{a: "b, c", "d": 'e, "f, g"', h: [1,2,  three], i: {j: k,l: m}}"""
    assert plainyaml.read(text) == {
        "a": "b, c",
        "d": 'e, "f, g"',
        "h": [1, 2, "three"],
        "i": {"j": "k", "l": "m"},
    }


@pytest.mark.parametrize(
    "text",
    [
        "{a: b, a: c}",
        "{a: b,}",
        "{a: [b, ]}",
        "{a: 'b\n'}",
        "{a: b\n}",
        "{a: b, null: c}",
        "{a: {b: c}",
        "{a: b}}",
        "{a: b} c",
        "{a: b c}",
        "{a: [b: c]}",
        "{a: b # c\n}",
        "{a, b}",
        "{a: &b c}",
        "{" + "a: {" * 80 + "}" * 81,
    ],
)
def test_flow_style_beyond_the_plain_subset_is_left_to_libyaml(text: str) -> None:
    assert plainyaml.read(text) is plainyaml.UNKNOWN


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(FLOW_CLAIM)), st.integers(0, 4), st.lists(TOKENS, max_size=4))
def test_mutated_flow_claim_has_the_value_of_libyaml(at: int, cut: int, tokens: list[str]) -> None:
    text = FLOW_CLAIM[:at] + "".join(tokens) + FLOW_CLAIM[at + cut :]
    value = plainyaml.read(text)
    if value is not plainyaml.UNKNOWN and bad_character(text, 0, len(text)) is None:
        assert repr(value) == repr(by_libyaml(text))


@settings(max_examples=300, deadline=None)
@given(st.lists(TOKENS, max_size=12))
def test_short_text_has_the_value_of_libyaml(tokens: list[str]) -> None:
    text = "".join(tokens)
    value = plainyaml.read(text)
    if value is not plainyaml.UNKNOWN and value is not None:
        assert repr(value) == repr(by_libyaml(text))
