"""Pods of custom resources."""

from __future__ import annotations

from tests.lint.written import found

CONTAINERS = "containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]"
LEADER_WORKER_SET = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: a}}
spec: {{leaderWorkerTemplate: {{workerTemplate: {{spec: {{{CONTAINERS}}}}}}}}}
"""
JOB_SET = f"""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: a}}
spec:
  replicatedJobs:
  - name: w
    template:
      spec:
        resourceClaims: [{{name: gpu, resourceClaimTemplateName: one}}]
        template: {{spec: {{{CONTAINERS}}}}}
"""


def test_a_pod_without_claims_whose_container_names_one() -> None:
    (finding,) = found(LEADER_WORKER_SET, "DRA409")
    assert (finding.severity, finding.message) == ("warning", 'claim "gpu" is not in resourceClaims of its pod')


def test_claims_one_level_too_high() -> None:
    (finding,) = found(JOB_SET, "DRA003")
    at = "spec.replicatedJobs[0].template.spec"
    assert finding.message == (
        f"the pods do not get these claims: {at}.resourceClaims belongs at {at}.template.spec.resourceClaims"
    )
    assert finding.position.line == 9


def test_values_of_a_chart_may_get_their_claims_from_it() -> None:
    values = LEADER_WORKER_SET.replace("leaderworkerset.x-k8s.io/v1", "helm.toolkit.fluxcd.io/v2")
    assert found(values, "DRA409") == []
