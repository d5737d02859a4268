"""Claims, templates and classes, with the attributes and capacities that they read."""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from dractl.cel import reading
from dractl.cluster import ClusterState
from dractl.cluster.state import Key
from dractl.objects import Claim, Expression, Path, Raw, selectors_of
from dractl.scheduler.extended import classes_by_resource
from dractl.views import Claim as ClaimView, Pod

Part = Literal["attributes", "capacity"]
Place = Literal["selector", "matchAttribute", "distinctAttribute", "capacity"]
SPECS: Mapping[str, Path] = {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}


class Read(Struct, frozen=True):
    """A place in an object that reads an attribute or a capacity."""

    part: Part
    """The part of a device that is read."""
    name: str
    """``domain/name``; a capacity in a request may lack the domain."""
    by: Place
    """The kind of the place."""
    path: Path
    """The path of the expression, the constraint or the amounts."""
    text: str = ""
    """The expression of a selector."""
    drivers: frozenset[str] = frozenset()
    """The drivers whose devices are read; empty if they are unknown."""


class Reader(Struct, frozen=True):
    """An object, with the attributes and capacities that it reads."""

    kind: str
    """The kind of the object."""
    key: Key
    """The namespace and name."""
    value: Raw
    """The object as the input contains it."""
    reads: tuple[Read, ...]
    """Every place that reads an attribute or a capacity."""
    generated: tuple[Key, ...] = ()
    """The claims that were made from this template; empty if the object is no template."""

    @property
    def name(self) -> str:
        """``KIND/[NAMESPACE/]NAME``."""
        return object_name(self.kind, self.key)


def object_name(kind: str, key: Key) -> str:
    """Return ``KIND/[NAMESPACE/]NAME``."""
    return "/".join(filter(None, (kind, *key)))


def find_readers(state: ClusterState) -> Iterator[Reader]:
    """Yield the classes, claims and templates of a cluster, each with its reads.

    If the input has the template of a claim, the claim is listed with the template.
    """
    drivers: dict[str, frozenset[str]] = {}
    for key, value in state.objects("DeviceClass").items():
        selectors = selectors_of(value)
        drivers[key[1]] = _drivers_of(selectors)
        yield Reader("DeviceClass", key, value, tuple(_reads_of(selectors, drivers[key[1]])))
    templates = _claims_by_template(state)
    generated = {claim for claims in templates.values() for claim in claims}
    for kind, prefix in SPECS.items():
        for key, value in state.objects(kind).items():
            if kind == "ResourceClaim" and key in generated:
                continue
            claim = Claim.of(None, value, prefix)
            reads = tuple(_reads_of_claim(claim, drivers))
            yield Reader(kind, key, value, reads, templates.get(key, ()) if generated else ())


def _claims_by_template(state: ClusterState) -> dict[Key, tuple[Key, ...]]:
    """Return the claims that were made for pods, by their template, if the input has it."""
    claims_by_template: dict[Key, list[Key]] = {}
    template_objects = state.objects("ResourceClaimTemplate")
    for key in state.pods:
        for claim, template in template_of_claims(state, key).items():
            if template in template_objects:
                claims_by_template.setdefault(template, []).append(claim)
    return {
        template: tuple(claims_by_template)
        for template, claims_by_template in claims_by_template.items()
    }


def template_of_claims(state: ClusterState, pod: Key) -> dict[Key, Key]:
    """Return the templates of a pod's generated claims, by claim."""
    names = {
        reference.name: reference.template_name
        for reference in state.pod(pod).claim_references
        if reference.template_name
    }
    templates: dict[Key, Key] = {}
    for key in state.claims_of_pod(pod) if names else ():
        name = state.claim(key).pod_claim_name
        if name in names:
            templates[key] = pod[0], names[name]
    return templates


def _drivers_of(selectors: list[Expression]) -> frozenset[str]:
    return frozenset().union(*(reading(each.text).drivers for each in selectors))


def _reads_of_claim(claim: Claim[None], drivers: Mapping[str, frozenset[str]]) -> Iterator[Read]:
    drivers_by_request: dict[str, frozenset[str]] = {}
    for request in claim.alternatives:
        request_drivers = drivers.get(request.device_class, frozenset()) or _drivers_of(
            request.selectors
        )
        drivers_by_request[request.reference] = request_drivers
        yield from _reads_of(request.selectors, request_drivers)
        for name in request.capacity:
            path = (*request.path, "capacity", "requests", name)
            yield Read("capacity", name, "capacity", path, drivers=request_drivers)
    for constraint in claim.constraints:
        targets = claim.targets(constraint.requests)
        known_of_targets = [drivers_by_request[request.reference] for request in targets]
        request_drivers = (
            frozenset().union(*known_of_targets) if all(known_of_targets) else frozenset[str]()
        )
        by: Place = "matchAttribute" if constraint.kind == "matchAttribute" else "distinctAttribute"
        if constraint.attribute:
            yield Read(
                "attributes", constraint.attribute, by, constraint.path, drivers=request_drivers
            )


def _reads_of(selectors: list[Expression], drivers: frozenset[str]) -> Iterator[Read]:
    for selector in selectors:
        names = dict.fromkeys(
            (lookup.kind, lookup.full_name)
            for lookup in reading(selector.text).lookups
            if lookup.name is not None
        )
        for kind, name in names:
            part: Part = "capacity" if kind == "capacity" else "attributes"
            yield Read(part, name, "selector", selector.path, selector.text, drivers)


# -- the objects through which a pod or claim gets devices --


def sources_of_pod(state: ClusterState, pod: Pod) -> frozenset[str]:
    """Return the names of the claims, templates and classes through which a pod gets devices."""
    names: set[str] = set()
    namespace = pod.key[0]
    keys = [*state.claims_of_pod(pod.key)]
    keys += [(namespace, each.claim_name) for each in pod.claim_references if each.claim_name]
    for key in keys:
        names |= sources_of_claim(key, state.claim(key))
    for reference in pod.claim_references:
        if reference.template_name:
            key = namespace, reference.template_name
            names.add(object_name("ResourceClaimTemplate", key))
            names |= _classes_of(
                state.objects("ResourceClaimTemplate").get(key, {}), ("spec", "spec")
            )
    if pod.extended_requests:
        classes = classes_by_resource(state.classes)
        class_names = {classes[name] for name in pod.extended_requests if name in classes}
        names |= {object_name("DeviceClass", ("", name)) for name in class_names}
    return frozenset(names)


def sources_of_claim(key: Key, claim: ClaimView) -> frozenset[str]:
    """Return the names of a claim and of its classes."""
    return frozenset({object_name("ResourceClaim", key), *_classes_of(claim.raw, ("spec",))})


def _classes_of(value: Raw, prefix: Path) -> set[str]:
    requests = Claim.of(None, value, prefix).alternatives
    return {
        object_name("DeviceClass", ("", each.device_class))
        for each in requests
        if each.device_class
    }
