"""What 1.38 refuses of new objects, and overlooks in stored ones whose field stays (kubernetes#141644, #141213)."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.sources import from_objects
from dractl.upgrade import UpgradeInput, plan
from dractl.upgrade.server import Input
from tests.explain.cluster import claim, request, slice_of

GPU = "gpu.example.com"
TWO_TERMS = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        for zone in ("a", "b")
    ]
}


def named_with_slashes() -> dict[str, Any]:
    return slice_of(GPU, "n1", {"name": "gpu-0", "attributes": {"a/b/c": {"int": 1}}})


def selecting_twice() -> dict[str, Any]:
    published = slice_of(GPU, "n1", {"name": "gpu-0", "nodeSelector": TWO_TERMS})
    del published["spec"]["nodeName"]
    published["spec"]["perDeviceNodeSelection"] = True
    return published


def constrained() -> dict[str, Any]:
    return claim("c", request("r", GPU), constraints=[{"matchAttribute": "a/b/c"}])


def template() -> dict[str, Any]:
    asked = constrained()
    del asked["status"]
    return {**asked, "kind": "ResourceClaimTemplate", "spec": {"spec": asked["spec"]}}


def findings(*stored: dict[str, Any], manifest: dict[str, Any] | None = None) -> list[Any]:
    """Code, level and message of what the API server of 1.38 says otherwise than that of 1.37."""
    written = () if manifest is None else (Input(manifest),)
    step = plan(UpgradeInput(written, from_objects(stored)), "1.37", "1.38").steps[0]
    return [
        (each.code, each.level, each.message)
        for each in step.findings
        if each.code.startswith("refused")
    ]


WORDS = "must not contain more than one slash"
TERMS = "must have exactly one node selector term"


@pytest.mark.parametrize(
    ("stored", "words"), [(named_with_slashes(), WORDS), (selecting_twice(), TERMS)]
)
def test_a_stored_slice_is_refused_only_once_its_driver_changes_it(
    stored: dict[str, Any], words: str
) -> None:
    ((code, level, message),) = findings(stored)
    assert (code, level) == ("refused-once-changed", "changes")
    assert words in message
    assert "spec.devices" in message


def test_a_stored_claim_stays() -> None:
    ((code, level, message),) = findings(constrained())
    assert (code, level) == ("refused-anew", "changes")
    assert WORDS in message


def test_claims_of_a_stored_template_are_refused() -> None:
    ((code, level, message),) = findings(template())
    assert (code, level) == ("refused", "breaks")
    assert WORDS in message


@pytest.mark.parametrize(
    "manifest", [named_with_slashes(), selecting_twice(), constrained(), template()]
)
def test_a_manifest_is_refused(manifest: dict[str, Any]) -> None:
    ((code, level, message),) = findings(manifest=manifest)
    assert (code, level) == ("refused", "breaks")
    assert WORDS in message or TERMS in message
