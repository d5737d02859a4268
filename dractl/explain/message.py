"""What kube-scheduler writes about a pod that it cannot place: the message of the condition PodScheduled.

Sources: kubernetes pkg/scheduler/framework/types.go (FitError), plugins/dynamicresources (PostFilter),
framework/preemption.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."


def fit_error(nodes: int, texts: Iterable[str]) -> str:
    """``0/3 nodes are available: 2 cannot allocate all claims, 1 Insufficient cpu.`` The scheduler sorts the parts as
    text, counts included."""
    parts = sorted(f"{count} {text}" for text, count in Counter(texts).items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def whole_pod_error(nodes: int, text: str) -> str:
    """A PreFilter refusal, which holds for all nodes and is said once."""
    return f"0/{nodes} nodes are available: {text}."


def with_preemption(first: str, second: str, *, release_1_37: bool, claims: bool) -> str:
    """Adds what PostFilter says. ``claims``: whether DRA had claims to look at (up to 1.36 it says so)."""
    dra = "" if release_1_37 else "still not schedulable, " if claims else "no new claims to deallocate, "
    return f"{first} {dra}preemption: {second}"


def filter_error(text: str) -> str:
    """A fatal error of the allocator on some node ends the whole attempt."""
    return f'running "DynamicResources" filter plugin: {text}'
