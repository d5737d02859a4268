"""Objects that share a spec with another one that an API server takes: the same verdict as each alone."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import RELEASES, Target
from dractl.model.releases import served_versions
from dractl.validation import validate
from dractl.validation.previews import is_doubt


def template(version: str, device_class: str, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"deviceClassName": device_class}
    request = {
        "name": "gpu",
        **(asked if version in ("v1beta1", "v1alpha3") else {"exactly": asked}),
    }
    spec = {"spec": {"devices": {"requests": [request]}}, **more.pop("spec", {})}
    metadata = {"name": "t", "namespace": "ml", **more.pop("metadata", {})}
    api_version = f"resource.k8s.io/{version}"
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": spec,
        **more,
    }


WRONG: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a name": {"metadata": {"name": "T"}},
    "no name": {"metadata": {"name": ""}},
    "a generation": {"metadata": {"generation": -1}},
    "a type": {"metadata": {"labels": []}},
    "a label of the claims": {"spec": {"metadata": {"labels": {"a b": "c"}}}},
    "a name of the claims": {"spec": {"metadata": {"name": "x"}}},
    "a field": {"speck": 1},
    "a field of the spec": {"spec": {"devices": {}}},
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("release", RELEASES)
def test_a_template_with_the_spec_of_a_claim(release: str, wrong: str) -> None:
    target = Target.of(release)
    version = served_versions("ResourceClaim", release, by_default=True) or served_versions(
        "ResourceClaim", release
    )
    of_its_own = f"{wrong.replace(' ', '-')}.{release}"  # so that nothing is known of the spec yet
    value = template(version[0].rpartition("/")[2], of_its_own, **WRONG[wrong])
    alone = validate(value, target)
    claim = {
        **value,
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "ml"},
        "spec": value["spec"]["spec"],
    }
    claim.pop("speck", None)
    said = [item for item in validate(claim, target) if item.type]
    assert said == []
    assert validate(value, target) == alone
    assert any(item.type or is_doubt(item) for item in alone) == (wrong != "nothing")
