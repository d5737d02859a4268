"""What lint leaves alone: manifests as people keep them, before substitution, as patches, in folders of their own."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load_readable
from dractl.model import Target

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint.finding import Finding

TARGET = Target.of("1.37")
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
"""


@pytest.fixture
def found(tmp_path: Path):
    """The findings of files that are given by name; the folder itself is linted, or the files named one by one."""

    def linted(_named: bool = False, /, **files: str) -> list[Finding]:
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_yaml", ".yaml").replace(
                "_json", ".json"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))
        paths = (
            [str(p) for p in sorted(tmp_path.rglob("*")) if p.is_file()]
            if _named
            else [str(tmp_path)]
        )
        return list(lint(load_readable(paths), TARGET).findings)

    return linted


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


# -- files that say nothing of DRA --


def test_named_files_are_no_other_than_those_of_a_folder(found) -> None:
    files = {
        "labels_yaml": "- name: bug\n",
        "settings_json": "{// comment\n}",
        "broken_yaml": "a: b: c\n",
        "patch_yaml": "- op: add\n  path: /spec/resourceClaims\n",
    }
    assert found(True, **files) == []


def test_crd_mentioning_claims_is_not_parsed(found) -> None:
    crd = "kind: CustomResourceDefinition\nspec: {resourceClaims: [}  # not even YAML\n"
    (finding,) = found(a_yaml=f"{crd}---\n{TEMPLATE.replace('{name: one}', '{name: One}')}")
    assert (finding.code, finding.position.line, finding.document) == ("DRA532", 6, 1)


def test_a_pod_without_claims_is_only_asked_about_its_extended_resources(found) -> None:
    pod = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      allowPrivilegedEscalation: true
      containers: [{name: c, image: x, resources: {limits: {nvidia.com/gpu: %s}}}]
    """
    assert found(a_yaml=pod % "1") == []
    assert set(codes(found(a_yaml=pod % "1.5"))) == {"DRA413"}


# -- placeholders --


@pytest.mark.parametrize(
    "name", ["${APP}-gpu", "$(APP)", "__APP__", "'{{ app }}'", "pre-${APP:=x}"]
)
def test_a_placeholder_is_any_value(found, name: str) -> None:
    text = f"""\
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata:
      name: {name}
    spec:
      devices:
        requests:
        - name: {name}
          exactly:
            deviceClassName: {name}
            count: {name}
            adminAccess: {name}
        constraints:
        - requests: [gpu]
          matchAttribute: {name}
    """
    assert found(a_yaml=text) == []


def test_text_invalid_before_substitution_is_skipped(found, tmp_path: Path) -> None:
    assert found(a_yaml=TEMPLATE.replace("{name: one}", "{name: ${APP}-gpu}")) == []
    assert [item.why for item in load_readable([str(tmp_path)]).skipped] == ["a template, not YAML"]


def test_fields_without_placeholders_are_judged(found) -> None:
    text = """\
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata: {name: "${APP}"}
    spec:
      devices:
        requests:
        - name: gpu
          exactly: {deviceClassName: "${CLASS}", count: "${N}", allocationMode: Some, foo: 1}
    """
    assert sorted(codes(found(a_yaml=text))) == ["DRA003", "DRA117"]


def test_placeholder_for_a_person_is_an_info(found) -> None:
    text = TEMPLATE.replace("{name: one}", "{name: <your-claim>}")
    (finding,) = found(a_yaml=text)
    assert (finding.code, finding.severity) == ("DRA903", "info")


# -- patches --

KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [base.yaml]
patches: [{path: one.yaml}]
"""
PARTIAL = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {count: %s}}]}}}
"""


def test_patch_may_lack_unchanged_fields(found) -> None:
    """But kustomize replaces the list that it changes, which DRA153 says."""
    files = {"kustomization_yaml": KUSTOMIZATION, "base_yaml": TEMPLATE}
    assert codes(found(**files, one_yaml=PARTIAL % 4)) == ["DRA153"]
    assert sorted(codes(found(**files, one_yaml=PARTIAL % -1))) == ["DRA116", "DRA153"]


def test_without_a_kustomization_it_is_an_object(found) -> None:
    assert codes(found(one_yaml=PARTIAL % 4)) == ["DRA108"]


@pytest.mark.parametrize(
    "text",
    [
        # a container that gets a claim from elsewhere
        """\
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: vllm}
        spec: {template: {spec: {containers: [{name: vllm, resources: {claims: [{name: gpu}]}}]}}}
        """,
        """\
        apiVersion: v1
        kind: Pod
        metadata: {name: x}
        spec: {resourceClaims: [{name: gpu, $patch: delete}]}
        """,
    ],
)
def test_evidently_partial_object_is_a_patch(found, text: str) -> None:
    assert found(a_yaml=text) == []


# -- namespaces --


def test_an_object_without_namespace_may_be_in_any(found) -> None:
    pod = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: p%s}
    spec:
      resourceClaims: [{name: g, resourceClaimTemplateName: one}]
      containers: [{name: c, image: x, resources: {claims: [{name: g}]}}]
    """
    template = TEMPLATE.replace("{name: one}", "{name: one, namespace: ml}")
    assert found(a_yaml=template, b_yaml=pod % "") == []
    (finding,) = found(a_yaml=template, b_yaml=pod % ", namespace: web")
    assert finding.code == "DRA423"
    assert "is in namespace ml, the pod in web" in finding.message


# -- merge keys --


def test_overridden_merge_key_is_an_info(found) -> None:
    text = TEMPLATE.replace(
        "{deviceClassName: gpu.example.com}", "{<<: {deviceClassName: a, count: 1}, count: 2}"
    )
    (finding,) = found(a_yaml=text)
    assert (finding.code, finding.severity) == ("DRA004", "info")
    assert codes(
        found(a_yaml=TEMPLATE.replace("{deviceClassName", "{count: 1, count: 2, deviceClassName"))
    ) == ["DRA004"]


# -- pods of custom resources and objects inside other objects --


def test_the_pods_of_a_custom_resource_are_judged_as_its_controller_will_meet_them(found) -> None:
    text = """\
    apiVersion: serving.kserve.io/v1beta1
    kind: InferenceService
    metadata: {name: s}
    spec:
      predictor:
        minReplicas: 1
        resourceClaims:
        - {name: gpu, resourceClaimTemplateName: Bad_Name}
        - {name: old, source: {resourceClaimName: x}}
        - {name: none}
        containers:
        - {name: c, image: x, resources: {claims: [{name: gpus}, {name: old}]}}
    """
    findings = found(a_yaml=text)
    assert [(f.code, f.severity, f.position.line) for f in findings if f.code != "DRA421"] == [
        ("DRA406", "warning", 8),
        ("DRA003", "warning", 9),
        ("DRA405", "warning", 10),
        ("DRA409", "warning", 12),
    ]
    assert all(f.api is None for f in findings)
    assert (
        "the API server accepts the InferenceService, but rejects its pods" in findings[-1].message
    )


def test_an_object_is_one_wherever_it_stands(found) -> None:
    release = """\
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: plex}
    spec:
      values:
        rawResources:
          gpu:
            manifest:
              apiVersion: resource.k8s.io/v1
              kind: ResourceClaimTemplate
              spec: {spec: {devices: {requests: [{name: gpu, exactly: {count: 1}}]}}}
    """
    config = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: c}
    data:
      claim.yaml: |
        apiVersion: resource.k8s.io/v1
        kind: ResourceClaim
        metadata: {name: c}
        spec:
          devices: {requests: [{name: gpu, exactly: {deviceClassName: x, count: -1}}]}
    """
    findings = found(a_yaml=release, b_yaml=config)
    assert [(f.code, f.position.line, f.object.kind) for f in findings] == [
        ("DRA108", 11, "ResourceClaimTemplate"),
        ("DRA116", 10, "ResourceClaim"),
    ]
    (place,) = (f.position for f in findings if f.code == "DRA116")
    assert config.splitlines()[9][4:][place.column - 1 : place.end_column - 1] == "-1"


def test_claims_described_by_custom_resources_are_judged(tmp_path: Path) -> None:
    # grove operator/api/core/v1alpha1/podcliqueset.go ResourceClaimTemplateConfig; k8s-nim-operator
    # api/apps/v1alpha1/dra_types.go DRAClaimCreationSpec
    grove = """\
    apiVersion: grove.io/v1alpha1
    kind: PodCliqueSet
    metadata: {name: a}
    spec:
      template:
        resourceClaimTemplates:
        - name: good
          templateSpec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: x}}]}}}
        - name: bad
          templateSpec:
            spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: x, count: -1}}]}}
    """
    nim = """\
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMService
    metadata: {name: a}
    spec:
      draResources:
      - resourceClaimName: a
      - claimCreationSpec:
          devices:
          - name: gpu
            driverName: gpu.nvidia.com
            celExpressions:
            - device.attributes["gpu.nvidia.com"].architecture == "Hopper"
            - device.attributes["gpu.nvidia.com"].architecture = "Hopper"
          - {name: GPU}
    """
    (tmp_path / "a.yaml").write_text(dedent(grove))
    (tmp_path / "b.yaml").write_text(dedent(nim))
    for release in (
        "1.37",
        "1.33",
    ):  # before 1.34 too: a controller writes the version of the template
        findings = lint(load_readable([str(tmp_path)]), Target.of(release)).findings
        errors = [(f.code, f.position.line) for f in findings]
        assert errors == [("DRA116", 11), ("DRA113", 13), ("DRA103", 14)]


def test_selectors_written_by_an_operator_are_left_alone(tmp_path: Path) -> None:
    # NVIDIA/k8s-nim-operator internal/shared/resourceclaims.go GetDRADeviceCELExpressions
    nim = """\
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMService
    metadata: {name: a}
    spec:
      draResources:
      - claimCreationSpec:
          devices:
          - name: gpu
            attributeSelectors:
            - {key: architecture, value: {stringValue: hopper}}
            - {key: gpu.nvidia.com/productNam, op: NotEqual, value: {stringValue: x}}
            - {key: driverVersion, op: LessThan, value: {versionValue: 580.65.06}}
            - {key: brand, op: LessThan, value: {stringValue: refused}}
            - {key: uuid, op: Equal, value: {intValue: 0}}
            - {key: architecture, value: {stringValue: Hopper}}
            capacitySelectors:
            - {key: memory, op: GreaterThan, value: "80"}
            - {key: memory, op: GreaterThan, value: 40Gi}
    """
    (tmp_path / "a.yaml").write_text(dedent(nim))
    findings = lint(load_readable([str(tmp_path)]), Target.of("1.37")).findings
    expected = [
        ("DRA719", 10),
        ("DRA713", 11),
        ("DRA602", 12),
        ("DRA718", 14),
        ("DRA606", 15),
        ("DRA727", 17),
    ]
    assert [(f.code, f.position.line) for f in findings] == expected
    assert [f.fix for f in findings] == [None] * len(expected)  # the file has no expression to edit


def test_raw_resources_hold_the_fields_of_an_object_in_spec(found) -> None:
    # bjw-s-labs/helm-charts charts/library/common/templates/classes/_rawResource.tpl, before `manifest` (values.yaml:
    # "Configure the contents of the resource that should be added")
    release = """\
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: plex}
    spec:
      values:
        rawResources:
          gpu:
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaimTemplate
            spec:
              spec:
                spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: x, count: -1}}]}}
          gpus:
            apiVersion: resource.k8s.io/v1
            kind: ResourceClaim
            spec:
              spec: {devices: {requests: [{name: gpu, exactly: {count: 1}}]}}
    """
    findings = found(a_yaml=release)
    assert [(f.code, f.position.line) for f in findings] == [("DRA116", 12), ("DRA108", 17)]


def test_a_container_of_a_chart_may_use_the_claims_of_its_controller_only(found) -> None:
    release = """\
    apiVersion: helm.toolkit.fluxcd.io/v2
    kind: HelmRelease
    metadata: {name: tdarr}
    spec:
      values:
        controllers:
          server:
            pod: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]}
            containers:
              app: {image: {repository: x}, resources: {claims: [{name: gpu}]}}
          node:
            containers:
              app: {image: {repository: x}, resources: {claims: [{name: gpu}]}}
    """
    (finding,) = [finding for finding in found(a_yaml=release) if finding.code != "DRA421"]
    assert (finding.code, finding.severity, finding.position.line) == ("DRA409", "warning", 13)
    assert finding.message == 'claim "gpu" is not in resourceClaims of its pod'
    assert (finding.help or "").startswith(
        "list it under resourceClaims of pod or defaultPodOptions"
    )


# -- what belongs together --

CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: %s}
spec:
  selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]
  extendedResourceName: example.com/gpu
"""
SLICE = """\
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: %s}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
"""


def test_environments_do_not_collide(found) -> None:
    assert (
        found(
            dev__a_yaml=CLASS % "dev" + SLICE % "dev", prod__a_yaml=CLASS % "prod" + SLICE % "prod"
        )
        == []
    )


def test_within_a_folder_they_do(found) -> None:
    findings = found(a_yaml=CLASS % "dev" + SLICE % "dev", b_yaml=CLASS % "prod" + SLICE % "prod")
    assert {"DRA212", "DRA351"} <= set(codes(findings))


def test_an_object_twice_in_a_file_or_a_kustomization(found) -> None:
    assert codes(found(a_yaml=f"{TEMPLATE}---\n{TEMPLATE}")) == ["DRA535"]
    assert found(a_yaml=TEMPLATE, b_yaml=TEMPLATE) == []
    both = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml, b.yaml]\n"
    assert codes(found(kustomization_yaml=both, a_yaml=TEMPLATE, b_yaml=TEMPLATE)) == ["DRA535"]


def test_a_template_in_another_folder_is_found_if_it_is_the_only_one(found) -> None:
    pod = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: p}
    spec:
      resourceClaims: [{name: g, resourceClaimTemplateName: one}]
      containers: [{name: c, image: x, resources: {claims: [{name: g, request: gpx}]}}]
    """
    assert codes(found(claims__a_yaml=TEMPLATE, pods__a_yaml=pod)) == ["DRA422"]
    assert found(claims__a_yaml=TEMPLATE, other__a_yaml=TEMPLATE, pods__a_yaml=pod) == []


def test_the_syntax_of_a_name_is_left_to_the_report_for_programs(found) -> None:
    (finding,) = found(a_yaml=TEMPLATE.replace("{name: one}", "{name: One}"))
    assert finding.message.endswith("an alphanumeric character (such as 'example.com')")
    assert finding.api.message.endswith("([-a-z0-9]*[a-z0-9])?)*')")


def test_dropped_status_is_judged_as_advice_only(found) -> None:
    """A status is dropped when a claim is created."""
    claim = TEMPLATE.replace("ResourceClaimTemplate", "ResourceClaim").replace(
        "{spec: {devices", "{devices"
    )
    claim = claim.replace("}]}}}\n", "}]}}\n") + (
        "status: {allocation: {devices: {results: [{request: gpu, driver: A_b, pool: p, device: D_0}]}}}\n"
    )
    findings = found(a_yaml=claim)
    assert codes(findings) == ["DRA142", "DRA142"]
    assert [finding.api for finding in findings] == [None, None]


@pytest.mark.parametrize(
    ("fields", "help_"),
    [
        ("resourceClaims: [{name: g, deviceClassName: x}]", "a pod names a claim or a template"),
        (
            "resourceClaims: [{name: g, resourceClaimName: x}]",
            "claims belongs next to limits and requests",
        ),
    ],
)
def test_misplaced_field_has_its_right_place(found, fields: str, help_: str) -> None:
    pod = f"""\
    apiVersion: v1
    kind: Pod
    metadata: {{name: p}}
    spec:
      {fields}
      containers: [{{name: c, image: x, resources: {{limits: {{claims: [{{name: g}}]}}}}}}]
    """
    assert any((finding.help or "").startswith(help_) for finding in found(a_yaml=pod))


# -- what whole repositories hold besides manifests --


def test_pod_descriptions_of_other_tools_are_no_objects(found) -> None:
    assert (
        found(case_yaml="config: {a: 1}\nspec:\n  typemeta: {kind: Pod}\n  resourceclaims: []\n")
        == []
    )


def test_fixtures_of_round_trip_tests_are_passed_over(found) -> None:
    fixture = """\
        apiVersion: v1
        kind: Pod
        metadata: {name: nameValue, generateName: generateNameValue, namespace: namespaceValue}
        spec:
          resourceClaims:
          - {name: nameValue, resourceClaimName: a, resourceClaimTemplateName: b}
    """
    assert found(pod_yaml=fixture) == []
    assert "DRA403" in codes(
        found(pod_yaml=fixture.replace("generateName: generateNameValue, ", ""))
    )


def test_a_misspelt_api_version_does_not_hide_the_rest(found) -> None:
    written = """\
        apiversion: v1
        kind: Pod
        metadata: {name: p}
        spec:
          containers: [{name: c, image: x, resources: {claims: [{name: gpu}]}}]
          resourceclaims: [{name: gpu, resourceclaimname: one}]
    """
    first, *others = found(pod_yaml=written)
    assert (first.code, first.position.line) == ("DRA801", 1)
    assert first.message.endswith("did you mean apiVersion?")
    assert {finding.code for finding in others} == {"DRA003"}
    assert [finding.position.line for finding in others] == [6, 6]


ADMIN = TEMPLATE.replace("gpu.example.com", "gpu.example.com, adminAccess: true")
LABEL = 'resource.kubernetes.io/admin-access: "true"'


def test_admin_access_without_namespace_may_be_in_an_admitting_one(found) -> None:
    assert codes(found(claim_yaml=ADMIN)) == ["DRA152"]
    namespace = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: media, labels: {{{LABEL}}}}}\n"
    assert found(claim_yaml=ADMIN, apps__namespace_yaml=namespace) == []


def test_object_without_namespace_is_not_in_namespace_default(found) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n"
    assert codes(found(claim_yaml=ADMIN, apps__namespace_yaml=namespace)) == ["DRA152"]


def test_a_namespace_of_two_clusters_admits_if_one_of_them_does(found) -> None:
    plain = "apiVersion: v1\nkind: Namespace\nmetadata: {name: media}\n"
    labelled = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: media, labels: {{{LABEL}}}}}\n"
    claim = ADMIN.replace("name: one", "name: one, namespace: media")
    assert found(claim_yaml=claim, a__namespace_yaml=labelled, b__namespace_yaml=plain) == []
    assert codes(found(claim_yaml=claim, a__namespace_yaml=plain, b__namespace_yaml=plain)) == [
        "DRA119"
    ]


def test_a_kustomization_may_label_namespaces(found) -> None:
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: media}\n"
    claim = ADMIN.replace("name: one", "name: one, namespace: media")
    assert codes(found(claim_yaml=claim, namespace_yaml=namespace)) == ["DRA119"]
    patch = f"""\
        apiVersion: kustomize.config.k8s.io/v1beta1
        kind: Kustomization
        patches:
        - target: {{kind: Namespace}}
          patch: |
            - op: add
              path: /metadata/labels
              value: {{{LABEL}}}
    """
    assert "DRA119" not in codes(
        found(claim_yaml=claim, namespace_yaml=namespace, kustomization_yaml=patch)
    )


CLAIM = (
    TEMPLATE.replace("ResourceClaimTemplate", "ResourceClaim")
    .replace("spec: {spec: ", "spec: ")
    .replace("}}\n", "}\n")
)
USER = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
  containers: [{name: c, image: x, resources: {claims: [{name: gpu}]}}]
"""


def test_claim_of_equal_name_in_another_folder_is_another(found) -> None:
    assert codes(found(a__pod_yaml=USER, a__claim_yaml=CLAIM)) == ["DRA423"]


def test_which_of_several_templates_is_meant_is_open(found) -> None:
    assert (
        found(a__pod_yaml=USER, b__one_yaml=TEMPLATE, c__one_yaml=TEMPLATE, d__claim_yaml=CLAIM)
        == []
    )


def test_an_unused_claim_of_an_unknown_driver_may_configure_the_pod(found) -> None:
    pod = USER.replace(", resources: {claims: [{name: gpu}]}", "")
    assert [finding.severity for finding in found(pod_yaml=pod, one_yaml=TEMPLATE)] == ["info"]
    known = found(pod_yaml=pod, one_yaml=TEMPLATE.replace("gpu.example.com", "gpu.nvidia.com"))
    assert [(finding.code, finding.severity) for finding in known] == [("DRA421", "warning")]


def test_unserved_version_is_judged_as_its_successor(found) -> None:
    # intel/intel-resource-drivers-for-kubernetes v0.7 deployments/gaudi/examples/monitor-pod-inline.yaml
    claim = """\
    apiVersion: resource.k8s.io/v1alpha3
    kind: ResourceClaim
    metadata: {name: monitor}
    spec:
      devices:
        requests: [{name: Gpu, deviceClassName: gpu.intel.com}]
        adminAccess: true
    """
    assert [(f.code, f.position.line) for f in found(a_yaml=claim)] == [
        ("DRA801", 1),
        ("DRA103", 6),
        ("DRA003", 7),
    ]
    classic = claim.replace("v1alpha3", "v1alpha2").replace(
        "devices:", "resourceClassName: intel\n      x:"
    )
    assert codes(found(a_yaml=classic)) == ["DRA801"]


# -- patterns, and what is completed elsewhere --


@pytest.mark.parametrize("name", ["00-assert.yaml", "01-errors.yaml", "assert-allocated.yaml"])
def test_expectation_of_a_test_is_a_partial_object(tmp_path: Path, name: str) -> None:
    text = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
status:
  allocation: {devices: {results: [{driver: gpu.nvidia.com}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, resources: {claims: [{name: gpu, shared: x}]}}]
"""
    (tmp_path / name).write_text(text)
    findings = lint(load_readable([str(tmp_path)]), Target.of("1.37")).findings
    assert [(f.code, f.position.line) for f in findings] == [("DRA003", 11)]


def test_expressions_of_chainsaw(found) -> None:
    text = """\
    apiVersion: chainsaw.kyverno.io/v1alpha1
    kind: Test
    metadata: {name: t}
    spec:
      steps:
      - try:
        - apply:
            resource:
              apiVersion: resource.k8s.io/v1
              kind: ResourceClaim
              metadata: {name: c}
              spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: ($n)}}]}}
        - assert:
            resource:
              apiVersion: resource.k8s.io/v1
              kind: ResourceClaim
              metadata: {name: c}
              status: {(allocation != null): true}
        - error: {resource: {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: d}}}
    """
    assert found(a_yaml=text) == []


def test_the_base_of_a_composition_is_patched(found) -> None:
    text = """\
    apiVersion: apiextensions.crossplane.io/v1
    kind: Composition
    metadata: {name: gpu}
    spec:
      resources:
      - base:
          apiVersion: resource.k8s.io/v1
          kind: ResourceClaimTemplate
          spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: "", counts: 1}}]}}}
    """
    assert [(f.code, f.position.line) for f in found(a_yaml=text)] == [("DRA003", 9)]


def test_a_reference_is_no_object(found) -> None:
    text = """\
    apiVersion: v1
    kind: Event
    metadata: {name: e}
    involvedObject: {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, name: c, namespace: d}
    """
    assert found(a_yaml=text) == []


def test_values_of_a_chart_need_no_name(found) -> None:
    text = """\
    extra:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      spec: {devices: {requests: [{name: gpu, exactly: {}}]}}
    """
    assert codes(found(a_yaml=text)) == ["DRA108"]


def test_unlisted_file_is_apart_from_the_kustomization(found) -> None:
    # clarknova99/talos-cluster _archive/frigate/app/helmrelease_old.yaml
    one = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
    assert found(kustomization_yaml=one, a_yaml=TEMPLATE, a_old_yaml=TEMPLATE) == []
