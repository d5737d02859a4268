"""Extended resources that DeviceClasses provide: the claim that the scheduler makes for a pod's ``vendor.com/gpu: 2``.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from dractl.allocation import CLAIM_NAME, extended_resources, is_extended
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.snapshot import container_requests

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dractl.allocation import Features
    from dractl.cluster.state import ClusterState
    from dractl.model import DeviceClass, Node, Pod, ResourceClaim

    Raw = Mapping[str, Any]


def wanted(pod: Raw) -> dict[str, list[tuple[int, int]]]:
    """By extended resource (index of the container, amount) for each container that wants it, init containers first."""
    found: dict[str, list[tuple[int, int]]] = {}
    spec = map_at(pod, "spec")
    for index, container in enumerate([*maps_at(spec, "initContainers"), *maps_at(spec, "containers")]):
        for name, value in container_requests(container).items():
            amount = value.value()
            if is_extended(name) and amount > 0:
                found.setdefault(name, []).append((index, amount))
    return found


def as_written(pod: Raw) -> dict[str, str]:
    """What the pod asks for where the special claim has a request: ``container-0-request-1`` is ``vendor.com/gpu: 2 of
    container main``.

    The numbers are those of the container, init containers first, and of the resource among its sorted names.
    """
    found = {}
    spec = map_at(pod, "spec")
    for number, container in enumerate([*maps_at(spec, "initContainers"), *maps_at(spec, "containers")]):
        amounts = {**map_at(container, "resources", "limits"), **map_at(container, "resources", "requests")}
        for position, resource in enumerate(sorted(amounts)):
            asked = f"{resource}: {amounts[resource]} of container {text_at(container, 'name')}"
            found[f"container-{number}-request-{position}"] = asked
    return found


def granted(state: ClusterState, pod: Raw) -> PodClaim | None:
    """The claim that the scheduler has made for a pod's extended resources."""
    name = text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    key = (text_at(pod, "metadata", "namespace") or "default", name)
    return PodClaim("", key, state.get("ResourceClaim", key), state.claim(key)) if name else None


def provided(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """By extended resource the class that names it in ``extendedResourceName``, whether or not the gate is on: of
    several the newest, then the first by name."""
    by_name = sorted(classes, key=lambda c: c.metadata.name, reverse=True)
    by_age = sorted(by_name, key=lambda c: c.metadata.creation_timestamp or "")
    return {c.spec.extended_resource_name: c.metadata.name for c in by_age if c.spec.extended_resource_name}


def special_claim(state: ClusterState, pod: Raw, node: Raw, features: Features) -> PodClaim | None:
    """The claim that the scheduler makes for a pod on a node; None if no class provides what the node lacks."""
    decoded = cast("Pod", state.decode(pod)), cast("Node", state.decode(node))
    made = extended_resources(*decoded, state.classes, features).claim
    if made is None:
        return None
    namespace = text_at(pod, "metadata", "namespace") or "default"
    claim = replace(made, metadata=replace(made.metadata, namespace=namespace))
    return PodClaim("", (namespace, CLAIM_NAME), _written(claim), claim)


def _written(claim: ResourceClaim) -> Raw:
    """The special claim as an API server would hold it."""
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.device_class_name,
                "allocationMode": "ExactCount",
                "count": request.exactly.count,
            },
        }
        for request in claim.spec.devices.requests
        if request.exactly is not None
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": claim.metadata.name, "namespace": claim.metadata.namespace},
        "spec": {"devices": {"requests": requests}},
    }
