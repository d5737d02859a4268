"""Fixes outside DRA: nodes that a filter refuses, and what the pod wants of nodes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from dractl.cluster.changes import Create, Patch, parse_target, pointer
from dractl.cluster.state import at, list_at, map_at, maps_at, text_at
from dractl.cluster.workloads import workload_target
from dractl.explain.fixes.candidates import (
    Candidate,
    FixProblem,
    FixSlot,
    Topic,
    combine,
    fix_for,
    fix_once_for,
    order_parts,
)
from dractl.explain.fixes.edits import Operation, Path, append, drop, put, remove, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.tolerations import (
    correct_toleration,
    format_taint,
    is_near_miss,
    toleration_for,
)
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.between import AddedByAdmission
from dractl.explain.reasons.nodes import NoNodes
from dractl.explain.reasons.passing_taints import passing
from dractl.explain.reasons.pools import SliceNodeMismatch
from dractl.explain.reasons.scheduling import PlacedByHand
from dractl.model import Quantity
from dractl.model.nearest import nearest
from dractl.objects import Raw
from dractl.scheduler.node_constraints import is_tolerated
from dractl.scheduler.rejection import PodAffinityMismatch, Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Node, Pod
from dractl.views.amounts import init_container_request, pod_requests, quantity

_MAX_TRIALS = 6  # rejected nodes, and pods on one of them, for which fixes are made
_MAX_NAMED_NODES = 3  # in an effect
_NODE_LABEL_DOMAINS = (
    "kubernetes.io",
    "topology.kubernetes.io",
    "failure-domain.beta.kubernetes.io",
    "beta.kubernetes.io",
)
_HOSTNAME_LABEL = "kubernetes.io/hostname"
_ARCH_LABEL = "kubernetes.io/arch"
_IMAGE_EFFECT = "the image must be built for {}"
_CORDON_TAINT = "node.kubernetes.io/unschedulable"
_NOT_READY_TAINTS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_REQUIRED_AFFINITY = (
    "spec",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
)
_SPREAD_CONSTRAINTS = ("spec", "topologySpreadConstraints")


@fix_once_for(Cause)
def open_refused_nodes(problem: FixProblem) -> Iterator[Candidate]:
    """Make nodes accept the pod that a filter refuses; nodes whose devices would do come first."""
    refused = [(v, v.rejection) for v in problem.case.attempt.nodes if v.rejection is not None]
    refused.sort(key=lambda pair: (not pair[0].allocates, bool(pair[0].unusable_claims)))
    for verdict, first_rejection in refused[:_MAX_TRIALS]:
        rejections = _rejections_to_fix(problem, verdict) or [first_rejection]
        choices = [_make_candidates(problem, verdict, each) for each in rejections]
        if len(choices) == 1:
            yield from choices[0]
        elif all(choices):
            smallest = (min(candidates, key=lambda c: c.size) for candidates in choices)
            yield combine(order_parts(smallest))


def _rejections_to_fix(problem: FixProblem, verdict: NodeVerdict) -> list[Rejection]:
    """Return all rejections of a node, of which each needs a fix of its own."""
    if problem.pod is None:
        return []
    rejections = problem.scheduler.find_rejections(problem.case.pod, verdict.name)
    # Uncordoning removes the taint of a cordon, too.
    is_cordoned = any(each.plugin == "NodeUnschedulable" for each in rejections)
    if is_cordoned and all(
        text_at(taint, "key") == _CORDON_TAINT for taint in _list_blocking_taints(problem, verdict)
    ):
        return [each for each in rejections if each.plugin != "TaintToleration"]
    return list(rejections)


def _make_candidates(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> list[Candidate]:
    """Return the candidates of the maker for the filter that rejected the node."""
    maker = _MAKERS.get(rejection.plugin)
    return list(maker(problem, verdict, rejection)) if maker is not None else []


def _list_blocking_taints(problem: FixProblem, verdict: NodeVerdict) -> list[Raw]:
    """Return the taints of a node that keep the pod away."""
    tolerations = Pod(problem.question.value).tolerations
    taints = zip(maps_at(verdict.node.spec, "taints"), verdict.node.taints, strict=True)
    return [
        raw
        for raw, taint in taints
        if taint.effect in ("NoSchedule", "NoExecute") and not is_tolerated(taint, tolerations)
    ]


def _node_patch(verdict: NodeVerdict, *operations: Operation) -> Patch:
    return Patch(f"Node/{verdict.name}", operations)


def _uncordon(problem: FixProblem, verdict: NodeVerdict, _: Rejection) -> Iterator[Candidate]:
    """Uncordon a node, with the taint of its cordon."""
    operations = [remove("spec", "unschedulable")]
    taints = maps_at(verdict.node.spec, "taints")
    remaining = [t for t in taints if text_at(t, "key") != _CORDON_TAINT]
    if len(remaining) < len(taints):
        operations.append(_set_taints(remaining))
    yield Candidate(
        f"uncordon {verdict.name}",
        (_node_patch(verdict, *operations),),
        FixSlot(Topic.NODE, "uncordon"),
        Preference.RESTORE,
        effect="; ".join(
            filter(None, ("if its maintenance is over", _name_similar_nodes(problem, verdict)))
        ),
    )


def _name_similar_nodes(problem: FixProblem, verdict: NodeVerdict) -> str:
    """Name the other nodes whose devices would do and that the same filter rejects in the same
    words.
    """
    similar_nodes = [
        other.name
        for other in problem.case.attempt.nodes
        if other is not verdict
        and other.allocates
        and not other.unusable_claims
        and other.rejection is not None
        and verdict.rejection is not None
        and (other.rejection.plugin, other.rejection.texts)
        == (verdict.rejection.plugin, verdict.rejection.texts)
    ]
    suffix = (
        f" +{len(similar_nodes) - _MAX_NAMED_NODES}"
        if len(similar_nodes) > _MAX_NAMED_NODES
        else ""
    )
    return f"or {', '.join(similar_nodes[:_MAX_NAMED_NODES])}{suffix}" if similar_nodes else ""


def _set_taints(remaining: list[Raw]) -> Operation:
    return replace(("spec", "taints"), remaining) if remaining else remove("spec", "taints")


def _untaint(problem: FixProblem, verdict: NodeVerdict, _: Rejection) -> Iterator[Candidate]:
    """Tolerate the taints of a node, or remove them: a controller's when their cause is gone."""
    is_cordoned = bool(at(verdict.node.spec, "unschedulable"))
    taints = [
        taint
        for taint in _list_blocking_taints(problem, verdict)
        if not (is_cordoned and text_at(taint, "key") == _CORDON_TAINT)
    ]
    controllers = [passing(text_at(taint, "key")) for taint in taints]
    if any(controller is not None and controller.leaving for controller in controllers):
        return  # the node goes away
    is_lasting = all(controller is None for controller in controllers)
    if problem.pod is not None and taints and is_lasting:
        yield from _tolerate_node_taints(problem, verdict, taints)
        if _is_for_other_architecture(verdict, taints):
            return  # nobody takes from a node what keeps images for other architectures away
    remaining = [taint for taint in maps_at(verdict.node.spec, "taints") if taint not in taints]
    untainted = (_node_patch(verdict, _set_taints(remaining)),)
    if is_lasting:
        yield _remove_taints(problem, verdict, taints, untainted)
    else:
        yield _await_node(problem, verdict, taints, untainted)


def _is_for_other_architecture(verdict: NodeVerdict, taints: Sequence[Raw]) -> bool:
    return verdict.node.labels.get(_ARCH_LABEL) is not None and any(
        text_at(taint, "key") == _ARCH_LABEL for taint in taints
    )


def _tolerate_node_taints(
    problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Raw]
) -> Iterator[Candidate]:
    """Correct the pod's toleration that was meant for the only taint, or tolerate all of them."""
    names = ", ".join(map(format_taint, taints))
    slot = FixSlot(Topic.TOLERATION, ", ".join(text_at(taint, "key") for taint in taints))
    tolerations = maps_at(problem.question.value, "spec", "tolerations")
    for index, toleration in enumerate(tolerations if len(taints) == 1 else ()):
        (taint,) = taints
        key, value = text_at(toleration, "key"), text_at(toleration, "value")
        if is_near_miss(toleration, text_at(taint, "key"), text_at(taint, "value")):
            corrected = correct_toleration(toleration, toleration_for(taint))
            yield Candidate(
                f"change the pod's toleration of {'='.join(filter(None, (key, value)))} to {names}",
                (problem.patch(replace(("spec", "tolerations", index), corrected)),),
                slot,
                Preference.CORRECT,
            )
    operations = append(
        problem.question.value, ("spec", "tolerations"), list(map(toleration_for, taints))
    )
    if _is_for_other_architecture(verdict, taints):
        yield Candidate(
            f"tolerate taint {names}",
            (problem.patch(*operations),),
            slot,
            Preference.CLUSTER,
            effect=_IMAGE_EFFECT.format(verdict.node.labels[_ARCH_LABEL]),
        )
    else:
        yield Candidate(
            f"add a toleration for {names} to the pod",
            (problem.patch(*operations),),
            slot,
            Preference.ADMIT,
        )


def _remove_taints(
    problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Raw], untainted: tuple[Patch, ...]
) -> Candidate:
    names = ", ".join(map(format_taint, taints))
    return Candidate(
        f"remove taint {names} from {verdict.name}",
        untainted,
        FixSlot(Topic.NODE, f"taint {names}"),
        Preference.POLICY,
        effect="; ".join(filter(None, ("for every pod", _name_similar_nodes(problem, verdict)))),
    )


def _await_node(
    problem: FixProblem, verdict: NodeVerdict, taints: Sequence[Raw], untainted: tuple[Patch, ...]
) -> Candidate:
    """Wait for a node whose taints a controller removes when their cause is gone."""
    names = ", ".join(map(format_taint, taints))
    is_dead = any(text_at(taint, "key") in _NOT_READY_TAINTS for taint in taints)
    hint = f"see kubectl describe node {verdict.name}, and its kubelet"
    message = _kubelet_message(verdict.node)
    if message:
        hint += f", which says: {message}"
    return Candidate(
        f"wait until {verdict.name} is {'back' if is_dead else 'ready'}: {names} goes away",
        (),
        FixSlot(Topic.NODE, f"taint {names}"),
        Preference.RESTORE,
        effect="; ".join(filter(None, (hint, _name_similar_nodes(problem, verdict)))),
        consequences=untainted,
    )


def _kubelet_message(node: Node) -> str:
    """Return the message of a node's condition that it is not ready; empty if it is ready, or
    unknown.
    """
    ready = node.condition("Ready")
    return ready.message if ready.status == "False" else ""


def _fix_node_affinity(
    problem: FixProblem, verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
    """Correct or remove what the pod wants of a node's labels, or label the node."""
    labels = verdict.node.labels
    selector = map_at(problem.question.value, "spec", "nodeSelector")
    unmet_labels = {key: value for key, value in selector.items() if labels.get(key) != value}
    terms = maps_at(problem.question.value, *_REQUIRED_AFFINITY, "nodeSelectorTerms")
    required = Pod(problem.question.value).node_affinity
    affinity_fails = bool(terms) and required is not None and not verdict.node.matches(required)
    failing_terms = terms if affinity_fails else []
    runtime_class = _runtime_class_that_adds(problem, unmet_labels)
    if problem.pod is not None and not runtime_class:
        yield from _correct_labels(problem, verdict, unmet_labels, failing_terms)
        architecture = str(labels.get(_ARCH_LABEL) or "")
        yield from _remove_node_affinity(problem, unmet_labels, affinity_fails, architecture)
    elif problem.pod is not None:
        yield from _remove_runtime_class(problem, unmet_labels)
    missing_labels = {**unmet_labels, **_labels_that_match(failing_terms)}
    # A label that the node has with another value says what the node is: nobody relabels it.
    if missing_labels and not any(_describes_node(k) or k in labels for k in missing_labels):
        yield Candidate(
            f"label {verdict.name} with {_format_labels(missing_labels)}",
            (label_node(verdict, missing_labels),),
            FixSlot(Topic.LABEL),
            Preference.ADMIT if runtime_class else Preference.POLICY,
            effect=f"RuntimeClass {runtime_class} wants it"
            if runtime_class
            else "if the label is correct for the node",
        )


def _labels_that_match(terms: Sequence[Raw]) -> dict[str, str]:
    """Return labels for which the first of the terms is true, as far as it wants labels."""
    labels = {}
    for expression in maps_at(terms[0], "matchExpressions") if terms else ():
        values = list_at(expression, "values")
        if expression.get("operator") in ("In", "Exists"):
            labels[text_at(expression, "key")] = str(values[0]) if values else ""
    return labels


def _format_labels(labels: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _runtime_class_that_adds(problem: FixProblem, unmet_labels: Mapping[str, Any]) -> str:
    """Return the pod's RuntimeClass if it may have added the labels to the pod's nodeSelector.

    It did if the manifest that the user wrote lacks them, or is not known (kubernetes
    plugin/pkg/admission/runtimeclass). Empty if it did not.
    """
    runtime_class = text_at(problem.question.value, "spec", "runtimeClassName")
    if not runtime_class or not unmet_labels:
        return ""
    authored_selector = _find_authored_selector(problem)
    is_authored = any(key in authored_selector for key in unmet_labels)
    return "" if is_authored else runtime_class


def _find_authored_selector(problem: FixProblem) -> Mapping[str, Any]:
    """Return the nodeSelector of the workload, or of the manifest that ``kubectl apply`` kept."""
    owner = workload_target(problem.pod, problem.question.key[0])
    workload = problem.state.get(*parse_target(owner)) if owner is not None else None
    if workload is not None:
        return map_at(workload, "spec", "template", "spec", "nodeSelector")
    last_applied = text_at(problem.question.value, "metadata", "annotations", _LAST_APPLIED)
    try:
        return map_at(json.loads(last_applied or "{}"), "spec", "nodeSelector")
    except ValueError:
        return {}


def _remove_runtime_class(
    problem: FixProblem, unmet_labels: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Remove the pod's RuntimeClass, and the nodeSelector that this has added to it."""
    class_removal = remove("spec", "runtimeClassName")
    removal = problem.patch(
        class_removal, *(remove("spec", "nodeSelector", key) for key in unmet_labels)
    )
    has_workload = workload_target(problem.pod, problem.question.key[0]) is not None
    name = text_at(problem.question.value, "spec", "runtimeClassName")
    yield Candidate(
        f"remove runtimeClassName {name} from the pod",
        (problem.patch(class_removal) if has_workload else removal,),
        FixSlot(Topic.AFFINITY, "runtime class"),
        Preference.RELAX,
        effect=f"it adds nodeSelector {', '.join(f'{k}={v}' for k, v in unmet_labels.items())}",
        consequences=(removal,) if has_workload else (),
    )


def _correct_labels(
    problem: FixProblem, verdict: NodeVerdict, unmet_labels: Mapping[str, Any], terms: list[Raw]
) -> Iterator[Candidate]:
    """Correct keys and values of a nodeSelector or node affinity that no node has."""
    labels = _ClusterLabels.from_cluster(problem, verdict)
    for key, value in unmet_labels.items():
        yield from _correct_selector(problem, labels, key, value)
    for t, term in enumerate(terms):
        for e, expression in enumerate(maps_at(term, "matchExpressions")):
            path = (*_REQUIRED_AFFINITY, "nodeSelectorTerms", t, "matchExpressions", e)
            yield from _correct_expression(problem, labels, expression, path)


class _ClusterLabels(Struct, frozen=True):
    """The labels of one node, beside the labels of all nodes."""

    of_node: Mapping[str, Any]
    """The labels of the node that is to accept the pod."""

    keys: frozenset[str]
    """The keys that some node has."""

    entries: frozenset[tuple[str, Any]]
    """The keys and values that some node has."""

    @classmethod
    def from_cluster(cls, problem: FixProblem, verdict: NodeVerdict) -> Self:
        """Collect the labels of a node and of all nodes of the cluster."""
        entries = frozenset(
            label
            for node in problem.state.objects("Node").values()
            for label in map_at(node, "metadata", "labels").items()
        )
        return cls(verdict.node.labels, frozenset(key for key, _ in entries), entries)

    def correct_value(self, key: str, value: str) -> str | None:
        """Return the node's value of a label, if ``value`` is a typing error for it."""
        if key not in self.of_node:
            return None
        node_value = str(self.of_node[key])
        differs = _differs_in_digits(value, node_value) or _differs_in_zone(key, value, node_value)
        return None if differs else nearest(value, [node_value], 0.75)

    def correct_key(self, key: str, values: Sequence[str]) -> str | None:
        """Return the node's label for which a key stands that no node has."""
        return None if key in self.keys else _find_intended_key(key, values, self.of_node)


def _correct_selector(
    problem: FixProblem, labels: _ClusterLabels, key: str, value: Any
) -> Iterator[Candidate]:
    """Correct one label of the nodeSelector that no node has."""
    if (key, value) in labels.entries:
        return
    path = ("spec", "nodeSelector")
    correct_value = labels.correct_value(key, str(value))
    correct_key = labels.correct_key(key, [str(value)])
    if correct_value is not None:
        patch = problem.patch(replace((*path, key), correct_value))
        title = f"change nodeSelector {key}={value} to {correct_value}"
        yield _label_correction(title, patch, key)
    elif correct_key is not None:
        addition = {"op": "add", "path": pointer(*path, correct_key), "value": value}
        patch = problem.patch(remove(*path, key), addition)
        yield _label_correction(f"change nodeSelector {key} to {correct_key}", patch, key)


def _correct_expression(
    problem: FixProblem, labels: _ClusterLabels, expression: Raw, path: Path
) -> Iterator[Candidate]:
    """Correct the key, or the values, of one expression of the node affinity."""
    key = text_at(expression, "key")
    values = [str(value) for value in list_at(expression, "values")]
    node_value = labels.of_node.get(key)
    if expression.get("operator") != "In" or node_value in values:
        return
    correct_key = labels.correct_key(key, values)
    if correct_key is not None:
        patch = problem.patch(replace((*path, "key"), correct_key))
        yield _label_correction(f"change node affinity {key} to {correct_key}", patch, key)
    misspelt = [
        value
        for value in values
        if (key, value) not in labels.entries and labels.correct_value(key, value) is not None
    ]
    if misspelt:
        corrected = [node_value if value in misspelt else value for value in values]
        yield _label_correction(
            f"change node affinity {key}={misspelt[0]} to {node_value}",
            problem.patch(replace((*path, "values"), corrected)),
            key,
        )


def _find_intended_key(key: str, values: Sequence[str], labels: Mapping[str, Any]) -> str | None:
    """Return the label of a node for which a key stands that no node has.

    It is a typing error, the same name in another domain
    (``failure-domain.beta.kubernetes.io/zone``), or the only label with such a value.
    """
    candidates = [
        label for label, value in labels.items() if value in values and label != _HOSTNAME_LABEL
    ]
    similar_key = nearest(key, candidates, 0.8)
    same_name = [
        label for label in candidates if label.rpartition("/")[2] == key.rpartition("/")[2]
    ]
    is_specific = not set(values) & {"", "true", "yes", "1"}
    return similar_key or next(
        iter(same_name), candidates[0] if len(candidates) == 1 and is_specific else None
    )


def _differs_in_zone(key: str, value: str, other: str) -> bool:
    """Return whether zones or regions differ in their last letter.

    ``us-east-1a`` is not a typing error for ``us-east-1c``.
    """
    differs_at_end = (
        value[:-1].lower() == other[:-1].lower() and value[-1:].lower() != other[-1:].lower()
    )
    return differs_at_end and key.rpartition("/")[2] in ("zone", "region")


def _differs_in_digits(value: str, other: object) -> bool:
    """Return whether two names differ in digits only: ``gpu-1`` is not a typing error for
    ``gpu-2``.
    """
    digits = str.maketrans("0123456789", "0000000000")
    return value.translate(digits) == str(other).translate(digits)


def _label_correction(title: str, patch: Patch, key: str) -> Candidate:
    return Candidate(
        title, (patch,), FixSlot(Topic.AFFINITY, key), Preference.CORRECT, corrects=True
    )


def _remove_node_affinity(
    problem: FixProblem, unmet_labels: Mapping[str, Any], affinity_fails: bool, architecture: str
) -> Iterator[Candidate]:
    """Remove the part of nodeSelector and node affinity that the node does not satisfy.

    An architecture is changed instead: images are built for one.
    """
    selector = map_at(problem.question.value, "spec", "nodeSelector")
    if (
        _ARCH_LABEL in unmet_labels
        and not affinity_fails
        and len(unmet_labels) == 1
        and architecture
    ):
        yield Candidate(
            f"change nodeSelector {_ARCH_LABEL} from {unmet_labels[_ARCH_LABEL]} to {architecture}",
            (problem.patch(replace(("spec", "nodeSelector", _ARCH_LABEL), architecture)),),
            FixSlot(Topic.AFFINITY),
            Preference.CLUSTER,
            effect=_IMAGE_EFFECT.format(architecture),
        )
        return
    is_whole_selector = bool(unmet_labels) and len(unmet_labels) == len(selector)
    path = ("spec", "nodeSelector")
    operations = (
        [remove(*path)] if is_whole_selector else [remove(*path, key) for key in unmet_labels]
    )
    if affinity_fails:
        operations.append(drop(problem.question.value, _REQUIRED_AFFINITY))
    description = " and ".join(
        [f"nodeSelector {', '.join(f'{k}={v}' for k, v in unmet_labels.items())}"]
        * bool(unmet_labels)
        + ["the required node affinity"] * affinity_fails
    )
    if operations:
        yield Candidate(
            f"remove {description} from the pod",
            (problem.patch(*operations),),
            FixSlot(Topic.AFFINITY),
            Preference.RELAX,
        )


def _describes_node(key: str) -> bool:
    """Return whether a label is set by the kubelet or the cloud and describes the node: nobody
    changes it.

    The labels are in k8s.io/api core/v1 well_known_labels.go.
    """
    domain, _, name = key.rpartition("/")
    return domain in _NODE_LABEL_DOMAINS or (
        domain.endswith("kubernetes.io") and name in ("os", "arch", "instance-type")
    )


def label_node(verdict: NodeVerdict, labels: Mapping[str, str]) -> Patch:
    """Return a patch that sets labels of a node."""
    return _node_patch(
        verdict, *(put(verdict.node.raw, ("metadata", "labels", k), v) for k, v in labels.items())
    )


def _free_host_ports(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Remove the pod's host ports, or end the pods that use them."""
    operations = [
        drop(problem.question.value, ("spec", "containers", c, "ports", p, "hostPort"))
        for c, container in enumerate(maps_at(problem.question.value, "spec", "containers"))
        for p, port in enumerate(maps_at(container, "ports"))
        if port.get("hostPort")
    ]
    if (
        problem.pod is not None
        and operations
        and not at(problem.question.value, "spec", "hostNetwork")
    ):
        yield Candidate(
            "remove hostPort from the pod's containers",
            (problem.patch(*operations),),
            FixSlot(Topic.PORT),
            Preference.ADAPT,
            effect="reach the pod through a Service",
        )
    yield from _end_pods(problem, verdict, rejection.pods)


def _end_pods(
    problem: FixProblem, verdict: NodeVerdict, pods: tuple[str, ...]
) -> Iterator[Candidate]:
    """End one of the pods that keep the pod from a node."""
    for position, pod in enumerate(pods[:_MAX_TRIALS]):
        ending = problem.owners.plan_ending([pod])
        if ending is not None:
            yield Candidate(
                ending.title,
                ending.changes,
                FixSlot(Topic.ENDING, ending.owner or f"on {verdict.name}"),
                ending.preference if ending.changes else Preference.RESTORE,
                effect=ending.effect,
                degree=position,
                consequences=ending.deletions,
            )


def _free_resource(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Lower the pod's request for a resource, or end the pods on the node that use most of it."""
    neighbours = [
        pod
        for pod in problem.state.objects("Pod").values()
        if text_at(pod, "spec", "nodeName") == verdict.name and pod is not problem.question.value
    ]
    resource = rejection.resource or ""
    if resource != "pods":
        neighbours.sort(
            key=lambda pod: (
                -pod_requests(map_at(pod, "spec")).get(resource, quantity(0)).milli_value()
            )
        )
        neighbours = [pod for pod in neighbours if resource in pod_requests(map_at(pod, "spec"))]
        yield from _lower_request(problem, verdict, rejection)
    yield from _end_pods(problem, verdict, tuple(Pod(pod).full_name for pod in neighbours))


def _remove_hugepages(problem: FixProblem, resource: str) -> Candidate:
    """Remove huge pages from the containers: no pod needs them to run, and the node has none set
    aside.
    """
    operations = tuple(
        drop(problem.question.value, ("spec", "containers", c, "resources", field, resource))
        for c, container in enumerate(maps_at(problem.question.value, "spec", "containers"))
        for field in ("limits", "requests")
        if resource in map_at(container, "resources", field)
    )
    return Candidate(
        f"remove {resource} from the pod's containers",
        (problem.patch(*operations),),
        FixSlot(Topic.AMOUNT, resource),
        Preference.RELAX,
        effect="or set huge pages aside on the node, by the kernel parameter hugepages",
    )


def _lower_request(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Lower the largest request of a container to what is free on the node."""
    resource = rejection.resource or ""
    request = _find_deciding_request(problem, resource)
    if problem.pod is None or rejection.free is None or rejection.want is None or request is None:
        return
    try:
        excess = quantity(rejection.want) - quantity(rejection.free)
        remaining = request.amount - excess
    except OverflowError:  # amounts too far apart for one number, 1e9999 and 1n
        return
    allocatable = map_at(verdict.node.status, "allocatable").get(resource)
    if resource.startswith("hugepages-") and not quantity(allocatable).sign():
        yield _remove_hugepages(problem, resource)
    if remaining.sign() <= 0:
        return
    fields = ["requests"]
    if at(problem.question.value, *request.path, "limits", resource) is not None:
        fields += ["limits"] if "/" in resource else []
    operations = (replace((*request.path, f, resource), str(remaining)) for f in fields)
    is_default = any(
        isinstance(cause, AddedByAdmission) and cause.what.startswith(f"{resource} ")
        for cause in problem.causes
    )
    title = f"lower {request.owner} for {resource} from {request.amount} to {remaining}"
    yield Candidate(
        f"set the pod's request for {resource} to {remaining}" if is_default else title,
        (problem.patch(*operations),),
        FixSlot(Topic.AMOUNT, resource),
        Preference.LESS,
        effect=f"it names none, and a LimitRange makes that {request.container_amount}"
        if is_default
        else "",
    )


class _DecidingRequest(Struct, frozen=True):
    """The request that decides how much of a resource a pod needs."""

    owner: str
    """Whose request it is, in words."""

    path: Path
    """The ``resources`` that contain it."""

    amount: Quantity
    """The amount that it asks for."""

    container_amount: Quantity
    """The largest amount of a container."""


def _find_deciding_request(problem: FixProblem, resource: str) -> _DecidingRequest | None:
    """Return the request of the pod, of an init container, or of its most demanding container.

    The request of the pod as a whole counts, whatever its containers ask for.
    """
    spec = map_at(problem.question.value, "spec")
    init_container = init_container_request(spec, resource)
    kind = "containers" if init_container is None else "initContainers"
    containers = maps_at(spec, kind)
    amounts = [quantity(at(c, "resources", "requests", resource) or 0) for c in containers]
    if not amounts:
        return None
    index = max(range(len(amounts)), key=lambda i: amounts[i].milli_value())
    pod_amount = at(spec, "resources", "requests", resource)
    if pod_amount is not None:
        path: Path = ("spec", "resources")
        return _DecidingRequest("the pod's request", path, quantity(pod_amount), amounts[index])
    owner = "the pod's request"
    if init_container is not None:
        owner = f"the request of init container {init_container[0]}"
    path = ("spec", kind, index, "resources")
    return _DecidingRequest(owner, path, amounts[index], amounts[index])


def _relax_pod_affinity(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
    """Correct or remove the pod's affinity to pods, or end the pods that it keeps away from."""
    affinity = map_at(problem.question.value, "spec", "affinity")
    strangers = {
        unmet.match_in_other_namespace
        for unmet in rejection.unmet
        if isinstance(unmet, PodAffinityMismatch)
    } - {None}
    if problem.pod is not None and strangers:
        yield from _add_namespaces(problem, {str(name).partition("/")[0] for name in strangers})
    for kind in ("podAntiAffinity", "podAffinity"):
        if problem.pod is not None and kind in affinity:
            removal = drop(problem.question.value, ("spec", "affinity", kind))
            yield Candidate(
                f"remove {kind} from the pod",
                (problem.patch(removal),),
                FixSlot(Topic.AFFINITY, "pods"),
                Preference.RELAX,
                effect="or prefer it instead of requiring it",
            )
    yield from _end_pods(problem, verdict, rejection.pods)


def _add_namespaces(problem: FixProblem, namespaces: set[str]) -> Iterator[Candidate]:
    """Add the namespaces of the pods with the labels of a required pod affinity to its terms."""
    path = ("spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    for index, term in enumerate(maps_at(problem.question.value, *path)):
        term_namespaces = [*map(str, list_at(term, "namespaces"))]
        missing = sorted(namespaces - set(term_namespaces))
        operations = append(problem.question.value, (*path, index, "namespaces"), missing)
        yield Candidate(
            f"add namespace {', '.join(missing)} to the pod's podAffinity",
            (problem.patch(*operations),),
            FixSlot(Topic.AFFINITY, "namespaces"),
            Preference.CORRECT,
            effect="without namespaces a term is about pods of its own namespace",
            degree=index,
            corrects=True,
        )


def _relax_spread(problem: FixProblem, _verdict: NodeVerdict, _: Rejection) -> Iterator[Candidate]:
    """Lower the domains of the pod's topologySpreadConstraints, or make these a preference."""
    constraints = maps_at(problem.question.value, *_SPREAD_CONSTRAINTS)
    hard_indices = [
        i
        for i, constraint in enumerate(constraints)
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
    ]
    min_domains_indices = [
        i for i in hard_indices if isinstance(constraints[i].get("minDomains"), int)
    ]
    if problem.pod is not None:
        yield from _lower_min_domains(problem, {i: constraints[i] for i in min_domains_indices})
    if problem.pod is not None and hard_indices:
        changes = (
            *(
                replace((*_SPREAD_CONSTRAINTS, i, "whenUnsatisfiable"), "ScheduleAnyway")
                for i in hard_indices
            ),
            *(
                remove(*_SPREAD_CONSTRAINTS, i, "minDomains") for i in min_domains_indices
            ),  # it goes with DoNotSchedule alone
        )
        yield Candidate(
            "set whenUnsatisfiable of the pod's topologySpreadConstraints to ScheduleAnyway",
            (problem.patch(*changes),),
            FixSlot(Topic.SPREAD),
            Preference.RELAX,
        )


def _lower_min_domains(problem: FixProblem, constraints: Mapping[int, Raw]) -> Iterator[Candidate]:
    """Lower ``minDomains`` to the number of domains that exist."""
    for index, constraint in constraints.items():
        key, wanted = text_at(constraint, "topologyKey"), constraint["minDomains"]
        nodes = problem.state.objects("Node").values()
        domains = {map_at(node, "metadata", "labels").get(key) for node in nodes} - {None}
        for count in range(min(wanted - 1, len(domains)), 0, -1):
            yield Candidate(
                f"lower minDomains of the pod's topologySpreadConstraint over {key} "
                f"from {wanted} to {count}",
                (problem.patch(replace((*_SPREAD_CONSTRAINTS, index, "minDomains"), count)),),
                FixSlot(Topic.SPREAD),
                Preference.LESS,
                degree=wanted - count,
            )


def _remove_node_name(
    problem: FixProblem, _verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
    """Remove ``nodeName``, and let the scheduler choose the node."""
    if problem.pod is not None:
        removal = problem.patch(remove("spec", "nodeName"))
        yield Candidate(
            "remove nodeName from the pod", (removal,), FixSlot(Topic.NODE_NAME), Preference.RELAX
        )


_MAKERS: dict[str, Callable[[FixProblem, NodeVerdict, Rejection], Iterator[Candidate]]] = {
    "NodeUnschedulable": _uncordon,
    "NodeName": _remove_node_name,
    "TaintToleration": _untaint,
    "NodeAffinity": _fix_node_affinity,
    "NodePorts": _free_host_ports,
    "NodeResourcesFit": _free_resource,
    "PodTopologySpread": _relax_spread,
    "InterPodAffinity": _relax_pod_affinity,
    "VolumeRestrictions": lambda problem, verdict, rejection: _end_pods(
        problem, verdict, rejection.pods
    ),
}


@fix_for(PlacedByHand)
def choose_node(problem: FixProblem, cause: PlacedByHand) -> Iterator[Candidate]:
    """Replace spec.nodeName, which bypasses the scheduler, by a node selector, or remove it.

    Neither helps a pod whose own scheduler has chosen its node.
    """
    if cause.scheduler:
        return
    name = cause.nodes[0]
    hostname = text_at(problem.state.get("Node", ("", name)), "metadata", "labels", _HOSTNAME_LABEL)
    removal = remove("spec", "nodeName")
    if hostname:
        selection = put(problem.question.value, ("spec", "nodeSelector", _HOSTNAME_LABEL), hostname)
        yield Candidate(
            f"choose node {name} by nodeSelector {_HOSTNAME_LABEL}={hostname} instead of nodeName",
            (problem.patch(removal, selection),),
            FixSlot(Topic.NODE_NAME),
            Preference.CORRECT,
            effect="the scheduler allocates claims only of pods that it places",
            corrects=True,
        )
    yield Candidate(
        f"remove nodeName {name} from the pod",
        (problem.patch(removal),),
        FixSlot(Topic.NODE_NAME),
        Preference.RELAX,
        effect="the scheduler chooses the node",
    )


@fix_for(SliceNodeMismatch)
def label_for_slices(problem: FixProblem, cause: SliceNodeMismatch) -> Iterator[Candidate]:
    """Label nodes as a slice's node selector wants."""
    if cause.slice is not None:
        value = problem.state.get("ResourceSlice", ("", cause.slice))
        terms = maps_at(value, "spec", "nodeSelector", "nodeSelectorTerms")
        labels = {
            text_at(expression, "key"): str(list_at(expression, "values")[0])
            for expression in (maps_at(terms[0], "matchExpressions") if terms else [])
            if expression.get("operator") == "In" and list_at(expression, "values")
        }
        for verdict in problem.case.attempt.nodes[:_MAX_TRIALS]:
            if labels and verdict.name in cause.nodes and not any(map(_describes_node, labels)):
                yield Candidate(
                    f"label {verdict.name} with {', '.join(f'{k}={v}' for k, v in labels.items())}",
                    (label_node(verdict, labels),),
                    FixSlot(Topic.LABEL, "slice"),
                    Preference.RESTORE,
                    effect="if the device can be reached from there",
                )


@fix_once_for(NoNodes)
def add_node(problem: FixProblem) -> Iterator[Candidate]:
    """Add a node to a cluster that has none, unless its objects are not in the input."""
    if not any(map(problem.state.has, ("ResourceSlice", "DeviceClass", "Namespace"))):
        return
    requests = pod_requests(map_at(problem.question.value, "spec"))
    allocatable = {
        "cpu": "4",
        "memory": "16Gi",
        "pods": "110",
        **{n: str(a) for n, a in requests.items()},
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }
    yield Candidate(
        "add a node", (), FixSlot(Topic.NODE), Preference.CLUSTER, consequences=(Create(node),)
    )
