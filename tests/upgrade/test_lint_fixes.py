"""Lint's fixes of the manifests that a step of an upgrade breaks."""

from dractl.manifests import load
from dractl.upgrade import Finding, Plan, Step
from dractl.upgrade.lint_fixes import add_fixes

# 1.36 refuses the operator (conformance/validation rc-v1-toleration-operator-lower).
CLAIM = b"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: tolerant}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, tolerations: [{key: a, operator: exists}]}
"""
REFUSED = Finding("refused", "breaks", "refused", ("ResourceClaim/tolerant",))


def plan_of(*findings: Finding, step: str = "Kubernetes 1.36") -> Plan:
    return Plan("1.35", "1.36", (Step(step, (), findings),))


def fixes_of(plan: Plan) -> list[str | None]:
    inputs = load(["-"], stdin=CLAIM)
    return [f.fix for step in add_fixes(plan, inputs, {}).steps for f in step.findings]


def test_finding_breaking_a_manifest_has_the_command_of_its_fix() -> None:
    (fix,) = fixes_of(plan_of(REFUSED))
    assert fix is not None
    assert "lint --fix" in fix
    assert "--kubernetes-version 1.36" in fix


def test_findings_of_other_objects_have_no_fix() -> None:
    other = Finding("refused", "breaks", "refused", ("ResourceClaim/ml/other",))
    assert fixes_of(plan_of(other)) == [None]


def test_a_step_of_a_driver_has_no_fix_of_lint() -> None:
    assert fixes_of(plan_of(REFUSED, step="gpu.nvidia.com 25.8.0")) == [None]
