"""lint of a repository for Flux with five components: it is silent on the repository, and finds
each of the mistakes that people make in such repositories at the line that they edit.

The shapes are those of public repositories (a component with the template of a claim, named by
``${APP}``; apps of a remote chart with their claims in values), and so are the mistakes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: ${APP}-gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.intel.com
"""


def flux(name: str, namespace: str, path: str, components: str, variables: str = "") -> str:
    """Return the Kustomization of an app."""
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
spec:
  targetNamespace: {namespace}
  path: ./{path}
  components: {components}
  postBuild:
    substitute:
      APP: {name}
{variables}  sourceRef:
    kind: GitRepository
    name: flux-system
"""


def release(name: str, claim: str) -> str:
    """Return an app of a remote chart whose only container uses a claim."""
    return f"""\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: {name}
spec:
  chartRef:
    kind: OCIRepository
    name: app-template
  values:
    defaultPodOptions:
      resourceClaims:
      - name: device
        {claim}
    controllers:
      {name}:
        containers:
          app:
            image:
              repository: ghcr.io/example/{name}
              tag: 1.0.0
            resources:
              claims:
              - name: device
"""


MONITOR = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: monitor
spec:
  chartRef:
    kind: OCIRepository
    name: monitor
  values:
    resources:
      claims:
      - name: nic
  postRenderers:
  - kustomize:
      patches:
      - target:
          kind: DaemonSet
        patch: |
          - op: add
            path: /spec/template/spec/resourceClaims
            value:
            - name: nic
              resourceClaimTemplateName: ${APP}
"""
FILES = {
    "flux/apps.yaml": """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: cluster-apps
  namespace: flux-system
spec:
  path: ./apps
  sourceRef:
    kind: GitRepository
    name: flux-system
  patches:
  - target: {group: kustomize.toolkit.fluxcd.io, kind: Kustomization}
    patch: |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {name: any}
      spec:
        postBuild:
          substituteFrom:
          - {kind: ConfigMap, name: settings}
          - {kind: ConfigMap, name: amounts}
""",
    "apps/settings/settings.yaml": """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  MODE: All
  NIC_CLASS: nic.example.com
""",
    "apps/settings/settings.env": "# amounts\n\nCOUNT=1\n",
    "apps/settings/kustomization.yaml": """\
resources:
- settings.yaml
configMapGenerator:
- name: amounts
  envs: [settings.env]
""",
    "apps/media/kustomization.yaml": """\
namespace: media
components:
- ../../components/namespace
resources:
- film/ks.yaml
- music/ks.yaml
""",
    "apps/media/film/ks.yaml": flux(
        "film", "media", "apps/media/film/app", "[../../../../components/gpu]"
    ),
    "apps/media/film/app/kustomization.yaml": "resources:\n- release.yaml\n",
    "apps/media/film/app/release.yaml": release("film", "resourceClaimTemplateName: ${APP}-gpu"),
    "apps/media/music/ks.yaml": flux(
        "music", "media", "apps/media/music/app", "[../../../../components/share]"
    ),
    "apps/media/music/app/kustomization.yaml": "resources:\n- release.yaml\n",
    "apps/media/music/app/release.yaml": release("music", "resourceClaimTemplateName: music-gpu"),
    "apps/web/kustomization.yaml": """\
namespace: web
components:
- ../../components/namespace
- ../../components/nic
resources:
- proxy/ks.yaml
- relay/ks.yaml
""",
    "apps/web/proxy/ks.yaml": flux("proxy", "web", "apps/web/proxy/app", "[]"),
    "apps/web/proxy/app/kustomization.yaml": "resources:\n- release.yaml\n",
    "apps/web/proxy/app/release.yaml": release("proxy", "resourceClaimName: shared"),
    "apps/web/relay/ks.yaml": flux(
        "relay", "web", "apps/web/relay/app", "[../../../../components/class]"
    ),
    "apps/web/relay/app/kustomization.yaml": "resources:\n- release.yaml\n- monitor.yaml\n- template.yaml\n",
    "apps/web/relay/app/monitor.yaml": MONITOR,
    "apps/web/relay/app/release.yaml": release("relay", "resourceClaimTemplateName: relay"),
    "apps/web/relay/app/template.yaml": TEMPLATE.replace("${APP}-gpu", "relay").replace(
        "gpu.intel.com", "${NIC_CLASS}"
    ),
    "components/namespace/kustomization.yaml": COMPONENT + "resources:\n- namespace.yaml\n",
    "components/namespace/namespace.yaml": """\
apiVersion: v1
kind: Namespace
metadata:
  name: not-used
  labels:
    resource.kubernetes.io/admin-access: "true"
""",
    "components/gpu/kustomization.yaml": COMPONENT + "resources:\n- template.yaml\n",
    "components/gpu/template.yaml": TEMPLATE
    + "          adminAccess: true\n          allocationMode: ${MODE}\n",
    "components/share/kustomization.yaml": COMPONENT + "resources:\n- template.yaml\n",
    "components/share/template.yaml": TEMPLATE
    + """\
          selectors:
          - cel:
              expression: device.attributes["gpu.intel.com"].${ATTRIBUTE:=model} == "${GPU_MODEL:=B580}"
          capacity:
            requests:
              millicores: ${AMOUNT:=100}
          count: ${COUNT}
""",
    "components/nic/kustomization.yaml": COMPONENT + "resources:\n- claim.yaml\n",
    "components/nic/claim.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: shared
spec:
  devices:
    requests:
    - name: nic
      exactly:
        deviceClassName: nic.example.com
""",
    "components/class/kustomization.yaml": COMPONENT + "resources:\n- class.yaml\n",
    "components/class/class.yaml": """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: nic.example.com
spec:
  selectors:
  - cel:
      expression: device.driver == "nic.example.com"
""",
}


class Mistake(NamedTuple):
    """A change of a file, and the finding on it."""

    file: str
    before: str
    after: str
    code: str
    text: str
    """A text that stands in the line of the finding."""
    found: str = ""
    """The file of the finding, if it is another one than the changed one."""


GPU, SHARE, CLASS = (f"components/{name}.yaml" for name in ("gpu/template", "share/template", "class/class"))  # fmt: skip
FILM, MUSIC, PROXY, RELAY = (f"apps/{name}/app/release.yaml" for name in ("media/film", "media/music", "web/proxy", "web/relay"))  # fmt: skip
LIST_PATCH = """\
  patches:
  - target:
      kind: ResourceClaimTemplate
    patch: |
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata:
        name: any
      spec:
        spec:
          devices:
            requests:
            - name: gpu
              exactly:
                deviceClassName: gpu.intel.com
"""
IN_COMPONENTS = [
    Mistake(SHARE, ":=model}", ":=modle}", "DRA713", "modle"),
    Mistake(SHARE, '["gpu.intel.com"]', '["gpu.inte.com"]', "DRA717", "gpu.inte.com"),
    Mistake(SHARE, "=100}", "=100x}", "DRA002", "100x"),
    Mistake(SHARE, "millicores:", "milicores:", "DRA725", "milicores"),
    Mistake(SHARE, "resource.k8s.io/v1\n", "resource.k8s.io/v1beta1\n", "DRA003", "exactly"),
    Mistake(SHARE, "- name: gpu", "- name: GPU", "DRA103", "GPU"),
    Mistake(GPU, "gpu.intel.com", "gpu.intle.com", "DRA722", "gpu.intle.com"),
    Mistake(GPU, "Mode: ${MODE}", "Mode: ExactCount\n          count: 0", "DRA704", "count: 0"),
    Mistake(GPU, "Mode: ${MODE}", "Mode: all", "DRA117", "Mode: all"),
    Mistake(GPU, "adminAccess: true", 'adminAccess: "true"', "DRA002", "adminAccess"),
    Mistake(GPU, "exactly", "exacty", "DRA003", "exacty"),
    Mistake(GPU, "${APP}-gpu", "${APP}-igpu", "DRA423", "${APP}-gpu", FILM),
    Mistake(CLASS, "device.driver ==", "device.driver =", "DRA113", "driver ="),
    Mistake(
        "components/namespace/namespace.yaml", "admin-access", "other", "DRA119", "adminAccess", GPU
    ),
]
KS = "apps/media/film/ks.yaml"
SETTINGS = "apps/settings/settings.yaml"
OF_VARIABLES = [
    Mistake(KS, "APP: film", "APP: Fi_lm", "DRA532", "Fi_lm"),
    Mistake(KS, "APP: film", "APP: ''", "DRA532", "APP: ''"),
    Mistake("apps/media/music/ks.yaml", "APP: music\n", "APP: music\n      AMOUNT: 100x\n", "DRA002", "100x"),
    Mistake("apps/media/music/ks.yaml", "APP: music\n", "APP: music\n      ATTRIBUTE: modle\n", "DRA713", "modle"),
    Mistake(SETTINGS, "MODE: All", "MODE: all", "DRA117", "MODE: all"),
    Mistake(SETTINGS, "CLASS: nic.", "CLASS: nci.", "DRA423", "CLASS: nci."),
    Mistake("apps/settings/settings.env", "COUNT=1", "COUNT=many", "DRA002", "COUNT=many"),
]  # fmt: skip
POST = "apps/web/relay/app/monitor.yaml"
STRATEGIC = """\
        patch: |
          kind: DaemonSet
          metadata: {name: monitor}
          spec:
            template:
              spec:
                resourceClaims:
                - name: nic
                  resourceClaimTemplateName: rely
"""
IN_POST_RENDERERS = [
    Mistake(POST, "Name: ${APP}", "Name: ${APP}y", "DRA423", "${APP}y"),
    Mistake(POST, "resourceClaimTemplateName", "resourceClaimName", "DRA423", "resourceClaimName"),
    Mistake(POST, "TemplateName: ${APP}", "TemplateNam: ${APP}", "DRA003", "TemplateNam:"),
    Mistake(POST, "- name: nic\n  post", "- name: nci\n  post", "DRA409", "name: nci"),
    Mistake(POST, MONITOR[MONITOR.index("        patch: |") :], STRATEGIC, "DRA423", "rely"),
]
IN_APPS = [
    Mistake(FILM, "claims:\n              - name: device", "claims:\n              - name: devices", "DRA409", "name: devices"),
    Mistake(MUSIC, "claims:\n              - name: device", "claims:\n              - name: device\n                request: cpu", "DRA422", "request: cpu"),
    Mistake(MUSIC, "music-gpu", "muisc-gpu", "DRA423", "muisc-gpu"),
    Mistake(PROXY, "shared", "shraed", "DRA423", "shraed"),
    Mistake(PROXY, "resourceClaimName", "resourceClaimTemplateName", "DRA423", "shared"),
    Mistake("apps/media/music/ks.yaml", "APP: music", "APP: musik", "DRA423", "music-gpu", MUSIC),
    Mistake("apps/media/film/ks.yaml", "[../../../../components/gpu]", "[]", "DRA423", "${APP}-gpu", FILM),
    Mistake("apps/web/relay/app/kustomization.yaml", "- template.yaml\n", "", "DRA423", "Name: relay", RELAY),
    Mistake("apps/web/relay/app/template.yaml", "${NIC_CLASS}", "nci.example.com", "DRA423", "nci.example.com"),
    Mistake("apps/media/film/ks.yaml", "  postBuild:\n", f"{LIST_PATCH}  postBuild:\n", "DRA153", "requests:"),
]  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the repository without a mistake, which is the working directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    write(FILES)
    return folder


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def places(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, int]]:
    capsys.readouterr()
    main(["lint", ".", "-o", "json", "--no-cache"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    return [(item["code"], item["file"], item["line"]) for item in findings]


pytestmark = pytest.mark.usefixtures("repository")


def test_the_repository_has_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert places(capsys) == []


@pytest.mark.parametrize(
    "mistake",
    IN_COMPONENTS + IN_APPS + OF_VARIABLES + IN_POST_RENDERERS,
    ids=lambda item: item.after[:40],
)
def test_a_mistake_is_found_at_the_line_that_a_person_edits(
    mistake: Mistake, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(mistake.file)
    assert mistake.before in file.read_text()
    file.write_text(file.read_text().replace(mistake.before, mistake.after, 1))
    home = mistake.found or mistake.file
    lines = Path(home).read_text().splitlines()
    wanted = {
        (mistake.code, home, number) for number, line in enumerate(lines, 1) if mistake.text in line
    }
    assert wanted & set(places(capsys))


def test_there_are_twenty_mistakes_and_five_components() -> None:
    assert len(IN_COMPONENTS + IN_APPS) >= 20
    assert len({mistake.file.split("/")[1] for mistake in IN_COMPONENTS}) >= 4
    assert sum(name.endswith("kustomization.yaml") and "components/" in name for name in FILES) == 5


@pytest.mark.parametrize(
    ("mistake", "place"),
    [
        (
            Mistake(
                "components/gpu/kustomization.yaml", "- template.yaml", "- templates.yaml", "", ""
            ),
            "components/gpu/kustomization.yaml:4: skipped, Kustomization film was not built",
        ),
        (
            Mistake("apps/media/film/ks.yaml", "components/gpu]", "components/gpus]", "", ""),
            "apps/media/film/ks.yaml:8: skipped, Kustomization film was not built",
        ),
        (
            Mistake(KS, "APP: film", "NAME: film", "", ""),
            (
                "apps/media/film/app/release.yaml:13 and 1 more: linted, but nothing in this repository defines"
                " ${APP} for Kustomization film (apps/media/film/ks.yaml:11)"
            ),
        ),
        (
            Mistake(FILM, "${APP}-gpu", "${APPS}-gpu", "", ""),
            (
                "apps/media/film/app/release.yaml:13: linted, but nothing in this repository defines"
                " ${APPS} for Kustomization film (apps/media/film/ks.yaml:11)"
            ),
        ),
        (
            Mistake(GPU, "${APP}-gpu", "${APPL}-gpu", "", ""),
            (
                "components/gpu/template.yaml:4: linted, but nothing in this repository defines"
                " ${APPL} for Kustomization film (apps/media/film/ks.yaml:11)"
            ),
        ),
        (
            Mistake("apps/media/film/ks.yaml", "apps/media/film/app", "apps/film/app", "", ""),
            "apps/media/film/ks.yaml:7: skipped, the Kustomization was not built",
        ),
    ],
    ids=["resource", "component", "variable", "release", "template", "path"],
)
def test_what_cannot_be_built_is_noted_at_the_line_at_fault(
    mistake: Mistake, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = Path(mistake.file).read_text()
    Path(mistake.file).write_text(text.replace(mistake.before, mistake.after, 1))
    main(["lint", ".", "--no-cache"])
    assert f"note: {place}" in capsys.readouterr().err


def test_one_cause_of_several_kustomizations_is_noted_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("components/gpu/kustomization.yaml").write_text(f"{COMPONENT}resources: [none.yaml]\n")
    music = Path("apps/media/music/ks.yaml")
    music.write_text(music.read_text().replace("components/share", "components/gpu"))
    main(["lint", ".", "--no-cache"])
    notes = [line for line in capsys.readouterr().err.splitlines() if "none.yaml" in line]
    (note,) = notes
    assert note.startswith("note: components/gpu/kustomization.yaml:3: skipped, ")
    assert "Kustomization film, Kustomization music were not built" in note
