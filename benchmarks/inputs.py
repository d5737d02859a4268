"""Manifests and dumps that the benchmarks read. They are generated, and equal in every run."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import explain as clusters

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHITECTURES = ("Hopper", "Ampere", "Blackwell", "Ada Lovelace")
MODELS = ("h100", "a100", "b200", "l40s")
SELECTORS = 40
CLASSES = 12


def selector(number: int) -> str:
    """Return one of :data:`SELECTORS` expressions: a comparison of an attribute or a capacity."""
    kind, n = number % 4, number % SELECTORS
    gpu = "gpu.nvidia.com"
    device = f'device.attributes["{gpu}"]'
    return (
        f'device.driver == "{gpu}" && '
        + (
            f'{device}.architecture == "{ARCHITECTURES[n // 4 % 4]}"',
            f"device.capacity['{gpu}'].memory.compareTo(quantity('{10 * (1 + n // 4)}Gi')) >= 0",
            f'{device}.productName.lowerAscii().matches("^.*{MODELS[n // 4 % 4]}.*$")',
            f'{device}.cudaComputeCapability.isGreaterThan(semver("{7 + n % 3}.{n // 4}.0"))',
        )[kind]
    )


def _spec(number: int, indent: int) -> str:
    """Return the spec of a claim: GPUs that a selector narrows, and a NIC at the same PCIe root."""
    chance = random.Random(number)
    text = f"""\
devices:
  requests:
  - name: gpu
    exactly:
      deviceClassName: class-{chance.randrange(CLASSES)}
      count: {chance.choice((1, 1, 1, 2, 4, 8))}
      selectors:
      - cel:
          expression: {selector(chance.randrange(SELECTORS))}
  - name: nic
    exactly:
      deviceClassName: dranet
  constraints:
  - requests: [gpu, nic]
    matchAttribute: resource.kubernetes.io/pcieRoot
"""
    return "".join(" " * indent + line + "\n" for line in text.splitlines())


def manifest(number: int) -> str:
    """Return a valid object: in turn a claim, a template, a class, and a pod with the template."""
    kind, n = number % 4, number // 4
    team = f"team-{n % 50:02}"
    if kind == 0:
        head = f"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim-{n}
  namespace: {team}
  labels:
    app.kubernetes.io/name: train-{n}
    app.kubernetes.io/part-of: ml
spec:
"""
        return head + _spec(n, 2)
    if kind == 1:
        head = f"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: template-{n}
  namespace: {team}
spec:
  metadata:
    labels:
      app: train-{n}
  spec:
"""
        return head + _spec(n, 4)
    if kind == 2:
        return f"""\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: class-{n}
spec:
  selectors:
  - cel:
      expression: {selector(n) if n >= CLASSES else 'device.driver == "gpu.nvidia.com"'}
"""
    return f"""\
apiVersion: v1
kind: Pod
metadata:
  name: train-{n}
  namespace: {team}
  labels:
    app.kubernetes.io/name: train-{n}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: registry.example.com/train:{n}
    command: ["python", "-m", "train", "--step", "{n}"]
    env:
    - name: STEP
      value: "{n}"
    resources:
      requests:
        cpu: "4"
        memory: 32Gi
      limits:
        memory: 32Gi
      claims:
      - name: gpu
  resourceClaims:
  - name: gpu
    resourceClaimTemplateName: template-{n}
  tolerations:
  - key: nvidia.com/gpu
    operator: Exists
    effect: NoSchedule
"""


def write_folders(folder: Path, count: int) -> None:
    """Write a file for each of ``count`` objects, in folders of 50 teams."""
    for number in range(count):
        path = folder / f"team-{number // 4 % 50:02}" / f"{number:05}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest(number))


def faulty(number: int) -> str:
    """Return a document of a file: a claim with a misspelt field."""
    return f"""\
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: claim-{number}}}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClasName: gpu.nvidia.com
        count: 1
"""


def classic(number: int) -> str:
    """Return a document of a file: a workload that asks a device plugin for a GPU."""
    return f"""\
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: train-{number}}}
spec:
  selector: {{matchLabels: {{app: train-{number}}}}}
  template:
    metadata: {{labels: {{app: train-{number}}}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/train:1
        resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def stream(path: Path, count: int) -> None:
    """Write ``count`` objects into one file."""
    path.write_text("---\n".join(manifest(number) for number in range(count)))


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{n}
  labels: {{app: app-{n}}}
spec:
  replicas: 2
  selector:
    matchLabels: {{app: app-{n}}}
  template:
    metadata:
      labels: {{app: app-{n}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/app:{n}
        ports:
        - containerPort: 8080
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
          limits: {{memory: 256Mi}}
        livenessProbe:
          httpGet: {{path: /healthz, port: 8080}}
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-{n}\ndata:\n" + "".join(
    f"  KEY_{k}: value of {k} in {{n}}\n" for k in range(20)
)


def monorepo(folder: Path, count: int) -> None:
    """Write ``count`` files, of which one in a hundred concerns DRA."""
    for number in range(count):
        path = folder / f"{number // 1000:03}" / f"{number // 20 % 50:02}" / f"{number:05}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % 100 == 0:
            path.write_text(manifest(number // 100))
        else:
            path.write_text((DEPLOYMENT if number % 2 else CONFIG).format(n=number))


FLUX_APP = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: app-{n}
spec:
  components:
  - ../../../../components/gpu
  dependsOn:
  - name: gpu-driver
    namespace: kube-system
  interval: 1h
  path: ./apps/team-{team}/app-{n}/app
  postBuild:
    substitute:
      APP: app-{n}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
    namespace: flux-system
  targetNamespace: team-{team}
"""
FLUX_RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: app-{n}
spec:
  chartRef:
    kind: OCIRepository
    name: app-{n}
  interval: 1h
  values:
    controllers:
      app-{n}:
        pod:
          resourceClaims:
          - name: gpu
            resourceClaimTemplateName: app-{n}-gpu
        containers:
          app:
            image:
              repository: registry.example.com/app-{n}
              tag: 1.0.{n}
            resources:
              claims:
              - name: gpu
              requests:
                cpu: 100m
              limits:
                memory: 4Gi
"""
FLUX_TEMPLATE = """\
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
          allocationMode: All
          adminAccess: true
"""
FLUX_NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: _
  labels:
    resource.kubernetes.io/admin-access: "true"
"""
FLUX_ROOT = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 1h
  path: ./apps
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"""


CHART_TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: {{ .Release.Name }}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: {{ .Values.class }}, count: {{ .Values.count }}}
"""


def chart(folder: Path, values: int) -> None:
    """Write a chart with a claim template, and files of values that a test of the chart takes."""
    texts = {
        "Chart.yaml": "apiVersion: v2\nname: training\nversion: 1.0.0\n",
        "values.yaml": "class: gpu.nvidia.com\ncount: 1\n",
        "templates/claim.yaml": CHART_TEMPLATE,
        **{f"ci/{n}-values.yaml": f"count: {n + 1}\n" for n in range(values)},
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def flux(folder: Path, apps: int, files: int) -> None:
    """Write a repository for Flux with ``files`` files.

    It has a Kustomization for each of ``apps`` in six namespaces, and a component with a template
    that all of them use; the remaining files are other manifests.
    """
    texts = {
        ".git/HEAD": "ref: refs/heads/main\n",
        "flux/ks.yaml": FLUX_ROOT,
        "components/gpu/kustomization.yaml": "kind: Component\nresources: [template.yaml]\n",
        "components/gpu/template.yaml": FLUX_TEMPLATE,
    }
    for number in range(apps):
        team = f"apps/team-{number % 6}"
        texts[f"{team}/app-{number}/ks.yaml"] = FLUX_APP.format(n=number, team=number % 6)
        app = f"{team}/app-{number}/app"
        texts[f"{app}/release.yaml"] = FLUX_RELEASE.format(n=number)
        texts[f"{app}/config.yaml"] = CONFIG.format(n=number)
        texts[f"{app}/kustomization.yaml"] = "resources: [release.yaml, config.yaml]\n"
    for team in range(6):
        names = [f"app-{number}/ks.yaml" for number in range(team, apps, 6)]
        texts[f"apps/team-{team}/namespace.yaml"] = FLUX_NAMESPACE
        text = f"namespace: team-{team}\nresources: [namespace.yaml, {', '.join(names)}]\n"
        texts[f"apps/team-{team}/kustomization.yaml"] = text
    for number in range(files - len(texts) + 1):
        texts[f"other/{number // 40:02}/{number:04}.yaml"] = DEPLOYMENT.format(n=number)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _schema(depth: int, names: random.Random) -> dict[str, Any]:
    """Return a nested OpenAPI schema with long descriptions, as controller-gen writes it."""
    if depth == 0:
        return {"description": "text " * 12, "type": names.choice(("string", "integer", "boolean"))}
    properties = {f"field{n}": _schema(depth - 1, names) for n in range(6)}
    if depth == 2:
        properties["resourceClaims"] = {"items": _schema(0, names), "type": "array"}
    return {"description": "text " * 12, "properties": properties, "type": "object"}


def definitions(folder: Path, mebibytes: int) -> None:
    """Write CustomResourceDefinitions that mention the claims of pods, in files of about 1 MiB."""
    import yaml

    folder.mkdir(parents=True, exist_ok=True)
    value = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "services.example.com"},
        "spec": {
            "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": _schema(5, random.Random(1))}}
            ]
        },
    }
    text = yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False)
    for number in range(round(mebibytes * 2**20 / len(text))):
        (folder / f"{number}.yaml").write_text(text)


# --- clusters ---


def _pod_and_claim(name: str, replica: int, template: dict[str, Any]) -> list[dict[str, Any]]:
    """Make a pending pod of a ReplicaSet, and its claim."""
    pod = f"{name}-{replica}"
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name,
        "uid": name,
        "controller": True,
    }
    pod_owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod, "controller": True}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod, "namespace": "ml", "uid": pod, "ownerReferences": [owner]},
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "resources": {"requests": {"cpu": "4"}, "claims": [{"name": "gpu"}]},
                    }
                ],
                "resourceClaims": [
                    {"name": "gpu", "resourceClaimTemplateName": template["metadata"]["name"]}
                ],
            },
            "status": {
                "phase": "Pending",
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": f"{pod}-gpu"}],
            },
        },
        {
            "apiVersion": template["apiVersion"],
            "kind": "ResourceClaim",
            "metadata": {
                "name": f"{pod}-gpu",
                "namespace": "ml",
                "uid": f"{pod}-gpu",
                "ownerReferences": [pod_owner],
            },
            "spec": template["spec"]["spec"],
        },
    ]


def _template(name: str, count: int) -> dict[str, Any]:
    template = clusters.template()
    template["metadata"]["name"] = name
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = count
    return template


def busy(nodes: int, pods: int, workloads: int = 12) -> dict[str, Any]:
    """Make a full cluster and pending pods of ReplicaSets that want 2 to 8 GPUs each."""
    items = clusters.source(nodes)["items"]
    templates = [
        _template(f"set-{number}", 2 + number % 7) for number in range(min(workloads, pods))
    ]
    items += templates
    for number in range(pods):
        template = templates[number % workloads]
        items += _pod_and_claim(template["metadata"]["name"], number // workloads, template)
    return {"apiVersion": "v1", "kind": "List", "items": items}


def shapes(nodes: int, pods: int) -> dict[str, Any]:
    """Make a full cluster and pending pods, each with a selector that no other has."""
    dump = busy(nodes, pods, workloads=pods)
    for item in dump["items"]:
        if item["kind"] in ("ResourceClaim", "ResourceClaimTemplate") and item["metadata"][
            "name"
        ].startswith("set-"):
            number = int(item["metadata"]["name"].split("-")[1])
            spec = item["spec"].get("spec", item["spec"])
            spec["devices"] = json.loads(json.dumps(spec["devices"]))
            text = f"{clusters.MEMORY}.compareTo(quantity('{number + 1}Mi')) >= 0"
            spec["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": text}}]
    return dump


def devices(nodes: int, per_node: int) -> dict[str, Any]:
    """Make a cluster with ``per_node`` GPUs per node.

    A pod wants two aligned GPUs that are in use.
    """
    items = clusters.source(nodes)["items"]
    for item in items:
        if item["kind"] == "ResourceSlice":
            first = item["spec"]["devices"]
            copies = [json.loads(json.dumps(first[n % 8])) for n in range(per_node)]
            for n, device in enumerate(copies):
                device["name"] = f"gpu-{n}"
                device["attributes"]["uuid"]["string"] += f"-{n}"
                device["attributes"]["resource.kubernetes.io/pcieRoot"]["string"] = (
                    f"pci0000:{n // 2:02x}"
                )
            item["spec"]["devices"] = copies
        elif item["kind"] == "ResourceClaim":
            results = item["status"]["allocation"]["devices"]["results"]
            pool = results[0]["pool"]
            item["status"]["allocation"]["devices"]["results"] = list(_results(pool, per_node))
    return {"apiVersion": "v1", "kind": "List", "items": items}


def counted(nodes: int, expression: str) -> dict[str, Any]:
    """Make a cluster of :func:`devices` in which no two devices have the same attributes, and the
    pod wants devices with the expression.
    """
    cluster = devices(nodes, 8)
    items = cluster["items"]
    slices = [item for item in items if item["kind"] == "ResourceSlice"]
    published = [device for item in slices for device in item["spec"]["devices"]]
    for index, device in enumerate(published):
        device["attributes"]["index"] = {"int": index}
    for item in items:
        if item["kind"] == "ResourceClaimTemplate":
            (request,) = item["spec"]["spec"]["devices"]["requests"]
            request["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return cluster


# About the most rounds for which the API server accepts the expression
EXPENSIVE_SELECTOR = (
    "lists.range(266).all(x, lists.range(266).all(y,"
    ' x * y - 1 != -5 - device.attributes["gpu.nvidia.com"].index))'
)


def publication(count: int, generation: int) -> dict[str, Any]:
    """Make the slices of a driver with ``count`` devices, eight per node.

    Each generation has another version of the driver.
    """
    items = []
    for node in range(count // 8):
        pool = {"name": f"node-{node}", "generation": generation, "resourceSliceCount": 1}
        spec = {"driver": "gpu.nvidia.com", "nodeName": pool["name"], "pool": pool}
        spec["devices"] = [_gpu_of_generation(node, gpu, generation) for gpu in range(8)]
        metadata = {"name": f"node-{node}-gpus", "uid": f"u-{node}", "generation": generation}
        items.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": metadata,
                "spec": spec,
            }
        )
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _gpu_of_generation(node: int, gpu: int, generation: int) -> dict[str, Any]:
    values = {
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-{node}-{gpu}"},
        "minor": {"int": gpu},
        "index": {"int": gpu},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": "Hopper"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "driverVersion": {"version": f"57{generation}.1.0"},
        "cudaDriverVersion": {"version": "12.8.0"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{gpu * 16:02x}"},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{gpu * 16 + 1:02x}:00.0"},
    }
    return {
        "name": f"gpu-{gpu}",
        "attributes": values,
        "capacity": {"memory": {"value": "81559Mi"}},
    }


def _results(pool: str, count: int) -> Iterator[dict[str, str]]:
    """Yield the results of a claim that has all devices but one."""
    for n in range(count - 1):
        yield {"request": "gpu", "driver": "gpu.nvidia.com", "pool": pool, "device": f"gpu-{n}"}


def with_claims(nodes: int, claims: int) -> dict[str, Any]:
    """Make a cluster with that many more claims, which are not allocated and which no pod uses."""
    items = clusters.source(nodes)["items"]
    for number in range(claims):
        claim, _ = clusters.claim_and_pod(number)
        claim["metadata"]["name"] = f"idle-{number}"
        claim["metadata"]["uid"] = f"idle-{number}"
        del claim["status"]
        items.append(claim)
    return {"apiVersion": "v1", "kind": "List", "items": items}


def upgradeable() -> dict[str, Any]:
    """Make 1,000 objects for an upgrade of the GPU driver.

    150 nodes have the attributes of its first version. The claims have 40 selectors; every tenth
    claim reads an attribute that later versions do not have.
    """
    api, items = clusters.API, []
    for number in range(150):
        slices = clusters.gpus(number)
        for index, device in enumerate(slices["spec"]["devices"]):
            device["attributes"] |= {"index": {"int": index}, "minor": {"int": index}}
        items += [clusters.node(number), slices]
    classes = {"selectors": [{"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}]}
    items += [_object(api, "DeviceClass", f"class-{n}", None, classes) for n in range(CLASSES)]
    for number in range(344):
        expression = (
            'device.attributes["gpu.nvidia.com"].index == 0'
            if number % 10 == 0
            else selector(number)
        )
        request = {
            "deviceClassName": f"class-{number % CLASSES}",
            "allocationMode": "ExactCount",
            "count": 1 + number % 3,
            "selectors": [{"cel": {"expression": expression}}],
        }
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": request}]}}
        items.append(_object(api, "ResourceClaim", f"claim-{number}", "ml", spec))
        wants = [{"name": "gpu", "resourceClaimName": f"claim-{number}"}]
        pod = {"containers": [{"name": "main"}], "resourceClaims": wants}
        items.append(_object("v1", "Pod", f"pod-{number}", "ml", pod))
    return {"apiVersion": "v1", "kind": "List", "items": items[:1000]}


def _object(
    api: str, kind: str, name: str, namespace: str | None, spec: dict[str, Any]
) -> dict[str, Any]:
    scope = {"namespace": namespace} if namespace is not None else {}
    metadata = {"name": name, "uid": f"{kind}-{name}", **scope}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def write(path: Path, value: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path
