"""A pod or request names a claim, template or class that the input lacks, but the input has one with a similar name.

## What it does

Looks up the claims and templates that pods name, and the classes that requests name, among the objects of the input.
The cluster is unknown, so a name is reported only if an object of the same folder or kustomization has nearly that
name, if the object is in another namespace (both must name one), or if a claim is named where a template belongs, or
the other way round. The classes in Kueue's `deviceClassMappings` are looked up, too, and their resources among the
quotas of ClusterQueues.

## Why is this bad

Pods wait forever: a claim in another namespace is never found, nor is a class that does not exist.

## Example

```diff
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
-  - {name: gpu, resourceClaimTemplateName: one-gpus}
+  - {name: gpu, resourceClaimTemplateName: one-gpu}
   containers:
   - name: main
     image: registry.example.com/train:1
     resources:
       claims: [{name: gpu}]
```

## Source

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources; kubernetes-sigs/kueue pkg/dra and
apis/config/v1beta2 configuration_types.go DeviceClassMapping
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from dractl.lint.advice import Advice, Replacement
from dractl.lint.model import Manifest, Run
from dractl.lint.references import closeness, may_share_namespace, named, namespace_of
from dractl.lint.relevance import class_mappings, mapped_resources
from dractl.model.nearest import nearest
from dractl.objects import mapping, text
from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("Pod template", "ResourceClaim", "ResourceClaimTemplate", "")
_DIGITS = str.maketrans("", "", "0123456789")
_MAX_READ = 1024 * 1024
_MAX_COMPARED = 100_000
"""Pairs of names: where so many are unknown, their objects are in the cluster, not misspelt."""
_FIELDS = {"resourceClaimName": "ResourceClaim", "resourceClaimTemplateName": "ResourceClaimTemplate"}


def check(run: Run) -> Iterator[Advice]:
    for advice, kind, name in _unknown(run):
        if not any(_may_define(file, kind, name, advice.subject) for file in run.undecided):
            yield advice


def _may_define(file: str, kind: str, name: str, user: Manifest) -> bool:
    """True if a template, or what is not YAML, has the words for an object. A class may be in any folder; claims and
    templates of claims in others are those of other pods."""
    if kind != "DeviceClass" and os.path.abspath(os.path.dirname(file)) != _folder(user):
        return False
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            written = opened.read(_MAX_READ)
    except OSError:
        return False  # standard input, or part of an archive
    return re.search(rf"\b{kind}\b", written) is not None and name in written


def _folder(subject: Manifest) -> str:
    return os.path.abspath(os.path.dirname(subject.document.file))


def _unknown(run: Run) -> Iterator[tuple[Advice, str, str]]:
    """Names that no object of the run has but one like it, each with the kind of object that it should be."""
    names = _Names(run)
    for subject in run.of(""):
        for path, name in class_mappings(subject.value):
            if run.device_class(name) is None:
                for advice in _nearest(subject, path, "DeviceClass", name, names):
                    yield advice, "DeviceClass", name
        for path, name in mapped_resources(subject.value):
            near = nearest(name, run.evidence.quotas - {name}, alike=0.75) if name not in run.evidence.quotas else None
            if near:
                yield _no_quota(subject, path, name, near), "ClusterQueue", name
    for claim in run.claims if run.devices is None else ():  # else DRA755 knows better
        for request in claim.alternatives:
            name = request.device_class
            if name and run.device_class(name) is None:
                path = (*request.path, "deviceClassName")
                for advice in _nearest(claim.subject, path, "DeviceClass", name, names):
                    yield advice, "DeviceClass", name
    made = _templates_of_compute_domains(run)
    for pod in run.pods:
        for path, entry in pod.claims:
            for field, kind in _FIELDS.items():
                name = text(entry.get(field))
                if name and name not in made and named(run, kind, name, pod.subject) is None:
                    for advice in _elsewhere(run, pod.subject, (*path, field), name, names):
                        yield advice, kind, name


def _no_quota(subject: Manifest, path: Path, name: str, near: str) -> Advice:
    return Advice(
        subject,
        path,
        f"no ClusterQueue has a quota for {name}; did you mean {near}?",
        help="Kueue admits no workload whose devices are counted as a resource without quota",
        confidence="likely",
        severity="warning",
        fix=Replacement(f"replace by {near}", path, near, safe=False),
    )


def _templates_of_compute_domains(run: Run) -> set[str]:
    """Templates that NVIDIA's controller makes: ``spec.channel.resourceClaimTemplate.name`` of a ComputeDomain."""
    found = set()
    for subject in run.subjects:
        if subject.document.kind == "ComputeDomain":
            channel = mapping(subject.spec.get("channel"))
            found.add(text(mapping(channel.get("resourceClaimTemplate")).get("name")))
    return found


def _elsewhere(run: Run, subject: Manifest, path: Path, name: str, names: _Names) -> Iterator[Advice]:
    """Names that may have been meant by one that the subject's namespace does not have."""
    field = str(path[-1])
    kind = _FIELDS[field]
    if any(may_share_namespace(found, subject) for found in run.anywhere(kind, name)):
        return  # which of them is meant is open
    for other in _FIELDS.values():
        near = [found for found in run.own(other, name) if may_share_namespace(found, subject)]
        if near:
            yield _of_other_kind(subject, path, field, min(near, key=lambda found: closeness(found, subject)))
            return
    others = sorted(run.own(kind, name), key=lambda other: closeness(other, subject))
    if others:
        yield _other_namespace(subject, path, others[0])
        return
    yield from list(_nearest(subject, path, kind, name, names)) or _unused_beside(run, subject, path, kind, name)


def _unused_beside(run: Run, subject: Manifest, path: Path, kind: str, name: str) -> Iterator[Advice]:
    """The only object of the kind in the file, if nothing uses it."""
    beside = [other for other in run.of(kind) if other.document.file == subject.document.file]
    if len(beside) != 1 or not beside[0].name or not may_share_namespace(beside[0], subject):
        return
    (other,) = beside
    field = str(path[-1])
    if any(text(entry.get(field)) == other.name for pod in run.pods for _, entry in pod.claims):
        return
    alike = name.startswith(other.name) or other.name.startswith(name)
    yield Advice(
        subject,
        path,
        f"unknown {kind} {name}; this file has {other.name}, which nothing uses",
        help=f"if it is meant, write {field}: {other.name}",
        confidence="likely" if alike else "possible",
        severity="warning" if alike else "info",
        related=((f"{kind} {other.name}", other, ("metadata", "name")),),
    )


def _of_other_kind(subject: Manifest, path: Path, field: str, other: Manifest) -> Advice:
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


def _nearest(subject: Manifest, path: Path, kind: str, name: str, names: _Names) -> Iterator[Advice]:
    near = names.nearest(kind, name, subject)
    if near:
        yield Advice(
            subject,
            path,
            f"unknown {kind} {name}; did you mean {near}?",
            confidence="likely",
            severity="warning",
            fix=Replacement(f"replace by {near}", path, near, safe=False),
        )


class _Names:
    """Names of a run's objects that another object may mean."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}
        self._nearest: dict[tuple[str, str, str], str | None] = {}
        self._compared = 0

    def nearest(self, kind: str, name: str, user: Manifest) -> str | None:
        """The name of a kind that ``name`` is nearly; None if there is none.

        gpu-0 and gpu-1 are two things, not one misspelt: where names differ in their numbers, none is looked for.
        """
        known, bare = self._of(kind, user)
        key = kind, name, self._namespace(kind, user)
        if key not in self._nearest:
            if _without_digits(name) in bare or self._compared > _MAX_COMPARED:
                return None
            self._compared += len(known)
            self._nearest[key] = nearest(name, known, alike=0.85)
        return self._nearest[key]

    def _namespace(self, kind: str, user: Manifest) -> str:
        return "" if kind == "DeviceClass" else namespace_of(user)

    def _of(self, kind: str, user: Manifest) -> tuple[frozenset[str], frozenset[str]]:
        """The names that ``user`` may mean, and what is left of them without digits."""
        namespace = self._namespace(kind, user)
        if (kind, namespace) not in self._known:
            near = (item for item in self._run.of(kind) if kind == "DeviceClass" or may_share_namespace(item, user))
            known = frozenset(item.name for item in near if item.name)
            self._known[kind, namespace] = known, frozenset(map(_without_digits, known))
        return self._known[kind, namespace]


def _without_digits(name: str) -> str:
    return name.translate(_DIGITS)


def _other_namespace(subject: Manifest, path: Path, other: Manifest) -> Advice:
    where, here = namespace_of(other), namespace_of(subject)
    return Advice(
        subject,
        path,
        f"{other.kind} {other.name} is in namespace {where}, the pod in {here}, where its claims must be",
        help=f"create it in {here} too",
        confidence="likely",
        severity="warning",
        related=((f"{other.kind} {where}/{other.name}", other, ("metadata", "name")),),
    )
