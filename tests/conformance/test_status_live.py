"""The rules about the status of claims and what running API servers of each release say at UpdateStatus.

Marked ``oracle``: it runs where ``$DRACTL_SHARED/oracle/kube`` is built for the release.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.model import Target
from dractl.model.releases import COMPARED, parse_gates
from dractl.objects.defaults import set_defaults_of_converted
from dractl.validation import validate
from dractl.validation.place import Place
from dractl.validation.status import claim_status
from tests.oracle import control_plane
from tests.validation.status_table import ROWS

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.conformance, pytest.mark.oracle, pytest.mark.live]

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


def update_status(cluster: Any, claim: dict[str, Any]) -> tuple[int, set[tuple[str, str]], str]:
    """The status, the causes (type, field) and the message of an API server to a claim's first status."""
    name = claim["metadata"]["name"]
    path = f"{CLAIMS}/{name}/status?dryRun=All&fieldValidation=Strict"
    status, _, body = cluster.request("PUT", path, json.dumps(claim, separators=(",", ":")))
    if not isinstance(body, dict):
        return status, set(), str(body)
    causes = (body.get("details") or {}).get("causes") or []
    return (
        status,
        {(cause["reason"], cause.get("field", "")) for cause in causes},
        body.get("message", ""),
    )


@pytest.mark.parametrize("release", COMPARED)
def test_a_running_server_says_the_same(
    whole: Path, release: str, tmp_path: Path, record_property: Any
) -> None:
    gates: str = json.loads((whole / "conformance" / "validation" / "gates.json").read_bytes())[
        release
    ]
    target = Target.of(release, parse_gates(gates))
    asked, wrong = 0, {}
    with control_plane(whole, release, tmp_path, gates) as cluster:
        cluster.request("POST", CLAIMS, json.dumps({**ROWS[0].document, "status": {}}))
        for row in ROWS:
            if any(v.type for v in validate(row.document, target)):
                continue  # a field that this release does not have
            asked += 1
            status, said, message = update_status(cluster, row.document)
            stored = Place(set_defaults_of_converted(row.document, "resource.k8s.io/v1"), step="v1")
            ours = {(v.type, v.field) for v in claim_status(stored, {}, target)}
            theirs = (
                {(type_, field) for _, type_, field in row.causes}
                if row.release == release
                else ours
            )
            if status != (422 if ours else 200) or said != ours or said != theirs:
                wrong[json.dumps(row.status)[:300]] = (
                    f"{status} {message[:1500]}; missing {said - ours}, ours {ours - said}"
                )
    record_property("cases", asked)
    assert asked > 50
    assert not wrong
