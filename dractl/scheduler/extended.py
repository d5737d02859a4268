"""Extended resources that DeviceClasses provide: the claim that the scheduler makes for a pod's
``vendor.com/gpu: 2``.

kubernetes pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from dractl import model
from dractl.allocation import CLAIM_NAME, Features, extended_resources
from dractl.cluster.state import DEFAULT_NAMESPACE, ClusterState
from dractl.model import DeviceClass, ResourceClaim
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim
from dractl.views import Node, Pod


def find_special_claim(state: ClusterState, pod: Pod) -> PodClaim | None:
    """Return the claim that the scheduler has made for a pod's extended resources."""
    if not pod.extended_claim_name:
        return None
    key = (pod.namespace or DEFAULT_NAMESPACE, pod.extended_claim_name)
    return PodClaim("", key, state.get("ResourceClaim", key), state.decode_claim(key))


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """Return the class that names each extended resource in ``extendedResourceName``, even if the
    gate is off.

    If several classes name a resource, the newest one counts; among equally new ones, the first by
    name.
    """
    by_name = sorted(classes, key=lambda c: c.metadata.name, reverse=True)
    by_age = sorted(by_name, key=lambda c: c.metadata.creation_timestamp or "")
    return {
        c.spec.extended_resource_name: c.metadata.name
        for c in by_age
        if c.spec.extended_resource_name
    }


def make_special_claim(
    state: ClusterState, pod: Pod, node: Node, features: Features
) -> PodClaim | None:
    """Return the claim that the scheduler makes for a pod on a node; None if no class provides the
    resources that the node lacks.
    """
    decoded_pod = cast("model.Pod", state.decode(pod.raw))
    decoded_node = cast("model.Node", state.decode(node.raw))
    claim = extended_resources(decoded_pod, decoded_node, state.classes, features).claim
    if claim is None:
        return None
    namespace = decoded_pod.metadata.namespace or DEFAULT_NAMESPACE
    claim = replace(claim, metadata=replace(claim.metadata, namespace=namespace))
    return PodClaim("", (namespace, CLAIM_NAME), _encode(claim), claim)


def _encode(claim: ResourceClaim) -> Raw:
    """Return the special claim in the form in which an API server would store it."""
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
