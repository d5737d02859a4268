"""Pods of custom resources."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
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
    assert (finding.severity, finding.message) == (
        "warning",
        'claim "gpu" is not in resourceClaims of its pod',
    )


def test_claims_one_level_too_high() -> None:
    (finding,) = found(JOB_SET, "DRA003")
    at = "spec.replicatedJobs[0].template.spec"
    assert finding.message == (
        f"the pods do not get these claims: {at}.resourceClaims belongs at {at}.template.spec.resourceClaims"
    )
    assert finding.position.line == 9


CLAIMS = "resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]"
MODEL = "{image: x, resources: {claims: [{name: gpu}]}}"
TEMPLATE = f"template: {{spec: {{{CONTAINERS}}}}}"
KINDS = {
    "ray.io/v1 RayCluster": f"{{headGroupSpec: {{HIGH rayStartParams: {{}}, {TEMPLATE}}}}}",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": (
        f"{{leaderWorkerTemplate: {{HIGH size: 2, workerTemplate: {{spec: {{{CONTAINERS}}}}}}}}}"
    ),
    "jobset.x-k8s.io/v1alpha2 JobSet": (
        f"{{replicatedJobs: [{{name: a, template: {{spec: {{HIGH {TEMPLATE}}}}}}}]}}"
    ),
    "kubeflow.org/v1 PyTorchJob": f"{{pytorchReplicaSpecs: {{Worker: {{HIGH replicas: 1, {TEMPLATE}}}}}}}",
    "trainer.kubeflow.org/v1alpha1 TrainJob": f"{{podTemplateOverrides: [{{HIGH spec: {{{CONTAINERS}}}}}]}}",
    "serving.kserve.io/v1beta1 InferenceService": f"{{HIGH predictor: {{{CONTAINERS}}}}}",
    "serving.kserve.io/v1beta1 InferenceService (model)": f"{{HIGH predictor: {{model: {MODEL}}}}}",
    "nvidia.com/v1alpha1 DynamoGraphDeployment": (
        f"{{services: {{Decode: {{HIGH extraPodSpec: {{mainContainer: {MODEL}}}}}}}}}"
    ),
    "serving.knative.dev/v1 Service": f"{{HIGH {TEMPLATE}}}",
}
"""Each kind with the pod that its controller makes; HIGH is one level above that."""


def resource(name: str, spec: str) -> str:
    version, kind = name.split()[:2]
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_without_claims(name: str) -> None:
    (finding,) = found(resource(name, KINDS[name].replace("HIGH ", "")), "DRA409")
    assert finding.message == 'claim "gpu" is not in resourceClaims of its pod'
    assert finding.position.line == 4


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_with_claims_one_level_too_high(name: str) -> None:
    text = resource(name, KINDS[name].replace("HIGH ", f"{CLAIMS}, "))
    assert [
        item.message.startswith("the pods do not get these claims")
        for item in found(text, "DRA003")
    ] == [True]


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_as_it_should_be(name: str) -> None:
    spec = KINDS[name].replace("HIGH ", "")
    for begin in ("{containers:", "{model:", "{mainContainer:"):
        spec = spec.replace(begin, f"{{{CLAIMS}, {begin[1:]}")
    assert found(resource(name, spec), "DRA409") == found(resource(name, spec), "DRA003") == []


def test_values_of_a_chart_may_get_their_claims_from_it() -> None:
    values = LEADER_WORKER_SET.replace("leaderworkerset.x-k8s.io/v1", "helm.toolkit.fluxcd.io/v2")
    assert found(values, "DRA409") == []


SETTINGS = {
    "KubeRay's chart": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: ray}\n"
    "spec: {values: {worker: {resources: {limits: {cpu: 1}}, LIST}}}\n",
    "pipelines": "apiVersion: datasciencepipelinesapplications.opendatahub.io/v1\n"
    "kind: DataSciencePipelinesApplication\nmetadata: {name: a}\nspec: {apiServer: {resources: {}, LIST}}\n",
    "an application": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
    "spec: {source: {helm: {valuesObject: {ollama: {resources: {}, replicas: 1, LIST}}}}}\n",
}
"""opendatahub-io/data-science-pipelines-operator#1090, ray-project/kuberay#4290: settings, and no pods."""


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    "entry", ["name: gpu, resourceClaimTemplateName: one", "enabled: true", "name: gpu, count: 2"]
)
def test_settings_of_charts_and_components_are_no_pods(name: str, entry: str) -> None:
    text = SETTINGS[name].replace("LIST", f"resourceClaims: [{{{entry}}}]")
    report = lint(load(["-"], stdin=text.encode()), Target.of("1.37"))
    assert [item.message for item in report.findings] == []


@pytest.mark.parametrize("name", SETTINGS)
def test_a_misspelt_key_in_settings_is_a_likely_mistake(name: str) -> None:
    text = SETTINGS[name].replace(
        "LIST", "resourceClaims: [{name: g, resourceClaimTemplatName: a}]"
    )
    (finding,) = found(text, "DRA003")
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert "rejects its pods" not in finding.message


def test_containers_with_images_are_likely_a_pod() -> None:
    text = resource("x.example.org/v1 Runner", "{resourceClaim: [{name: a}], CONTAINERS}")
    text = text.replace(
        "CONTAINERS", f"resourceClaims: [{{name: gpu}}], {CONTAINERS}, resources: {{}}"
    )
    findings = [*found(text, "DRA003"), *found(text, "DRA405")]
    assert {item.confidence for item in findings} == {"likely"}
    assert not any('"spec.resources"' in item.message for item in findings)


APP = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: film}
spec:
  chartRef: {kind: OCIRepository, name: film}
  values:
    controllers:
      film:
        pod:
          resourceClaim: [{name: gpu, resourceClaimTemplateName: gpu}]
        containers:
          app:
            image: {repository: x, tag: y}
            resources: {claims: [{name: gpu}]}
"""


def test_a_misspelt_list_of_a_charts_pod_is_one_mistake() -> None:
    """bjw-s-labs/helm-charts charts/library/common/templates/lib/pod/_spec.tpl reads resourceClaims."""
    (finding,) = found(APP, "DRA003")
    assert (finding.position.line, finding.confidence) == (10, "likely")
    assert "did you mean resourceClaims?" in finding.message
    assert found(APP, "DRA409") == []
    assert found(APP.replace("resourceClaim:", "resourceClaims:"), "DRA003") == []


RELEASE_OF_CHART = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: a}
spec:
  values:
    defaultPodOptions:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
    controllers:
      main:
        containers:
          app:
            image: {repository: x}
            resources:
              PLACE
"""
RESOURCES = "spec.values.controllers.main.containers.app.resources"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("requests: {claims: [{name: gpu}]}", f'"{RESOURCES}.requests.claims": claims belongs at {RESOURCES}.claims'),
        ("limits: {claim: [{name: gpu}]}", f'"{RESOURCES}.limits.claim": claims belongs at {RESOURCES}.claims'),
        ("claim: [{name: gpu}]", f'"{RESOURCES}.claim": did you mean claims?'),
    ],
)  # fmt: skip
def test_a_list_of_claims_in_a_wrong_place_of_resources_is_one_finding(
    written: str, message: str
) -> None:
    """core/v1 ResourceRequirements: requests and limits have quantities, beside them is claims."""
    text = RELEASE_OF_CHART.replace("PLACE", written)
    (finding,) = lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
    assert (finding.code, finding.position.line) == ("DRA003", 14)
    assert finding.message == f"unknown field {message}"


def test_misspelt_claims_of_all_pods_of_a_chart_are_found_at_the_key() -> None:
    text = RELEASE_OF_CHART.replace("PLACE", "claims: [{name: gpu}]")
    (finding,) = found(text.replace("resourceClaims", "resourceClaim"), "DRA003")
    assert finding.position.line == 7
    assert finding.message == (
        'unknown field "spec.values.defaultPodOptions.resourceClaim": did you mean resourceClaims?'
    )


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ("[{name: gpu, source: {resourceClaimName: one}}]", "DRA003"),
        ("[{name: gpu, resourceClaimName: one}, {name: gpu, resourceClaimName: two}]", "DRA402"),
        ("[{name: gpu, resourceClaimName: one, resourceClaimTemplateName: one}]", "DRA404"),
        ("[{name: gpu}]", "DRA405"),
    ],
)
def test_the_claims_that_a_chart_puts_into_its_pods_are_judged_as_a_pods(
    entries: str, code: str
) -> None:
    """bjw-s-labs/helm-charts charts/library/common/templates/lib/pod/_spec.tpl copies them."""
    text = RELEASE_OF_CHART.replace("PLACE", "claims: [{name: gpu}]")
    text = text.replace("[{name: gpu, resourceClaimTemplateName: one}]", entries)
    findings = lint(load(["-"], stdin=text.encode()), Target.of("1.37")).findings
    assert {(finding.code, finding.position.line) for finding in findings} == {(code, 7)}
    assert {finding.confidence for finding in findings} == {"likely"}


def test_quantities_and_claims_in_their_places_are_right() -> None:
    right = "{claims: [{name: gpu}], requests: {cpu: 1}, limits: {memory: 1Gi}}"
    text = RELEASE_OF_CHART.replace("\n              PLACE", f" {right}")
    assert found(text, "DRA003") == []
