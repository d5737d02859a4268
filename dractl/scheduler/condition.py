"""The message of the condition PodScheduled, as kube-scheduler writes it for a pod that it cannot place.

Sources: kubernetes pkg/scheduler/framework/types.go (FitError), plugins/dynamicresources (PostFilter),
framework/preemption.
"""

import re
from collections import Counter
from collections.abc import Iterable

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."

# Sentences of the plugins that are modelled here: the node filters and DRA, for all nodes or one. Anything else in a
# condition comes from a plugin that needs other objects: volumes, extenders, custom plugins.
_CHECKED = re.compile(
    r"Insufficient |Too many pods|cannot allocate all claims|invalid resource pools were|timed out trying to allocate"
    r"|node\(s\) (?:were unschedulable|had untolerated taint|didn't match the requested node name"
    r"|didn't match Pod's node affinity|didn't satisfy plugin\(s\) \[NodeAffinity\]|didn't have free ports"
    r"|didn't match pod topology spread|didn't match pod (?:anti-)?affinity|didn't satisfy existing pods anti-affinity)"
    r"|resource ?claim |resourceclaim|request \S+: |claim \S+[:,] |waiting for dynamic resource controller"
)
# What VolumeRestrictions, VolumeBinding and VolumeZone say as far as volumes.py checks it.
_VOLUMES = re.compile(
    r"node\(s\) (?:didn't match PersistentVolume's node affinity|didn't find available persistent volumes to bind"
    r"|unavailable due to one or more pvc|unavailable due to PersistentVolumeClaim|had no available volume zone)"
    r"|pod has unbound immediate PersistentVolumeClaims|persistentvolumeclaim \""
    r"|waiting for ephemeral volume controller"
)
_PARTS = re.compile(r"0/\d+ nodes are available: (?P<said>.*?)\.(?: |$)", re.DOTALL)
_PLUGIN = re.compile(r"plugin \"?(?P<plugin>\w+)\"?[: ]|running \"(?P<other>\w+)\" filter plugin")
_OWN = (
    "DynamicResources",
    "NodeResourcesFit",
    "NodeAffinity",
    "NodePorts",
    "TaintToleration",
    "PodTopologySpread",
)


def fit_error(nodes: int, texts: Iterable[str]) -> str:
    """``0/3 nodes are available: 2 cannot allocate all claims, 1 Insufficient cpu.`` The scheduler sorts the parts as
    text, counts included."""
    parts = sorted(f"{count} {text}" for text, count in Counter(texts).items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def whole_pod_error(nodes: int, text: str) -> str:
    """A PreFilter refusal, which holds for all nodes and appears once."""
    return f"0/{nodes} nodes are available: {text}."


def with_preemption(first: str, second: str, *, release_1_37: bool, claims: bool) -> str:
    """Adds what PostFilter says. ``claims``: whether DRA had claims to look at (up to 1.36 it says so)."""
    dra = (
        ""
        if release_1_37
        else "still not schedulable, "
        if claims
        else "no new claims to deallocate, "
    )
    return f"{first} {dra}preemption: {second}"


def without_state(first: str) -> str:
    """A refusal by PreFilter of a plugin before DRA, whose own PostFilter then finds no state of its PreFilter."""
    return f"{first} not found"


def filter_error(text: str) -> str:
    """A fatal error of the allocator on some node ends the whole attempt."""
    return f'running "DynamicResources" filter plugin: {text}'


def unchecked(
    condition: str, *, volumes: bool = False, amounts: bool = True
) -> list[tuple[int | None, str]]:
    """The parts of a pod's condition that no check here covers: for how many nodes (None: all), and the text.

    ``volumes``: the pod's volumes were checked; ``amounts``: all that it takes of a node's resources was.
    """
    found = _PARTS.match(condition)
    if found is None:
        named = _PLUGIN.search(condition)
        plugin = (named["plugin"] or named["other"]) if named is not None else None
        return [(None, condition)] if plugin is not None and plugin not in _OWN else []
    parts = []
    for part in re.split(r", (?=\d+ )", found["said"]):
        counted = re.match(r"(\d+) (.*)", part, re.DOTALL)
        count, text = (int(counted[1]), counted[2]) if counted is not None else (None, part)
        covered = _CHECKED.match(text) and (amounts or not text.startswith("Insufficient "))
        if not covered and not (volumes and _VOLUMES.match(text)):
            parts.append((count, text))
    return parts


def of_nodes(count: int | None, text: str) -> str:
    """A part of a condition, with the number of nodes that it is about."""
    return text if count is None else f"{text} ({count} node{'s' if count > 1 else ''})"
