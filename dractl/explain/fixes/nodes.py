"""Fixes outside DRA: the node that a filter refuses, and the pod's wishes about nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import at, list_at, map_at, maps_at, text_at
from dractl.explain.fixes.candidates import Candidate
from dractl.explain.fixes.edits import append
from dractl.explain.fixes.tolerations import taint_name, with_effect
from dractl.scheduler.node_filters import tolerated
from dractl.scheduler.snapshot import NodeInfo, PodInfo, pod_requests, quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.explain.fixes.candidates import Case
    from dractl.scheduler.node_filters import Rejection
    from dractl.scheduler.verdict import NodeVerdict

    Raw = Mapping[str, Any]

_MOST = 6
_GIVEN = ("kubernetes.io", "topology.kubernetes.io", "failure-domain.beta.kubernetes.io", "beta.kubernetes.io")


def admit(case: Case) -> Iterator[Candidate]:
    """What makes a refused node acceptable, on the nodes where DRA would fit first."""
    refused = [(v, v.rejection) for v in case.judgement.nodes if v.rejection is not None]
    refused.sort(key=lambda item: (not item[0].allocates, bool(item[0].elsewhere)))
    for verdict, rejection in refused[:_MOST]:
        yield from _MAKERS.get(rejection.plugin, _nothing)(case, verdict, rejection)


def _nothing(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del case, verdict, rejection
    yield from ()


def _node_patch(verdict: NodeVerdict, *operations: Mapping[str, Any]) -> Patch:
    return Patch(f"Node/{verdict.name}", operations)


def _pod(case: Case) -> str | None:
    """The pod's own name as a target; None where it is not an object of the source."""
    return "/".join(("Pod", *case.question.key)) if case.state.get("Pod", case.question.key) is not None else None


def _uncordon(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del case, rejection
    operations: list[Mapping[str, Any]] = [{"op": "remove", "path": "/spec/unschedulable"}]
    taints = maps_at(verdict.node, "spec", "taints")
    left = [t for t in taints if text_at(t, "key") != "node.kubernetes.io/unschedulable"]
    if len(left) < len(taints):
        operations.append(
            {"op": "replace", "path": "/spec/taints", "value": left}
            if left
            else {"op": "remove", "path": "/spec/taints"}
        )
    yield Candidate(f"uncordon {verdict.name}", (_node_patch(verdict, *operations),), f"uncordon {verdict.name}")


def _untaint(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del rejection
    tolerations = PodInfo(case.question.value).tolerations
    taints = maps_at(verdict.node, "spec", "taints")
    bad = [
        raw
        for raw, taint in zip(taints, NodeInfo(verdict.node).taints, strict=True)
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations)
    ]
    pod = _pod(case)
    own = [t for t in bad if not text_at(t, "key").startswith("node.kubernetes.io/")]
    if pod is not None and own and len(own) == len(bad):
        operations = append(case.question.value, ("spec", "tolerations"), [with_effect(t) for t in own])
        names = ", ".join(map(taint_name, own))
        keys = ", ".join(text_at(t, "key") for t in own)
        yield Candidate(f"add a toleration for {names} to the pod", (Patch(pod, operations),), f"tolerate {keys}")
    left = [t for t in taints if t not in bad]
    operation = (
        {"op": "replace", "path": "/spec/taints", "value": left} if left else {"op": "remove", "path": "/spec/taints"}
    )
    keys = ", ".join(text_at(t, "key") for t in bad)
    dead = any("unreachable" in text_at(t, "key") or "not-ready" in text_at(t, "key") for t in bad)
    title = f"{verdict.name} comes back ({keys} goes away)" if dead else f"remove the taint {keys} from {verdict.name}"
    yield Candidate(title, (_node_patch(verdict, operation),), f"untaint {verdict.name}")


def _affinity(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del rejection
    labels = map_at(verdict.node, "metadata", "labels")
    pod = _pod(case)
    spec = map_at(case.question.value, "spec")
    wrong = {k: v for k, v in map_at(spec, "nodeSelector").items() if labels.get(k) != v}
    required = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = maps_at(spec, *required, "nodeSelectorTerms")
    wanted = PodInfo(case.question.value).node_affinity
    fails = bool(terms) and wanted is not None and not NodeInfo(verdict.node).matches(wanted)
    operations: list[Mapping[str, Any]] = []
    if pod is not None:
        if wrong:
            left = {k: v for k, v in map_at(spec, "nodeSelector").items() if k not in wrong}
            operations.append(
                {"op": "replace", "path": "/spec/nodeSelector", "value": left}
                if left
                else {"op": "remove", "path": "/spec/nodeSelector"}
            )
        if fails:
            only = set(map_at(spec, "affinity")) == {"nodeAffinity"} and set(
                map_at(spec, "affinity", "nodeAffinity")
            ) == {required[-1]}
            operations.append({"op": "remove", "path": "/spec/affinity" if only else pointer("spec", *required)})
        what = " and ".join(
            ["the nodeSelector " + ", ".join(wrong)] * bool(wrong) + ["the required node affinity"] * fails
        )
        yield Candidate(f"the pod without {what}", (Patch(pod, tuple(operations)),), "affinity")
    added = dict(wrong)
    if fails and terms:
        for e in maps_at(terms[0], "matchExpressions"):
            values = list_at(e, "values")
            if e.get("operator") in ("In", "Exists"):
                added[text_at(e, "key")] = str(values[0]) if values else ""
    if added and not any(map(_given, added)):
        yield Candidate(
            f"label {verdict.name} with {', '.join(f'{k}={v}' for k, v in added.items())}",
            (label(verdict, added),),
            "label node",
        )


def _given(key: str) -> bool:
    """Whether a node's label says what the node is, and is written by its kubelet or cloud: nobody labels it otherwise
    (k8s.io/api core/v1 well_known_labels.go)."""
    domain, _, name = key.rpartition("/")
    return domain in _GIVEN or (domain.endswith("kubernetes.io") and name in ("os", "arch", "instance-type"))


def label(verdict: NodeVerdict, added: Mapping[str, str]) -> Patch:
    """A patch that sets labels of a node."""
    return _node_patch(
        verdict, *({"op": "add", "path": pointer("metadata", "labels", k), "value": v} for k, v in added.items())
    )


def _ports(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    yield from _end_pods(case, verdict, rejection.pods)


def _end_pods(case: Case, verdict: NodeVerdict, pods: tuple[str, ...]) -> Iterator[Candidate]:
    for position, pod in enumerate(pods[:_MOST]):
        ending = case.owners.end([pod])
        if ending is not None:
            family = f"end on {verdict.name}"
            yield Candidate(ending.title, ending.changes, family, order=position, tried=ending.gone)


def _resources(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    others = [
        p
        for p in case.state.all("Pod").values()
        if text_at(p, "spec", "nodeName") == verdict.name and p is not case.question.value
    ]
    resource = rejection.resource or ""
    if resource != "pods":
        others.sort(key=lambda p: -pod_requests(map_at(p, "spec")).get(resource, quantity(0)).milli_value())
        others = [p for p in others if resource in pod_requests(map_at(p, "spec"))]
        yield from _ask_less(case, rejection)
    yield from _end_pods(case, verdict, tuple(PodInfo(p).full_name for p in others))


def _ask_less(case: Case, rejection: Rejection) -> Iterator[Candidate]:
    """The largest request of a container cut to what is free on the node."""
    pod = _pod(case)
    resource = rejection.resource or ""
    if pod is None or rejection.free is None or rejection.want is None:
        return
    containers = maps_at(case.question.value, "spec", "containers")
    amounts = [quantity(at(c, "resources", "requests", resource) or 0) for c in containers]
    if not amounts:
        return
    index = max(range(len(amounts)), key=lambda i: amounts[i].milli_value())
    left = amounts[index] - (quantity(rejection.want) - quantity(rejection.free))
    if left.sign() <= 0:
        return
    operations: list[Mapping[str, Any]] = [
        {
            "op": "replace",
            "path": pointer("spec", "containers", index, "resources", "requests", resource),
            "value": str(left),
        }
    ]
    if at(containers[index], "resources", "limits", resource) is not None and "/" in resource:
        operations.append(
            {
                "op": "replace",
                "path": pointer("spec", "containers", index, "resources", "limits", resource),
                "value": str(left),
            }
        )
    yield Candidate(
        f"the pod asks for {resource} {left} instead of {amounts[index]}",
        (Patch(pod, tuple(operations)),),
        f"less {resource}",
    )


def _pod_affinity(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    pod = _pod(case)
    affinity = map_at(case.question.value, "spec", "affinity")
    for kind in ("podAntiAffinity", "podAffinity"):
        if pod is not None and kind in affinity:
            path = "/spec/affinity" if len(affinity) == 1 else pointer("spec", "affinity", kind)
            yield Candidate(f"the pod without {kind}", (Patch(pod, ({"op": "remove", "path": path},)),), "pod affinity")
    yield from _end_pods(case, verdict, rejection.pods)


def _spread(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del verdict, rejection
    pod = _pod(case)
    if pod is not None:
        change = {"op": "remove", "path": "/spec/topologySpreadConstraints"}
        yield Candidate("the pod without topologySpreadConstraints", (Patch(pod, (change,)),), "spread")


def _named(case: Case, verdict: NodeVerdict, rejection: Rejection) -> Iterator[Candidate]:
    del verdict, rejection
    pod = _pod(case)
    if pod is not None:
        yield Candidate(
            "the pod without nodeName", (Patch(pod, ({"op": "remove", "path": "/spec/nodeName"},)),), "node name"
        )


_MAKERS = {
    "NodeUnschedulable": _uncordon,
    "NodeName": _named,
    "TaintToleration": _untaint,
    "NodeAffinity": _affinity,
    "NodePorts": _ports,
    "NodeResourcesFit": _resources,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _pod_affinity,
}


def reach_slices(case: Case) -> Iterator[Candidate]:
    """Labels that a slice's node selector wants."""
    for reason in case.reasons:
        if reason.code != "slice-node-mismatch" or reason.slice is None:
            continue
        value = case.state.get("ResourceSlice", ("", reason.slice))
        terms = maps_at(value, "spec", "nodeSelector", "nodeSelectorTerms")
        wanted = {
            text_at(e, "key"): str(list_at(e, "values")[0])
            for e in (maps_at(terms[0], "matchExpressions") if terms else [])
            if e.get("operator") == "In" and list_at(e, "values")
        }
        for verdict in case.judgement.nodes[:_MOST]:
            if wanted and verdict.name in reason.nodes and not any(map(_given, wanted)):
                told = ", ".join(f"{k}={v}" for k, v in wanted.items())
                yield Candidate(
                    f"label {verdict.name} with {told}",
                    (label(verdict, wanted),),
                    "label for slice",
                    effect="if the device can be reached from there",
                )


def add_node(case: Case) -> Iterator[Candidate]:
    """A node, where there is none."""
    if case.judgement.nodes or not any(r.code == "node-filter" for r in case.reasons):
        return
    needs = pod_requests(map_at(case.question.value, "spec"))
    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110", **{n: str(a) for n, a in needs.items()}}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }
    from dractl.cluster.changes import Create

    yield Candidate("a node joins", (Create(node),), "node")
