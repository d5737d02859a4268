"""Substitution, beside what fluxcd/pkg envsubst v1.5.0 makes of the same texts."""

import pytest

from dractl.inputs.substitution import (
    MAX_CHARACTERS,
    MAX_VALUE,
    Use,
    Variables,
    list_undefined,
    substitute,
    substitute_object,
)
from dractl.inputs.trees import NotRenderable

VARIABLES = Variables(
    {"APP": "jelly", "EMPTY": "", "N": "12", "A": "aXbXc", "P": "foo/bar/baz", "SECRET": None}
)
# Text and result: recorded with envsubst.Eval of fluxcd/pkg/envsubst v1.5.0.
RECORDED = (
    ("${APP}-gpu", "jelly-gpu"),
    ("a${NO:=def}b", "adefb"),
    ("${NO:-${APP}}", "jelly"),
    ("${EMPTY:-x}", "x"),
    ("${NO:?err}", "err"),
    ("${NO:+y}", "y"),
    ("${APP:+y}", "jelly"),
    ("$${APP}", "${APP}"),
    ("$$$${APP}", "$${APP}"),
    ("$APP", "$APP"),
    ("cost $5", "cost $5"),
    ("${#APP}", "5"),
    ("${APP^^}", "JELLY"),
    ("${APP^}", "Jelly"),
    ("${A//X/-}", "a-b-c"),
    ("${A/X/}", "abXc"),
    ("${A/#a/b}", "bXbXc"),
    ("${A/%c/d}", "aXbXd"),
    ("${P##*/}", "baz"),
    ("${P%/*}", "foo/bar"),
    ("${APP:1:2}", "el"),
    ("${APP: -2}", "jelly"),
    ("${APP=z}", "jelly"),
    ("${P//\\//-}", "foo-bar-baz"),
    ("${NO:=a:b}", "a:b"),
    ("x${NO:=${NO2:=q}}y", "xqy"),
)
REFUSED = ("${", "${APP", "${NO:=a", "${}", "${APP-x}", "${ APP }", "//${NO1:}-")


@pytest.mark.parametrize(("text", "expected"), RECORDED)
def test_substitution_gives_the_text_of_flux(text: str, expected: str) -> None:
    made = substitute(text, VARIABLES)
    assert made.text == expected
    assert not made.undefined


@pytest.mark.parametrize("text", REFUSED)
def test_substitution_refused_by_flux_is_refused(text: str) -> None:
    with pytest.raises(NotRenderable, match="Flux cannot substitute"):
        substitute(text, VARIABLES)


@pytest.mark.parametrize(("text", "expected"), [("${APP:0:2}", "je"), ("${APP:0}", "jelly")])
def test_a_part_may_begin_at_the_start(text: str, expected: str) -> None:
    """funcs.go toSubstr of fluxcd/pkg/envsubst counts from the end for negative places only."""
    assert substitute(text, VARIABLES).text == expected


def test_thirty_levels_are_read() -> None:
    assert substitute("${NO:=" * 30 + "x" + "}" * 30, VARIABLES).text == "x"


def test_a_text_with_many_levels_is_refused() -> None:
    with pytest.raises(NotRenderable, match="more levels"):
        substitute("${A:=" * 10_000, Variables({"B": "1"}))


def test_undefined_variable_stays_and_is_named() -> None:
    made = substitute("${APP}-${NOPE}", VARIABLES)
    assert made.text == "jelly-${NOPE}"
    assert made.undefined == {"NOPE": 7}


def test_each_variable_is_found_in_the_text_that_is_made() -> None:
    text = "a ${APP} $$b ${NO:=${N}}${#A}"
    made = substitute(text, VARIABLES)
    parts = [(piece.name, made.text[slice(*piece.made)], piece.start) for piece in made.pieces]
    assert parts == [("APP", "jelly", 2), ("NO", "12", 13), ("A", "5", 24)]


def test_uses_of_undefined_variables_have_paths() -> None:
    value = {"a": [{"${NO}": "x"}, "y ${APP}${NO}${OTHER:=1}"], "b": "${N}"}
    assert list(list_undefined(value, VARIABLES)) == [
        Use("NO", ("a", 0, "${NO}"), None),
        Use("NO", ("a", 1), 8),
    ]


def test_a_secret_is_never_inserted() -> None:
    made = substitute("a-${SECRET}-${SECRET:=b}", VARIABLES)
    assert made.text == "a-${SECRET}-${SECRET:=b}"
    assert not made.undefined


def test_a_default_is_unknown_where_some_variables_are() -> None:
    variables = Variables({"APP": "jelly"}, is_complete=False)
    made = substitute("${APP}-${SIZE:=1}", variables)
    assert made.text == "jelly-${SIZE:=1}"
    assert not made.undefined


def test_scalars_without_quotes_become_numbers() -> None:
    # kustomize_varsub.go substitutes in the YAML that it writes of an object.
    value = {"a": "${N}", "b": "${APP}", "c": ["x: ${N}"], "${APP}": 1}
    made = substitute_object(value, VARIABLES).value
    assert made == {"a": 12, "b": "jelly", "c": ["x: 12"], "jelly": 1}


def test_an_object_opts_out() -> None:
    labels = {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
    value = {"metadata": {"name": "${APP}", "labels": labels}}
    assert substitute_object(value, VARIABLES).value == value


def test_nothing_is_substituted_without_variables() -> None:
    assert substitute_object({"a": "${APP:=x}"}, Variables({})).value == {"a": "${APP:=x}"}


def test_invalid_variable_name_is_refused() -> None:
    with pytest.raises(NotRenderable, match="my-app"):
        substitute_object({"a": "x"}, Variables({"my-app": "1"}))


def test_values_do_not_grow_without_bounds() -> None:
    value = {"a": ["${A}" * 10] * 10}
    with pytest.raises(NotRenderable, match="larger than an API server takes"):
        substitute_object(value, Variables({"A": "x" * (MAX_CHARACTERS // 50)}))
    with pytest.raises(NotRenderable, match="too large for a pattern"):
        substitute("${A%%*b}", Variables({"A": "x" * (MAX_VALUE + 1)}))
