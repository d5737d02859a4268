"""Pods and nodes for the tests of node filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.allocation import Features
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.snapshot import snapshot_of
from tests.explain.cluster import pod, state_of

if TYPE_CHECKING:
    from dractl.scheduler.rejection import Rejection

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
LABELLED = {"labels": {"app": "x"}}


def filters_of(
    subject: dict[str, Any],
    *others: dict[str, Any],
    release: str = "1.37",
    delegated: frozenset[str] = frozenset(),
) -> NodeFilters:
    """Return the filters for a pod in a cluster of it and other objects."""
    snapshot = snapshot_of(state_of(subject, *others))
    features = Features.for_release(release)
    return NodeFilters(snapshot, snapshot.pod(subject), features, delegated=delegated)


def reject(
    subject: dict[str, Any], target: dict[str, Any], *others: dict[str, Any], **more: Any
) -> Rejection | None:
    """Return the first rejection of a node."""
    filters = filters_of(subject, target, *others, **more)
    return filters.first_rejection(filters.snapshot.nodes[target["metadata"]["name"]])


def running(name: str, node_name: str, **more: Any) -> dict[str, Any]:
    """Return a pod that runs on a node."""
    spec = {"nodeName": node_name, **more.pop("spec", {})}
    return pod(name, spec=spec, status={"phase": "Running"}, **more)


def with_node_terms(*terms: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with required node affinity."""
    required = {"nodeSelectorTerms": list(terms)}
    return pod("a", spec={"affinity": {"nodeAffinity": {REQUIRED: required}}})
