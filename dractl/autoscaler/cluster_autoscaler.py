"""The limits of a Cluster Autoscaler's version and settings for pods with claims.

The devices of its node groups are defined in its provider's code and in the cloud. For a group with
nodes, it uses the devices of a node; for a group without nodes, the devices that the provider
expects.
"""

from msgspec import Struct

from dractl.autoscaler.search import Verdict
from dractl.facts.cluster_autoscaler import cluster_autoscaler
from dractl.objects.cluster_autoscaler import ClusterAutoscaler

TITLE = "Cluster Autoscaler"
PREEMPTION_ISSUE = "kubernetes/autoscaler#7683"
"""The issue on which its documentation bases the advice against pods that have claims and preempt
others. In the simulation of Cluster Autoscaler, a pod that waits for a preemption is already on its
node, and its claims have no devices.
"""


class ClaimLimit(Struct, frozen=True):
    """Something that keeps Cluster Autoscaler from launching nodes for claims."""

    verdict: Verdict
    """``never`` if the autoscaler launches no node, ``unknown`` if it may launch one for another
    reason.
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
    """Return the limit that its provider sets for node groups without nodes."""
    fault = cluster_autoscaler().find_empty_group_fault(settings.provider, settings.version)
    if fault is None:
        return None
    reason = f"{TITLE} {settings.version} with provider {settings.provider}: {fault.what}"
    return ClaimLimit("unknown", reason, "keep at least one node in the node group")
