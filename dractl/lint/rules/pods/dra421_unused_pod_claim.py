"""No container uses a claim of its pod.

## What it does

Compares the pod's `resourceClaims` with the `resources.claims` of its containers. Claims of network
drivers are skipped: a network device is moved into the pod's network namespace, and no container
names it. Virtual machines of KubeVirt are skipped too, since they use claims in `devices.gpus` and
`devices.hostDevices`. If the claim is not in the input, or its driver is unknown to dractl, the
finding is only an info: a driver may configure the pod as a whole.

In the values of app-template, and of other charts of the same library, every controller has a pod:
with its own `pod.resourceClaims`, or else those of `defaultPodOptions`.

## Why is this bad

The devices are allocated and prepared, but no container can see them.

## Example

```diff
 apiVersion: v1
 kind: Pod
 metadata: {name: train}
 spec:
   resourceClaims:
   - {name: gpu, resourceClaimTemplateName: one-gpu}
   containers:
   - name: main
     image: registry.example.com/train:1
+    resources:
+      claims: [{name: gpu}]
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: one-gpu}
 spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}}}
```

## Source

k8s.io/api/core/v1 types.go PodSpec.ResourceClaims; google/dranet pkg/driver;
kubevirt.io/api/core/v1 schema.go GPU; bjw-s-labs/helm-charts
charts/library/common/templates/lib/pod/_getOption.tpl
"""

import re
from collections.abc import Iterator, Sequence

from dractl.lint.configs import configurations_of
from dractl.lint.model import Advice, Found, Manifest, PodSpec, Run
from dractl.lint.placeholders import holds_placeholder
from dractl.lint.published import classes, drivers
from dractl.lint.references import find_reference
from dractl.model.pods import MAIN
from dractl.objects import text
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("Pod template",)
_NETWORK = re.compile(
    r"(?:^|[^a-z])(?:net|nic|rdma|roce|eth|ib\b|vfs?\b|cni\b|sriov|infiniband|interface)"
    r"|(?:nic|net|interfaces?)\b"
)
"""Words in the names of network drivers, of their classes and of claims for them."""


def check(run: Run) -> Found:
    for subject in run.subjects:
        if (subject.document.api_version or "").startswith("kubevirt.io/"):
            continue
        unused: dict[Path, list[PodSpec]] = {}  # several pods of a chart can share one list
        used: set[Path] = set()
        for pod in subject.pods:
            if not any(pod.fields.get(name) for name in ("containers", *MAIN)):
                continue
            if pod.misplaced:
                used.update(path for path, _ in pod.claims)  # DRA003 reports the wrong key
                continue
            names = {text(item.get("name")) for _, item in pod.uses}
            if names - {text(claim.get("name")) for _, claim in pod.claims}:
                # DRA409 reports a container that names a claim which the pod lacks. The container
                # may mean any of the pod's claims.
                used.update(path for path, _ in pod.claims)
                continue
            for path, claim in pod.claims:
                if text(claim.get("name")) in names or any(map(holds_placeholder, names)):
                    used.add(path)
                elif text(claim.get("name")) and len(claim) > 1:
                    unused.setdefault(path, []).append(pod)
        for path, pods in unused.items():
            yield from _advise_unused(run, path, pods, used=path in used)


def _advise_unused(run: Run, path: Path, pods: Sequence[PodSpec], *, used: bool) -> Found:
    """Yield advice on the claim at ``path``, which these pods do not use.

    ``used`` is True if other pods of the chart use it.
    """
    pod = pods[0]
    claim = next(claim for place, claim in pod.claims if place == path)
    name = text(claim.get("name"))
    named = set(_drivers(run, find_reference(run, pod, claim)))
    if any(_NETWORK.search(word.lower()) for word in (*map(text, claim.values()), *named)):
        return
    of = ""
    if pod.places is not None:
        names = [str(pod.path[-1]) for pod in pods]
        of = f" of controller{'s' * (len(names) > 1)} {' and '.join(names[:3])}"
        of += f" and {len(names) - 3} more" if len(names) > 3 else ""
    is_known = any(word in drivers() or word in classes() for word in named)
    yield Advice(
        pod.subject,
        (*path, "name"),
        f"no container{of} uses the claim {name}: its devices are allocated, but no container "
        "can see them",
        help="list the claim only in the controllers that use it: pod: {resourceClaims: [...]}"
        if used
        else f"add it to a container: resources: {{claims: [{{name: {name}}}]}}",
        confidence="likely" if is_known else "possible",
        severity=None if is_known else "info",
    )


def _drivers(run: Run, source: Manifest | None) -> Iterator[str]:
    """Yield the names of a claim's classes, and of the drivers of classes, selectors and
    configurations.
    """
    if source is None or source.claim is None:
        return
    for request in source.claim.alternatives:
        yield request.device_class
        yield run.driver_of(request.selectors) or ""
        yield run.driver_of_class(request.device_class) or ""
    yield from (config.driver for config in configurations_of(source))
