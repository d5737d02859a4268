"""How each document is read: as an object, a patch, a custom resource with pods, or part of another object."""

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
from dractl.objects import items, mapping
from dractl.objects.cluster_autoscaler import CLUSTER_AUTOSCALER, read_cluster_autoscaler
from dractl.validation.decoding import KUBERNETES_GROUPS
from dractl.validation.kueue import GROUP as KUEUE
from dractl.validation.violation import Violation

_OF_PARTS = frozenset(
    {"kustomize.config.k8s.io", "apiextensions.crossplane.io", "chainsaw.kyverno.io"}
)
"""Groups whose objects contain patches, patterns, and objects that are completed elsewhere (a Composition's base)."""
_EXTENDED_RESOURCES = frozenset({"PC-13", "PC-15", "PC-16"})


class Reading(Struct, frozen=True):
    """A document that concerns DRA, as rules see it, and how it is read; ``number`` counts those of its file.

    ``patch``: it changes another document. ``foreign``: it is a custom resource. ``values``: a chart completes it
    before the API server sees it. ``resources``: only its extended resources matter. ``described``: a controller writes
    all but its spec.
    """

    subject: Manifest
    number: int
    patch: bool = False
    foreign: bool = False
    values: bool = False
    resources: bool = False
    described: bool = False

    @property
    def document(self) -> Document:
        return self.subject.document

    def matters(self, violation: Violation) -> bool:
        """True if a violation counts in a document that is read this way."""
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
    """The documents that concern DRA or one of the ``consumers`` of claims that the user names, and the objects inside
    others, in the order of the input."""
    concerns_autoscaler = CLUSTER_AUTOSCALER in consumers
    mentions: dict[str, bool] = {}  # searched once a file
    maps_classes: dict[str, bool] = {}
    numbers: Counter[str] = Counter()

    def numbered(document: Document) -> int:
        numbers[document.file] += 1
        return numbers[document.file] - 1

    for document in documents:
        own = group(document.value)
        if own != GROUP:
            if document.file not in mentions:
                mentions[document.file] = f"{GROUP}/" in document.text
                maps_classes[document.file] = "deviceClassMappings" in document.text
            for inside in objects_within(document, GROUP) if mentions[document.file] else ():
                in_parts = own in _OF_PARTS or is_kustomization(document.file)
                in_parts = in_parts or is_inline_patch(inside)
                yield Reading(
                    manifest(inside),
                    numbered(inside),
                    patch=in_parts or is_patch(inside, kustomizations),
                    values=own != "" or not document.kind,
                )
            for inside in objects_within(document, KUEUE) if maps_classes[document.file] else ():
                yield Reading(manifest(inside), numbered(inside))
            for inside in claim_specs(document):
                patch = is_patch(document, kustomizations)
                yield Reading(manifest(inside), numbered(inside), patch=patch, described=True)
        concerned = concern(document.value)
        if concerned is None and concerns_autoscaler and _runs_cluster_autoscaler(document):
            concerned = "resources"
        if concerned is not None:
            patch = is_patch(document, kustomizations)
            foreign = own not in KUBERNETES_GROUPS and not patch
            resources = concerned == "resources"
            yield Reading(
                manifest(document), numbered(document), patch, foreign, resources=resources
            )


def _runs_cluster_autoscaler(document: Document) -> bool:
    """True for a Deployment of Cluster Autoscaler."""
    template = mapping(mapping(document.value.get("spec")).get("template"))
    containers = items(mapping(template.get("spec")).get("containers"))
    return document.kind == "Deployment" and any(
        read_cluster_autoscaler(mapping(container)) is not None for container in containers
    )
