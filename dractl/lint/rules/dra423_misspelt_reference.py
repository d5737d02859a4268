"""A pod or request names a claim, template or class that the input lacks, but the input has one
with a similar name.

## What it does

Looks up the claims and templates that pods name, and the classes that requests name, among the
objects of the input. The cluster is unknown, so a name is reported only in three cases: an object
of the same folder or kustomization has nearly that name; the object is in another namespace (both
must name one); or a claim is named in place of a template, or the other way round. The classes in
Kueue's `deviceClassMappings` are looked up, too, their resources among the quotas of ClusterQueues,
and classes that containers request as `deviceclass.resource.kubernetes.io/CLASS`.

Where Flux, Argo CD or a kustomization applies a pod, its claims and templates have to be applied,
too. An object in a file that no kustomization lists is reported. So is an object whose name a
component would complete from variables, if nothing uses the component. Names in objects for one
cluster are looked up in that cluster, and not in the folders of others.

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

kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources; kubernetes-sigs/kueue
pkg/dra and apis/config/v1beta2 configuration_types.go DeviceClassMapping
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from dractl.lint.implicit import implicit_advice, misspelt_implicit
from dractl.lint.model import Advice, Found, Manifest, Replacement, Run
from dractl.lint.placeholders import may_become
from dractl.lint.published import classes as installed_classes
from dractl.lint.references import closeness, find_named, may_share_namespace, namespace_of
from dractl.lint.relevance import class_mappings, resources_in_mappings
from dractl.manifests.content import read_file
from dractl.model.nearest import nearest
from dractl.objects import mapping, text
from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("Pod template", "ResourceClaim", "ResourceClaimTemplate", "")
_DIGITS = str.maketrans("", "", "0123456789")
_MAX_READ = 1024 * 1024
_MAX_COMPARED = 100_000
"""The limit of compared pairs of names. If so many names are unknown, their objects are in the
cluster, and not misspelt.
"""
_FIELDS = {
    "resourceClaimName": "ResourceClaim",
    "resourceClaimTemplateName": "ResourceClaimTemplate",
}


def check(run: Run) -> Found:
    for advice, kind, name in _unknown(run):
        if not any(_may_define(file, kind, name, advice.subject) for file in run.undecided):
            yield advice


def _may_define(file: str, kind: str, name: str, user: Manifest) -> bool:
    """Return True if a template, or a file that is not YAML, contains the kind and the name of an
    object.

    A class may be in any folder; claims and templates of claims in other folders belong to other
    pods.
    """
    user_folder, folder = (
        os.path.abspath(os.path.dirname(path)) for path in (user.document.file, file)
    )
    if kind != "DeviceClass" and user_folder != folder:
        return False
    content = read_file(file, _MAX_READ)
    if content is None:
        return False  # standard input, or part of an archive
    file_text = content.decode("utf-8", "replace")
    return re.search(rf"\b{kind}\b", file_text) is not None and name in file_text


def _unknown(run: Run) -> Iterator[tuple[Advice, str, str]]:
    """Yield advice on names that no object of the run has, but that resemble the name of an object,
    each with the kind and the name.
    """
    names = _Names(run)
    classes = [
        (subject, path, name)
        for subject in run.of("")
        for path, name in class_mappings(subject.value)
    ]
    # If the devices of the run are known, DRA755 reports unknown classes.
    for claim, request in run.requests if run.devices is None else ():
        classes.append((claim.subject, (*request.path, "deviceClassName"), request.device_class))
    for subject, path, name in classes:
        # A class that a driver installs is no misspelling of another one.
        if name and name not in installed_classes() and run.device_class(name) is None:
            for advice in _nearest(subject, path, "DeviceClass", name, names):
                yield advice, "DeviceClass", name
    for subject, paths, name in misspelt_implicit(run):
        if near := names.nearest("DeviceClass", name, subject):
            yield implicit_advice(subject, paths, name, near), "DeviceClass", name
    for subject in run.of(""):
        for path, name in resources_in_mappings(subject.value):
            near = (
                nearest(name, run.evidence.quotas - {name}, alike=0.75)
                if name not in run.evidence.quotas
                else None
            )
            if near:
                yield _no_quota(subject, path, name, near), "ClusterQueue", name
    driver_templates = _templates_of_compute_domains(run)
    for pod in run.pods:
        for path, entry in pod.claims:
            if all(text(entry.get(field)) for field in _FIELDS):
                continue  # DRA404 reports an entry that names both
            for field, kind in _FIELDS.items():
                name = text(entry.get(field))
                if (
                    name
                    and name not in driver_templates
                    and not _is_known(run, pod.subject, kind, name)
                ):
                    for advice in _advise_on_name(run, pod.subject, (*path, field), name, names):
                        yield advice, kind, name


def _is_known(run: Run, user: Manifest, kind: str, name: str) -> bool:
    """Return True if the run has an object of that name, or the cluster may have it. If Flux or
    Argo CD applies the objects of a cluster, all of them are known.
    """
    if run.find_here(kind, name):
        return find_named(run, kind, name, user) is not None
    if user.document.world or (user.document.is_kustomized and _is_left_out(run, kind, name)):
        return False
    return find_named(run, kind, name, user) is not None


def _is_left_out(run: Run, kind: str, name: str) -> bool:
    """Return True if all objects of that name are in files that no kustomization lists, although
    their folders have one.
    """
    others = run.others.find_here(kind, name) if run.others is not None else []
    return bool(others) and all(_is_beside(run, other) for other in others)


def _is_beside(run: Run, other: Manifest) -> bool:
    """Return True for an object of a file that nothing applies, if files beside it are applied."""
    applied = run.others.applied_files if run.others is not None else frozenset()
    file = other.document.file
    return (
        not other.document.rendered
        and file not in applied
        and os.path.dirname(file) in {os.path.dirname(item) for item in run.applied_files}
    )


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
    """Return the templates that NVIDIA's controller makes:
    ``spec.channel.resourceClaimTemplate.name`` of a ComputeDomain.
    """
    domains = (subject for subject in run.subjects if subject.document.kind == "ComputeDomain")
    channels = (mapping(subject.spec.get("channel")) for subject in domains)
    return {text(mapping(channel.get("resourceClaimTemplate")).get("name")) for channel in channels}


def _advise_on_name(run: Run, subject: Manifest, path: Path, name: str, names: _Names) -> Found:
    """Yield advice on a name that the subject's namespace lacks: the object that was probably
    meant.
    """
    field = str(path[-1])
    kind = _FIELDS[field]
    if subject.document.rendered and (
        unapplied := _advise_unapplied(run, subject, path, kind, name)
    ):
        yield from list(_nearest(subject, path, kind, name, names)) or [unapplied]
        return
    if any(may_share_namespace(candidate, subject) for candidate in run.find_anywhere(kind, name)):
        return  # it is not clear which object is meant
    for right, other in _FIELDS.items():
        near = [
            candidate
            for candidate in run.find_here(other, name)
            if may_share_namespace(candidate, subject)
        ]
        if near:
            candidate = min(near, key=lambda candidate: closeness(candidate, subject))
            fix = Replacement(path, right, key=True)
            message, shown = f"{name} is a {other}, not a {kind}", f"{other} {name}"
            yield _advise_other_object(
                subject, path, message, f"write {right}: {name}", candidate, shown, fix
            )
            return
    if others := run.find_here(kind, name):
        candidate = min(others, key=lambda other: closeness(other, subject))
        namespace, user_namespace = namespace_of(candidate), namespace_of(subject)
        message = (
            f"{kind} {name} is in namespace {namespace}, the pod in {user_namespace}, where its "
            "claims must be"
        )
        yield _advise_other_object(
            subject,
            path,
            message,
            f"create it in {user_namespace} too",
            candidate,
            f"{kind} {namespace}/{name}",
        )
        return
    yield from list(_nearest(subject, path, kind, name, names)) or _advise_unused_object(
        run, subject, path, kind, name
    )


def _advise_unapplied(
    run: Run, subject: Manifest, path: Path, kind: str, name: str
) -> Advice | None:
    """Return advice on an object of the repository that Flux or Argo CD does not apply to the pod's
    cluster.

    The object is in a folder whose other files they apply, or it is in a component and has a name
    with variables.
    """
    if run.find_here(kind, name) or run.others is None:
        return None
    unfinished = (item for item in run.others.unfinished if item.kind == kind)
    for other in (*run.others.find_here(kind, name), *unfinished):
        if other.name == name and not _is_beside(run, other):
            return None  # it is unknown who applies it
        is_open = subject.document.world is not None and may_become(other.name, name)
        if other.name != name and not is_open:
            continue
        why = "applies" if other.name == name else "makes this name of"
        return Advice(
            subject,
            path,
            f"nothing applies {kind} {name}: no kustomization {why} {other.document.file}",
            help="list that file as a resource, or its folder as a component"
            + _list_delivered(run, subject, kind),
            confidence="likely",
            severity="warning",
            related=((f"{kind} {other.name}", other, ("metadata", "name")),),
        )
    return None


def _list_delivered(run: Run, subject: Manifest, kind: str) -> str:
    """Return the end of a sentence, with the objects of a kind that are applied together with the
    pod.
    """
    rendered = subject.document.rendered
    beside = [item.name for item in run.of(kind) if item.document.rendered == rendered]
    return f"; {rendered} makes {', '.join(beside)}" if beside else ""


def _advise_other_object(
    subject: Manifest,
    path: Path,
    message: str,
    help_: str,
    other: Manifest,
    shown: str,
    fix: Replacement | None = None,
) -> Advice:
    """Return advice on a name that an object of another kind or namespace has."""
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


def _advise_unused_object(run: Run, subject: Manifest, path: Path, kind: str, name: str) -> Found:
    """Yield advice on an object that may be meant: the only object of the kind in the subject's
    file, or the only one that Flux or Argo CD applies together with the subject, if nothing uses
    it.
    """
    beside = [other for other in run.of(kind) if other.document.file == subject.document.file]
    place = "this file has"
    if not beside and subject.document.world is not None:
        rendered = subject.document.rendered
        beside = [other for other in run.of(kind) if other.document.rendered == rendered]
        place = f"{rendered} applies"
    if len(beside) != 1 or not beside[0].name or not may_share_namespace(beside[0], subject):
        return
    (other,) = beside
    field = str(path[-1])
    if any(text(entry.get(field)) == other.name for pod in run.pods for _, entry in pod.claims):
        return
    alike = name.startswith(other.name) or other.name.startswith(name)
    if not alike and other.document.file != subject.document.file:
        return  # a chart that is elsewhere may make the named object
    yield Advice(
        subject,
        path,
        f"unknown {kind} {name}; {place} {other.name}, which nothing uses",
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
        self._candidates: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}
        self._nearest: dict[tuple[str, str, str], str | None] = {}
        self._compared = 0

    def nearest(self, kind: str, name: str, user: Manifest) -> str | None:
        """Return the name of a kind that ``name`` nearly equals; None if there is none.

        gpu-0 and gpu-1 are two things, not one thing misspelt: a name that differs only in its
        digits is no candidate.
        """
        namespace = "" if kind == "DeviceClass" else namespace_of(user)
        if (kind, namespace) not in self._candidates:
            near = (
                item
                for item in self._run.of(kind)
                if kind == "DeviceClass" or may_share_namespace(item, user)
            )
            names = frozenset(item.name for item in near if item.name)
            self._candidates[kind, namespace] = (
                names,
                frozenset(item.translate(_DIGITS) for item in names),
            )
        candidates, bare = self._candidates[kind, namespace]
        key = kind, name, namespace
        if key not in self._nearest:
            if name.translate(_DIGITS) in bare or self._compared > _MAX_COMPARED:
                return None
            self._compared += len(candidates)
            self._nearest[key] = nearest(name, candidates, alike=0.85)
        return self._nearest[key]
