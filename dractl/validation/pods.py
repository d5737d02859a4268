"""Claims and extended resources of pods and pod templates (pkg/apis/core/validation)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from dractl.model.pods import pod_templates
from dractl.validation.causes import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    value_required,
)
from dractl.validation.formats import (
    is_extended_resource_name,
    is_native_resource,
    label,
    label_key_errors,
    subdomain,
)
from dractl.validation.place import Place
from dractl.validation.violation import Violation

_POD_RESOURCES = ("cpu", "hugepages-", "memory")
"""Resources that a pod as a whole can request."""


def pods(value: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the violations in a document's pod, or in each of its pod templates."""
    for path, _ in pod_templates(value):
        place = Place(value)
        for step in path:
            place = (
                place.child(step) if isinstance(step, str) else place.index(step, place.value[step])
            )
        yield from _pod_spec(place, template=value.get("kind") != "Pod")


def _pod_spec(place: Place, *, template: bool) -> Iterator[Violation]:
    claims = place.child("resourceClaims")
    yield from _pod_claims(claims)
    names = sorted({claim.child("name").text for claim in claims.items()} - {""})
    yield from _containers(place)
    ephemeral = place.child("ephemeralContainers")
    for containers in (place.child("initContainers"), place.child("containers"), ephemeral):
        for container in containers.items():
            resources = container.child("resources")
            if resources.set:
                yield from _container_claims(resources.child("claims"), names)
                amounts = _amounts(resources, template=template)
                yield from _names(amounts)
                yield from _quantities(resources, amounts)
    whole = place.child("resources")
    if whole.set:
        claims = whole.child("claims")
        if claims.set:
            yield forbidden("PC-11", claims, "claims may not be set for Resources at pod-level")
            yield from _container_claims(claims, names)
        amounts = _amounts(whole, template=True)
        yield from _pod_level_names(amounts)
        yield from _quantities(whole, amounts)
    for container in ephemeral.items():
        if container.child("resources").value:
            yield forbidden(
                "PC-12", container.child("resources"), "cannot be set for an Ephemeral Container"
            )
    if ephemeral.size:
        detail = (
            "ephemeral containers not allowed in pod template"
            if template
            else "cannot be set on create"
        )
        yield forbidden("PC-12", ephemeral, detail)


def _containers(place: Place) -> Iterator[Violation]:
    """Yield the violations of validateContainers and validateInitContainers in names and images. A
    patch that misspells a container's name adds a second container, which has no image.
    """
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for container in place.child(field).items():
            name, image = container.child("name"), container.child("image")
            if not name.text:
                yield value_required("PC-17", name)
            elif name.text in names:
                yield duplicate("PC-18", name, name.text)
            names.add(name.text)
            if not image.text:
                yield value_required("PC-17", image)


def _pod_claims(places: Place) -> Iterator[Violation]:
    """Yield the violations of validatePodResourceClaim."""
    names = set()
    for claim in places.items():
        name, by_name, by_template = (
            claim.child(n) for n in ("name", "resourceClaimName", "resourceClaimTemplateName")
        )
        if not name.text:
            yield value_required("PC-01", name)
        elif name.text in names:
            yield duplicate("PC-02", name, name.text)
        else:
            yield from label("PC-03", name)
            names.add(name.text)
        if by_name.set and by_template.set:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            yield invalid("PC-04", claim, detail)
        if not by_name.set and not by_template.set:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield invalid("PC-05", claim, detail)
        for reference in (by_name, by_template):
            if reference.set:
                yield from subdomain("PC-06", reference)


def _container_claims(places: Place, names: list[str]) -> Iterator[Violation]:
    """Yield the violations of validateResourceClaimNames."""
    seen: set[tuple[str, str]] = set()
    for claim in places.items():
        name, request = claim.child("name").text, claim.child("request").text
        if not name:
            yield value_required("PC-07", claim)
            continue
        if (name, "") in seen:
            yield duplicate("PC-08", claim, name)
        else:
            if request:
                yield from label("PC-10", claim.child("request"))
            if (name, request) in seen:
                yield duplicate("PC-08", claim, f"{name}/{request}")
            elif not request and any(other == name for other, _ in seen):
                yield duplicate("PC-08", claim, name)
            seen.add((name, request))
        if name not in names:
            allowed = f": {', '.join(names)}" if names else " which is empty"
            yield not_found(
                "PC-09",
                claim,
                name,
                f"must be one of the names in pod.spec.resourceClaims{allowed}",
                names,
            )


_Amounts: TypeAlias = Sequence[tuple[str, Place, Place]]
"""Requested amounts: the name of the resource, the place of the amount, and the place that the
server names for it.
"""


def _amounts(place: Place, *, template: bool) -> _Amounts:
    limits, requests = place.child("limits"), place.child("requests")
    amounts = []
    for quantities in (limits, requests):
        for name in quantities.value or ():
            amount = quantities.key(name)
            amounts.append((name, amount, amount))
    if not template:  # a pod's limit is the default of its request
        requested = requests.value or ()
        amounts += [
            (name, limits.key(name), requests.key(name))
            for name in limits.value or ()
            if name not in requested
        ]
    return amounts


def _names(amounts: _Amounts) -> Iterator[Violation]:
    """Yield the violations of ValidateContainerResourceName: a resource that is not standard must
    be an extended one.
    """
    for name, amount, named in amounts:
        if "/" in name:
            extended = is_native_resource(name) or is_extended_resource_name(name)
            errors = label_key_errors(name) or (
                () if extended else ("doesn't follow extended resource name standard",)
            )
        else:
            standard = name in ("cpu", "memory", "ephemeral-storage") or name.startswith(
                "hugepages-"
            )
            errors = () if standard else ("must be a standard resource for containers",)
        for error in errors:
            yield invalid("PC-15", amount, error, name, key=True, field=named.field)


def _pod_level_names(amounts: _Amounts) -> Iterator[Violation]:
    """Yield the violations of validatePodResourceName: pod-level resources cannot be
    extended ones.
    """
    for name, amount, _ in amounts:
        errors = label_key_errors(name)
        if (
            not errors
            and "/" not in name
            and name not in _POD_RESOURCES
            and name != "ephemeral-storage"
        ):
            errors = (
                ()
                if name.startswith("hugepages-")
                else ("must be a standard resource type or fully qualified",)
            )
        for error in errors:
            yield invalid("PC-15", amount, error, name, key=True)
        if not errors and "/" in name:
            yield not_supported("PC-16", amount, _POD_RESOURCES, key=name)


def _quantities(place: Place, amounts: _Amounts) -> Iterator[Violation]:
    """Yield the violations of validateResourceRequirements, as far as they concern extended
    resources in requests and limits.

    Amounts must be whole numbers, and the request must equal the limit. Names in ``kubernetes.io``,
    such as the resources of classes, are exempt.
    """
    for name, amount, named in amounts:
        quantity = amount.quantity
        if quantity.sign() < 0:
            yield invalid("PC-13", amount, "must be greater than or equal to 0", field=named.field)
        if is_extended_resource_name(name) and quantity.milli_value() % 1000 != 0:
            yield invalid("PC-13", amount, "must be an integer", field=named.field)
    limits, requests = place.child("limits"), place.child("requests")
    for name in requests.value or ():
        yield from _request_and_limit(name, requests, limits)


def _request_and_limit(name: str, requests: Place, limits: Place) -> Iterator[Violation]:
    request, limit = requests.key(name), limits.key(name)
    overcommit = is_native_resource(name) and not name.startswith("hugepages-")
    if name not in (limits.value or {}):
        if not overcommit:
            yield value_required(
                "PC-13", limits, "Limit must be set for non overcommitable resources"
            )
    elif not overcommit and request.quantity != limit.quantity:
        yield invalid(
            "PC-13",
            request,
            f"must be equal to {name} limit of {limit.quantity}",
            field=requests.field,
        )
    elif request.quantity > limit.quantity:
        detail = f"must be less than or equal to {name} limit of {limit.quantity}"
        yield invalid("PC-13", request, detail, field=requests.field)
