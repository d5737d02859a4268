"""Fix a pod's conditions on node labels: correct or remove a condition, or label the node."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from msgspec import Struct

from dractl.cluster.changes import Patch, pointer
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, correct
from dractl.explain.fixes.edits import Path, drop, put, remove, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.model import NodeSelectorRequirement, NodeSelectorTerm
from dractl.model.nearest import nearest
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod, Workload

_NODE_LABEL_DOMAINS = (
    "kubernetes.io",
    "topology.kubernetes.io",
    "failure-domain.beta.kubernetes.io",
    "beta.kubernetes.io",
)
HOSTNAME_LABEL = "kubernetes.io/hostname"
ARCH_LABEL = "kubernetes.io/arch"
IMAGE_EFFECT = "the image must be built for {}"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_REQUIRED_AFFINITY = (
    "spec",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
)


def fix_node_affinity(
    problem: FixProblem, verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
    """Correct or remove the pod's conditions on node labels, or label the node."""
    labels = verdict.node.labels
    pod = Pod(problem.demanding_pod)
    unmet_labels = {k: value for k, value in pod.node_selector.items() if labels.get(k) != value}
    required = pod.node_affinity
    terms = required.node_selector_terms if required is not None else ()
    affinity_fails = bool(terms) and required is not None and not verdict.node.matches(required)
    failing_terms = terms if affinity_fails else ()
    runtime_class = _runtime_class_that_adds(problem, unmet_labels)
    if problem.pod is not None and not runtime_class:
        yield from _correct_labels(problem, verdict, unmet_labels, failing_terms)
        architecture = str(labels.get(ARCH_LABEL) or "")
        yield from _remove_node_affinity(problem, unmet_labels, affinity_fails, architecture)
    elif problem.pod is not None:
        yield from _remove_runtime_class(problem, unmet_labels)
    missing_labels = {**unmet_labels, **_labels_that_match(failing_terms)}
    # A label with another value on the node describes the node, and nobody would change it.
    if missing_labels and not any(describes_node(k) or k in labels for k in missing_labels):
        yield Candidate(
            f"label {verdict.name} with {format_labels(missing_labels)}",
            (label_node(verdict, missing_labels),),
            FixSlot(Topic.LABEL),
            Preference.ADMIT if runtime_class else Preference.POLICY,
            effect=f"RuntimeClass {runtime_class} wants it"
            if runtime_class
            else "if the label is correct for the node",
        )


def _labels_that_match(terms: Sequence[NodeSelectorTerm]) -> dict[str, str]:
    """Return labels that make the first term true, as far as it is about labels."""
    labels = {}
    for requirement in terms[0].match_expressions if terms else ():
        if requirement.operator in ("In", "Exists"):
            labels[requirement.key] = next(iter(requirement.values), "")
    return labels


def format_labels(labels: Mapping[str, Any]) -> str:
    """Format labels for a title."""
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _runtime_class_that_adds(problem: FixProblem, unmet_labels: Mapping[str, Any]) -> str:
    """Return the pod's RuntimeClass if it may have added the labels to the pod's nodeSelector.

    That is possible if the user's manifest lacks the labels or is not known (kubernetes
    plugin/pkg/admission/runtimeclass); otherwise return "".
    """
    runtime_class = problem.question.pod.runtime_class_name
    if not runtime_class or not unmet_labels:
        return ""
    authored_selector = _find_authored_selector(problem)
    is_authored = any(key in authored_selector for key in unmet_labels)
    return "" if is_authored else runtime_class


def _find_authored_selector(problem: FixProblem) -> Mapping[str, Any]:
    """Return the nodeSelector of the workload, or of the manifest that ``kubectl apply`` kept."""
    workload = problem.workload
    if workload is not None:
        return Workload(workload).template_pod.node_selector
    last_applied = problem.question.view.annotations.get(_LAST_APPLIED)
    try:
        return Pod(json.loads(str(last_applied or "{}"))).node_selector
    except ValueError:
        return {}


def _remove_runtime_class(
    problem: FixProblem, unmet_labels: Mapping[str, Any]
) -> Iterator[Candidate]:
    """Remove the pod's RuntimeClass, together with the nodeSelector that it has added."""
    class_removal = remove(("spec", "runtimeClassName"))
    removal = problem.patch(
        class_removal, *(remove(("spec", "nodeSelector", key)) for key in unmet_labels)
    )
    has_workload = problem.owner is not None
    name = problem.question.pod.runtime_class_name
    yield Candidate(
        f"remove runtimeClassName {name} from the pod",
        (problem.patch(class_removal) if has_workload else removal,),
        FixSlot(Topic.AFFINITY, "runtime class"),
        Preference.RELAX,
        effect=f"it adds nodeSelector {format_labels(unmet_labels)}",
        consequences=(removal,) if has_workload else (),
    )


def _correct_labels(
    problem: FixProblem,
    verdict: NodeVerdict,
    unmet_labels: Mapping[str, Any],
    terms: Sequence[NodeSelectorTerm],
) -> Iterator[Candidate]:
    """Correct keys and values of a nodeSelector or node affinity that no node has."""
    labels = _ClusterLabels.from_cluster(problem, verdict)
    for key, value in unmet_labels.items():
        yield from _correct_selector(problem, labels, key, value)
    for t, term in enumerate(terms):
        for e, requirement in enumerate(term.match_expressions):
            path = (*_REQUIRED_AFFINITY, "nodeSelectorTerms", t, "matchExpressions", e)
            yield from _correct_expression(problem, labels, requirement, path)


class _ClusterLabels(Struct, frozen=True):
    """The labels of one node, and the labels of all nodes."""

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
            label for node in problem.state.nodes.values() for label in node.labels.items()
        )
        return cls(verdict.node.labels, frozenset(key for key, _ in entries), entries)

    def correct_value(self, key: str, value: str) -> str | None:
        """Return the node's value of a label if ``value`` looks like a typing error for it."""
        if key not in self.of_node:
            return None
        node_value = str(self.of_node[key])
        differs = _differs_in_digits(value, node_value) or _differs_in_zone(key, value, node_value)
        return None if differs else nearest(value, [node_value], 0.75)

    def correct_key(self, key: str, values: Sequence[str]) -> str | None:
        """Return the node's label that a key was probably meant to be, if no node has the key."""
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
        yield correct(title, patch, FixSlot(Topic.AFFINITY, key))
    elif correct_key is not None:
        addition = {"op": "add", "path": pointer(*path, correct_key), "value": value}
        patch = problem.patch(remove((*path, key)), addition)
        title = f"change nodeSelector {key} to {correct_key}"
        yield correct(title, patch, FixSlot(Topic.AFFINITY, key))


def _correct_expression(
    problem: FixProblem, labels: _ClusterLabels, requirement: NodeSelectorRequirement, path: Path
) -> Iterator[Candidate]:
    """Correct the key, or the values, of one expression of the node affinity."""
    key, values = requirement.key, requirement.values
    node_value, slot = labels.of_node.get(key), FixSlot(Topic.AFFINITY, key)
    if requirement.operator != "In" or node_value in values:
        return
    correct_key = labels.correct_key(key, values)
    if correct_key is not None:
        patch = problem.patch(replace((*path, "key"), correct_key))
        yield correct(f"change node affinity {key} to {correct_key}", patch, slot)
    misspelt = [
        value
        for value in values
        if (key, value) not in labels.entries and labels.correct_value(key, value) is not None
    ]
    if misspelt:
        corrected = [node_value if value in misspelt else value for value in values]
        patch = problem.patch(replace((*path, "values"), corrected))
        yield correct(f"change node affinity {key}={misspelt[0]} to {node_value}", patch, slot)


def _find_intended_key(key: str, values: Sequence[str], labels: Mapping[str, Any]) -> str | None:
    """Return the label of a node that a key was probably meant to be, if no node has the key.

    The key has a typing error, or has the same name in another domain
    (``failure-domain.beta.kubernetes.io/zone``), or the label is the only one with such a value.
    """
    candidates = [
        label for label, value in labels.items() if value in values and label != HOSTNAME_LABEL
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
    """Return whether two names differ in digits only: ``gpu-1``, ``gpu-2``. That is no mistake."""
    digits = str.maketrans("0123456789", "0000000000")
    return value.translate(digits) == str(other).translate(digits)


def _remove_node_affinity(
    problem: FixProblem, unmet_labels: Mapping[str, Any], affinity_fails: bool, architecture: str
) -> Iterator[Candidate]:
    """Remove the part of nodeSelector and node affinity that the node does not satisfy.

    A label for the architecture is changed instead, since images are built for one architecture.
    """
    selector = problem.question.pod.node_selector
    if list(unmet_labels) == [ARCH_LABEL] and not affinity_fails and architecture:
        yield Candidate(
            f"change nodeSelector {ARCH_LABEL} from {unmet_labels[ARCH_LABEL]} to {architecture}",
            (problem.patch(replace(("spec", "nodeSelector", ARCH_LABEL), architecture)),),
            FixSlot(Topic.AFFINITY),
            Preference.CLUSTER,
            effect=IMAGE_EFFECT.format(architecture),
        )
        return
    is_whole_selector = bool(unmet_labels) and len(unmet_labels) == len(selector)
    path = ("spec", "nodeSelector")
    operations = (
        [remove(path)] if is_whole_selector else [remove((*path, key)) for key in unmet_labels]
    )
    if affinity_fails:
        operations.append(drop(problem.question.value, _REQUIRED_AFFINITY))
    conditions = [f"nodeSelector {format_labels(unmet_labels)}"] * bool(unmet_labels)
    conditions += ["the required node affinity"] * affinity_fails
    if operations:
        yield Candidate(
            f"remove {' and '.join(conditions)} from the pod",
            (problem.patch(*operations),),
            FixSlot(Topic.AFFINITY),
            Preference.RELAX,
        )


def describes_node(key: str) -> bool:
    """Return whether a label is set by the kubelet or the cloud and describes the node: nobody
    changes it.

    The labels are in k8s.io/api core/v1 well_known_labels.go.
    """
    domain, _, name = key.rpartition("/")
    return domain in _NODE_LABEL_DOMAINS or (
        domain.endswith("kubernetes.io") and name in ("os", "arch", "instance-type")
    )


def name_nodes(names: Sequence[str], limit: int) -> str:
    """Return ``a, b +3``: the first names, and the number of the others."""
    more = f" +{len(names) - limit}" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def label_node(verdict: NodeVerdict, labels: Mapping[str, str]) -> Patch:
    """Return a patch that sets labels of a node."""
    operations = (
        put(verdict.node.raw, ("metadata", "labels", key), value) for key, value in labels.items()
    )
    return Patch(f"Node/{verdict.name}", tuple(operations))
