"""A pod or a request names a claim, template or class that the input lacks, but there is one of nearly the same name.

## What it does

Looks up the claims and templates that pods name, and the classes that requests name, among the objects of the input.
What is in the cluster is unknown, so a name is reported only if it is nearly right, if the object is in another
namespace (both have to name one), or if a claim is named where a template belongs, or the other way round.

## Why is this bad

Pods wait forever: a claim in another namespace is never found, nor is a class that does not exist.

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

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice, Replacement
from dractl.lint.references import closeness, may_share_namespace, named, namespace_of
from dractl.objects import mapping, text

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
            if name and name not in run.classes:
                yield from _nearest(claim.subject, (*request.path, "deviceClassName"), "DeviceClass", name, classes)
    made = _templates_of_compute_domains(run)
    for pod in run.pods:
        for path, entry in pod.claims:
            for field, kind in _FIELDS.items():
                name = text(entry.get(field))
                if name and name not in made and named(run, kind, name, pod.subject) is None:
                    yield from _elsewhere(run, pod.subject, (*path, field), name)


def _templates_of_compute_domains(run: Run) -> set[str]:
    """Templates that NVIDIA's controller makes: ``spec.channel.resourceClaimTemplate.name`` of a ComputeDomain."""
    found = set()
    for subject in run.subjects:
        if subject.document.kind == "ComputeDomain":
            channel = mapping(subject.spec.get("channel"))
            found.add(text(mapping(channel.get("resourceClaimTemplate")).get("name")))
    return found


def _elsewhere(run: Run, subject: Subject, path: Path, name: str) -> Iterator[Advice]:
    """What may be meant by a name that the subject's namespace does not have."""
    field = str(path[-1])
    kind = _FIELDS[field]
    for other in _FIELDS.values():
        found = named(run, other, name, subject)
        if found is not None:
            yield _of_other_kind(subject, path, field, found)
            return
    others = sorted(run.named(kind, name), key=lambda other: closeness(other, subject))
    if others:
        yield _other_namespace(subject, path, others[0])
    else:
        near = {other.name for other in run.of(kind) if may_share_namespace(other, subject)}
        yield from _nearest(subject, path, kind, name, near)


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


def _nearest(subject: Subject, path: Path, kind: str, name: str, names: set[str]) -> Iterator[Advice]:
    from dractl.model.nearest import nearest

    near = nearest(name, sorted(names), alike=0.85)
    # gpu-0 and gpu-1 are two things, not one misspelt.
    if near and _without_digits(near) != _without_digits(name):
        yield Advice(
            subject,
            path,
            f"unknown {kind} {name}; did you mean {near}?",
            confidence="likely",
            severity="warning",
            fix=Replacement(f"replace by {near}", path, near, safe=False),
        )


def _without_digits(name: str) -> str:
    return "".join(char for char in name if not char.isdigit())


def _other_namespace(subject: Subject, path: Path, other: Subject) -> Advice:
    where, here = namespace_of(other), namespace_of(subject)
    return Advice(
        subject,
        path,
        f"{other.kind} {other.name} is in namespace {where}, the pod in {here}: a pod uses claims of its own namespace",
        help=f"create it in {here} too",
        confidence="likely",
        severity="warning",
        related=((f"{other.kind} {where}/{other.name}", other, ("metadata", "name")),),
    )
