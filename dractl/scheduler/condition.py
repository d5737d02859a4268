"""The message of the condition PodScheduled, as kube-scheduler writes it for a pod that it cannot
place.

Sources: kubernetes pkg/scheduler/framework/types.go (FitError), plugins/dynamicresources
(PostFilter), framework/preemption.
"""

import re
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER_PREEMPTS = "not eligible due to preemptionPolicy=Never."

_CHECKED_SENTENCES = (
    r"Insufficient |Too many pods|cannot allocate all claims|invalid resource pools were"
    r"|timed out trying to allocate"
    r"|node\(s\) (?:were unschedulable|had untolerated taint|didn't match the requested node name"
    r"|didn't match Pod's node affinity|didn't satisfy plugin\(s\) \[NodeAffinity\]"
    r"|didn't have free ports"
    r"|didn't match pod topology spread|didn't match pod (?:anti-)?affinity"
    r"|didn't satisfy existing pods anti-affinity)"
    r"|resource ?claim |resourceclaim|request \S+: |claim \S+[:,] "
    r"|waiting for dynamic resource controller"
)
"""Sentences of the plugins that are modelled here: the node filters and DRA, for all nodes or one.

Anything else in a condition comes from a plugin that needs other objects: volumes, extenders,
custom plugins. The pattern is compiled for the first condition, since few answers need it.
"""
_VOLUME_SENTENCES = (
    r"node\(s\) (?:didn't match PersistentVolume's node affinity"
    r"|didn't find available persistent volumes to bind"
    r"|unavailable due to one or more pvc|unavailable due to PersistentVolumeClaim"
    r"|had no available volume zone)"
    r"|pod has unbound immediate PersistentVolumeClaims|persistentvolumeclaim \""
    r"|waiting for ephemeral volume controller"
)
"""Sentences of VolumeRestrictions, VolumeBinding and VolumeZone for the cases that volumes.py
checks.
"""
_FIT_ERROR = re.compile(r"0/\d+ nodes are available: (?P<parts>.*?)\.(?: |$)", re.DOTALL)
_PLUGIN = re.compile(r"plugin \"?(?P<plugin>\w+)\"?[: ]|running \"(?P<filter>\w+)\" filter plugin")
_CHECKED_PLUGINS = (
    "DynamicResources",
    "NodeResourcesFit",
    "NodeAffinity",
    "NodePorts",
    "TaintToleration",
    "PodTopologySpread",
)


class ConditionPart(Struct, frozen=True):
    """A part of a pod's condition."""

    text: str
    nodes: int | None = None
    """The number of nodes that it is about; None for all."""

    def __str__(self) -> str:
        if self.nodes is None:
            return self.text
        return f"{self.text} ({self.nodes} node{'s' if self.nodes > 1 else ''})"


def fit_error(nodes: int, texts: Iterable[str]) -> str:
    """Return ``0/3 nodes are available: 2 cannot allocate all claims, 1 Insufficient cpu.``

    The scheduler sorts the parts as text, counts included.
    """
    parts = sorted(f"{count} {text}" for text, count in Counter(texts).items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def whole_pod_error(nodes: int, text: str) -> str:
    """Return a PreFilter refusal, which holds for all nodes and appears once."""
    return f"0/{nodes} nodes are available: {text}."


def filter_error(text: str) -> str:
    """Return a fatal error of the allocator on some node, which ends the whole attempt."""
    return f'running "DynamicResources" filter plugin: {text}'


def add_preemption(message: str, preemption: str, *, release_1_37: bool, claims: bool) -> str:
    """Add the message of PostFilter. ``claims`` is True if DRA has claims to consider, which its
    message mentions up to 1.36.
    """
    dra = "still not schedulable, " if claims else "no new claims to deallocate, "
    return f"{message} {'' if release_1_37 else dra}preemption: {preemption}"


def add_missing_state(message: str) -> str:
    """Add the message that DRA's PostFilter writes after another plugin has refused the pod in
    PreFilter: the state of the DRA plugin is missing.
    """
    return f"{message} not found"


def find_unchecked_parts(
    condition: str, *, volumes: bool = False, amounts: bool = True
) -> list[ConditionPart]:
    """Return the parts of a pod's condition that no check here covers.

    ``volumes`` is True if the pod's volumes were checked; ``amounts`` is True if all its requests
    for resources of the node were checked.
    """
    fit = _FIT_ERROR.match(condition)
    if fit is None:
        match = _PLUGIN.search(condition)
        plugin = (match["plugin"] or match["filter"]) if match is not None else None
        is_unchecked = plugin is not None and plugin not in _CHECKED_PLUGINS
        return [ConditionPart(condition)] if is_unchecked else []
    parts = [_parse_part(text) for text in re.split(r", (?=\d+ )", fit["parts"])]
    return [part for part in parts if not _is_checked(part.text, volumes=volumes, amounts=amounts)]


def _parse_part(text: str) -> ConditionPart:
    match = re.match(r"(\d+) (.*)", text, re.DOTALL)
    return ConditionPart(text) if match is None else ConditionPart(match[2], int(match[1]))


def _is_checked(text: str, *, volumes: bool, amounts: bool) -> bool:
    if volumes and re.match(_VOLUME_SENTENCES, text):
        return True
    is_amount = text.startswith("Insufficient ")
    return re.match(_CHECKED_SENTENCES, text) is not None and (amounts or not is_amount)
