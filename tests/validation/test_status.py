"""Verdicts of an API server on the status of a claim, in dractl's words."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.objects.defaults import set_defaults_of_converted
from dractl.validation import validate
from dractl.validation.place import Place
from dractl.validation.status import canonical_interface_address, claim_status
from tests.validation.rule_ids import RULE_IDS
from tests.validation.status_table import (
    ROWS,
    Row,
    allocated,
    condition,
    consumer,
    reported,
    result,
    with_status,
)


@pytest.mark.parametrize(
    "row",
    ROWS,
    ids=[f"{i}-{'-'.join(sorted({c[0] for c in r.causes}))}" for i, r in enumerate(ROWS)],
)
def test_the_server_says_at_update_status(row: Row) -> None:
    found = claim_status(
        Place(set_defaults_of_converted(row.document, "resource.k8s.io/v1")),
        {},
        Target.of(row.release),
    )
    assert {(v.rule, v.type, v.field) for v in found} == row.causes


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_at_creation_nothing_of_it_is_rejected(row: Row) -> None:
    """The server drops the status of what is created; each finding says when it would have been told."""
    found = [v for v in validate(row.document, Target.of(row.release)) if v.rule != "dropped-field"]
    known = [cause for cause in row.causes if cause[0] != "CS-09"]  # that is about a namespace
    assert {v.rule for v in found} == {rule for rule, _, _ in known}
    assert not [v for v in found if v.type]
    for rule, _, field in known:
        assert any(
            v.rule == rule and v.field == field and v.message.startswith(f"{field}: ")
            for v in found
        )


def test_every_rule_has_a_row() -> None:
    assert {rule for row in ROWS for rule, _, _ in row.causes} == {
        rule for rule in RULE_IDS if rule.startswith("CS-")
    }


def test_admin_access_wants_the_label() -> None:
    claim = Place(with_status(allocated(result(adminAccess=True))))
    labels = {"resource.kubernetes.io/admin-access": "true"}
    assert [v.rule for v in claim_status(claim, {}, Target.of())] == ["CS-09"]
    assert list(claim_status(claim, labels, Target.of())) == []
    assert list(claim_status(claim, None, Target.of())) == []


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_older_versions_have_the_same_status(version: str) -> None:
    claim = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "it"},
        "status": {"reservedFor": [consumer()]},
    }
    found = [v for v in validate(claim, Target.of("1.37")) if v.rule != "served-on-demand"]
    assert [(v.rule, v.path) for v in found] == [("CS-02", ("status", "reservedFor"))]


def test_undecodable_status_is_rejected_too() -> None:
    (found,) = validate(with_status({"reservedFor": [{"uid": 1}]}), Target.of())
    assert (found.type, found.path) == ("BadRequest", ("status", "reservedFor", 0, "uid"))


@pytest.mark.parametrize(
    "place", [("allocation",), ("allocation", "devices", "results"), ("devices",)]
)
def test_null_is_absent(place: tuple[str, ...]) -> None:
    status: Any = reported(conditions=[condition()])
    *way, last = place
    part = status
    for step in way:
        part = part[step]
    part[last] = None
    found = claim_status(Place(with_status(status)), None, Target.of())
    assert {v.rule for v in found} <= {"CS-11"}


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("10.9.8.7/24", "10.9.8.7/24"),
        ("010.9.08.7/024", "10.9.8.7/24"),
        ("2001:DB8:0:0::1/64", "2001:db8::1/64"),
        ("::ffff:10.9.8.7/120", "10.9.8.7/24"),  # net/ip.go prints it so, and counts the mask anew
        ("::1.2.3.4/96", "::102:304/96"),
        ("10.9.8.7", None),
        ("10.9.8.7/" + "9" * 5000, None),
        ("10.9.8.7/٢", None),
        ("x" * 100_000 + "/1", None),
    ],
)
def test_the_canonical_form_of_an_address(text: str, canonical: str | None) -> None:
    assert canonical_interface_address(text) == canonical
