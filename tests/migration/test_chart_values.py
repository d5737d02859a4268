"""Controllers in the values of bjw-s' charts: bjw-s-labs/helm-charts charts/library/common/templates/lib/pod."""

from __future__ import annotations

import yaml

from dractl.lint import lint
from dractl.manifests import Document, load, read_text
from dractl.migration import Migration
from dractl.model import Target

RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: tv}
spec:
  values:
    controllers:
      tv:
        POD
        containers:
          app:
            image: {repository: tv, tag: "1"}
            resources:
              requests: {cpu: 100m}
              limits:
                memory: 4Gi
                gpu.intel.com/i915: 1
"""


def migrate(text: str) -> tuple[str, str]:
    """Return the text with claims, and the remarks."""
    documents = [item for item in read_text("a.yaml", text) if isinstance(item, Document)]
    migrated = Migration(documents).migrate("a.yaml", text, ".")
    return migrated.after, " ".join(map(str, migrated.remarks))


def release(pod: str = "", **replaced: str) -> str:
    text = RELEASE.replace("        POD\n", pod)
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def controller(text: str) -> dict[str, object]:
    first = next(iter(yaml.safe_load_all(text)))
    values = first["spec"]["values"]["controllers"]["tv"]
    assert isinstance(values, dict)
    return values


ENTRY = {"name": "gpu", "resourceClaimTemplateName": "gpu"}


def test_the_pod_of_the_controller_gets_the_claim_and_lint_agrees() -> None:
    after, remarks = migrate(release())
    assert controller(after)["pod"] == {"resourceClaims": [ENTRY]}
    assert "gpu.intel.com/i915" not in after
    assert not remarks
    made = list(yaml.safe_load_all(after))[1]
    assert (made["kind"], made["metadata"]) == ("ResourceClaimTemplate", {"name": "gpu"})
    report = lint(load(["-"], stdin=after.encode()), Target.of("1.37"))
    assert [f for f in report.findings if f.severity != "info"] == []


def test_existing_fields_of_the_pod_stay() -> None:
    for pod in (
        "        pod:\n          hostNetwork: true\n",
        "        pod: {hostNetwork: true}\n",
    ):
        after, _ = migrate(release(pod))
        assert controller(after)["pod"] == {"hostNetwork": True, "resourceClaims": [ENTRY]}


def test_values_in_braces() -> None:
    text = (
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: tv}\nspec:\n"
        "  values: {controllers: {tv: {containers: {app: {image: {tag: '1'},"
        " resources: {limits: {gpu.intel.com/i915: 1}}}}}}}\n"
    )
    after, _ = migrate(text)
    assert controller(after)["pod"] == {"resourceClaims": [ENTRY]}


def test_a_list_for_all_controllers_is_not_hidden() -> None:
    shared = "    defaultPodOptions: {resourceClaims: [{name: nic, resourceClaimName: nic}]}\n"
    text = release().replace("    controllers:\n", f"{shared}    controllers:\n")
    after, remarks = migrate(text)
    assert after == text
    assert "defaultPodOptions" in remarks


def test_the_template_is_in_the_namespace_of_the_pods() -> None:
    after, _ = migrate(release().replace("spec:\n", "spec:\n  targetNamespace: media\n", 1))
    assert list(yaml.safe_load_all(after))[1]["metadata"]["namespace"] == "media"


def test_values_completed_elsewhere_are_left_alone() -> None:
    text = release().replace("spec:\n", "spec:\n  valuesFrom: [{kind: ConfigMap, name: v}]\n", 1)
    after, remarks = migrate(text)
    assert after == text
    assert "not in a pod template" in remarks
