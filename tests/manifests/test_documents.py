"""Splitting, Lists, Helm's origins, templates, and input that nobody would want."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest

from dractl.manifests import load

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s}\n"


def test_a_broken_document_does_not_stop_the_others(read) -> None:
    inputs = read(
        f"{CLAIM % 'a'}---\nspec: [1\n--- # third\n{CLAIM % 'b'}---\na:\n\tb: 1\n---\n\n# nothing\n---\n{CLAIM % 'c'}"
    )
    assert [document.name for document in inputs.documents] == ["a", "b", "c"]
    assert [document.index for document in inputs.documents] == [0, 2, 4]
    assert [(broken.index, broken.position.line) for broken in inputs.broken] == [(1, 5), (3, 12)]
    assert inputs.broken[1].hint == "a tab cannot indent YAML: use spaces"


def test_separators_are_recognized_as_by_kubectl(read) -> None:
    inputs = read(
        f"---\n{CLAIM % 'a'}--- {{}}\n{CLAIM % 'b'}----\n{CLAIM % 'c'}---\t\r\n{CLAIM % 'd'}"
    )
    assert [document.name for document in inputs.documents] == ["a", "d"]
    assert [broken.message for broken in inputs.broken] == [
        "invalid Yaml document separator: {}",
        "invalid Yaml document separator: -",
    ]
    assert [(broken.position.line, broken.position.column) for broken in inputs.broken] == [
        (5, 5),
        (9, 4),
    ]


def test_dashes_within_a_text_are_no_separator(one) -> None:
    assert one("kind: K\nscript: |\n  a\n  ---\n  b\n").value["script"] == "a\n---\nb\n"


def test_helm_says_where_a_document_comes_from(read) -> None:
    text = (
        f"---\n# Source: c/templates/a.yaml\n{CLAIM % 'a'}"
        "---\n# Source: c/templates/b.yaml\nkind: List\nitems:\n- kind: Pod\n"
        f"---\n{CLAIM % 'c'}# Source: no\n"
    )
    assert [document.origin for document in read(text).documents] == [
        "c/templates/a.yaml",
        "c/templates/b.yaml",
        None,
    ]


def test_lists(read) -> None:
    inputs = read(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimList\nitems:\n"
        "- metadata: {name: a}\n- kind: ResourceClaim\n  apiVersion: resource.k8s.io/v1beta1\n"
        "---\napiVersion: v1\nkind: List\nitems:\n- metadata: {name: c}\n"
        "- kind: PodList\n  apiVersion: v1\n  items: [{}]\n- 5\n"
    )
    found = [(document.api_version, document.kind, document.index) for document in inputs.documents]
    assert found == [
        ("resource.k8s.io/v1", "ResourceClaim", 0),
        ("resource.k8s.io/v1beta1", "ResourceClaim", 0),
        (None, None, 1),
        ("v1", "Pod", 1),
    ]
    (broken,) = inputs.broken
    assert (broken.message, broken.position.line) == (
        "the document is a number, not a Kubernetes object",
        15,
    )


def test_faults_of_items_have_the_items_paths(read) -> None:
    first, second = read(
        "kind: List\nitems:\n- kind: Pod\n  a: 1\n- kind: Pod\n  a: 1\n  a: 2\n"
    ).documents
    assert first.faults == ()
    assert [fault.path for fault in second.faults] == [("a",)]


def test_names_other_than_text_are_none(one) -> None:
    document = one("kind: 5\napiVersion: [a]\nmetadata: {name: 1.5}\n")
    assert (document.kind, document.api_version, document.name, document.namespace) == (
        None,
        None,
        None,
        None,
    )


# --- templates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "kind: ResourceClaim\nmetadata:\n  name: {{ .Values.name }}\n",
        "{{- if .Values.enabled }}\nkind: ResourceClaim\n{{- end }}\n",
        "kind: ResourceClaim\nspec:\n  {{- toYaml .Values.spec | nindent 2 }}\n",
        'kind: ResourceClaim\nname: "it\'s"\n{{ include "x" . }}\n',
    ],
)
def test_templates_are_skipped(read, text: str) -> None:
    inputs = read(text)
    assert (inputs.documents, inputs.broken) == ((), ())
    (skipped,) = inputs.skipped
    assert "helm template CHART | dractl lint -" in skipped.hint


@pytest.mark.parametrize(
    "text",
    [
        "kind: K\nname: '{{ x }}'\n",
        "kind: K\nname: a{{ x }}\n",
        "kind: K\nscript: |\n  {{ x }}\n",
        "kind: K # {{ x }}\n",
    ],
)
def test_braces_in_valid_documents_are_no_template(one, text: str) -> None:
    assert one(text).kind == "K"


@pytest.mark.parametrize(
    "text",
    [
        "kind: K # {{ x }}\na: b: c\n",
        "kind: K\nx: '{{ x }}'\na: b: c\n",
        "kind: K\nx: |\n  {{ x }}\n\n  {{ y }}\na: b: c\n",
        'kind: K\nx: "a \\" {{ x }}"\na: b: c\n',
    ],
)
def test_braces_in_strings_and_comments_excuse_nothing(read, text: str) -> None:
    assert len(read(text).broken) == 1


def test_a_charts_templates_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = tmp_path / "chart"
    (chart / "templates" / "sub").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: c\n")
    (chart / "templates" / "sub" / "a.yaml").write_text(CLAIM % "'{{ .Release.Name }}'")
    (chart / "crds.yaml").write_text(CLAIM % "b")
    inputs = load([str(tmp_path)])
    assert [document.name for document in inputs.documents] == ["b"]
    (skipped,) = inputs.skipped
    assert skipped.hint == f"helm template {chart} | dractl lint -"
    monkeypatch.chdir(chart / "templates")
    (skipped,) = load(["sub/a.yaml"]).skipped
    assert skipped.hint == "helm template .. | dractl lint -"


def test_charts_template_without_actions_is_read_as_it_stands(tmp_path: Path) -> None:
    # LionelJouin/network-dra deployments/network-DRA/templates/resourceslice.yaml
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("name: c\n")
    (tmp_path / "templates" / "a.yaml").write_text(CLAIM % "a")
    (tmp_path / "templates" / "b.yaml").write_text(CLAIM % "b" + "a: b: c\n")
    inputs = load([str(tmp_path)])
    assert ([document.name for document in inputs.documents], inputs.skipped) == (["a"], ())
    assert [broken.file for broken in inputs.broken] == [str(tmp_path / "templates" / "b.yaml")]


# --- hostile -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[" * 200_000 + "]" * 200_000,
        "- " * 200_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "? " * 5000,
        "a: " + "[" * 300 + "]" * 300,
        "".join(" " * depth + "a:\n" for depth in range(600)),
    ],
)
def test_deep_nesting(read, text: str) -> None:
    inputs = read(text)
    assert inputs.documents == ()
    (broken,) = inputs.broken
    assert "levels deep" in broken.message or "did not find" in broken.message


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 150 + "]" * 150,
        '{"a": ' + "[" * 150 + "]" * 150 + "}",
        'a: "' + "[" * 5000 + '"',
    ],
)
def test_moderate_nesting_is_read(one, text: str) -> None:
    assert "a" in one(text).value


def test_alias_bombs(read) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    (broken,) = read("\n".join(lines)).broken
    assert broken.message == "document contains excessive aliasing"
    nested = ["a0: &a0 " + "[" * 100 + "]" * 100] + [
        f"a{n}: &a{n} {'[' * 90}*a{n - 1}{']' * 90}" for n in range(1, 4)
    ]
    (broken,) = read("\n".join(nested)).broken
    assert "levels deep" in broken.message


@pytest.mark.parametrize(
    ("data", "message", "line", "column"),
    [
        (b"kind: K\na: caf\xe9\n", "invalid UTF-8: byte 0xe9", 2, 7),
        (b"kind: K\na: \x00\n", "control characters are not allowed: U+0000", 2, 4),
        ("kind: K\nb: é\na: \x1b\n".encode(), "control characters are not allowed: U+001B", 3, 4),
        (b"\xff\xfe\x00", None, 1, 1),
    ],
)
def test_binary_file_is_broken(
    read, data: bytes, message: str | None, line: int, column: int
) -> None:
    (broken,) = read(data).broken
    if message is not None:
        assert broken.message == message
    assert (broken.position.line, broken.position.column) == (line, column)


def test_only_the_document_with_bad_bytes_is_broken(read) -> None:
    inputs = read((CLAIM % "a").encode() + b"---\nx: \xff\n---\n" + (CLAIM % "b").encode())
    assert [document.name for document in inputs.documents] == ["a", "b"]
    assert [broken.index for broken in inputs.broken] == [1]
    assert inputs.documents[0].line(5) == "x: \ufffd"


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF8 + (CLAIM % "é").encode(),
        (CLAIM % "é").encode("utf-16"),
        codecs.BOM_UTF16_BE + (CLAIM % "é").encode("utf-16-be"),
    ],
)
def test_byte_order_marks(one, data: bytes) -> None:
    document = one(data)
    assert document.name == "é"
    assert document.locate(("apiVersion",), key=True).column == 1


def test_utf_16_without_a_mark_gets_a_hint(read) -> None:
    (broken,) = read((CLAIM % "a").encode("utf-16-le")).broken
    assert "UTF-16" in broken.hint


@pytest.mark.parametrize(
    "text",
    ['{"a": NaN}', '{"a": 1', '{"a": "\x01"}', '{"a": tru}', "{'a': 1} x", '{"a": 1}\n{"b": '],
)
def test_invalid_json_is_broken(read, text: str) -> None:
    inputs = read(text)
    assert [broken.position.line >= 1 for broken in inputs.broken] in ([True], []) or len(
        inputs.documents
    ) == 1


def test_several_json_objects_after_one_another(read) -> None:
    assert [
        document.kind for document in read('{"kind": "A"}{"kind": "B"}\n\n{"kind": "C"}').documents
    ] == ["A", "B", "C"]


def test_a_truncated_dump_says_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"kind": "List",\n "items": [{"kind": "ResourceClaim"},')
    (broken,) = load([str(path)]).broken
    assert broken.message.startswith("not JSON: ")
    assert broken.position.line == 2


@pytest.mark.parametrize(
    "rest", ["junk", "}", ",", "# a comment\n{}", '{"kind": "B"}\n---\n{"kind": "C"}']
)
def test_text_after_a_json_object_is_not_dropped(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"apiVersion": "resource.k8s.io/v1",\n "kind": "ResourceClaim"}\n' + rest)
    inputs = load([str(path)])
    (broken,) = inputs.broken
    assert inputs.documents[0].kind == "ResourceClaim"
    assert broken.position.line == (4 if "B" in rest else 3)
    assert broken.hint == "the next object begins with { or follows a line of ---"
    assert not broken.refused  # by the API server: go-yaml reads one document


@pytest.mark.parametrize("rest", ["# the end", "\n# c\n---\nkind: B", "...\n"])
def test_yaml_behind_a_json_object(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"apiVersion": "resource.k8s.io/v1", "kind": "A"}\n' + rest)
    inputs = load([str(path)])
    assert inputs.broken == ()
    assert [document.kind for document in inputs.documents] == [
        "A",
        *(["B"] if "B" in rest else []),
    ]


def test_very_long_numbers_and_lines(read) -> None:
    assert len(read("a: " + "9" * 100_000 + "\n").documents) == 1
    assert (
        len(
            read('{"a": ' + "9" * 100_000 + "}").documents
            + read('{"a": ' + "9" * 100_000 + "}").broken
        )
        >= 1
    )
    assert len(read("a: '" + "x" * 5_000_000 + "'\n").documents) == 1


def test_nothing(read) -> None:
    for text in ("", "\n", "---\n---\n", "# only\n", "null\n", "\ufeff"):
        inputs = read(text)
        assert (inputs.documents, inputs.broken) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        '#@ load("@ytt:data", "data")\nkind: ResourceClaim\n',
        "kind: ResourceClaim\nmetadata:\n  name: #@ data.values.name\n",
        "kind: ResourceClaim\nspec:\n#@overlay/match missing_ok=True\n",
    ],
)
def test_files_of_ytt_are_templates(read, text: str) -> None:
    (skipped,) = read(text).skipped
    assert skipped.why == "a ytt template"


@pytest.mark.parametrize(
    "text", ["## #@ x\nkind: ResourceClaim\n", "kind: ResourceClaim\nx: a#@ b\n#@param x\n"]
)
def test_comments_not_those_of_ytt(read, text: str) -> None:
    assert len(read(text).documents) == 1


def test_directives_of_terraform(read) -> None:
    (skipped,) = read(
        "kind: ResourceClaim\nspec:\n%{ for r in requests ~}\n  a: ${r}\n%{ endfor ~}\n"
    ).skipped
    assert skipped.why == "a template, not YAML"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[1, 2", "is [ at 1:1 closed?"),
        ("a: b\nc: {d: 1\n", "is { at 2:4 closed?"),
        ("a: {b: [c]", "is { at 1:4 closed?"),
        ("a: [b]\nc: 'd", "is ' at 2:4 closed?"),
        ("a: [b]\n---\nc: {d: ", "is { at 3:4 closed?"),
    ],
)
def test_unclosed_bracket_or_quote_is_named(read, text: str, hint: str) -> None:
    (broken,) = read(text).broken
    assert broken.hint == hint


@pytest.mark.parametrize(("depth", "read_"), [(200, 1), (201, 0)])
def test_two_hundred_levels_are_read(read, depth: int, read_: int) -> None:
    """In a text whose brackets are counted one by one, since a line of it is long."""
    inputs = read(f"a: {'[' * (depth - 1)}{'x' * 1_000}{']' * (depth - 1)}")
    assert len(inputs.documents) == read_
    assert [broken.message for broken in inputs.broken] == ["nested more than 200 levels deep"] * (
        1 - read_
    )
