"""The migration of one file: plans the claims of its pods, edits the text, parses the result and
compares it with the plan.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from dractl.lint.finding import TextFix
from dractl.lint.fixes import apply_text_fixes
from dractl.lint.partial import is_patch
from dractl.manifests import Document, read_text
from dractl.manifests.documents import Path
from dractl.manifests.dumping import dump
from dractl.manifests.jsonlayout import NoPlace, rewrite, with_objects
from dractl.manifests.jsontext import NotJson, is_json
from dractl.manifests.kustomize import Kustomizations
from dractl.manifests.source import Source
from dractl.migration.edits import Unclear, change, edit
from dractl.migration.patches import requests_in_patches
from dractl.migration.plan import PodPlan, Remark, demand_of, plan
from dractl.migration.plugin import remarks_on_installation, sharings
from dractl.migration.resources import stand_in_for
from dractl.migration.templates import Template, Templates
from dractl.model import pod_templates
from dractl.objects.chart_values import controllers
from dractl.objects.pods import PodSpec
from dractl.objects.values import items, mapping, text

# The maximum number of pods that are edited one by one if the text with all edits does not parse as
# planned
_MAX_PODS_ALONE = 50
_MAX_DEPTH = 32
_PATCH_STAYS = "left as it is: a patch; name the claim of the object that it changes by hand"


class MigratedFile(Struct, frozen=True):
    """A file's text after the migration to claims."""

    name: str
    """The name of the file."""
    before: str
    """The text as it was."""
    after: str
    """The text after the migration to claims."""
    remarks: tuple[Remark, ...]
    """Remarks on places of the file, each once."""
    resources: frozenset[str]
    """The device plugins' resources that its pods ask for."""
    pods: tuple[PodSpec[Document], ...] = ()
    """The pod specifications in the file, and the pod specifications that its patches change."""


class Migration:
    """Migrates files one after the other, with shared names of templates.

    If a Node in ``documents`` has a taint named after a resource, pods with this resource get a
    toleration of it. The admission plugin ExtendedResourceToleration adds the same toleration to
    pods with extended resources (plugin/pkg/admission/extendedresourcetoleration). With
    ``tolerate``, pods get the toleration even if no Node has the taint.
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
        self._shared = sharings(documents)
        self._templates = Templates(
            {
                (d.namespace, d.name)
                for d in documents
                if d.kind == "ResourceClaimTemplate" and d.name
            }
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of the templates that files contain so far."""
        return frozenset(template.name for template in self._templates.written)

    def migrate(self, name: str, content: str, scope: str) -> MigratedFile:
        """Return a file with claims in place of device plugins' resources; ``scope`` is its folder.

        A pod stays unchanged if the edited text does not parse as planned.
        """
        whole = (
            content if content.endswith("\n") else content + ("\r\n" if "\r\n" in content else "\n")
        )
        documents = [item for item in read_text(name, whole) if isinstance(item, Document)]
        remarks: list[Remark] = []
        resources: set[str] = set()
        pods: list[PodPlan] = []
        written: list[PodSpec[Document]] = []
        for document in documents:
            remarks += (
                Remark(place, f"{resource} is {_PATCH_STAYS}")
                for place, resource in requests_in_patches(document)
            )
            if not isinstance(document.value, dict):
                continue
            specs = list(pod_specs(document))
            written += specs
            remarks += _remarks_outside_pods(document, [pod.path for pod in specs])
            remarks += (Remark(place, why) for place, why in remarks_on_installation(document))
            if specs and is_patch(document, self._kustomizations):
                remarks += _remarks_on_patch(document, specs)
                continue
            for spec in specs:
                pod = plan(
                    spec,
                    partial(self._templates.template_for, scope, _namespace(document)),
                    self._tolerates,
                    self._shared,
                )
                remarks += pod.remarks
                resources |= pod.resources
                if pod.changes:
                    pods.append(pod)
        if pods and content.lstrip().startswith(("{", "[")) and not is_json(content):
            remarks.append(
                Remark(
                    pods[0].document.locate(()),
                    "left as it is: YAML in braces; write it in lines first",
                )
            )
            pods = []
        edited = self._apply_plans(name, whole, documents, pods, remarks)
        after = content if edited == whole else edited
        noted = tuple(dict.fromkeys(remarks))
        return MigratedFile(name, content, after, noted, frozenset(resources), tuple(written))

    def _apply_plans(
        self,
        name: str,
        content: str,
        documents: Sequence[Document],
        pods: Sequence[PodPlan],
        remarks: list[Remark],
    ) -> str:
        applicable = list(pods)
        edited = self._edit(name, content, documents, applicable) if applicable else None
        if edited is None and 1 < len(pods) <= _MAX_PODS_ALONE:
            applicable = [
                pod for pod in pods if self._edit(name, content, documents, [pod]) is not None
            ]
            edited = self._edit(name, content, documents, applicable) if applicable else None
        applicable = [] if edited is None else applicable
        kept = set(map(id, applicable))
        remarks += (
            Remark(
                pod.document.locate(()),
                "left as it is: anchors, merge keys or its layout do not allow a safe edit",
            )
            for pod in pods
            if id(pod) not in kept
        )
        self._templates.written.update(template for pod in applicable for template in pod.templates)
        return content if edited is None else edited

    def _edit(
        self, name: str, content: str, documents: Sequence[Document], pods: Sequence[PodPlan]
    ) -> str | None:
        """Return the text with the changes of some pods, provided that it parses as planned."""
        needed = dict.fromkeys(template for pod in pods for template in pod.templates)
        added = [template for template in needed if template not in self._templates.written]
        values = {
            id(document): json.loads(json.dumps(document.value, default=str))
            for document in documents
        }
        try:
            for pod in pods:
                for alteration in pod.changes:
                    change(values[id(pod.document)], alteration)
            if is_json(content):
                after = _edit_json(
                    content, [(document, values[id(document)]) for document in documents], added
                )
            else:
                after = _edit_yaml(content, pods, added)
        # The document has JSON within YAML, or NaN, for example.
        except (KeyError, IndexError, TypeError, ValueError, Unclear, NoPlace, NotJson):
            return None
        expected = [*values.values(), *(template.value for template in added)]
        read = [
            json.loads(json.dumps(getattr(item, "value", None), default=str))
            for item in read_text(name, after)
        ]
        return after if read == expected else None

    def _tolerates(self, resource: str) -> bool:
        return self._tolerate or resource in self._taints


def _namespace(document: Document) -> str | None:
    """Return the namespace of the pods.

    Flux and Argo CD may install a release in another namespace than the one of its object.
    """
    spec = mapping(document.value.get("spec"))
    named = {
        "HelmRelease": spec.get("targetNamespace"),
        "Application": mapping(spec.get("destination")).get("namespace"),
    }.get(document.kind or "")
    return text(named) or document.namespace


def pod_specs(document: Document) -> Iterator[PodSpec[Document]]:
    """Yield the pod specifications of a document.

    They are in templates, in custom resources in any map that has containers with resources, and in
    the controllers in the values of bjw-s' charts.
    """
    value = document.value
    pod_specs = dict(pod_templates(value))
    for path, node in pod_specs.items():
        yield PodSpec(document, path, node)
    chart_pods = list(controllers(document, value)) if document.kind else []
    for pod in chart_pods:
        pod_specs[pod.path] = pod.fields
    yield from chart_pods
    for path, node in maps_in(value):
        if any(path[: len(spec)] == spec for spec in pod_specs):
            continue
        containers = [mapping(item) for item in items(node.get("containers"))]
        if path and any(mapping(item.get("resources")) for item in containers):
            pod_specs[path] = node
            yield PodSpec(document, path, node)


def maps_in(value: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if len(path) > _MAX_DEPTH:
            continue
        if isinstance(node, dict):
            yield path, node
            stack += [((*path, key), child) for key, child in node.items()][::-1]
        elif isinstance(node, list):
            stack += [((*path, at), child) for at, child in enumerate(node)][::-1]


def _remarks_on_patch(document: Document, specs: Sequence[PodSpec[Document]]) -> Iterator[Remark]:
    """Yield remarks on the work that remains if a patch requests devices.

    The claim belongs to the object that the patch changes, and the file of the patch cannot contain
    a template.
    """
    for pod in specs:
        if uses := demand_of(pod).uses:
            place = document.locate((*uses[0].container, "resources"), key=True)
            yield Remark(place, _PATCH_STAYS)


def _remarks_outside_pods(document: Document, specs: Sequence[Path]) -> Iterator[Remark]:
    """Yield the requests outside pod specifications: in values of charts, quotas, custom
    resources.
    """
    for path, node in maps_in(document.value):
        if any(path[: len(spec)] == spec for spec in specs):
            continue
        for at, covered in enumerate(items(node.get("coveredResources"))):
            if stand_in := stand_in_for(str(covered)):
                why = f"map {stand_in.device_class} to it in Kueue's deviceClassMappings"
                place = document.locate((*path, "coveredResources", at))
                yield Remark(
                    place,
                    f"{covered} is left as it is: {why}, or no claim counts against this quota",
                )
        for key in node:
            resource = str(key).removeprefix("requests.").removeprefix("limits.")
            amounts = path and path[-1] in ("limits", "requests", "hard", "max", "default")
            if amounts and (stand_in := stand_in_for(resource)):
                why = "not in a pod template; whatever creates the pods must let them use claims"
                if path[-1] == "hard":
                    why = (
                        f"count {stand_in.device_class}.deviceclass.resource.k8s.io/devices in the"
                        " quota"
                    )
                yield Remark(
                    document.locate((*path, key), key=True), f"{key} is left as it is: {why}"
                )


def _edit_json(
    content: str, changed: Sequence[tuple[Document, Any]], added: Sequence[Template]
) -> str:
    source = Source("", content)
    after, copied = "", 0
    for document, value in changed:
        if value != document.value:
            place = document.locate(())
            start, end = (
                source.offset(place.line, place.column),
                source.offset(place.end_line, place.end_column),
            )
            after += content[copied:start] + rewrite(content, start, document.value, value)
            copied = end
    return with_objects(after + content[copied:], [template.value for template in added])


def _edit_yaml(content: str, pods: Sequence[PodPlan], added: Sequence[Template]) -> str:
    edits = tuple(edit(pod.document, wanted) for pod in pods for wanted in pod.changes)
    after, _ = apply_text_fixes(content, [TextFix("use claims", edits, safe=True)])
    newline = "\r\n" if "\r\n" in content else "\n"
    return after + "".join(f"---\n{dump(template.value)}" for template in added).replace(
        "\n", newline
    )
