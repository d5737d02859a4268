"""Sentences about nodes that a filter other than DRA's refuses: the pod's demands, and the node's
state.
"""

from collections.abc import Callable, Iterable

from dractl.explain.reasons.controller_taints import taint_meaning
from dractl.model import DeviceToleration, NodeSelector, NodeSelectorRequirement, Taint
from dractl.model.abbreviation import abbreviate
from dractl.model.core import Toleration
from dractl.model.taints import format_taint
from dractl.scheduler import rejection
from dractl.scheduler.rejection import NodeLabel, UnmetRequirement


def describe_unmet(wanted: Iterable[UnmetRequirement]) -> str:
    """Return ``cpu: wants 4, free 2 of 8; the node may run 110 pods and runs 110``."""
    taints: list[Taint] = []
    others: list[str] = []
    for requirement in wanted:
        if isinstance(requirement, rejection.UntoleratedTaint):
            taints.append(requirement.taint)
        else:
            others.append(_describe(requirement))
    return "; ".join(filter(None, (_describe_taints(taints), *others)))


MAX_LABEL_VALUES = 4
"""The number of a label's values that a sentence names."""
_NODE_STATES = {
    "node.kubernetes.io/not-ready": "the node is not ready",
    "node.kubernetes.io/unreachable": "the node does not answer",
    "node.kubernetes.io/memory-pressure": "the node is short of memory",
    "node.kubernetes.io/disk-pressure": "the node is short of disk space",
    "node.kubernetes.io/pid-pressure": "the node is short of process IDs",
    "node.kubernetes.io/network-unavailable": "the node's network is not set up yet",
    "node.kubernetes.io/out-of-service": "the node is out of service",
}
"""The states for which the node controller sets taints (api core/v1 well_known_taints.go)."""


def _describe_taints(taints: Iterable[Taint]) -> str:
    """Describe the taints of a node that the pod does not tolerate; states of the node come
    first.
    """
    taints_by_state: dict[str, list[str]] = {}
    others: list[str] = []
    meanings: list[str] = []
    for taint in taints:
        state = _NODE_STATES.get(taint.key or "")
        if state is None:
            others.append(format_taint(taint))
            meanings.append(taint_meaning(taint.key or ""))
        else:
            taints_by_state.setdefault(state, []).append(format_taint(taint))
    parts = [f"{state} (taint {', '.join(texts)})" for state, texts in taints_by_state.items()]
    if others:
        verb = "is" if len(others) == 1 else "are"
        meaning = next(filter(None, meanings), "")
        noun = "taint" if len(others) == 1 else "taints"
        parts.append(f"{noun} {', '.join(others)} {verb} not tolerated{meaning}")
    return "; ".join(parts)


def labels_text(labels: Iterable[NodeLabel], single: bool = True) -> str:
    """Return the labels that one node, or several, have instead of the labels that the pod
    wants.
    """
    values_by_key: dict[str, list[str]] = {}
    for label in labels:
        values = values_by_key.setdefault(label.key, [])
        if label.value is not None:
            values.append(label.value)
    if not values_by_key:
        return ""
    texts = [f"{key}={abbreviate(v, MAX_LABEL_VALUES)}" for key, v in values_by_key.items() if v]
    lead = "the node has" if single else "the nodes have"
    return f"{lead} {' and '.join(texts)}" if texts else f"{lead} no such label"


def toleration_text(toleration: Toleration | DeviceToleration) -> str:
    """Return ``key=value:effect``, or the parts that the toleration has."""
    value = f"={toleration.value}" if toleration.value else ""
    return f"{toleration.key}{value}" + (f":{toleration.effect}" if toleration.effect else "")


def selector_text(selector: NodeSelector) -> str:
    """Return ``zone In a,b and gpu Exists or metadata.name In node-1``."""
    return _format_terms(selector, _format_requirement)


def label_selector_text(selector: NodeSelector) -> str:
    """Return ``zone=a and gpu Exists``, which is shorter than :func:`selector_text` if a single
    value is wanted.
    """
    return _format_terms(
        selector,
        lambda r: (
            f"{r.key}={r.values[0]}"
            if r.operator == "In" and len(r.values) == 1
            else _format_requirement(r)
        ),
    )


def _format_terms(selector: NodeSelector, text: Callable[[NodeSelectorRequirement], str]) -> str:
    terms = (
        " and ".join(map(text, (*t.match_expressions, *t.match_fields)))
        for t in selector.node_selector_terms
    )
    return " or ".join(filter(None, terms)) or "nothing"


def _format_requirement(requirement: NodeSelectorRequirement) -> str:
    return f"{requirement.key} {requirement.operator} {','.join(requirement.values)}".rstrip()


def _describe(requirement: UnmetRequirement) -> str:
    """Describe a requirement of the pod that the node does not meet."""
    match requirement:
        case rejection.CordonedNode():
            return "the node is cordoned"
        case rejection.NodeNameMismatch(node):
            return f"spec.nodeName is {node}"
        case rejection.NodeListMismatch(nodes):
            return f"node affinity wants the node {', '.join(nodes)}"
        case rejection.UntoleratedTaint(taint):
            return _describe_taints([taint])
        case rejection.LabelMismatch(key, value):
            return f"nodeSelector wants {key}={value}"
        case rejection.NodeAffinityMismatch(selector):
            return f"node affinity wants {selector_text(selector)}"
        case rejection.HostPortConflict(port, protocol, pod):
            return f"host port {port}/{protocol} is taken by pod {pod}"
        case rejection.TooManyPods(allowed, running):
            return f"the node may run {allowed} pods and runs {running}"
        case rejection.InsufficientResource(resource, want, free, total):
            return f"{resource}: wants {want}, free {free} of {total}"
        case rejection.MissingTopologyLabel(key):
            return f"the node has no label {key}"
        case rejection.SkewExceeded(key, domain, here, least, max_skew, emptiest):
            pods = f"{here} matching pod{'' if here == 1 else 's'}"
            return (
                f"{key}={domain} has {pods}, {emptiest or 'another'} has {least}; maxSkew is"
                f" {max_skew}"
            )
        case rejection.TooFewDomains(key, domain, here, domains, least):
            return (
                f"{key}={domain} has {here} matching pods; minDomains is {least}, there are"
                f" {domains}"
            )
        case rejection.PodAffinityMismatch(key, match, wants, other):
            labels = f" ({', '.join(f'{k}={v}' for k, v in wants)})" if wants else ""
            if match is None:
                why = (
                    f"the required pod affinity wants a pod{labels} in the same {key}, and there is"
                    " no such pod"
                )
                if not other:
                    return why
                return f"{why} in the namespaces that it names; there is {other}"
            why = f"no pod in this {key} matches the required pod affinity{labels}"
            return f"{why}; the first that does is {match[0]} on {match[1]}"
        case rejection.AntiAffinityConflict(pod, theirs):
            if theirs:
                return f"pod {pod} has anti-affinity against this pod"
            return f"anti-affinity to pod {pod}"
        case _:
            return _describe_volume(requirement)


def _describe_volume(requirement: UnmetRequirement) -> str:
    """Describe a requirement about a volume; "" for any other."""
    match requirement:
        case rejection.VolumeClaimConflict(claim, pod):
            return f"PersistentVolumeClaim {claim} is taken by pod {pod}"
        case rejection.MissingVolume(claim):
            return f"PersistentVolumeClaim {claim} is bound to a volume that does not exist"
        case rejection.VolumeNodeMismatch(claim, selector):
            return (
                f"the volume of PersistentVolumeClaim {claim} can be used on nodes with"
                f" {label_selector_text(selector)}"
            )
        case rejection.ProvisioningElsewhere(claim, node):
            return f"PersistentVolumeClaim {claim} is being provisioned for node {node}"
        case rejection.NoMatchingVolume(claim, storage_class, selector):
            why = f"no PersistentVolume for claim {claim}"
            if selector is not None:
                labels = label_selector_text(selector)
                why = f"the volume for claim {claim} can be used on nodes with {labels}"
            return f"{why}, and class {storage_class} provisions none"
        case rejection.UnsupportedTopology(claim, storage_class):
            return (
                f"class {storage_class} of PersistentVolumeClaim {claim} provisions no volume in"
                " this topology"
            )
        case rejection.VolumeZoneMismatch(volume, key, values):
            return f"volume {volume} is in {key} {', '.join(values)}"
        case rejection.VolumeClaimFault(claim, why):
            return f"PersistentVolumeClaim {claim}" + (f": {why}" if why else "")
        case _:
            return ""
