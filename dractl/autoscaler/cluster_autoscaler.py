"""The limits that Cluster Autoscaler's version and settings put on pods with claims.

For a node group with nodes, Cluster Autoscaler takes the devices of an existing node as the model.
For a group without nodes, it takes the devices that the provider's code and the cloud declare.
"""

from msgspec import Struct

from dractl.autoscaler.search import Verdict
from dractl.facts.cluster_autoscaler import cluster_autoscaler
from dractl.objects.cluster_autoscaler import ClusterAutoscaler

TITLE = "Cluster Autoscaler"
PREEMPTION_ISSUE = "kubernetes/autoscaler#7683"
"""The issue that Cluster Autoscaler's documentation cites when it advises against preemption by
pods with claims. In the autoscaler's simulation, a pod that waits for a preemption is already on
its node, but its claims have no devices.
"""


class ClaimLimit(Struct, frozen=True):
    """Something that keeps Cluster Autoscaler from launching nodes for claims."""

    verdict: Verdict
    """``never`` if the autoscaler launches no node; ``unknown`` if it may still launch one, such as
    for other resources that the pod lacks.
    """
    reason: str
    fix: str
    """An instruction to the user; "" if no remedy is known."""


def find_claim_limit(settings: ClusterAutoscaler) -> ClaimLimit | None:
    """Return the limit that keeps a Cluster Autoscaler from launching nodes for claims; None if no
    such limit is known.
    """
    return _find_flag_limit(settings) or _find_empty_group_limit(settings)


def _find_flag_limit(settings: ClusterAutoscaler) -> ClaimLimit | None:
    """Return the limit that results from the flag for claims."""
    facts = cluster_autoscaler()
    if not settings.version:
        return None
    name, flag = f"{TITLE} {settings.version}", f"--{facts.flag}"
    default = facts.default_in(settings.version)
    if default is None:
        reason = (
            f"{name} does not know claims: it launches a node only if the pod also lacks something"
            " else"
        )
        return ClaimLimit("unknown", reason, f"use {TITLE} {facts.recommended} or later")
    if default.locked:
        if settings.handles_claims is False:
            return ClaimLimit(
                "never", f"{name} refuses to start if {flag} is false", f"remove {flag}"
            )
        return None
    if settings.handles_claims or (settings.handles_claims is None and default.value):
        return None
    origin = "by default" if settings.handles_claims is None else "here"
    reason = (
        f"{name} ignores claims, since {flag} is false {origin}: it launches a node only if the"
        " pod also lacks something else"
    )
    return ClaimLimit(
        "unknown",
        reason,
        f"set {flag}=true, or use {facts.recommended} or later, which always handles claims",
    )


def _find_empty_group_limit(settings: ClusterAutoscaler) -> ClaimLimit | None:
    """Return the limit that the provider sets for node groups without nodes."""
    fault = cluster_autoscaler().find_empty_group_fault(settings.provider, settings.version)
    if fault is None:
        return None
    reason = f"{TITLE} {settings.version} with provider {settings.provider}: {fault.what}"
    return ClaimLimit("unknown", reason, "keep at least one node in the node group")
