"""The changes to one pod specification that replace device plugins' resources by claims."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.lint.placeholders import holds_placeholder
from dractl.manifests import Document, Position
from dractl.manifests.documents import Path
from dractl.migration import labels
from dractl.migration.edits import Alteration, Prepend, Put, Remove, comments
from dractl.migration.plugin import Sharing
from dractl.migration.resources import (
    GPU,
    REPLICA_NOTE,
    StandIn,
    is_extended,
    mig_stand_in,
    reason_without_claim,
    reasons_of_companions,
    stand_in_for,
)
from dractl.migration.templates import ClaimShape, Template
from dractl.objects.pods import PodSpec
from dractl.objects.values import items, mapping, text

_TOLERATION = (
    "are nodes tainted {resource}? Then add --tolerate: the admission plugin"
    " ExtendedResourceToleration adds it for extended resources only"
)


_SHARED_LIST = (
    "left as it is: defaultPodOptions has resourceClaims, which a list of this controller would "
    "hide"
)


class Remark(Struct, frozen=True):
    """A remark on a place: work that remains, or a fact to know."""

    position: Position
    """The place in the file."""
    message: str
    """The text of the remark."""

    def __str__(self) -> str:
        return f"{self.position.file}:{self.position.line}:{self.position.column}: {self.message}"


class PodPlan(Struct, frozen=True):
    """The plan for a pod specification; without changes, there is nothing to replace."""

    document: Document
    """The document of the pod specification."""
    remarks: tuple[Remark, ...]
    """Remarks on remaining work, and on facts to know."""
    resources: frozenset[str] = frozenset()
    """The device plugins' resources that the pod asks for."""
    changes: tuple[Alteration, ...] = ()
    """The changes that migrate the pod, in the order in which they are applied."""
    templates: tuple[Template, ...] = ()
    """The templates that its claims name."""


class ResourceUse(Struct, frozen=True):
    """A container's request for a resource."""

    container: Path
    """The path of the container."""
    resource: str
    """The name of the resource."""
    count: int
    """The number of devices."""
    starts_before: bool
    """True for an init container that ends before the other containers start, and whose devices
    these containers get.
    """


class Demand(Struct, frozen=True):
    """The requests of a pod's containers for resources of device plugins."""

    uses: tuple[ResourceUse, ...]
    """The requests that can be migrated."""
    keys: tuple[Path, ...]
    """The paths of the keys that are removed for these requests."""
    remarks: tuple[Remark, ...]
    """The requests that cannot be migrated."""


class _Labels(Struct, frozen=True):
    """The selection of devices by a pod's node labels."""

    selectors: tuple[str, ...] = ()
    """The CEL expressions that select the same devices."""
    profile: str | None = None
    """The profile of MIG devices."""
    keys: tuple[Path, ...] = ()
    """The paths of the labels that are removed."""
    remarks: tuple[Remark, ...] = ()
    """The labels that stay, with the reason."""


class _Claim(Struct, frozen=True):
    """The claim with which a pod replaces a container's request for a resource, and the claim's
    template.
    """

    use: ResourceUse
    name: str
    template: Template


def plan(
    pod: PodSpec[Document],
    template_for: Callable[[ClaimShape], Template],
    tolerated: Callable[[str], bool],
    shared: Mapping[str, Sharing] = MappingProxyType({}),
) -> PodPlan:
    """Return the plan for a pod specification.

    ``tolerated`` returns True for a resource if pods should tolerate the taint named after it.
    ``shared`` contains the resources that are replicas of devices.
    """
    document, path, spec = pod.subject, pod.path, pod.fields
    demand = demand_of(pod)
    if not demand.uses:
        return PodPlan(document, demand.remarks)
    home = _home(pod)
    if home is None:
        place = document.locate((*path, "containers"), key=True)
        return PodPlan(document, (*demand.remarks, Remark(place, _SHARED_LIST)))
    chosen = _node_labels(document, path, spec, demand.uses)
    devices = {use: _devices(use, chosen, shared.get(use.resource)) for use in demand.uses}
    claims = _claims(spec, devices, template_for)
    claims_by_name: dict[str, _Claim] = {}
    for claim in claims:
        claims_by_name.setdefault(claim.name, claim)
    resources = dict.fromkeys(use.resource for use in demand.uses)
    missing = [key for key in resources if tolerated(key) and not _tolerates(spec, key)]

    remarks = [*demand.remarks, *chosen.remarks]
    for claim in claims_by_name.values():
        place = document.locate((*claim.use.container, "resources"), key=True)
        remarks += (Remark(place, note) for note in devices[claim.use].notes)
    if any(stand_in.driver == GPU for stand_in in devices.values()) and not (
        tolerated("nvidia.com/gpu") or _tolerates(spec, "nvidia.com/gpu")
    ):
        place = document.locate((*path, "containers"), key=True)
        remarks.append(Remark(place, _TOLERATION.format(resource="nvidia.com/gpu")))

    entries = tuple(
        {"name": name, "resourceClaimTemplateName": claim.template.name}
        for name, claim in claims_by_name.items()
    )
    tolerations = tuple({"key": key, "operator": "Exists"} for key in missing)
    lists = tuple(_container_claims(document, demand, claims))
    changes: tuple[Alteration, ...] = (
        *([replace(home, key="tolerations", items=tolerations)] if missing else []),
        replace(home, key="resourceClaims", items=entries),
        *lists,
        *_put_gpu_count_of_ray(document, path, demand.uses, remarks),
        # A key is removed after the edits that insert a list before it.
        *_remove_keys(demand.keys, lists),
        *map(Remove, chosen.keys),
    )
    return PodPlan(
        document,
        tuple(remarks),
        frozenset(resources),
        changes,
        tuple(claim.template for claim in claims_by_name.values()),
    )


def _remove_keys(keys: Iterable[Path], lists: Iterable[Prepend]) -> Iterator[Remove]:
    """Yield the removals of keys. The comments at a key are moved if one of ``lists`` has them as
    its comment.
    """
    commented = [prepended.path for prepended in lists if prepended.comment]
    for key in keys:
        yield Remove(key, any(key[: len(above)] == above for above in commented))


def _home(pod: PodSpec[Document]) -> Prepend | None:
    """Return the map for lists of the pod: the specification, or ``pod`` of a controller in a
    chart's values.

    None if all controllers share a list of claims, since a list of this controller would hide the
    shared one.
    """
    if pod.places is None:
        return Prepend(pod.path, "", (), "containers")
    if any("defaultPodOptions" in path for path, _ in pod.claims):
        return None
    options = mapping(pod.fields.get("pod"))
    if options:
        return Prepend((*pod.path, "pod"), "", (), str(next(iter(options))))
    return Prepend(pod.path, "", (), "containers", inside="pod")


def _put_gpu_count_of_ray(
    document: Document, path: Path, uses: Sequence[ResourceUse], remarks: list[Remark]
) -> Iterator[Put]:
    """Yield the change that states for Ray how many GPUs its container has.

    Ray counts GPUs by the limits (ray-project/kuberay ray-operator/controllers/ray/common pod.go
    generateRayStartCommand): without limits, the number must be given.
    """
    group = path[:-2]
    count = sum(
        use.count
        for use in uses
        if use.container[-2:] == ("containers", 0) and use.resource.endswith("gpu")
    )
    if (
        not (document.kind or "").startswith("Ray")
        or path[-2:] != ("template", "spec")
        or not count
    ):
        return
    params = (*group, "rayStartParams")
    if not isinstance(document.at(params), dict):
        place = document.locate(group, key=True)
        remarks.append(
            Remark(
                place, f'Ray no longer sees the limit: add rayStartParams: {{num-gpus: "{count}"}}'
            )
        )
    elif "num-gpus" not in document.at(params):
        yield Put(params, "num-gpus", str(count))


def demand_of(pod: PodSpec[Document]) -> Demand:
    """Return the demand of the containers of a pod specification."""
    document, spec = pod.subject, pod.fields
    uses: list[ResourceUse] = []
    keys: list[Path] = []
    remarks: list[Remark] = []
    for kind in ("initContainers", "containers"):
        for at, item in enumerate(items(spec.get(kind))):
            container = pod.item_path(kind, at)
            counts: dict[str, int] = {}
            written = mapping(mapping(item).get("resources"))
            in_parts = reasons_of_companions(
                {name for part in ("limits", "requests") for name in mapping(written.get(part))}
            )
            for part in ("limits", "requests"):
                amounts = mapping(written.get(part))
                turned: list[Path] = []
                for resource, amount in amounts.items():
                    if not isinstance(resource, str) or not is_extended(resource):
                        continue
                    key_path = (*container, "resources", part, resource)
                    reason, count = (
                        (in_parts[resource], 0)
                        if resource in in_parts
                        else _count(resource, amount)
                    )
                    if reason:
                        remarks.append(Remark(document.locate(key_path, key=True), reason))
                    elif count and counts.setdefault(resource, count) == count:
                        turned.append(key_path)
                keys += (
                    [(*container, "resources", part)]
                    if turned and len(turned) == len(amounts)
                    else turned
                )
            before = kind == "initContainers" and mapping(item).get("restartPolicy") != "Always"
            uses += [
                ResourceUse(container, resource, count, before)
                for resource, count in counts.items()
            ]
    return Demand(tuple(uses), tuple(keys), tuple(remarks))


def _count(resource: str, amount: Any) -> tuple[str | None, int]:
    """Return the reason why a request cannot be migrated (or None), and the number of devices."""
    if holds_placeholder(resource) or holds_placeholder(amount):
        return f"{resource}: {amount} is filled in later; render the manifest first", 0
    if stand_in_for(resource) is None:
        return reason_without_claim(resource), 0
    written = str(amount)
    if not (written.isascii() and written.isdecimal() and len(written) < 10):
        return f"{resource}: {amount!r} is not a whole number of devices", 0
    return None, int(written)


def _node_labels(
    document: Document, path: Path, spec: Mapping[str, Any], uses: Sequence[ResourceUse]
) -> _Labels:
    if not any(use.resource.startswith(labels.PREFIX) for use in uses):
        return _Labels()
    node_selector = mapping(spec.get("nodeSelector"))
    selectors: list[str] = []
    keys: list[Path] = []
    remarks: list[Remark] = []
    profile = None
    for label, value in node_selector.items():
        if not str(label).startswith(labels.PREFIX):
            continue
        key_path = (*path, "nodeSelector", label)
        chosen = None if holds_placeholder(value) else labels.selectors(label, str(value))
        if chosen is None:
            why = (
                f"{label} is kept: it is filled in later"
                if holds_placeholder(value)
                else labels.reason_to_keep(label)
            )
            remarks.append(Remark(document.locate(key_path, key=True), why))
            continue
        if label == "nvidia.com/gpu.product":
            profile = labels.split_product(str(value))[1]
        selectors += chosen
        keys.append(key_path)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    if labels.PREFIX in json.dumps(affinity, default=str):
        place = document.locate((*path, "affinity", "nodeAffinity"), key=True)
        remarks.append(
            Remark(place, "nodeAffinity is kept: GPU Feature Discovery must keep labelling nodes")
        )
    if keys and len(keys) == len(node_selector):
        keys = [(*path, "nodeSelector")]
    return _Labels(tuple(selectors), profile, tuple(keys), tuple(remarks))


def _devices(use: ResourceUse, chosen: _Labels, sharing: Sharing | None) -> StandIn:
    """Return the devices that replace the resource of a use; node labels select among NVIDIA's
    devices. ``sharing`` is given if the plugin hands out each device several times.
    """
    devices = stand_in_for(use.resource)
    assert devices is not None
    if sharing is not None:
        note = REPLICA_NOTE.format(
            resource=sharing.resource, replicas=sharing.replicas, source=sharing.source
        )
        devices = replace(devices, notes=(note,))
    if devices.driver != GPU:
        return devices
    if chosen.profile is not None and devices.device_class == GPU:
        # With the strategy "single", MIG devices have the name nvidia.com/gpu.
        devices = replace(mig_stand_in(chosen.profile), notes=devices.notes)
    return replace(devices, selectors=devices.selectors + chosen.selectors)


def _claims(
    spec: Mapping[str, Any],
    devices: Mapping[ResourceUse, StandIn],
    template_for: Callable[[ClaimShape], Template],
) -> tuple[_Claim, ...]:
    """Return a claim for each use, but a single claim for an init container and the containers
    after it: kubelet passes the devices of the init container on to the others
    (pkg/kubelet/cm/devicemanager).
    """
    names = {text(mapping(claim).get("name")) for claim in items(spec.get("resourceClaims"))}
    claims: list[_Claim] = []
    for use in sorted(devices, key=lambda use: use.starts_before):
        lenders = (
            c
            for c in claims
            if use.starts_before and c.use.resource == use.resource and c.use.count >= use.count
        )
        if lender := next(lenders, None):
            claims.append(replace(lender, use=use))
            continue
        stand_in = devices[use]
        name, number = stand_in.name, 1
        while name in names:
            number += 1
            name = f"{stand_in.name}-{number}"
        names.add(name)
        claims.append(
            _Claim(
                use,
                name,
                template_for(
                    ClaimShape(stand_in.name, stand_in.device_class, use.count, stand_in.selectors)
                ),
            )
        )
    return tuple(claims)


def _container_claims(
    document: Document, pod: Demand, claims: Sequence[_Claim]
) -> Iterator[Prepend]:
    """Yield the insertion of ``resources.claims`` of each container, before its first key.

    If a container has a single request, the comment on the request moves to the claim.
    """
    for container in dict.fromkeys(claim.use.container for claim in claims):
        resources = (*container, "resources")
        keys = [str(key) for key in document.at(resources)]
        names = tuple({"name": claim.name} for claim in claims if claim.use.container == container)
        alone = all((*resources, key) in pod.keys for key in keys)
        place, single = document.locate(resources), len(names) == 1 and "claims" not in keys
        moved = single and document.line(place.line)[place.column - 1 : place.column] != "{"
        removed_comments = (
            comments(document, key) for key in pod.keys if key[: len(resources)] == resources
        )
        comment = " ".join(dict.fromkeys(filter(None, removed_comments))) if moved else ""
        yield Prepend(resources, "claims", names, keys[0], alone=alone, comment=comment)


def _tolerates(spec: Mapping[str, Any], key: str) -> bool:
    tolerations = [mapping(item) for item in items(spec.get("tolerations"))]
    return any(item.get("key") == key or not item.get("key") for item in tolerations)
