"""A driver of one's own, of which dractl has no facts: every command answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = "fabric.example.org"
LABELS = {"app": "fabric"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "plugin", "image": "fabric-dra:v1.2"}]},
}


def stored(api_version: str, kind: str, name: str, **fields: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": "ml", "uid": f"{kind}-{name}", "resourceVersion": "1"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


OBJECTS = [
    stored("v1", "Node", "n1", status={"nodeInfo": {"kubeletVersion": "v1.36.2"}}),
    *(
        stored(
            "apps/v1",
            kind,
            f"fabric-{kind.lower()}",
            spec={"selector": {"matchLabels": LABELS}, "template": TEMPLATE},
        )
        for kind in ("DaemonSet", "Deployment", "StatefulSet")
    ),
    stored(
        "resource.k8s.io/v1",
        "ResourceSlice",
        "s1",
        spec={
            "driver": DRIVER,
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "port-0", "attributes": {"model": {"string": "A"}}}],
        },
    ),
    stored("resource.k8s.io/v1", "DeviceClass", "port", spec={}),
    stored(
        "resource.k8s.io/v1",
        "ResourceClaim",
        "wanted",
        spec={"devices": {"requests": [{"name": "p", "exactly": {"deviceClassName": "port"}}]}},
    ),
    stored(
        "v1",
        "Pod",
        "train",
        spec={
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "p"}]}}],
            "resourceClaims": [{"name": "p", "resourceClaimName": "wanted"}],
        },
        status={"phase": "Pending"},
    ),
]


@pytest.mark.parametrize(
    "question",
    [
        ["upgrade", "-f", "DUMP", "--from", "1.36", "--to", "1.38"],
        ["upgrade", "DUMP", "--from", "1.36", "--to", "1.38"],
        ["explain", "-A", "-f", "DUMP"],
        ["explain", "node/n1", "-f", "DUMP"],
        ["devices", "-f", "DUMP", "-o", "wide"],
        ["fit", "pod/train", "-n", "ml", "-f", "DUMP"],
        ["plan", "pod/train", "-n", "ml", "-f", "DUMP"],
        ["impact", f"driver/{DRIVER}", "-f", "DUMP"],
        ["impact", "node/n1", "-f", "DUMP"],
        ["lint", "DUMP", "--devices", "DUMP"],
        ["check-driver", "DUMP"],
        ["check-driver", "--cluster", "-f", "DUMP"],
        ["migrate", "DUMP"],
        ["facts", "DUMP"],
        ["cel", f"device.driver == '{DRIVER}'", "DUMP"],
    ],
    ids=" ".join,
)
def test_a_driver_without_facts_is_no_error(
    question: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    isolated = [] if question[0] == "facts" else ["--isolated"]
    code = main([word.replace("DUMP", str(dump)) for word in question] + isolated)
    assert code in (0, 1), capsys.readouterr().err
