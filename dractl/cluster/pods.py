"""Pods of a cluster that are new, that use a claim, or that have stuck containers."""

from collections.abc import Sequence

from dractl.cluster.state import ClusterState, Key
from dractl.model.abbreviation import abbreviate
from dractl.views import Claim, Pod, parse_timestamp

NEW_POD_SECONDS = 10.0
"""The age up to which controllers and the scheduler may not have processed a pod yet."""
MAX_NAMED_PODS = 3
_CONSUMER_KINDS = {"podgroups": "PodGroup"}
IMAGE_REASONS = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull")
"""Reasons why a container waits for its image (kubernetes pkg/kubelet/images/types.go)."""
_STUCK_REASONS = (
    "CrashLoopBackOff",
    *IMAGE_REASONS,
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
)
"""Reasons for which a container waits and will not run soon (kubernetes pkg/kubelet/container)."""


def is_new(state: ClusterState, pod: Pod) -> bool:
    """Return True if a pod was created moments before the cluster was read."""
    created = parse_timestamp(pod.creation_timestamp)
    if state.read_at is None or created is None:
        return False
    return state.read_at - created < NEW_POD_SECONDS


def describe_stuck_container(pod: Pod) -> str:
    """Return why a pod on a node does nothing there, such as ``is in CrashLoopBackOff (57
    restarts)``.

    Return "" if none of its containers is stuck.
    """
    for container in pod.container_statuses:
        if container.state == "waiting" and container.reason in _STUCK_REASONS:
            restarts = f" ({container.restarts} restarts)" if container.restarts else ""
            return f"is in {container.reason}{restarts}"
    return ""


def pods_using_claim(state: ClusterState, claim: Key) -> Sequence[Pod]:
    """Return the pods that refer to a claim, in their spec or through their status."""
    namespace, name = claim
    return [
        pod for key, pod in state.pods.items() if key[0] == namespace and name in pod.claim_names
    ]


def describe_consumers(claim: Claim) -> str:
    """Return the users of a claim, such as ``pod a, b and 2 more, PodGroup ring``.

    The result is empty if the claim is reserved for nothing.
    """
    pods = claim.consumer_pods
    parts = [f"pod {abbreviate(pods, MAX_NAMED_PODS)}"] if pods else []
    parts += [
        f"{_CONSUMER_KINDS.get(consumer.resource, consumer.resource)} {consumer.name}"
        for consumer in claim.consumers
        if consumer.resource != "pods"
    ]
    return ", ".join(parts)
