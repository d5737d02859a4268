"""The changes that turn one pod specification: claims in place of device plugins' resources."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    PARTED,
    StandIn,
    is_extended,
    mig,
    parted,
    wanted,
    why_not,
)
from dractl.migration.templates import ClaimShape, Template
from dractl.objects.pods import PodSpec
from dractl.objects.values import items, mapping, text

_TOLERATION = (
    "are nodes tainted {resource}? Then add --tolerate: the admission plugin"
    " ExtendedResourceToleration adds it for extended resources only"
)


_SHARED_LIST = "left as it is: defaultPodOptions has resourceClaims, which a list of this controller would hide"


class Remark(Struct, frozen=True):
    """A remark on a place: something left to be done by hand, or to know."""

    position: Position
    message: str

    def __str__(self) -> str:
        return f"{self.position.file}:{self.position.line}:{self.position.column}: {self.message}"


class PodPlan(Struct, frozen=True):
    """What becomes of a pod specification of ``document``: the changes that turn it, the templates
    that they name, what is to be said about it, and the device plugins' resources that it asks for.
    No changes: there is nothing to turn.
    """

    document: Document
    remarks: tuple[Remark, ...]
    resources: frozenset[str] = frozenset()
    changes: tuple[Alteration, ...] = ()
    templates: tuple[Template, ...] = ()


class ResourceUse(Struct, frozen=True):
    """A container's request for a resource."""

    container: Path
    resource: str
    count: int
    starts_before: bool
    """An init container that ends before the containers start, and whose devices they get."""


class Demand(Struct, frozen=True):
    """What the containers of a pod ask device plugins for, the keys that go with it, and what
    cannot be turned.
    """

    uses: tuple[ResourceUse, ...]
    keys: tuple[Path, ...]
    remarks: tuple[Remark, ...]


class _Labels(Struct, frozen=True):
    """The selectors and the MIG profile that a pod's node labels choose, and the labels that go
    with them.
    """

    selectors: tuple[str, ...] = ()
    profile: str | None = None
    keys: tuple[Path, ...] = ()
    remarks: tuple[Remark, ...] = ()


class _Claim(Struct, frozen=True):
    """A claim of the pod for a container's use, and the template that it is made from."""

    use: ResourceUse
    name: str
    template: Template


def plan(
    pod: PodSpec[Document],
    template_for: Callable[[ClaimShape], Template],
    tolerated: Callable[[str], bool],
    shared: Mapping[str, Sharing] = MappingProxyType({}),
) -> PodPlan:
    """The plan for a pod specification. ``tolerated``: True for a resource if pods are to tolerate the taint that is
    called as it. ``shared``: the resources that are replicas of devices."""
    document, path, spec = pod.subject, pod.path, pod.fields
    demand = asked(pod)
    if not demand.uses:
        return PodPlan(document, demand.remarks)
    home = _home(pod)
    if home is None:
        place = document.locate((*path, "containers"), key=True)
        return PodPlan(document, (*demand.remarks, Remark(place, _SHARED_LIST)))
    chosen = _node_labels(document, path, spec, demand.uses)
    devices = {use: _devices(use, chosen, shared.get(use.resource)) for use in demand.uses}
    claims = _claims(spec, devices, template_for)
    made: dict[str, _Claim] = {}
    for claim in claims:
        made.setdefault(claim.name, claim)
    resources = dict.fromkeys(use.resource for use in demand.uses)
    missing = [key for key in resources if tolerated(key) and not _tolerates(spec, key)]

    remarks = [*demand.remarks, *chosen.remarks]
    for claim in made.values():
        place = document.locate((*claim.use.container, "resources"), key=True)
        remarks += (Remark(place, note) for note in devices[claim.use].notes)
    if any(what.driver == GPU for what in devices.values()) and not (
        tolerated("nvidia.com/gpu") or _tolerates(spec, "nvidia.com/gpu")
    ):
        place = document.locate((*path, "containers"), key=True)
        remarks.append(Remark(place, _TOLERATION.format(resource="nvidia.com/gpu")))

    entries = tuple(
        {"name": name, "resourceClaimTemplateName": claim.template.name}
        for name, claim in made.items()
    )
    tolerations = tuple({"key": key, "operator": "Exists"} for key in missing)
    listed = tuple(_container_claims(document, demand, claims))
    changes: tuple[Alteration, ...] = (
        *([replace(home, key="tolerations", items=tolerations)] if missing else []),
        replace(home, key="resourceClaims", items=entries),
        *listed,
        *_for_ray(document, path, demand.uses, remarks),
        # A key is removed after what names it as the place before which a list is put.
        *(
            Remove(key, any(one.comment and key[: len(one.path)] == one.path for one in listed))
            for key in demand.keys
        ),
        *map(Remove, chosen.keys),
    )
    return PodPlan(
        document,
        tuple(remarks),
        frozenset(resources),
        changes,
        tuple(claim.template for claim in made.values()),
    )


def _home(pod: PodSpec[Document]) -> Prepend | None:
    """Return where lists of the pod are put: into the specification, or into ``pod`` of a controller in a chart's values.
    None where all controllers share a list of claims: one of its own would hide it."""
    if pod.places is None:
        return Prepend(pod.path, "", (), "containers")
    if any("defaultPodOptions" in path for path, _ in pod.claims):
        return None
    options = mapping(pod.fields.get("pod"))
    if options:
        return Prepend((*pod.path, "pod"), "", (), str(next(iter(options))))
    return Prepend(pod.path, "", (), "containers", inside="pod")


def _for_ray(
    document: Document, path: Path, uses: Sequence[ResourceUse], remarks: list[Remark]
) -> Iterator[Put]:
    """Ray counts the GPUs of its container by the limits (ray-project/kuberay
    ray-operator/controllers/ray/common pod.go generateRayStartCommand): without them it has to be
    told.
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


def asked(pod: PodSpec[Document]) -> Demand:
    """What the containers of a pod specification ask device plugins for."""
    document, spec = pod.subject, pod.fields
    uses: list[ResourceUse] = []
    keys: list[Path] = []
    remarks: list[Remark] = []
    for kind in ("initContainers", "containers"):
        for at, item in enumerate(items(spec.get(kind))):
            container = pod.item_path(kind, at)
            counts: dict[str, int] = {}
            written = mapping(mapping(item).get("resources"))
            in_parts = parted(
                {name for part in ("limits", "requests") for name in mapping(written.get(part))}
            )
            for part in ("limits", "requests"):
                amounts = mapping(written.get(part))
                turned: list[Path] = []
                for resource, amount in amounts.items():
                    if not isinstance(resource, str) or not is_extended(resource):
                        continue
                    where = (*container, "resources", part, resource)
                    reason, count = (
                        (in_parts[resource], 0)
                        if resource in in_parts
                        else _count(resource, amount)
                    )
                    if reason:
                        remarks.append(Remark(document.locate(where, key=True), reason))
                    elif count and counts.setdefault(resource, count) == count:
                        turned.append(where)
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
    """Why a request cannot be turned, or the devices that it is for."""
    if holds_placeholder(resource) or holds_placeholder(amount):
        return f"{resource}: {amount} is filled in later; render the manifest first", 0
    if wanted(resource) is None:
        return why_not(resource), 0
    written = str(amount)
    if not (written.isascii() and written.isdecimal() and len(written) < 10):
        return f"{resource}: {amount!r} is not a whole number of devices", 0
    return None, int(written)


def _node_labels(
    document: Document, path: Path, spec: Mapping[str, Any], uses: Sequence[ResourceUse]
) -> _Labels:
    if not any(use.resource.startswith(labels.PREFIX) for use in uses):
        return _Labels()
    wished = mapping(spec.get("nodeSelector"))
    selectors: list[str] = []
    keys: list[Path] = []
    remarks: list[Remark] = []
    profile = None
    for label, value in wished.items():
        if not str(label).startswith(labels.PREFIX):
            continue
        where = (*path, "nodeSelector", label)
        chosen = None if holds_placeholder(value) else labels.selectors(label, str(value))
        if chosen is None:
            why = (
                f"{label} is kept: it is filled in later"
                if holds_placeholder(value)
                else labels.why_kept(label)
            )
            remarks.append(Remark(document.locate(where, key=True), why))
            continue
        if label == "nvidia.com/gpu.product":
            profile = labels.without_suffixes(str(value))[1]
        selectors += chosen
        keys.append(where)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    if labels.PREFIX in json.dumps(affinity, default=str):
        place = document.locate((*path, "affinity", "nodeAffinity"), key=True)
        remarks.append(
            Remark(place, "nodeAffinity is kept: GPU Feature Discovery must keep labelling nodes")
        )
    if keys and len(keys) == len(wished):
        keys = [(*path, "nodeSelector")]
    return _Labels(tuple(selectors), profile, tuple(keys), tuple(remarks))


def _devices(use: ResourceUse, chosen: _Labels, sharing: Sharing | None) -> StandIn:
    """Return the devices that stand for a use; node labels choose among NVIDIA's. ``sharing``: the
    plugin hands them out several times.
    """
    devices = wanted(use.resource)
    assert devices is not None
    if sharing is not None:
        said = PARTED.format(
            resource=sharing.resource, replicas=sharing.replicas, source=sharing.source
        )
        devices = replace(devices, notes=(said,))
    if devices.driver != GPU:
        return devices
    if chosen.profile is not None and devices.device_class == GPU:
        # Strategy "single": MIG devices are called nvidia.com/gpu.
        devices = replace(mig(chosen.profile), notes=devices.notes)
    return replace(devices, selectors=devices.selectors + chosen.selectors)


def _claims(
    spec: Mapping[str, Any],
    devices: Mapping[ResourceUse, StandIn],
    template_for: Callable[[ClaimShape], Template],
) -> tuple[_Claim, ...]:
    """Return a claim for each use, but one for an init container and the containers after it:
    kubelet gives them its devices (pkg/kubelet/cm/devicemanager).
    """
    names = {text(mapping(claim).get("name")) for claim in items(spec.get("resourceClaims"))}
    claims: list[_Claim] = []
    for use in sorted(devices, key=lambda one: one.starts_before):
        lent = (
            c
            for c in claims
            if use.starts_before and c.use.resource == use.resource and c.use.count >= use.count
        )
        if lender := next(lent, None):
            claims.append(replace(lender, use=use))
            continue
        what = devices[use]
        name, number = what.name, 1
        while name in names:
            number += 1
            name = f"{what.name}-{number}"
        names.add(name)
        claims.append(
            _Claim(
                use,
                name,
                template_for(ClaimShape(what.name, what.device_class, use.count, what.selectors)),
            )
        )
    return tuple(claims)


def _container_claims(
    document: Document, pod: Demand, claims: Sequence[_Claim]
) -> Iterator[Prepend]:
    """Yield ``resources.claims`` of each container, before its first key. A comment on the only
    request goes to its claim.
    """
    for container in dict.fromkeys(claim.use.container for claim in claims):
        resources = (*container, "resources")
        keys = [str(key) for key in document.at(resources)]
        names = tuple({"name": claim.name} for claim in claims if claim.use.container == container)
        alone = all((*resources, key) in pod.keys for key in keys)
        place, one = document.locate(resources), len(names) == 1 and "claims" not in keys
        moved = one and document.line(place.line)[place.column - 1 : place.column] != "{"
        gone = (comments(document, key) for key in pod.keys if key[: len(resources)] == resources)
        comment = " ".join(dict.fromkeys(filter(None, gone))) if moved else ""
        yield Prepend(resources, "claims", names, keys[0], alone=alone, comment=comment)


def _tolerates(spec: Mapping[str, Any], key: str) -> bool:
    tolerations = [mapping(item) for item in items(spec.get("tolerations"))]
    return any(item.get("key") == key or not item.get("key") for item in tolerations)
