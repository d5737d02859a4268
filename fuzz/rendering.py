"""Targets for inputs that are rendered before they are judged: charts, kustomizations, and
repositories of Flux and Argo CD.

helm and kustomize are run if they are on PATH; otherwise only the part in this process is fuzzed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import yaml

from fuzz.cli import LINK, run_cli
from fuzz.mutate import of_bytes, of_leaves, of_tree

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com, count: COUNT}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: film, labels: {app: film}}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: film-gpu}]
  containers: [{name: app, image: x, resources: {claims: [{name: gpu}]}}]
"""
CHART: dict[str, str] = {
    "Chart.yaml": "apiVersion: v2\nname: film\nversion: 1.2.3\n",
    "values.yaml": "name: film-gpu\ncount: 2\nextra: {enabled: true, names: [a, b]}\n",
    "ci/more-values.yaml": "count: 8\n",
    "values.schema.json": '{"type": "object", "properties": {"count": {"type": "integer"}}}',
    "templates/_helpers.tpl": '{{- define "film.name" -}}{{ .Values.name | quote }}{{- end }}\n',
    "templates/claim.yaml": CLAIM.replace("NAME", '{{ include "film.name" . }}').replace(
        "COUNT", "{{ .Values.count }}"
    ),
    "templates/pod.yaml": "{{- if .Values.extra.enabled }}\n" + POD + "{{- end }}\n",
    "templates/loop.yaml": "{{- range $i, $n := .Values.extra.names }}\n---\n"
    + CLAIM.replace("NAME", "x-{{ $n }}").replace("COUNT", "{{ add $i 1 }}")
    + "{{- end }}\n",
}
TEMPLATES = (
    '{{ printf "%1000000s" "x" }}',
    "{{- range $i := until 100000 }}\na{{ $i }}: b\n{{- end }}",
    '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}',
    '{{ .Files.Get "../../../etc/passwd" }}',
    '{{ lookup "v1" "Secret" "" "" | toJson }}',
    "{{ .Values.missing.deeper }}",
    '{{ tpl (repeat 20 "{{ .Values }}") . }}',
    '{{ getHostByName "example.com" }}',
    '{{ fail "::error::no" }}',
    "{{",
)
PATHS = (
    "../other", "/etc/passwd", ".", "..", "", "~", "-o", "--help", "a b", "$(id)", "https://example.com/x?ref=y",
    "git@example.com:a/b", "./apps/../apps", "apps//film", "\x00", "\n", "x" * 300, "apps/missing", "*", "file:///etc",
)  # fmt: skip
NAMES = (
    "templates/-o.yaml", "templates/a b.yaml", "templates/::error::x.yaml", "templates/\x1b[31m.yaml",
    "templates/" + "n" * 200 + ".yaml", "templates/é.yaml", "charts/sub/Chart.yaml", "crds/a.yaml", ".helmignore",
)  # fmt: skip
LINKS = ("/etc/passwd", "/dev/zero", "/dev/stdin", "..", ".", "values.yaml", "/proc/self/environ")
BASE: dict[str, Any] = {
    "apps/kustomization.yaml": {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "media",
        "namePrefix": "my-",
        "commonLabels": {"app": "film"},
        "resources": ["claim.yaml", "pod.yaml", "../base"],
        "components": ["../components/gpu"],
        "patches": [
            {"path": "patch.yaml"},
            {
                "target": {"kind": "Pod", "name": "film"},
                "patch": '[{"op": "replace", "path": "/spec/containers/0/image", "value": "y"}]',
            },
        ],
        "images": [{"name": "x", "newTag": "2"}],
        "configMapGenerator": [{"name": "c", "literals": ["a=b"], "files": ["patch.yaml"]}],
        "replicas": [{"name": "film", "count": 3}],
        "generatorOptions": {"disableNameSuffixHash": True},
    },
    "apps/patch.yaml": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "film"},
        "spec": {"priority": 5, "containers": [{"name": "app", "env": [{"name": "A"}]}]},
    },
    "base/kustomization.yaml": {"resources": ["class.yaml"]},
    "base/class.yaml": {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu.example.com"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    },
    "components/gpu/kustomization.yaml": {
        "apiVersion": "kustomize.config.k8s.io/v1alpha1",
        "kind": "Component",
        "patches": [{"path": "../../apps/patch.yaml"}],
    },
}
FLUX: dict[str, Any] = {
    "flux/ks.yaml": {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": "flux-system"},
        "spec": {
            "path": "./apps",
            "components": ["../components/gpu"],
            "postBuild": {
                "substitute": {"APP": "film"},
                "substituteFrom": [{"kind": "ConfigMap", "name": "settings"}],
            },
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
            "targetNamespace": "media",
            "patches": [{"patch": "kind: Pod\nmetadata: {name: film}\nspec: {priority: 1}\n"}],
        },
    },
    "flux/settings.yaml": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "flux-system"},
        "data": {"COUNT": "2"},
    },
    "argo/app.yaml": {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "film", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "destination": {"namespace": "media", "server": "https://kubernetes.default.svc"},
            "source": {
                "repoURL": "https://example.com/repository.git",
                "path": "apps",
                "kustomize": {"namePrefix": "a-"},
                "directory": {"recurse": True, "include": "*.yaml"},
            },
        },
    },
    "argo/set.yaml": {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "all"},
        "spec": {
            "generators": [
                {"git": {"directories": [{"path": "apps/*"}]}},
                {"list": {"elements": [{"name": "a"}, {"name": "b"}]}},
            ],
            "template": {
                "metadata": {"name": "{{name}}"},
                "spec": {"source": {"repoURL": "https://example.com/r.git", "path": "{{path}}"}},
            },
        },
    },
}
VARIABLES = (
    "${APP}", "${COUNT:=2}", "${COUNT:-${APP}}", "$$", "${", "${A/b/c}", "${APP:0:2}", "${APP^^}", "${#APP}",
    "${APP" * 50, "${" * 5000, "${X:=" * 3000, "$APP", "${1}", "${APP:?no}", "${a:-" + "}" * 99,
)  # fmt: skip


def _damage(tree: dict[str, Any], dice: random.Random) -> Any:
    """Return ``tree`` with a path in place of a text, or another damage."""
    match dice.randrange(3):
        case 0:
            return of_tree(tree, dice)
        case 1:
            return of_leaves(tree, dice)
    return _with_text(tree, dice.choice((*PATHS, *VARIABLES)), dice)


def _with_text(value: Any, text: str, dice: random.Random) -> Any:
    match value:
        case dict() if value:
            key = dice.choice(list(value))
            return {**value, key: _with_text(value[key], text, dice)}
        case list() if value:
            at = dice.randrange(len(value))
            return [*value[:at], _with_text(value[at], text, dice), *value[at + 1 :]]
        case str():
            return dice.choice((text, text + value, value + text))
    return value


def _repository(trees: dict[str, Any], dice: random.Random) -> dict[str, bytes]:
    """Return the files of a repository with a few damages."""
    hurt = dice.sample(list(trees), dice.randint(0, 2))
    files = {
        f"r/{name}": json.dumps(_damage(tree, dice) if name in hurt else tree).encode()
        for name, tree in trees.items()
    }
    count, name = dice.choice(("1", "${COUNT}", "${COUNT:=2}")), dice.choice(("film-gpu", "${APP}"))
    claim = CLAIM.replace("COUNT", count).replace("NAME", name)
    files["r/apps/claim.yaml"] = claim.encode()
    files["r/apps/pod.yaml"] = POD.replace(
        "image: x", f"image: {dice.choice(VARIABLES)!r}"
    ).encode()
    if dice.random() < 0.3:
        name = dice.choice(list(files))
        files[name] = of_bytes(files[name], dice)
    if dice.random() < 0.2:
        files[dice.choice(list(files))] = LINK + dice.choice(LINKS).encode()
    return files


def chart(dice: random.Random) -> None:
    """Render a chart whose files, names and values are damaged, with values of the user."""
    files = {f"film/{name}": text.encode() for name, text in CHART.items()}
    for _ in range(dice.randint(0, 2)):
        name = dice.choice(list(files))
        files[name] = of_bytes(files[name], dice)
    if dice.random() < 0.4:
        files["film/templates/more.yaml"] = dice.choice(TEMPLATES).encode()
    if dice.random() < 0.3:
        files[f"film/{dice.choice(NAMES)}"] = dice.choice(list(CHART.values())).encode()
    if dice.random() < 0.2:
        files[dice.choice(list(files))] = LINK + dice.choice(LINKS).encode()
    values = of_tree(yaml.safe_load(CHART["values.yaml"]), dice)
    files["own.yaml"] = json.dumps(values).encode()
    setting = dice.choice(
        ("count=3", "extra.names[0]=x", "a[99999999]=1", "=", "a=b=c", "-x", "count=\n", "x{=1")
    )
    options = dice.choice(([], ["--values", "DIR/own.yaml"], ["--set", setting]))
    asked = dice.choice(
        (["lint", "--no-cache"], ["explain", "-f"], ["plan", "gpu=1", "-f"], ["migrate"])
    )
    run_cli([*asked, "DIR/film", *options], files)


def kustomization(dice: random.Random) -> None:
    """Build a kustomization with hostile names of files, patches and generators."""
    asked = dice.choice(
        (
            ["lint", "--no-cache"],
            ["lint", "--no-cache"],
            ["explain", "-f"],
            ["upgrade", "--from", "1.36"],
        )
    )
    run_cli([*asked, "DIR/r/apps"], _repository(BASE, dice))


def gitops(dice: random.Random) -> None:
    """Answer about a repository of Flux and Argo CD with hostile paths and variables."""
    files = _repository({**BASE, **FLUX}, dice)
    files["r/.git/HEAD"] = b"ref: refs/heads/main\n"
    files["r/.git/config"] = of_bytes(
        b'[remote "origin"]\n\turl = https://example.com/repository.git\n', dice
    )
    run_cli(["lint", "--no-cache", "DIR/r"], files)


TARGETS: tuple[Callable[[random.Random], None], ...] = (chart, kustomization, gitops)
