"""Pod templates are found by their shape, in objects that dractl has never heard of."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import pod_templates

SPEC = {"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}


def obj(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "x/v1", "kind": kind, "metadata": {"name": "it"}, **fields}


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        (obj("Deployment", spec={"template": TEMPLATE}), ["spec.template.spec"]),
        (
            obj("CronJob", spec={"jobTemplate": {"spec": {"template": TEMPLATE}}}),
            ["spec.jobTemplate.spec.template.spec"],
        ),
        (
            obj(
                "JobSet",
                spec={"replicatedJobs": [{"template": {"spec": {"template": TEMPLATE}}}] * 2},
            ),
            [f"spec.replicatedJobs.{i}.template.spec.template.spec" for i in range(2)],
        ),
        (
            obj(
                "LeaderWorkerSet",
                spec={
                    "leaderWorkerTemplate": {"leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE}
                },
            ),
            [
                "spec.leaderWorkerTemplate.leaderTemplate.spec",
                "spec.leaderWorkerTemplate.workerTemplate.spec",
            ],
        ),
        (
            obj(
                "RayJob",
                spec={
                    "rayClusterSpec": {
                        "headGroupSpec": {"template": TEMPLATE},
                        "workerGroupSpecs": [{"template": TEMPLATE}],
                    }
                },
            ),
            [
                "spec.rayClusterSpec.headGroupSpec.template.spec",
                "spec.rayClusterSpec.workerGroupSpecs.0.template.spec",
            ],
        ),
        ({"apiVersion": "v1", "kind": "PodTemplate", "template": TEMPLATE}, ["template.spec"]),
        ({"apiVersion": "v1", "kind": "Pod", "spec": SPEC}, ["spec"]),
        (
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaimTemplate",
                "spec": {"spec": {"devices": {}}},
            },
            [],
        ),
        (obj("Deployment", spec={"template": {"spec": {"containers": "none"}}}), []),
        (obj("Deployment", status={"template": TEMPLATE}), []),
        (obj("X", spec=None), []),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_where_pod_specs_are(document: dict[str, Any], paths: list[str]) -> None:
    found = list(pod_templates(document))
    assert [".".join(map(str, path)) for path, _ in found] == paths
    assert all(spec is SPEC for _, spec in found)


def test_deep_nesting_ends() -> None:
    spec: Any = {"template": TEMPLATE}
    for _ in range(100_000):
        spec = {"template": spec} if isinstance(spec, list) else [spec]
    assert list(pod_templates(obj("X", spec=spec))) == []
