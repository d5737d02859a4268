"""Sentences about nodes that a filter before DRA refuses: what the pod wants, and what the node has
instead.
"""

from collections.abc import Callable, Iterable

from dractl.explain.reasons.controller_taints import taint_meaning
from dractl.model import DeviceTaint, DeviceToleration, NodeSelector, NodeSelectorRequirement, Taint
from dractl.model.core import Toleration
from dractl.scheduler import rejection
from dractl.scheduler.rejection import NodeLabel, UnmetRequirement


def describe_unmet(wanted: Iterable[UnmetRequirement]) -> str:
    """``cpu: wants 4, free 2 of 8; the node may run 110 pods and runs 110``."""
    found = tuple(wanted)
    taints = [one.taint for one in found if isinstance(one, rejection.UntoleratedTaint)]
    others = (_describe(one) for one in found if not isinstance(one, rejection.UntoleratedTaint))
    return "; ".join(filter(None, (_describe_taints(taints), *others)))


MAX_LABEL_VALUES = 4  # values of a label

# What the node controller says with a taint: k8s.io/api core/v1 well_known_taints.go.
_CONDITIONS = {
    "node.kubernetes.io/not-ready": "the node is not ready",
    "node.kubernetes.io/unreachable": "the node does not answer",
    "node.kubernetes.io/memory-pressure": "the node is short of memory",
    "node.kubernetes.io/disk-pressure": "the node is short of disk space",
    "node.kubernetes.io/pid-pressure": "the node is short of process IDs",
    "node.kubernetes.io/network-unavailable": "the node's network is not set up yet",
    "node.kubernetes.io/out-of-service": "the node is out of service",
}


def _describe_taints(taints: Iterable[Taint]) -> str:
    """Taints of a node that the pod does not tolerate; what the node's own ones stand for comes
    first.
    """
    said: dict[str, list[str]] = {}
    others: list[str] = []
    asides: list[str] = []
    for taint in taints:
        state = _CONDITIONS.get(taint.key or "")
        if state is None:
            others.append(taint_text(taint))
            asides.append(taint_meaning(taint.key or ""))
        else:
            said.setdefault(state, []).append(taint_text(taint))
    parts = [f"{state} (taint {', '.join(texts)})" for state, texts in said.items()]
    if others:
        one = len(others) == 1
        meant = next(filter(None, asides), "")
        parts.append(
            f"{'taint' if one else 'taints'} {', '.join(others)} {'is' if one else 'are'} not"
            f" tolerated{meant}"
        )
    return "; ".join(parts)


def labels_text(labels: Iterable[NodeLabel], one: bool = True) -> str:
    """Labels that the node or nodes have instead of those that the pod wants."""
    values: dict[str, list[str]] = {}
    for label in labels:
        values.setdefault(label.key, []).extend([label.value] if label.value is not None else [])
    having = []
    for key, found in values.items():
        more = f" and {len(found) - MAX_LABEL_VALUES} more" if len(found) > MAX_LABEL_VALUES else ""
        if found:
            having.append(f"{key}={', '.join(found[:MAX_LABEL_VALUES])}{more}")
    who, has = ("the node", "has") if one else ("the nodes", "have")
    if not values:
        return ""
    return f"{who} {has} {' and '.join(having)}" if having else f"{who} {has} no such label"


def taint_text(taint: Taint | DeviceTaint) -> str:
    """``key=value:effect``, or ``key:effect`` without a value."""
    return f"{taint.key}{'=' + taint.value if taint.value else ''}:{taint.effect}"


def toleration_text(toleration: Toleration | DeviceToleration) -> str:
    """``key=value:effect``, or what of it is there."""
    value = f"={toleration.value}" if toleration.value else ""
    return f"{toleration.key}{value}" + (f":{toleration.effect}" if toleration.effect else "")


def selector_text(selector: NodeSelector) -> str:
    """``zone In a,b and gpu Exists or metadata.name In node-1``."""
    return _format_terms(selector, _format_requirement)


def label_selector_text(selector: NodeSelector) -> str:
    """``zone=a and gpu Exists``: the same, shorter where one value is wanted."""
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


def _describe(wanted: UnmetRequirement) -> str:
    match wanted:
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
        case rejection.PodAffinityMismatch(key, friend, wants, stranger):
            labels = f" ({', '.join(f'{k}={v}' for k, v in wants)})" if wants else ""
            if friend is None:
                why = (
                    f"the required pod affinity wants a pod{labels} in the same {key}, and there is"
                    " no such pod"
                )
                return (
                    f"{why} in the namespaces that it names; there is {stranger}"
                    if stranger
                    else why
                )
            why = f"no pod in this {key} matches the required pod affinity{labels}"
            return f"{why}; the first that does is {friend[0]} on {friend[1]}"
        case rejection.AntiAffinityConflict(pod, theirs):
            return (
                f"pod {pod} has anti-affinity against this pod"
                if theirs
                else f"anti-affinity to pod {pod}"
            )
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
            if selector is not None:
                there = (
                    f"the volume for claim {claim} can be used on nodes with"
                    f" {label_selector_text(selector)}"
                )
                return f"{there}, and class {storage_class} provisions none"
            return (
                f"no PersistentVolume for claim {claim}, and class {storage_class} provisions none"
            )
        case rejection.UnsupportedTopology(claim, storage_class):
            return (
                f"class {storage_class} of PersistentVolumeClaim {claim} provisions no volume in"
                " this topology"
            )
        case rejection.VolumeZoneMismatch(volume, key, values):
            return f"volume {volume} is in {key} {', '.join(values)}"
        case rejection.VolumeClaimFault(claim, why):
            return f"PersistentVolumeClaim {claim}" + (f": {why}" if why else "")
