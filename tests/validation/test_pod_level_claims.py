"""Claims of a pod as a whole are not allowed, and their entries are looked at all the same (asked of 1.34 to 1.37)."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.model.releases import COMPARED
from dractl.validation import validate


@pytest.mark.parametrize("release", COMPARED)
@pytest.mark.parametrize(
    ("claims", "more"),
    [
        ([{"name": "a"}], set()),
        ([{"name": "a0"}], {("FieldValueNotFound", "spec.resources.claims[0]")}),
        ([{}], {("FieldValueRequired", "spec.resources.claims[0]")}),
        ([{"name": "a"}, {"name": "a"}], {("FieldValueDuplicate", "spec.resources.claims[1]")}),
    ],
)
def test_the_entries_are_checked_too(
    release: str, claims: list[dict[str, Any]], more: set[tuple[str, str]]
) -> None:
    spec = {
        "resourceClaims": [{"name": "a", "resourceClaimName": "b"}],
        "containers": [{"name": "c", "image": "i"}],
        "resources": {"claims": claims},
    }
    found = validate(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec},
        Target.of(release),
    )
    assert {(v.type, v.field) for v in found} == {
        ("FieldValueForbidden", "spec.resources.claims"),
        *more,
    }
