"""JSONPath templates as kubectl takes them (k8s.io/client-go/util/jsonpath)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from dractl.errors import UsageError
from dractl.report.jsonpath import MAX_LENGTH, parse_path, parse_template, render

# The document of the examples of kubernetes.io/docs/reference/kubectl/jsonpath, shortened.
DOCUMENT: dict[str, Any] = {
    "kind": "List",
    "items": [
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.1", "labels": {"kubernetes.io/hostname": "127.0.0.1"}},
            "status": {"capacity": {"cpu": "4"}, "addresses": [{"type": "LegacyHostIP"}]},
        },
        {
            "kind": "None",
            "metadata": {"name": "127.0.0.2"},
            "status": {"capacity": {"cpu": "8"}, "addresses": [{"type": "a"}, {"type": "b"}]},
            "age": 3,
            "ready": True,
        },
    ],
    "users": [
        {"name": "myself", "user": {}},
        {"name": "e2e", "user": {"username": "admin", "password": "secret"}},
    ],
}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("kind is {.kind}", "kind is List"),
        ("{.kind}", "List"),
        ("{['kind']}", "List"),
        ("{$.kind}", "List"),
        ("{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"),
        ("{.items[0].metadata.name}", "127.0.0.1"),
        ("{.items[-1:].metadata.name}", "127.0.0.2"),
        ("{.items[-1].metadata.name}", "127.0.0.2"),
        ("{.items[0,1]['metadata'].name}", "127.0.0.1 127.0.0.2"),
        ("{.items[0:2:2].metadata.name}", "127.0.0.1"),
        ("{.items[*]['metadata','kind'][ 'name' ]}", "127.0.0.1 127.0.0.2"),
        ("{..name}", "127.0.0.1 127.0.0.2 myself e2e"),
        ('{.users[?(@.name=="e2e")].user.password}', "secret"),
        ("{.users[?(@.name != 'e2e')].name}", "myself"),
        ("{.items[?(@.age>2)].metadata.name}", "127.0.0.2"),
        ("{.items[?(@.age>2.5)].age}", "3"),
        ("{.items[?(@.ready==true)].ready}", "true"),
        ("{.items[?(@.age)].metadata.name}", "127.0.0.2"),
        ("{.items[?(@.kind < 3)].kind}", ""),
        ("{.items[0].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"),
        ("{.items[0].metadata.labels['kubernetes.io/hostname']}", "127.0.0.1"),
        ("{.items[0].status.capacity}", '{"cpu":"4"}'),
        ("{.items[0].status.capacity.*}", "4"),
        ("{.missing.field}", ""),
        ("{.items[7].kind}", ""),
        (
            '{range .items[*]}{.metadata.name}{"\\t"}{.status.capacity.cpu}{"\\n"}{end}',
            "127.0.0.1\t4\n127.0.0.2\t8\n",
        ),
        (
            "{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}",
            "[127.0.0.1, 4] [127.0.0.2, 8] ",
        ),
        ("{range .items[*]}{range .status.addresses[*]}{.type};{end}|{end}", "LegacyHostIP;|a;b;|"),
        ("{range .items[*]}{$.kind}{end}", "ListList"),
        ('{"it\\"s"} {.kind}', 'it"s List'),
    ],
)
def test_templates(template: str, printed: str) -> None:
    assert render(parse_template(template), DOCUMENT) == printed


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.items[*}", "']' is missing at character 10"),
        ("{.items[", "after ["),
        ("{.items[x]}", "after ["),
        ("{.items[0:2:0]}", "the step of a slice is not positive"),
        ("{.kind", "unexpected 'end'"),
        ("{kind}", "unexpected 'k' at character 2"),
        ("{}", "empty {}"),
        ("{range .items[*]}{.kind}", "{range} without {end}"),
        ("{.kind}{end}", "{end} without {range}"),
        ("{.users[?(@.name==)]}", "unexpected ')'"),
        ("{.users[?(@.name=='e2e']}", "')' is missing"),
        ("{.users['name]}", "a name in quotes is missing, or its closing quote"),
        (".kind", "no {expression}"),
        ("{.a|b}", "unexpected '|' at character 4"),
        ("{.a}" * MAX_LENGTH, "characters; it may have 10,000"),
    ],
)
def test_mistakes_have_their_place(template: str, problem: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_template(template)
    assert problem in str(raised.value)


@given(st.text(alphabet="{}[]().*?@$\"'\\,:;=<> \nrangeend019-a", max_size=40))
def test_any_text_is_parsed_or_refused(template: str) -> None:
    try:
        parts = parse_template(template)
    except UsageError:
        return
    assert isinstance(render(parts, DOCUMENT), str)


@pytest.mark.parametrize("text", [".metadata.name", "metadata.name", "{.metadata.name}"])
def test_a_column_needs_no_braces(text: str) -> None:
    assert render((parse_path(text),), DOCUMENT["items"][0]) == "127.0.0.1"
