"""Extended resources that DeviceClasses provide: the claim that the scheduler makes for a pod's ``vendor.com/gpu: 2``.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from dractl.allocation import CLAIM_NAME, Features, extended_resources
from dractl.cluster.state import ClusterState, text_at
from dractl.model import DeviceClass, Node, Pod, ResourceClaim
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim


def granted(state: ClusterState, pod: Raw) -> PodClaim | None:
    """The claim that the scheduler has made for a pod's extended resources."""
    name = text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName")
    key = (text_at(pod, "metadata", "namespace") or "default", name)
    return (
        PodClaim("", key, state.get("ResourceClaim", key), state.decoded_claim(key))
        if name
        else None
    )


def provided(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """By extended resource the class that names it in ``extendedResourceName``, whether or not the gate is on: of
    several the newest, then the first by name."""
    by_name = sorted(classes, key=lambda c: c.metadata.name, reverse=True)
    by_age = sorted(by_name, key=lambda c: c.metadata.creation_timestamp or "")
    return {
        c.spec.extended_resource_name: c.metadata.name
        for c in by_age
        if c.spec.extended_resource_name
    }


def special_claim(state: ClusterState, pod: Pod, node: Raw, features: Features) -> PodClaim | None:
    """The claim that the scheduler makes for a pod on a node; None if no class provides what the node lacks."""
    made = extended_resources(pod, cast("Node", state.decode(node)), state.classes, features).claim
    if made is None:
        return None
    namespace = pod.metadata.namespace or "default"
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
