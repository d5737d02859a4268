"""The claims of one file: pods are planned, edited in the text, and the result is read again and compared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.finding import Fix
from dractl.lint.fixes import applied
from dractl.lint.partial import is_patch
from dractl.lint.placeholders import holds_placeholder
from dractl.manifests import Document, read_text
from dractl.manifests.jsonlayout import NoPlace, rewritten, with_objects
from dractl.manifests.jsontext import is_json
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.source import Source
from dractl.migration import labels
from dractl.migration.edits import Change, Prepend, Remove, Unclear, change, edit
from dractl.migration.patches import requests_in_patches
from dractl.migration.resources import GPU, Wanted, is_extended, mig, wanted, why_not
from dractl.migration.templates import Shape, Template, Templates
from dractl.model import pod_templates
from dractl.objects.values import items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.manifests import Position
    from dractl.manifests.documents import Path

_MOST_ALONE = 50  # pods that are tried one by one where all at once do not give what was planned
_DEPTH = 32
_PATCH = "left as it is: a patch; name the claim of the object that it changes by hand"
_TOLERATION = (
    "if nodes carry a taint {resource}, add a toleration (--tolerate): the admission plugin ExtendedResourceToleration "
    "adds it for extended resources only"
)


class Remark(Struct, frozen=True):
    """A remark on a place: something left to be done by hand, or to know."""

    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position.file}:{self.position.line}:{self.position.column}: {self.message}"


class Migrated(Struct, frozen=True):
    """A file's text with claims, what is to be said about it, and the device plugins' resources that it asks for."""

    name: str
    before: str
    after: str
    remarks: tuple[Remark, ...]
    resources: frozenset[str]


class _Pod(Struct, frozen=True):
    """The changes that turn one pod specification, and the templates that they name."""

    document: Document
    changes: tuple[Change, ...]
    templates: tuple[Template, ...]


class _Use(Struct, frozen=True):
    """A container's request for a resource."""

    container: Path
    resource: str
    count: int
    starts_before: bool
    """An init container that ends before the containers start, and whose devices they get."""


class Migration:
    """Turns files one after the other; what they share are the names of templates.

    Pods get tolerations of taints that are called as their resources, where a Node in ``documents`` has such a taint:
    those that the admission plugin ExtendedResourceToleration adds to pods with extended resources
    (plugin/pkg/admission/extendedresourcetoleration). ``tolerate``: whether or not a Node has it.
    """

    def __init__(self, documents: Sequence[Document], *, tolerate: bool = False) -> None:
        self._tolerate = tolerate
        self._kustomizations = Kustomizations()
        self._taints = {
            text(mapping(taint).get("key"))
            for document in documents
            if document.kind == "Node" and document.api_version == "v1"
            for taint in items(mapping(document.value.get("spec")).get("taints"))
        }
        self._templates = Templates(
            {(d.namespace, d.name) for d in documents if d.kind == "ResourceClaimTemplate" and d.name}
        )

    def of(self, name: str, content: str, scope: str) -> Migrated:
        """A file with claims in place of device plugins' resources; ``scope`` is its folder.

        No pod is changed whose edits do not read as they were planned.
        """
        whole = content if content.endswith("\n") else content + ("\r\n" if "\r\n" in content else "\n")
        documents = [item for item in read_text(name, whole) if isinstance(item, Document)]
        remarks: list[Remark] = []
        resources: set[str] = set()
        pods: list[_Pod] = []
        for document in documents:
            remarks += (Remark(place, f"{resource} is {_PATCH}") for place, resource in requests_in_patches(document))
            if not isinstance(document.value, dict):
                continue
            specs = list(_pod_specs(document.value))
            remarks += _elsewhere(document, [path for path, _ in specs])
            if specs and is_patch(document, self._kustomizations):
                remarks += _of_patch(document, specs)
                continue
            for path, spec in specs:
                pod = self._planned(document, path, spec, scope, remarks, resources)
                if pod is not None:
                    pods.append(pod)
        if pods and content.lstrip().startswith(("{", "[")) and not is_json(content):
            remarks.append(
                Remark(pods[0].document.locate(()), "left as it is: YAML in braces; write it in lines first")
            )
            pods = []
        made = self._after(name, whole, documents, pods, remarks)
        after = content if made == whole else made
        return Migrated(name, content, after, tuple(dict.fromkeys(remarks)), frozenset(resources))

    def _after(
        self, name: str, content: str, documents: Sequence[Document], pods: Sequence[_Pod], remarks: list[Remark]
    ) -> str:
        made = self._edited(name, content, documents, pods) if pods else None
        if made is None and 1 < len(pods) <= _MOST_ALONE:
            good = [pod for pod in pods if self._edited(name, content, documents, [pod]) is not None]
            made = self._edited(name, content, documents, good) if good else None
        else:
            good = list(pods) if made is not None else []
        if made is None:
            good = []
        remarks += (
            Remark(pod.document.locate(()), "left as it is: anchors, merge keys or its layout do not allow a safe edit")
            for pod in pods
            if pod not in good
        )
        self._templates.written.update(template for pod in good for template in pod.templates)
        return content if made is None else made

    def _edited(self, name: str, content: str, documents: Sequence[Document], pods: Sequence[_Pod]) -> str | None:
        """The text with the changes of some pods, provided that it reads as planned."""
        needed = dict.fromkeys(template for pod in pods for template in pod.templates)
        added = [template for template in needed if template not in self._templates.written]
        values = {id(document): json.loads(json.dumps(document.value, default=str)) for document in documents}
        try:
            for pod in pods:
                for wanted_change in pod.changes:
                    change(values[id(pod.document)], wanted_change)
            if is_json(content):
                after = _json_edited(content, [(document, values[id(document)]) for document in documents], added)
            else:
                after = _yaml_edited(content, pods, added)
        except (KeyError, IndexError, TypeError, Unclear, NoPlace):
            return None
        expected = [*values.values(), *(template.value for template in added)]
        read = [json.loads(json.dumps(getattr(item, "value", None), default=str)) for item in read_text(name, after)]
        return after if read == expected else None

    def _planned(
        self,
        document: Document,
        path: Path,
        spec: Mapping[str, Any],
        scope: str,
        remarks: list[Remark],
        resources: set[str],
    ) -> _Pod | None:
        """What turns a pod specification; None if there is nothing to turn. Adds to ``remarks`` and ``resources``."""
        uses, removed = _uses(document, path, spec, remarks)
        if not uses:
            return None
        resources |= {use.resource for use in uses}
        selectors, profile, gone = _node_selectors(document, path, spec, uses, remarks)
        names = {text(mapping(claim).get("name")) for claim in items(spec.get("resourceClaims"))}
        claims: list[tuple[_Use, str, Template]] = []
        used: dict[Path, list[str]] = {}
        for use in sorted(uses, key=lambda one: one.starts_before):
            lent = [
                claim
                for other, claim, _ in claims
                if use.starts_before and other.resource == use.resource and other.count >= use.count
            ]
            if lent:  # kubelet gives an init container's devices to the containers after it (devicemanager)
                used.setdefault(use.container, []).append(lent[0])
                continue
            devices = wanted(use.resource)
            assert devices is not None
            place = document.locate((*use.container, "resources"), key=True)
            remarks += (Remark(place, note) for note in devices.notes)
            if devices.driver == GPU:
                devices = _narrowed(devices, selectors, profile)
                if not self._tolerates("nvidia.com/gpu") and not _tolerates(spec, "nvidia.com/gpu"):
                    where = document.locate((*path, "containers"), key=True)
                    remarks.append(Remark(where, _TOLERATION.format(resource="nvidia.com/gpu")))
            shape = Shape(devices.name, devices.device_class, use.count, devices.selectors)
            template = self._templates.of(scope, document.namespace, shape)
            claim, number = devices.name, 1
            while claim in names:
                number += 1
                claim = f"{devices.name}-{number}"
            names.add(claim)
            claims.append((use, claim, template))
            used.setdefault(use.container, []).append(claim)
        changes: list[Change] = [Remove(one) for one in (*removed, *gone)]
        for container, listed in used.items():
            resources_path = (*container, "resources")
            keys = [str(key) for key in document.at(resources_path)]
            named = tuple({"name": claim} for claim in listed)
            alone = all((*resources_path, key) in removed for key in keys)
            changes.append(Prepend(resources_path, "claims", named, keys[0], alone=alone))
        entries = tuple({"name": claim, "resourceClaimTemplateName": item.name} for _, claim, item in claims)
        changes.insert(0, Prepend(path, "resourceClaims", entries, "containers"))
        tolerated = dict.fromkeys(use.resource for use in uses)
        missing = [key for key in tolerated if self._tolerates(key) and not _tolerates(spec, key)]
        if missing:
            tolerations = tuple({"key": key, "operator": "Exists"} for key in missing)
            changes.insert(0, Prepend(path, "tolerations", tolerations, "containers"))
        # A key is removed after what names it as the place before which a list is put.
        ordered = [c for c in changes if isinstance(c, Prepend)] + [c for c in changes if isinstance(c, Remove)]
        return _Pod(document, tuple(ordered), tuple(template for _, _, template in claims))

    def _tolerates(self, resource: str) -> bool:
        """True if pods are to tolerate a taint that is called as a resource."""
        return self._tolerate or resource in self._taints


def _pod_specs(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Pod specifications: those of templates, and in custom resources every map whose containers have resources."""
    found = dict(pod_templates(value))
    yield from found.items()
    for path, node in _maps(value):
        if any(path[: len(spec)] == spec for spec in found):
            continue
        containers = [mapping(item) for item in items(node.get("containers"))]
        if path and any(mapping(item.get("resources")) for item in containers):
            found[path] = node
            yield path, node


def _maps(value: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if len(path) > _DEPTH:
            continue
        if isinstance(node, dict):
            yield path, node
            stack += [((*path, key), child) for key, child in node.items()][::-1]
        elif isinstance(node, list):
            stack += [((*path, at), child) for at, child in enumerate(node)][::-1]


def _of_patch(document: Document, specs: Sequence[tuple[Path, Mapping[str, Any]]]) -> Iterator[Remark]:
    """What stays to be done where a patch asks for devices: the claim belongs to the object that it changes, and a
    template has no place in its file."""
    for path, spec in specs:
        uses, _ = _uses(document, path, spec, [])
        if uses:
            place = document.locate((*uses[0].container, "resources"), key=True)
            yield Remark(place, _PATCH)


def _uses(
    document: Document, path: Path, spec: Mapping[str, Any], remarks: list[Remark]
) -> tuple[list[_Use], list[Path]]:
    """What the containers of a pod ask device plugins for, and the keys that go with it."""
    uses: list[_Use] = []
    removed: list[Path] = []
    for kind in ("initContainers", "containers"):
        for at, item in enumerate(items(spec.get(kind))):
            container = (*path, kind, at)
            holder = mapping(mapping(item).get("resources"))
            counts: dict[str, int] = {}
            for part in ("limits", "requests"):
                amounts = mapping(holder.get(part))
                turned = []
                for resource, amount in amounts.items():
                    if not isinstance(resource, str) or not is_extended(resource):
                        continue
                    where = (*container, "resources", part, resource)
                    reason, count = _count(resource, amount)
                    if reason:
                        remarks.append(Remark(document.locate(where, key=True), reason))
                    elif count and counts.setdefault(resource, count) == count:
                        turned.append(where)
                whole = len(turned) == len(amounts)
                removed += [(*container, "resources", part)] if whole and turned else turned
            before = kind == "initContainers" and mapping(item).get("restartPolicy") != "Always"
            uses += [_Use(container, resource, count, before) for resource, count in counts.items()]
    return uses, removed


def _count(resource: str, amount: Any) -> tuple[str | None, int]:
    """Why a request cannot be turned, or the devices that it is for."""
    if holds_placeholder(resource) or holds_placeholder(amount):
        return f"{resource}: {amount} is filled in later; render the manifest first", 0
    if wanted(resource) is None:
        return why_not(resource), 0
    written = str(amount)
    if not (written.isascii() and written.isdecimal() and len(written) < 10):
        return f"{resource}: {amount!r} is not a whole number of devices", 0
    return None, int(written)


def _node_selectors(
    document: Document, path: Path, spec: Mapping[str, Any], uses: Sequence[_Use], remarks: list[Remark]
) -> tuple[tuple[str, ...], str | None, list[Path]]:
    """Selectors and the MIG profile that a pod's node labels choose, and the labels that go with them."""
    wished = mapping(spec.get("nodeSelector"))
    if not any(use.resource.startswith(labels.PREFIX) for use in uses):
        return (), None, []
    found: list[str] = []
    gone: list[Path] = []
    profile = None
    for label, value in wished.items():
        if not str(label).startswith(labels.PREFIX):
            continue
        where = (*path, "nodeSelector", label)
        chosen = None if holds_placeholder(value) else labels.selectors(label, str(value))
        if chosen is None:
            why = f"{label} is kept: it is filled in later" if holds_placeholder(value) else labels.why_kept(label)
            remarks.append(Remark(document.locate(where, key=True), why))
            continue
        if label == "nvidia.com/gpu.product":
            profile = labels.without_suffixes(str(value))[1]
        found += chosen
        gone.append(where)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    if labels.PREFIX in json.dumps(affinity, default=str):
        place = document.locate((*path, "affinity", "nodeAffinity"), key=True)
        remarks.append(Remark(place, "nodeAffinity is kept: GPU Feature Discovery must keep labelling nodes"))
    return tuple(found), profile, [(*path, "nodeSelector")] if gone and len(gone) == len(wished) else gone


def _tolerates(spec: Mapping[str, Any], key: str) -> bool:
    tolerations = [mapping(item) for item in items(spec.get("tolerations"))]
    return any(item.get("key") == key or not item.get("key") for item in tolerations)


def _narrowed(devices: Wanted, selectors: tuple[str, ...], profile: str | None) -> Wanted:
    if profile is not None and devices.device_class == GPU:  # strategy "single": MIG devices named nvidia.com/gpu
        devices = replace(mig(profile), notes=devices.notes)
    return replace(devices, selectors=devices.selectors + selectors)


def _elsewhere(document: Document, specs: Sequence[Path]) -> Iterator[Remark]:
    """Requests that stand in no pod specification: values of charts, quotas, custom resources."""
    for path, node in _maps(document.value):
        if any(path[: len(spec)] == spec for spec in specs):
            continue
        for key in node:
            resource = str(key).removeprefix("requests.").removeprefix("limits.")
            if path and path[-1] in ("limits", "requests", "hard", "max", "default") and wanted(resource):
                what = wanted(resource)
                assert what is not None
                if path[-1] == "hard":
                    why = f"count {what.device_class}.deviceclass.resource.k8s.io/devices in the quota"
                else:
                    why = "not in a pod template; whatever creates the pods must let them use claims"
                yield Remark(document.locate((*path, key), key=True), f"{key} is left as it is: {why}")


def _json_edited(content: str, changed: Sequence[tuple[Document, Any]], added: Sequence[Template]) -> str:
    """JSON with changed documents and further templates."""
    source = Source("", content)
    after, rest = "", 0
    for document, value in changed:
        if value != document.value:
            place = document.locate(())
            start, end = source.offset(place.line, place.column), source.offset(place.end_line, place.end_column)
            after += content[rest:start] + rewritten(content, start, document.value, value)
            rest = end
    return with_objects(after + content[rest:], [template.value for template in added])


def _yaml_edited(content: str, pods: Sequence[_Pod], added: Sequence[Template]) -> str:
    """YAML with the changes of some pods, and further templates at its end."""
    edits = tuple(edit(pod.document, wanted) for pod in pods for wanted in pod.changes)
    after, _ = applied(content, [Fix("use claims", edits, safe=True)])
    newline = "\r\n" if "\r\n" in content else "\n"
    return after + "".join(_yaml(template) for template in added).replace("\n", newline)


def _yaml(template: Template) -> str:
    """A template as a document."""
    exactly = template.shape.spec["spec"]["devices"]["requests"][0]["exactly"]
    lines = [
        "---",
        "apiVersion: resource.k8s.io/v1",
        "kind: ResourceClaimTemplate",
        "metadata:",
        f"  name: {template.name}",
        *([f"  namespace: {json.dumps(template.namespace)}"] if template.namespace else []),
        "spec:",
        "  spec:",
        "    devices:",
        "      requests:",
        f"      - name: {template.shape.name}",
        "        exactly:",
        f"          deviceClassName: {exactly['deviceClassName']}",
    ]
    if "count" in exactly:
        lines.append(f"          count: {exactly['count']}")
    if template.shape.selectors:
        lines.append("          selectors:")
        for expression in template.shape.selectors:
            quoted = expression.replace("'", "''")
            lines += ["          - cel:", f"              expression: '{quoted}'"]
    return "\n".join(lines) + "\n"
