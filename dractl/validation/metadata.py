"""Object metadata at creation (k8s.io/apimachinery/pkg/api/validation/objectmeta.go)."""

from collections.abc import Iterator
from typing import Any

from dractl.model.releases import Target
from dractl.validation.causes import forbidden, invalid, length_violation, value_required
from dractl.validation.formats import (
    label_errors,
    label_key_errors,
    label_value_errors,
    length,
    lower,
    subdomain_errors,
)
from dractl.validation.place import Place
from dractl.validation.violation import Violation

MAX_ANNOTATIONS = 256 * 1024
# The number of random letters and digits that the server appends to generateName
_SUFFIX = "xxxxx"
_MAX_BASE = 63 - len(_SUFFIX)
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")

CLUSTER_SCOPED = frozenset(
    {
        "DeviceClass",
        "ResourceSlice",
        "DeviceTaintRule",
        "ResourcePoolStatusRequest",
        "Node",
        "Namespace",
    }
)
_COUNTS_GENERATIONS = frozenset(
    {"ResourceClaim", "ResourceClaimTemplate", "ResourcePoolStatusRequest"}
)
"""Kinds whose generation the server does not set at creation, so that it checks the given one."""


def object_meta(kind: str, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in ``metadata`` of an object that is being created."""
    yield from _names(kind, place, target)
    namespace = place.child("namespace")
    if kind not in CLUSTER_SCOPED and namespace.text:
        for error in label_errors(namespace.text):
            yield invalid("OM-02", namespace, error)
    generation = place.child("generation")
    if kind in _COUNTS_GENERATIONS and generation.integer < 0:
        yield invalid("OM-08", generation, "must be greater than or equal to 0")
    if (labels := place.child("labels")).set:
        yield from _labels(labels)
    if (annotations := place.child("annotations")).set:
        yield from _annotations(annotations)
    if (owners := place.child("ownerReferences")).set:
        yield from _owner_references(owners, target)
    if (finalizers := place.child("finalizers")).set:
        yield from _finalizers(finalizers)


def template_meta(place: Place) -> Iterator[Violation]:
    """Yield the violations in ``spec.metadata`` of a template: labels and annotations only
    (ValidateTemplateObjectMeta).
    """
    yield from _annotations(place.child("annotations"))
    yield from _labels(place.child("labels"))
    for name, value in place.entries():
        # null, "" and 0 count as not set, but an empty list counts as set
        if name not in ("labels", "annotations") and value not in (None, "", 0):
            # The server's path has the name of the Go field with its first letter in lower case.
            reported = f"{place.field}.{'uID' if name == 'uid' else name}"
            yield forbidden("OM-09", place.child(name), "cannot be set", field=reported)


def _names(kind: str, place: Place, target: Target) -> Iterator[Violation]:
    name, base = place.child("name"), place.child("generateName")
    # Since 1.35, classes are validated with ValidateObjectMetaWithOpts, which checks only the
    # generated name.
    if base.text and not (kind == "DeviceClass" and target.has("class-generate-name")):
        masked = (
            base.text[:-2] + "a" if len(base.text) > 1 and base.text.endswith("-") else base.text
        )
        for error in subdomain_errors(masked):
            yield invalid("OM-03", base, error)
    if name.text:
        for error in subdomain_errors(name.text):
            yield invalid("OM-02", name, error)
    elif base.text:
        generated = base.text[:_MAX_BASE] + _SUFFIX
        for error in subdomain_errors(generated):
            yield invalid("OM-03", name, error, generated)
    else:
        yield value_required("OM-01", name, "name or generateName is required")


def _labels(place: Place) -> Iterator[Violation]:
    """Yield the violations in labels. The server reports faults of keys and of values at the map;
    the path leads to the entry.
    """
    for key, value in place.entries():
        for error in label_key_errors(key):
            yield invalid("OM-04", place.key(key), error, key, key=True, field=place.field)
        for error in label_value_errors(value or ""):
            yield invalid("OM-04", place.key(key), error, value or "", field=place.field)


def _annotations(place: Place) -> Iterator[Violation]:
    for key, _ in place.entries():
        for error in label_key_errors(lower(key)):
            yield invalid("OM-05", place.key(key), error, key, key=True, field=place.field)
    if sum(length(key) + length(value or "") for key, value in place.entries()) > MAX_ANNOTATIONS:
        yield length_violation("OM-05", place, MAX_ANNOTATIONS)


def _owner_references(places: Place, target: Target) -> Iterator[Violation]:
    controller = ""
    seen: set[tuple[Any, ...]] = set()
    since_37 = target.has("owner-references-unique")
    for reference in places.items():
        texts = tuple(reference.child(name).text for name in ("apiVersion", "kind", "name", "uid"))
        same = (
            *texts,
            reference.child("controller").value,
            reference.child("blockOwnerDeletion").value,
        )
        if same in seen:
            # The server counts a repeated reference once (dedupOwnerReferencesAndAddWarning)
            continue
        seen.add(same)
        # 1.36 and older name the list, not the item.
        at = reference.field if since_37 else places.field
        version = reference.child("apiVersion")
        if version.text and not _group_version(version.text):
            detail = (
                "must be <group>/<version> or <version>"
                if since_37
                else "version must not be empty"
            )
            yield invalid("OM-07", version, detail, field=f"{at}.apiVersion")
        for name in ("apiVersion", "kind", "name", "uid"):
            value = reference.child(name)
            if value.text:
                continue
            if since_37:
                yield value_required("OM-07", value, "must not be empty")
            else:
                detail = (
                    "version must not be empty" if name == "apiVersion" else "must not be empty"
                )
                yield invalid("OM-07", value, detail, "", field=f"{at}.{name}")
        if (version.text, reference.child("kind").text) == ("v1", "Event"):
            yield invalid(
                "OM-07", reference, "/v1, Kind=Event is disallowed from being an owner", field=at
            )
        if reference.child("controller").value is True:
            this = f"{reference.child('kind').text}/{reference.child('name').text}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in'
                    f" references for {controller} and {this}"
                )
                yield invalid("OM-07", places, detail)
            else:
                controller = this


def _group_version(text: str) -> bool:
    """Return True for an apiVersion as in schema.ParseGroupVersion: at most one slash, and a
    version after it. A single ``/`` counts as empty, and is no error.
    """
    return text.count("/") < 2 and bool(text.rpartition("/")[2])


def _finalizers(places: Place) -> Iterator[Violation]:
    names = [item.text for item in places.items()]
    for item in places.items():
        for error in label_key_errors(item.text):
            yield invalid("OM-06", item, error, item.text, field=places.field)
        if "/" not in item.text and item.text not in _STANDARD_FINALIZERS:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid("OM-06", item, detail, item.text)
    if {"orphan", "foregroundDeletion"} <= set(names):
        yield invalid("OM-06", places, "finalizer orphan and foregroundDeletion cannot be both set")
