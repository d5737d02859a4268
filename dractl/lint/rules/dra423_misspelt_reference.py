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

from dractl.lint.model import Advice, Found, Manifest, Replacement, Run
from dractl.lint.published import classes as installed_classes
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
_FIELDS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


def check(run: Run) -> Found:
    for advice, kind, name in _unknown(run):
        if not any(_may_define(file, kind, name, advice.subject) for file in run.undecided):
            yield advice


def _may_define(file: str, kind: str, name: str, user: Manifest) -> bool:
    """True if a template, or what is not YAML, has the words for an object. A class may be in any folder; claims and
    templates of claims in others are those of other pods."""
    here, there = (os.path.abspath(os.path.dirname(one)) for one in (user.document.file, file))
    if kind != "DeviceClass" and here != there:
        return False
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:
            written = opened.read(_MAX_READ)
    except OSError:
        return False  # standard input, or part of an archive
    return re.search(rf"\b{kind}\b", written) is not None and name in written


def _unknown(run: Run) -> Iterator[tuple[Advice, str, str]]:
    """Names that no object of the run has but one like it, each with the kind of object that it should be."""
    names = _Names(run)
    classes = [
        (subject, path, name)
        for subject in run.of("")
        for path, name in class_mappings(subject.value)
    ]
    for claim, request in run.requests if run.devices is None else ():  # else DRA755 knows better
        classes.append((claim.subject, (*request.path, "deviceClassName"), request.device_class))
    for subject, path, name in classes:
        # A class that a driver installs is no misspelling of another one.
        if name and name not in installed_classes() and run.device_class(name) is None:
            for advice in _nearest(subject, path, "DeviceClass", name, names):
                yield advice, "DeviceClass", name
    for subject in run.of(""):
        for path, name in mapped_resources(subject.value):
            near = (
                nearest(name, run.evidence.quotas - {name}, alike=0.75)
                if name not in run.evidence.quotas
                else None
            )
            if near:
                yield _no_quota(subject, path, name, near), "ClusterQueue", name
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
        fix=Replacement(path, near),
    )


def _templates_of_compute_domains(run: Run) -> set[str]:
    """Templates that NVIDIA's controller makes: ``spec.channel.resourceClaimTemplate.name`` of a ComputeDomain."""
    domains = (subject for subject in run.subjects if subject.document.kind == "ComputeDomain")
    channels = (mapping(subject.spec.get("channel")) for subject in domains)
    return {text(mapping(channel.get("resourceClaimTemplate")).get("name")) for channel in channels}


def _elsewhere(run: Run, subject: Manifest, path: Path, name: str, names: _Names) -> Found:
    """Names that may have been meant by one that the subject's namespace does not have."""
    field = str(path[-1])
    kind = _FIELDS[field]
    if any(may_share_namespace(found, subject) for found in run.anywhere(kind, name)):
        return  # which of them is meant is open
    for right, other in _FIELDS.items():
        near = [found for found in run.own(other, name) if may_share_namespace(found, subject)]
        if near:
            found = min(near, key=lambda found: closeness(found, subject))
            fix = Replacement(path, right, key=True)
            message, shown = f"{name} is a {other}, not a {kind}", f"{other} {name}"
            yield _of_another(subject, path, message, f"write {right}: {name}", found, shown, fix)
            return
    if others := run.own(kind, name):
        found = min(others, key=lambda other: closeness(other, subject))
        where, here = namespace_of(found), namespace_of(subject)
        message = (
            f"{kind} {name} is in namespace {where}, the pod in {here}, where its claims must be"
        )
        yield _of_another(
            subject, path, message, f"create it in {here} too", found, f"{kind} {where}/{name}"
        )
        return
    yield from list(_nearest(subject, path, kind, name, names)) or _unused_beside(
        run, subject, path, kind, name
    )


def _of_another(
    subject: Manifest,
    path: Path,
    message: str,
    help_: str,
    other: Manifest,
    shown: str,
    fix: Replacement | None = None,
) -> Advice:
    """Advice on a name that an object of another kind or namespace has."""
    return Advice(
        subject,
        path,
        message,
        help=help_,
        key=fix is not None,
        confidence="likely",
        severity="warning",
        fix=fix,
        related=((shown, other, ("metadata", "name")),),
    )


def _unused_beside(run: Run, subject: Manifest, path: Path, kind: str, name: str) -> Found:
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


def _nearest(subject: Manifest, path: Path, kind: str, name: str, names: _Names) -> Found:
    near = names.nearest(kind, name, subject)
    if near:
        message = f"unknown {kind} {name}; did you mean {near}?"
        fix = Replacement(path, near)
        yield Advice(subject, path, message, confidence="likely", severity="warning", fix=fix)


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
        namespace = "" if kind == "DeviceClass" else namespace_of(user)
        if (kind, namespace) not in self._known:
            near = (
                item
                for item in self._run.of(kind)
                if kind == "DeviceClass" or may_share_namespace(item, user)
            )
            names = frozenset(item.name for item in near if item.name)
            self._known[kind, namespace] = names, frozenset(one.translate(_DIGITS) for one in names)
        known, bare = self._known[kind, namespace]
        key = kind, name, namespace
        if key not in self._nearest:
            if name.translate(_DIGITS) in bare or self._compared > _MAX_COMPARED:
                return None
            self._compared += len(known)
            self._nearest[key] = nearest(name, known, alike=0.85)
        return self._nearest[key]
