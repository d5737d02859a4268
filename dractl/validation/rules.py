"""Validation, by kind, of a document that has been decoded, defaulted and converted.

Rule ids begin with ``RC`` (claims and templates) or ``RS`` (slices), numbered in the order of
upstream's checks, ``DC`` (classes), ``DT`` (taint rules), ``PS`` (pool status requests), ``CS``
(the status of claims), ``PC`` (claims of pods) or ``OM`` (object metadata). The page of the lint
rule that reports an id describes it.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from dractl.model.releases import Target
from dractl.validation import claims, classes, podgroups, slices, taints
from dractl.validation.metadata import object_meta, template_meta
from dractl.validation.older import reword
from dractl.validation.place import Place
from dractl.validation.pods import pods
from dractl.validation.violation import Violation


def check(
    value: Mapping[str, Any],
    target: Target,
    *,
    namespaces: Mapping[str, Mapping[str, str]],
    written: str = "v1",
) -> Iterator[Violation]:
    """Yield the violations that the API server of ``target`` reports for a document converted to
    v1.

    ``namespaces`` has the labels of known namespaces. Paths are in v1. ``written`` is the original
    version of the document, whose spelling 1.37 uses for some fields.
    """
    root = Place(value, step=written if target.has("paths-as-written") else "")
    return _in_words_of(chain(_metadata(root, target), _spec(root, target, namespaces)), target)


def metadata(value: Mapping[str, Any], target: Target) -> Iterator[Violation]:
    """Yield the violations in the metadata of a document, and in the metadata of a template's
    claims.
    """
    return _in_words_of(_metadata(Place(value), target), target)


def _in_words_of(violations: Iterator[Violation], target: Target) -> Iterator[Violation]:
    return reword(violations, target) if target.has("older-wording") else violations


def _metadata(root: Place, target: Target) -> Iterator[Violation]:
    kind = root.value["kind"]
    yield from object_meta(kind, root.child("metadata"), target)
    if kind == "ResourceClaimTemplate":
        yield from template_meta(root.child("spec", "metadata"))


def _spec(
    root: Place, target: Target, namespaces: Mapping[str, Mapping[str, str]]
) -> Iterator[Violation]:
    spec, kind = root.child("spec"), root.value["kind"]
    match kind:
        case "ResourceClaim" | "ResourceClaimTemplate":
            yield from _claim(root, target, namespaces)
        case "DeviceClass":
            yield from classes.spec(spec, target)
        case "ResourceSlice":
            yield from slices.spec(spec, target)
        case "DeviceTaintRule":
            yield from taints.taint_rule_spec(spec, target)
        case "ResourcePoolStatusRequest":
            yield from taints.pool_status_request_spec(spec, target)
        case "PodGroup":
            yield from podgroups.pod_group(spec)
        case "Workload":
            yield from podgroups.workload(spec)
        case _:
            yield from pods(root.value)


def _claim(
    root: Place, target: Target, namespaces: Mapping[str, Mapping[str, str]]
) -> Iterator[Violation]:
    spec = root.child("spec")
    if root.value["kind"] == "ResourceClaimTemplate":
        spec = spec.child("spec")
    namespace = root.child("metadata", "namespace").text or "default"
    yield from claims.admin_access(spec, namespaces.get(namespace), target)
    yield from claims.spec(spec, target)
