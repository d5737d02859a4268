"""The way in which each document is read: as an object, a patch, a custom resource with pods, or
part of another object.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator

from msgspec import Struct

from dractl.lint.model import Manifest, manifest
from dractl.lint.partial import is_patch, stands_alone
from dractl.lint.relevance import GROUP, concern, group
from dractl.manifests import Document
from dractl.manifests.claimspecs import claim_specs
from dractl.manifests.embedded import is_inline_patch, objects_within
from dractl.manifests.kustomize import Kustomizations, is_kustomization
from dractl.manifests.post_renderers import HELM, expand_post_renderers
from dractl.objects import items, mapping
from dractl.objects.cluster_autoscaler import CLUSTER_AUTOSCALER, read_cluster_autoscaler
from dractl.validation.decoding import KUBERNETES_GROUPS
from dractl.validation.kueue import GROUP as KUEUE
from dractl.validation.violation import Violation

_GROUPS_WITH_PARTS = frozenset(
    {"kustomize.config.k8s.io", "apiextensions.crossplane.io", "chainsaw.kyverno.io"}
)
"""Groups whose objects contain patches, patterns, and objects that are completed elsewhere (a
Composition's base).
"""
_EXTENDED_RESOURCES = frozenset({"PC-13", "PC-15", "PC-16"})


class Reading(Struct, frozen=True):
    """A document that concerns DRA, as rules see it, and how the document is read."""

    subject: Manifest
    number: int
    """The number of the document in its file."""
    patch: bool = False
    """True if it changes another document."""
    foreign: bool = False
    """True for a custom resource."""
    values: bool = False
    """True if a chart completes the document before the API server sees it."""
    resources: bool = False
    """True if only extended resources in the document matter."""
    described: bool = False
    """True if a controller writes everything but the spec."""

    @property
    def document(self) -> Document:
        return self.subject.document

    def matters(self, violation: Violation) -> bool:
        """Return True if a violation counts, given the way in which its document is read."""
        if self.patch and not stands_alone(violation):
            return False
        if self.values and violation.path[:1] == ("metadata",):
            return False
        if self.described and violation.path[:1] != ("spec",):
            return False
        return not self.resources or violation.rule in _EXTENDED_RESOURCES


def readings(
    documents: Iterable[Document], kustomizations: Kustomizations, consumers: Container[str] = ()
) -> Iterator[Reading]:
    """Yield the documents that concern DRA, and the objects inside others, in the order of the
    input.
    """
    concerns_autoscaler = CLUSTER_AUTOSCALER in consumers
    mentions: dict[str, bool] = {}  # by file, so that each file is searched only once
    maps_classes: dict[str, bool] = {}
    numbers: Counter[str] = Counter()

    def next_number(document: Document) -> int:
        numbers[document.file] += 1
        return numbers[document.file] - 1

    for document in documents:
        api_group = group(document.value)
        if api_group != GROUP:
            if document.file not in mentions:
                mentions[document.file] = f"{GROUP}/" in document.text
                maps_classes[document.file] = "deviceClassMappings" in document.text
            for inside in objects_within(document, GROUP) if mentions[document.file] else ():
                in_parts = api_group in _GROUPS_WITH_PARTS or is_kustomization(document.file)
                in_parts = in_parts or is_inline_patch(inside)
                yield Reading(
                    manifest(inside),
                    next_number(inside),
                    patch=in_parts or is_patch(inside, kustomizations),
                    values=api_group != "" or not document.kind,
                )
            for inside in objects_within(document, KUEUE) if maps_classes[document.file] else ():
                yield Reading(manifest(inside), next_number(inside))
            for inside in claim_specs(document):
                patch = is_patch(document, kustomizations)
                yield Reading(manifest(inside), next_number(inside), patch=patch, described=True)
        if api_group == HELM:
            document = expand_post_renderers(document)  # noqa: PLW2901
        reason = concern(document.value)
        if reason is None and concerns_autoscaler and _runs_cluster_autoscaler(document):
            reason = "resources"
        if reason is not None:
            patch = is_patch(document, kustomizations)
            foreign = api_group not in KUBERNETES_GROUPS and not patch
            resources = reason == "resources"
            yield Reading(
                manifest(document), next_number(document), patch, foreign, resources=resources
            )


def _runs_cluster_autoscaler(document: Document) -> bool:
    """Return True for a Deployment of Cluster Autoscaler."""
    template = mapping(mapping(document.value.get("spec")).get("template"))
    containers = items(mapping(template.get("spec")).get("containers"))
    return document.kind == "Deployment" and any(
        read_cluster_autoscaler(mapping(container)) is not None for container in containers
    )
