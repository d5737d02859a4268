"""A repository for Flux with its own chart, for tests of all commands that take manifests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.cli.test_migrate_rendered import HELM, POD

if TYPE_CHECKING:
    from pathlib import Path

APPLIER = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  targetNamespace: ml
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute: {GPUS: "1"}
    substituteFrom: [{kind: Secret, name: settings}]
"""
SETTINGS = """\
apiVersion: v1
kind: Secret
metadata: {name: settings, namespace: flux-system}
stringData: {GPU_CLASS: SECRET}
data: {MODE: ENCODED}
"""
VALUES = """\
apiVersion: v1
kind: Secret
metadata: {name: values, namespace: ml}
stringData: {values.yaml: "count: 3\\npassword: SECRET\\n"}
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: trainer}
spec:
  chart:
    spec:
      chart: ./charts/trainer
      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
  valuesFrom: [{kind: Secret, name: values}]
  values: {count: 2}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: variables}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: ${GPU_CLASS}
      allocationMode: Al${MODE}
"""
MISTAKE = """\
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations: {example.com/token: SECRET}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: gqu}]
  containers:
  - name: main
    image: x
    env: [{name: PASSWORD, value: SECRET}]
    command: [sh, -c, sleep 1]
    ports: [{containerPort: 1}]
    resources: {claims: [{name: nic}]}
"""
FILES = {
    "clusters/a/apps.yaml": APPLIER,
    "clusters/a/settings.yaml": SETTINGS,
    "apps/kustomization.yaml": (
        "resources: [release.yaml, values.yaml, claim.yaml, one.yaml, two.yaml, plugin.yaml]\n"
    ),
    "apps/release.yaml": RELEASE,
    "apps/values.yaml": VALUES,
    "apps/claim.yaml": CLAIM,
    "apps/one.yaml": MISTAKE.replace("NAME", "one"),
    "apps/two.yaml": MISTAKE.replace("NAME", "two"),
    "apps/plugin.yaml": POD.replace("COUNT", "1").replace("name: a", "name: plugin"),
    "charts/trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 0.1.0\n",
    "charts/trainer/values.yaml": "count: 1\npassword: SECRET\n",
    "charts/trainer/templates/pod.yaml": POD.replace("COUNT", "{{ .Values.count }}"),
    "charts/trainer/templates/secret.yaml": (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
        "stringData: {password: {{ .Values.password }}}\n"
    ),
}


def write_repository(
    folder: Path, *, secret: str = "x", encoded: str = "eA==", is_reversed: bool = False
) -> None:
    """Write the files with secrets, and a stand-in for helm in ``bin`` beside them. With
    ``is_reversed``, the files are written in the opposite order.
    """
    (folder / ".git").mkdir(parents=True)
    for name, text in sorted(FILES.items(), reverse=is_reversed):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("SECRET", secret).replace("ENCODED", encoded))
    program = folder.parent / "bin" / "helm"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable} -IS\n{HELM}")
    program.chmod(0o755)
