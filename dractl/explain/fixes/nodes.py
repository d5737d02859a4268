"""Fixes outside DRA: the node that a filter refuses, and the pod's wishes about nodes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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
from dractl.explain.fixes.edits import Operation, append, drop, put, remove, replace
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
from dractl.model.nearest import nearest
from dractl.objects import Raw
from dractl.scheduler.node_constraints import is_tolerated
from dractl.scheduler.rejection import PodAffinityMismatch, Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Node, Pod
from dractl.views.amounts import init_container_request, pod_requests, quantity

_MAX_TRIALS = 6
_MAX_NAMED_NODES = 3  # nodes
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
    """Changes that make a refused node acceptable; nodes where DRA would fit come first."""
    refused = [(v, v.rejection) for v in problem.case.attempt.nodes if v.rejection is not None]
    refused.sort(key=lambda item: (not item[0].allocates, bool(item[0].unusable_claims)))
    for verdict, rejection in refused[:_MAX_TRIALS]:
        every = (
            problem.scheduler.find_rejections(problem.case.pod, verdict.name)
            if problem.pod is not None
            else ()
        )
        # Uncordoning removes the taint of a cordon, too.
        alone = any(each.plugin == "NodeUnschedulable" for each in every) and all(
            text_at(taint, "key") == _CORDON_TAINT for taint in _blocking_taints(problem, verdict)
        )
        needed = [each for each in every if not (alone and each.plugin == "TaintToleration")]
        found = [_make_candidates(problem, verdict, each) for each in needed or (rejection,)]
        if len(found) == 1:
            yield from found[0]
        elif all(found):
            yield combine(order_parts(min(those, key=lambda c: c.size) for those in found))


def _make_candidates(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> list[Candidate]:
    maker = _MAKERS.get(rejection.plugin)
    return list(maker(problem, verdict, rejection)) if maker is not None else []


def _blocking_taints(problem: FixProblem, verdict: NodeVerdict) -> list[Raw]:
    """The taints of a node that keep the pod away."""
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
    """The other nodes on which DRA would fit, and which the same filter refuses with the same words."""
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
    taints = maps_at(verdict.node.spec, "taints")
    cordoned = bool(at(verdict.node.spec, "unschedulable"))
    bad = [
        t
        for t in _blocking_taints(problem, verdict)
        if not (cordoned and text_at(t, "key") == _CORDON_TAINT)
    ]
    found = [passing(text_at(t, "key")) for t in bad]
    if any(controller is not None and controller.leaving for controller in found):
        return  # the node goes away
    own = [t for t, controller in zip(bad, found, strict=True) if controller is None]
    names = ", ".join(map(format_taint, bad))
    if problem.pod is not None and own and len(own) == len(bad):
        keys = ", ".join(text_at(t, "key") for t in own)
        for index, written in enumerate(maps_at(problem.question.value, "spec", "tolerations")):
            if len(own) == 1 and is_near_miss(
                written, text_at(own[0], "key"), text_at(own[0], "value")
            ):
                change = replace(
                    ("spec", "tolerations", index),
                    correct_toleration(written, toleration_for(own[0])),
                )
                meant = "=".join(filter(None, (text_at(written, "key"), text_at(written, "value"))))
                yield Candidate(
                    f"change the pod's toleration of {meant} to {names}",
                    (problem.patch(change),),
                    FixSlot(Topic.TOLERATION, keys),
                    Preference.CORRECT,
                )
        operations = append(
            problem.question.value, ("spec", "tolerations"), [toleration_for(t) for t in own]
        )
        machine = verdict.node.labels.get(_ARCH_LABEL)
        foreign = machine is not None and any(text_at(t, "key") == _ARCH_LABEL for t in own)
        yield Candidate(
            f"tolerate taint {names}" if foreign else f"add a toleration for {names} to the pod",
            (problem.patch(*operations),),
            FixSlot(Topic.TOLERATION, keys),
            Preference.CLUSTER if foreign else Preference.ADMIT,
            effect=_IMAGE_EFFECT.format(machine) if foreign else "",
        )
        if foreign:
            return  # nobody takes from a node what keeps images for other machines away
    left = [t for t in taints if t not in bad]
    untainted = (_node_patch(verdict, _set_taints(left)),)
    slot = FixSlot(Topic.NODE, f"taint {names}")
    also = _name_similar_nodes(problem, verdict)
    if len(own) < len(bad):  # controllers remove their own taints when the cause is gone
        dead = any(text_at(t, "key") in _NOT_READY_TAINTS for t in bad)
        title = f"wait until {verdict.name} is {'back' if dead else 'ready'}: {names} goes away"
        said = _kubelet_message(verdict.node)
        look = f"see kubectl describe node {verdict.name}, and its kubelet" + (
            f", which says: {said}" if said else ""
        )
        effect = "; ".join(filter(None, (look, also)))
        yield Candidate(title, (), slot, Preference.RESTORE, effect=effect, consequences=untainted)
    else:
        title = f"remove taint {names} from {verdict.name}"
        effect = "; ".join(filter(None, ("for every pod", also)))
        yield Candidate(title, untainted, slot, Preference.POLICY, effect=effect)


def _kubelet_message(node: Node) -> str:
    """The message of the condition that a node is not ready; empty for nodes that are, and from other controllers."""
    ready = node.condition("Ready")
    return ready.message if ready.status == "False" else ""


def _fix_node_affinity(
    problem: FixProblem, verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
    labels = verdict.node.labels
    spec = map_at(problem.question.value, "spec")
    unmet_labels = {k: v for k, v in map_at(spec, "nodeSelector").items() if labels.get(k) != v}
    terms = maps_at(problem.question.value, *_REQUIRED_AFFINITY, "nodeSelectorTerms")
    required = Pod(problem.question.value).node_affinity
    affinity_fails = bool(terms) and required is not None and not verdict.node.matches(required)
    runtime_class = (
        text_at(spec, "runtimeClassName")
        if unmet_labels and _comes_from_runtime_class(problem, unmet_labels)
        else ""
    )
    if problem.pod is not None and not runtime_class:
        yield from _correct_labels(problem, verdict, unmet_labels, terms if affinity_fails else [])
        yield from _remove_node_affinity(
            problem, unmet_labels, affinity_fails, str(labels.get(_ARCH_LABEL) or "")
        )
    elif problem.pod is not None:
        yield from _remove_runtime_class(problem, unmet_labels)
    missing_labels = dict(unmet_labels)
    if affinity_fails and terms:
        for expression in maps_at(terms[0], "matchExpressions"):
            values = list_at(expression, "values")
            if expression.get("operator") in ("In", "Exists"):
                missing_labels[text_at(expression, "key")] = str(values[0]) if values else ""
    # A label that the node has with another value says what the node is: nobody relabels it.
    if missing_labels and not any(_describes_node(k) or k in labels for k in missing_labels):
        yield Candidate(
            f"label {verdict.name} with {', '.join(f'{k}={v}' for k, v in missing_labels.items())}",
            (label_node(verdict, missing_labels),),
            FixSlot(Topic.LABEL),
            Preference.ADMIT if runtime_class else Preference.POLICY,
            effect=f"RuntimeClass {runtime_class} wants it"
            if runtime_class
            else "if the label is correct for the node",
        )


def _comes_from_runtime_class(problem: FixProblem, unmet_labels: Mapping[str, Any]) -> bool:
    """True if the pod's RuntimeClass may have added a nodeSelector (kubernetes plugin/pkg/admission/runtimeclass): what
    the user wrote, where that is known, lacks it."""
    spec = map_at(problem.question.value, "spec")
    if not text_at(spec, "runtimeClassName"):
        return False
    last_applied = text_at(problem.question.value, "metadata", "annotations", _LAST_APPLIED)
    owner = workload_target(problem.pod, problem.question.key[0])
    template = problem.state.get(*parse_target(owner)) if owner is not None else None
    authored_selector = map_at(template, "spec", "template", "spec", "nodeSelector")
    if template is None and last_applied:
        try:
            authored_selector = map_at(json.loads(last_applied), "spec", "nodeSelector")
        except ValueError:
            return True
    return not any(key in authored_selector for key in unmet_labels)


def _remove_runtime_class(
    problem: FixProblem, unmet_labels: Mapping[str, Any]
) -> Iterator[Candidate]:
    """The pod without its RuntimeClass and the nodeSelector that this has added to it."""
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
    problem: FixProblem, verdict: NodeVerdict, wrong: Mapping[str, Any], terms: list[Raw]
) -> Iterator[Candidate]:
    """The value, or the key, that nodes have, where a nodeSelector or a node affinity has a typing error: what no node
    has."""
    labels = verdict.node.labels
    there = {
        entry
        for node in problem.state.objects("Node").values()
        for key, text in map_at(node, "metadata", "labels").items()
        for entry in (key, (key, text))
    }
    for key, value in wrong.items():
        if (key, value) in there:
            continue
        path = ("spec", "nodeSelector")
        right = nearest(str(value), [str(labels[key])], 0.75) if key in labels else None
        other = _find_intended_key(key, [str(value)], labels) if key not in there else None
        if (
            right is not None
            and not _differs_in_digits(str(value), right)
            and not _differs_in_zone(key, str(value), right)
        ):
            changed = problem.patch(replace((*path, key), right))
            yield _label_correction(f"change nodeSelector {key}={value} to {right}", changed, key)
        elif other is not None:
            renamed = problem.patch(
                remove(*path, key), {"op": "add", "path": pointer(*path, other), "value": value}
            )
            yield _label_correction(f"change nodeSelector {key} to {other}", renamed, key)
    for t, term in enumerate(terms):
        for e, expression in enumerate(maps_at(term, "matchExpressions")):
            key, values = (
                text_at(expression, "key"),
                [str(v) for v in list_at(expression, "values")],
            )
            if expression.get("operator") != "In" or labels.get(key) in values:
                continue
            where = (*_REQUIRED_AFFINITY, "nodeSelectorTerms", t, "matchExpressions", e)
            other = _find_intended_key(key, values, labels) if key not in there else None
            if other is not None:
                renamed = problem.patch(replace((*where, "key"), other))
                yield _label_correction(f"change node affinity {key} to {other}", renamed, key)
            if key not in labels:
                continue
            here = str(labels[key])
            typed = [v for v in values if (key, v) not in there and not _differs_in_digits(v, here)]
            typed = [v for v in typed if not _differs_in_zone(key, v, here)]
            near = [v for v in typed if nearest(v, [here], 0.75)]
            if near:
                replaced = replace(
                    (*where, "values"), [labels[key] if v in near else v for v in values]
                )
                yield _label_correction(
                    f"change node affinity {key}={near[0]} to {labels[key]}",
                    problem.patch(replaced),
                    key,
                )


def _find_intended_key(key: str, values: Sequence[str], labels: Mapping[str, Any]) -> str | None:
    """The label of a node that a key stands for which no node has: a typing error, the same name in another domain
    (``failure-domain.beta.kubernetes.io/zone``), or the only label with such a value."""
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
    """True for zones and regions that differ in their last letter: ``us-east-1a`` is not a typing error for
    ``us-east-1c``."""
    differs_at_end = (
        value[:-1].lower() == other[:-1].lower() and value[-1:].lower() != other[-1:].lower()
    )
    return differs_at_end and key.rpartition("/")[2] in ("zone", "region")


def _differs_in_digits(value: str, other: object) -> bool:
    """True if two names differ in digits only: ``gpu-1`` is not a typing error for ``gpu-2``."""
    digits = str.maketrans("0123456789", "0000000000")
    return value.translate(digits) == str(other).translate(digits)


def _label_correction(title: str, patch: Patch, key: str) -> Candidate:
    return Candidate(
        title, (patch,), FixSlot(Topic.AFFINITY, key), Preference.CORRECT, corrects=True
    )


def _remove_node_affinity(
    problem: FixProblem, unmet_labels: Mapping[str, Any], affinity_fails: bool, architecture: str
) -> Iterator[Candidate]:
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
    """True if a label is set by the kubelet or the cloud and describes the node: nobody changes it
    (k8s.io/api core/v1 well_known_labels.go)."""
    domain, _, name = key.rpartition("/")
    return domain in _NODE_LABEL_DOMAINS or (
        domain.endswith("kubernetes.io") and name in ("os", "arch", "instance-type")
    )


def label_node(verdict: NodeVerdict, labels: Mapping[str, str]) -> Patch:
    """A patch that sets labels of a node."""
    return _node_patch(
        verdict, *(put(verdict.node.raw, ("metadata", "labels", k), v) for k, v in labels.items())
    )


def _free_host_ports(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
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
    """The containers without huge pages, which no pod needs to run and the node has not set aside."""
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
    """The largest request of a container cut to what is free on the node."""
    resource = rejection.resource or ""
    if problem.pod is None or rejection.free is None or rejection.want is None:
        return
    spec = map_at(problem.question.value, "spec")
    init_container = init_container_request(spec, resource)
    kind = "containers" if init_container is None else "initContainers"
    containers = maps_at(spec, kind)
    amounts = [
        quantity(at(container, "resources", "requests", resource) or 0) for container in containers
    ]
    if not amounts:
        return
    index = max(range(len(amounts)), key=lambda i: amounts[i].milli_value())
    path: tuple[str | int, ...] = ("spec", kind, index, "resources")
    current, pod_amount = amounts[index], at(spec, "resources", "requests", resource)
    if (
        pod_amount is not None
    ):  # what the pod asks for as a whole counts, whatever its containers ask for
        path, current, init_container = ("spec", "resources"), quantity(pod_amount), None
    try:
        remaining = current - (quantity(rejection.want) - quantity(rejection.free))
    except OverflowError:  # amounts too far apart for one number, 1e9999 and 1n
        return
    allocatable = map_at(verdict.node.status, "allocatable").get(resource)
    if resource.startswith("hugepages-") and not quantity(allocatable).sign():
        yield _remove_hugepages(problem, resource)
    if remaining.sign() <= 0:
        return
    fields = ["requests"]
    if at(problem.question.value, *path, "limits", resource) is not None and "/" in resource:
        fields.append("limits")
    operations = tuple(replace((*path, field, resource), str(remaining)) for field in fields)
    is_default = any(
        isinstance(container, AddedByAdmission) and container.what.startswith(f"{resource} ")
        for container in problem.causes
    )
    owner = (
        "the pod's request"
        if init_container is None
        else f"the request of init container {init_container[0]}"
    )
    title = f"lower {owner} for {resource} from {current} to {remaining}"
    yield Candidate(
        f"set the pod's request for {resource} to {remaining}" if is_default else title,
        (problem.patch(*operations),),
        FixSlot(Topic.AMOUNT, resource),
        Preference.LESS,
        effect=f"it names none, and a LimitRange makes that {amounts[index]}" if is_default else "",
    )


def _relax_pod_affinity(
    problem: FixProblem, verdict: NodeVerdict, rejection: Rejection
) -> Iterator[Candidate]:
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
    """A term of the required pod affinity with the namespaces of the pods that have its labels."""
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
    """As many domains as there are, where a constraint wants more."""
    for index, constraint in constraints.items():
        key, wanted = text_at(constraint, "topologyKey"), constraint["minDomains"]
        nodes = problem.state.objects("Node").values()
        domains = {map_at(node, "metadata", "labels").get(key) for node in nodes} - {None}
        for count in range(min(wanted - 1, len(domains)), 0, -1):
            yield Candidate(
                f"lower minDomains of the pod's topologySpreadConstraint over {key} from {wanted} to {count}",
                (problem.patch(replace((*_SPREAD_CONSTRAINTS, index, "minDomains"), count)),),
                FixSlot(Topic.SPREAD),
                Preference.LESS,
                degree=wanted - count,
            )


def _remove_node_name(
    problem: FixProblem, _verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
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
    """The same node by a node selector instead of spec.nodeName, with which the scheduler does not see the pod; or any
    node. Of a pod whose scheduler put it there neither helps."""
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
    """Labels that a slice's node selector wants."""
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
    """A node, where there is none; nothing of a cluster whose objects are not in the input."""
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
