"""Places: every value's, key's and character's."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import assume, given, settings, strategies as st

from dractl.manifests import load
from dractl.manifests.resolve import plain

CLAIM = """\
# a comment
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: "gpu.example.com"
        count:
        selectors:
        - cel:
            expression: |-
              device.driver == "a" &&
                device.attributes["a"].b
    constraints: []
"""
REQUEST = ("spec", "devices", "requests", 0)
EXPRESSION = (*REQUEST, "exactly", "selectors", 0, "cel", "expression")


def span(position) -> tuple[int, int, int, int]:
    return position.line, position.column, position.end_line, position.end_column


@pytest.mark.parametrize(
    ("path", "key", "wanted"),
    [
        (("kind",), False, (3, 7, 3, 20)),
        (("kind",), True, (3, 1, 3, 5)),
        (("metadata", "name"), False, (4, 18, 4, 23)),
        ((*REQUEST, "name"), False, (8, 13, 8, 16)),
        ((*REQUEST, "exactly", "deviceClassName"), False, (10, 26, 10, 43)),
        ((*REQUEST, "exactly", "count"), False, (11, 9, 11, 14)),  # nothing to see: its key
        (
            (*REQUEST, "exactly", "adminAccess"),
            False,
            (9, 7, 9, 14),
        ),  # missing: the key of what would hold it
        (
            (*REQUEST, "firstAvailable"),
            False,
            (8, 7, 8, 16),
        ),  # missing in a list's item: its first line
        (("spec", "devices", "constraints"), False, (17, 18, 17, 20)),
        (("spec", "devices", "config"), True, (6, 3, 6, 10)),
        (REQUEST, False, (8, 7, 16, 41)),
        (EXPRESSION, False, (14, 25, 16, 41)),
        ((), False, (2, 1, 17, 20)),
    ],
)
def test_yaml_values_and_keys(one, composer: str, path, key: bool, wanted) -> None:
    assert span(one(CLAIM).locate(path, key=key)) == wanted


def test_a_character_of_a_block_scalar(one, composer: str) -> None:
    document = one(CLAIM)
    text = 'device.driver == "a" &&\n  device.attributes["a"].b'
    assert (
        document.value["spec"]["devices"]["requests"][0]["exactly"]["selectors"][0]["cel"][
            "expression"
        ]
        == text
    )
    place = document.locate(EXPRESSION, offset=text.index("attributes"))
    assert (place.line, place.column) == (16, 24)
    assert document.line(16)[23:].startswith("attributes")
    end = document.locate(EXPRESSION, offset=len(text))
    assert (end.line, end.column) == (16, 41)


def test_documents_after_the_first_count_lines_of_the_file(read) -> None:
    first, second = read(f"---\n{CLAIM}--- # next\n{CLAIM}").documents
    assert (first.index, second.index) == (0, 1)
    assert first.locate(("kind",)).line == 4
    assert second.locate(("kind",)).line == 4 + 18
    assert second.locate(EXPRESSION, offset=0).column == 15


def test_crlf_tabs_and_wide_characters(one) -> None:
    document = one("kind: K\r\na:\t'é😀x' # é\r\nb: [é, 'ü']\r\n")
    assert span(document.locate(("a",))) == (2, 4, 2, 9)
    assert document.locate(("a",), offset=2).column == 7
    assert span(document.locate(("b", 1))) == (3, 8, 3, 11)
    assert document.line(2) == "a:\t'é😀x' # é"


def test_unicode_line_separators_end_no_line(one) -> None:
    document = one("kind: K\na: 'x\u2028y'\nb: 1\n")
    assert span(document.locate(("b",))) == (3, 4, 3, 5)


def test_values_behind_anchors_tags_and_merges(one) -> None:
    document = one('kind: K\na: &x\n  m: !!str "vw"\nb: *x\nc:\n  <<: *x\n')
    assert span(document.locate(("b", "m"), key=True)) == (3, 3, 3, 4)
    assert span(document.locate(("c", "m"), key=True)) == (3, 3, 3, 4)
    assert document.locate(("c", "m"), offset=1).column == 14


def test_the_last_of_repeated_keys_is_the_one(one) -> None:
    document = one("kind: K\na: 1\na: 2\n")
    assert document.locate(("a",)).line == 3


def test_keys_other_than_strings_are_located(one) -> None:
    document = one("kind: K\n010: a\nyes: b\n")
    assert document.value == {"kind": "K", "8": "a", "true": "b"}
    assert document.locate(("8",)).line == 2
    assert document.locate(("true",)).line == 3


def test_items_of_a_list_are_located_in_it(one) -> None:
    yaml_item = one("kind: List\nitems:\n- kind: ResourceClaim\n  spec: {a: 1}\n")
    assert span(yaml_item.locate(("spec", "a"))) == (4, 13, 4, 14)
    json_item = one('{"kind":"List","items":[\n {"kind":"ResourceClaim",\n  "spec": {"a": 1}}]}')
    assert span(json_item.locate(("spec", "a"))) == (3, 17, 3, 18)


@pytest.mark.parametrize(
    ("path", "key", "wanted"),
    [
        (("a",), False, (2, 8, 2, 20)),
        (("a",), True, (2, 3, 2, 6)),
        (("b", 1, "c"), False, (3, 18, 3, 22)),
        (("b", 1), False, (3, 12, 3, 23)),
        (("b", 1, "d"), False, (3, 12, 3, 13)),
        (("b", 1, "c", "e"), False, (3, 13, 3, 16)),
        (("nothing",), False, (1, 1, 1, 2)),
    ],
)
def test_json_values_and_keys(one, path, key: bool, wanted) -> None:
    document = one('{\n  "a": "x\\n\\u00e9😀",\n  "b": [1, {"c": null}]\n}')
    assert span(document.locate(path, key=key)) == wanted


def test_a_character_of_a_json_string(one) -> None:
    document = one('{"kind": "K", "a": "x\\n\\u00e9\\ud83d\\ude00y"}')
    columns = [
        document.locate(("a",), offset=number).column
        for number in range(len(document.value["a"]) + 1)
    ]
    assert columns == [21, 22, 24, 30, 42, 43]


def test_the_first_character_beyond_the_basic_plane_is_one_in_json(one) -> None:
    """U+10000 is the pair of the least surrogates (RFC 8259, section 7)."""
    document = one('{"kind": "K", "a": "\\ud800\\udc00y"}')
    assert [document.locate(("a",), offset=number).column for number in range(3)] == [21, 33, 34]


# --- properties --------------------------------------------------------------------------------------------------

CHARACTERS = st.one_of(
    st.sampled_from(list(" \n\tab:#'\"\\-{}[],&*!|>%@`~?=éß😀 ")),
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff\u2028\u2029"),
)
TEXTS = st.text(CHARACTERS, max_size=60)


def safe_load(text: str):
    """With libyaml where it is there: it refuses some tabs that PyYAML's own parser takes."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def check(source: str, value: str, *, escapes: bool = False) -> None:
    """Each character of the value stands where ``locate`` says, unless it is a folded line break or an escape."""
    document = load(["-"], stdin=source.encode()).documents[0]
    assert document.value["k"]["t"] == value
    lines = source.split("\n")
    previous = (0, 0)
    for offset, char in enumerate(value):
        place = document.locate(("k", "t"), offset=offset)
        assert (place.line, place.column) >= previous
        previous = (place.line, place.column)
        line = lines[place.line - 1] + "\n"
        found = line[place.column - 1]
        if escapes and found == "\\":
            continue
        assert found == char or (found == "\n" and char == " "), (source, value, offset)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(["'", '"', "|", ">", None]), st.integers(4, 80), st.booleans())
def test_pyyamls_dumps_map_back(value: str, style: str | None, width: int, unicode: bool) -> None:
    assume(
        isinstance(plain(value), str)
    )  # PyYAML leaves texts bare that Go reads as booleans and numbers
    source = yaml.dump(
        {"k": {"t": value}}, default_style=style, width=width, allow_unicode=unicode, indent=3
    )
    check(source, safe_load(source)["k"]["t"], escapes='"' in source)


LINES = st.lists(st.text(st.sampled_from(list("ab é#:'\"\t")), max_size=8), min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(
    LINES,
    st.sampled_from("|>"),
    st.sampled_from(["", "-", "+"]),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_block_scalars_map_back(
    lines: list[str],
    style: str,
    chomping: str,
    indent: int,
    explicit: bool,
    end: str,
    comment: bool,
) -> None:
    """Written by hand, so that explicit indentation, chomping, blank lines and CRLF all meet."""
    header = f"{style}{indent if explicit else ''}{chomping}{' # why' if comment else ''}"
    body = [f"  {' ' * indent}{line}" if line else "" for line in lines]
    source = end.join(["k:", f"  t: {header}", *body, "  u: 1", ""])
    try:
        wanted = safe_load(source.replace("\r\n", "\n"))["k"]["t"]
    except (yaml.YAMLError, TypeError):
        return
    check(source.replace("\r\n", "\n"), wanted)
    if end == "\r\n":
        document = load(["-"], stdin=source.encode()).documents[0]
        plain = load(["-"], stdin=source.replace("\r\n", "\n").encode()).documents[0]
        for offset in range(len(wanted)):
            assert document.locate(("k", "t"), offset=offset) == plain.locate(
                ("k", "t"), offset=offset
            )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(st.sampled_from(list("abé'\\")), min_size=1, max_size=6), min_size=1, max_size=5
    ),
    st.data(),
)
def test_folded_flow_scalars_map_back(words: list[str], data: st.DataObject) -> None:
    """Words of plain and single-quoted scalars over several lines."""
    glue = data.draw(
        st.lists(
            st.sampled_from([" ", "  ", "\n     ", " \n\n     ", "\n\n\n     "]),
            min_size=4,
            max_size=4,
        )
    )
    quoted = data.draw(st.booleans())
    text = "".join(f"{word}{space}" for word, space in zip(words, glue, strict=False)) + "end"
    source = (
        f"k:\n  t: '{text.replace(chr(39), chr(39) * 2)}'\n"
        if quoted
        else f"k:\n  t: a{text}\n  u: 1\n"
    )
    check(source, safe_load(source)["k"]["t"])


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.booleans())
def test_json_strings_map_back(value: str, ascii_only: bool) -> None:
    source = json.dumps({"k": {"t": value}}, ensure_ascii=ascii_only)
    check(source, value, escapes=True)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


def paths(value, prefix=()):
    yield prefix, value
    items = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
    for step, child in items:
        yield from paths(child, (*prefix, step))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.text(max_size=4), JSON_VALUES, min_size=1, max_size=4),
    st.sampled_from([None, 1]),
)
def test_every_json_value_is_found(value, indent) -> None:
    source = json.dumps(value, indent=indent)
    document = load(["-"], stdin=source.encode()).documents[0]
    lines = source.split("\n")
    for path, wanted in paths(value):
        place = document.locate(path)
        text = "\n".join(lines[place.line - 1 : place.end_line])
        text = text[
            place.column - 1 : len(text) - len(lines[place.end_line - 1]) + place.end_column - 1
        ]
        assert json.loads(text) == wanted
