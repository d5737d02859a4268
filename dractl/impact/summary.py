"""Describes in one sentence what a change of taints hits, for other commands than ``impact``."""

from collections.abc import Sequence

from dractl.impact.result import Impact
from dractl.model.abbreviation import abbreviate

_MAX_NAMES = 3
"""The maximum number of pods that are named."""


def count(number: int, noun: str) -> str:
    """Return ``1 pod``, ``2 pods``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(names: Sequence[str]) -> str:
    """Return ``a, b, c and 2 more``."""
    return abbreviate(names, _MAX_NAMES)


def describe_hits(impact: Impact) -> str:
    """Return the pods and the devices that a change of taints hits."""
    change = ", ".join(impact.change)
    evicted = impact.list_pods("evicted")
    if not impact.devices:
        return f"{change} selects no device"
    nodes = {device.node for device in impact.devices if device.node}
    place = f" on {count(len(nodes), 'node')}" if nodes else ""
    devices = f"{count(len(impact.devices), 'device')}{place}"
    if not evicted:
        kept = len(impact.list_pods("kept"))
        users = f", and {count(kept, 'pod')} that use them stay" if kept else ""
        return f"{change} concerns {devices}{users}: no pod is evicted"
    names = join([pod.name for pod in evicted])
    placed = sum(pod.fits is not None for pod in evicted)
    return (
        f"{change} concerns {devices} and evicts {count(len(evicted), 'pod')} ({names}):"
        f" {placed} of them find another place"
    )
