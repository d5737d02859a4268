"""Extended resources that DeviceClasses provide: the claim that the scheduler makes for a pod's ``vendor.com/gpu: 2``.

Source: kubernetes pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dractl.allocation import extended_resources
from dractl.cluster.state import at, map_at, maps_at, text_at
from dractl.scheduler.node_filters import quantity
from dractl.scheduler.preenqueue import PodClaim

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.allocation import Features
    from dractl.cluster.state import ClusterState
    from dractl.model import ResourceClaim

    Raw = Mapping[str, Any]

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
SPECIAL_NAME = "<extended-resources>"


def is_extended(resource: str) -> bool:
    """Whether a resource is an extended one: qualified, and not Kubernetes' own (v1helper.IsExtendedResourceName)."""
    domain, slash, _ = resource.partition("/")
    return (
        bool(slash)
        and not resource.startswith("requests.")
        and not (domain == "kubernetes.io" or domain.endswith(".kubernetes.io"))
    ) or resource.startswith(IMPLICIT_PREFIX)


def wanted(pod: Raw) -> dict[str, list[tuple[int, int]]]:
    """Extended resource -> (index of the container, amount) for each container that wants it."""
    found: dict[str, list[tuple[int, int]]] = {}
    spec = map_at(pod, "spec")
    for index, container in enumerate([*maps_at(spec, "initContainers"), *maps_at(spec, "containers")]):
        limits, requests = map_at(container, "resources", "limits"), map_at(container, "resources", "requests")
        for name, value in {**limits, **requests}.items():
            amount = quantity(value).value()
            if is_extended(name) and amount > 0:
                found.setdefault(name, []).append((index, amount))
    return found


def as_written(pod: Raw) -> dict[str, str]:
    """What the pod has where the special claim has a request: ``container-0-request-1`` is ``vendor.com/gpu: 2 of
    container main``. The numbers are those of the container, the init containers first, and of the resource among its
    sorted names."""
    found = {}
    spec = map_at(pod, "spec")
    for number, container in enumerate([*maps_at(spec, "initContainers"), *maps_at(spec, "containers")]):
        amounts = {**map_at(container, "resources", "limits"), **map_at(container, "resources", "requests")}
        for position, resource in enumerate(sorted(amounts)):
            told = f"{resource}: {amounts[resource]} of container {text_at(container, 'name')}"
            found[f"container-{number}-request-{position}"] = told
    return found


def granted(state: ClusterState, pod: Raw) -> PodClaim | None:
    """The claim that the scheduler has made for a pod's extended resources."""
    name = text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    key = (text_at(pod, "metadata", "namespace") or "default", name)
    return PodClaim("", key, state.get("ResourceClaim", key)) if name else None


def classes_by_resource(state: ClusterState) -> dict[str, str]:
    """Extended resource -> the DeviceClass that provides it: the newest, then the first by name."""
    chosen: dict[str, tuple[str, str]] = {}
    for (_, name), value in sorted(state.all("DeviceClass").items()):
        created = text_at(value, "metadata", "creationTimestamp")
        explicit = at(value, "spec", "extendedResourceName")
        if isinstance(explicit, str) and explicit and (explicit not in chosen or created > chosen[explicit][0]):
            chosen[explicit] = (created, name)
        chosen.setdefault(IMPLICIT_PREFIX + name, (created, name))
    return {resource: name for resource, (_, name) in chosen.items()}


def special_claim(state: ClusterState, pod: Raw, node: Raw, features: Features) -> PodClaim | None:
    """The claim that the scheduler makes for ``pod`` on ``node``; None where no class provides what the node lacks."""
    made = extended_resources(state.decode(pod), state.decode(node), state.classes, features).claim
    if made is None:
        return None
    requests = [
        {
            "name": request.name,
            "exactly": {
                "deviceClassName": request.exactly.device_class_name,
                "allocationMode": "ExactCount",
                "count": request.exactly.count,
            },
        }
        for request in made.spec.devices.requests
        if request.exactly is not None
    ]
    namespace = text_at(pod, "metadata", "namespace") or "default"
    value = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": SPECIAL_NAME, "namespace": namespace},
        "spec": {"devices": {"requests": requests}},
    }
    claim = cast("ResourceClaim", state.decode(value))
    return PodClaim("", (namespace, SPECIAL_NAME), value, claim)
