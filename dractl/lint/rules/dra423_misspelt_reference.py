"""A claim, a template or a class is named that the run does not have, but one of nearly the same name.

## What it does

Looks up the claim and template names of pods and the class names of requests among the objects of the run. What is in
the cluster is not known, so only a name is reported that is nearly right, that stands in another namespace, or that
is a claim's where a template's belongs (and the other way round).

## Why is this bad

Pods wait for ever: the claim of another namespace is never found, nor is a class that does not exist.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpus}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com}
---
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
```

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources; api.md section 6, rows 31 and 32
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice, Replacement
from dractl.lint.references import named, namespace_of
from dractl.objects import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run, Subject
    from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("Pod template", "ResourceClaim", "ResourceClaimTemplate")
_FIELDS = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}


def check(run: Run) -> Iterator[Advice]:
    classes = {subject.name for subject in run.of("DeviceClass") if subject.name}
    for claim in run.claims if run.devices is None else ():  # else DRA755 knows better
        for request in claim.alternatives:
            name = request.device_class
            if name and name not in classes:
                yield from _nearest(claim.subject, (*request.path, "deviceClassName"), "DeviceClass", name, classes)
    names: dict[tuple[str, str], set[str]] = {}
    for kind in _FIELDS.values():
        for subject in run.of(kind):
            names.setdefault((kind, namespace_of(subject)), set()).add(subject.name)
    for pod in run.pods:
        namespace = namespace_of(pod.subject)
        for path, entry in pod.claims:
            for field, kind in _FIELDS.items():
                name = text(entry.get(field))
                if name and named(run, kind, name, namespace) is None:
                    yield from _elsewhere(run, names, pod.subject, (*path, field), name)


def _elsewhere(
    run: Run, names: dict[tuple[str, str], set[str]], subject: Subject, path: Path, name: str
) -> Iterator[Advice]:
    """What may be meant by a name that the subject's namespace does not have."""
    field, namespace = str(path[-1]), namespace_of(subject)
    kind = _FIELDS[field]
    for other in _FIELDS.values():
        found = named(run, other, name, namespace)
        if found is not None:
            yield _of_other_kind(subject, path, field, found)
            return
    if run.named(kind, name):
        yield _other_namespace(subject, path, namespace, run.named(kind, name)[0])
    else:
        yield from _nearest(subject, path, kind, name, names.get((kind, namespace), set()))


def _of_other_kind(subject: Subject, path: Path, field: str, other: Subject) -> Advice:
    right = next(name for name, kind in _FIELDS.items() if kind == other.kind)
    return Advice(
        subject,
        path,
        f"{other.name} is a {other.kind}, not a {_FIELDS[field]}",
        help=f"write {right}: {other.name}",
        key=True,
        confidence="likely",
        severity="warning",
        fix=Replacement(f"replace by {right}", path, right, key=True, safe=False),
        related=((f"{other.kind} {other.name}", other, ("metadata", "name")),),
    )


def _nearest(subject: Subject, path: Path, kind: str, name: str, known: set[str]) -> Iterator[Advice]:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.85)
    if near:
        yield Advice(
            subject,
            path,
            f"there is no {kind} {name} here; did you mean {near[0]}?",
            confidence="likely",
            severity="warning",
            fix=Replacement(f"replace by {near[0]}", path, near[0], safe=False),
        )


def _other_namespace(subject: Subject, path: Path, namespace: str, other: Subject) -> Advice:
    where = namespace_of(other)
    return Advice(
        subject,
        path,
        f"{other.kind} {other.name} is in the namespace {where}, the pod in {namespace}: a pod uses those of its own",
        help=f"create it in {namespace} too",
        confidence="likely",
        severity="warning",
        related=((f"{other.kind} {where}/{other.name}", other, ("metadata", "name")),),
    )
