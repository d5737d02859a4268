"""The machines that would serve a claim or pod, found by asking the question in a separate cluster
for each machine.

A described machine has the labels that its hardware or instance type determines. Whether its node
has any other label, such as a zone or a label of a team, is unknown. A selector on such a label is
assumed to match, and the assumption is part of the answer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct, field

from dractl.allocation import Features
from dractl.allocation.nodes import label_matches
from dractl.autoscaler import Judgement, Verdict, judge
from dractl.capacity import StrandedDevices, place_copies
from dractl.capacity.copies import copies_of_object, shares_claims
from dractl.capacity.what_if import list_unknown_resources
from dractl.cluster import ClusterState
from dractl.cluster.state import Key, maps_at
from dractl.errors import InputError
from dractl.explain.answer import Explanation
from dractl.explain.ask import CLAIMS, Question, find_all_waiting, find_subjects
from dractl.explain.explain import Explainer, Options
from dractl.explain.fleet.equality import shape_of
from dractl.explain.inquire import make_inquiry
from dractl.explain.next_copy import explain_next_copy, find_stranded, list_reasons_by_node, may_fit
from dractl.facts.autoscalers import AutoscalerChoice
from dractl.machines import Description
from dractl.model import (
    DeviceClass,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceSlice,
)
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.extended import classes_by_resource
from dractl.simulation import site
from dractl.views import Pod
from dractl.views.selectors import REQUIRED

MAX_SELECTORS_ASSUMED = 8  # selectors of slices that are assumed to match, one after the other


Labels = Mapping[str, str]


class RequiredLabel(Struct, frozen=True):
    """A label that the node must have or must not have."""

    key: str
    value: str | None
    """None for a label that the node must not have."""
    text: str
    """The requirement as a label selector."""
    by: str
    """The part of the question that requires the label."""


class DescribedMachine(Struct, frozen=True):
    """A machine that the cluster does not have."""

    published: ClusterState
    """The objects that drivers would publish on the machine."""
    description: Description
    """The machine's hardware, and the facts about its node."""


class AutoscalerAnswer(Struct, frozen=True):
    """The verdict of a node autoscaler: whether it would launch this machine for the subject."""

    name: str
    version: str
    verdict: Verdict
    reason: str


class MachineJudgement(Struct, frozen=True):
    """An autoscaler's verdict on a described machine."""

    machine: str
    autoscaler: AutoscalerAnswer


class MachineFilling(Struct, frozen=True):
    """A machine filled with copies of a subject, as ``fit`` counts them."""

    copies: int
    stranded: tuple[StrandedDevices, ...] = ()
    """The remaining devices that a further copy could use, but that are not enough for one."""


class MachineAnswer(Struct, frozen=True):
    """The answer for one machine."""

    machine: str
    explanation: Explanation
    needs: tuple[RequiredLabel, ...] = ()
    """Labels that the answer assumes, since it is unknown whether the node has them."""
    set_by: Mapping[str, str] = field(default_factory=dict)
    """The components that set known labels on which the answer relies."""
    unjudged: tuple[str, ...] = ()
    """Requirements that were not evaluated: resources of unknown size, and rules about other pods
    or nodes.
    """
    autoscaler: AutoscalerAnswer | None = None
    """None if no autoscaler was asked."""
    filling: MachineFilling | None = None
    """None if the subject does not fit, if its copies would share a claim, or if it is unknown how
    many fit.
    """

    @property
    def serves(self) -> bool:
        """True if the subject fits, and no autoscaler that was asked refuses the machine."""
        refused = self.autoscaler is not None and self.autoscaler.verdict == "never"
        return self.explanation.fits and not refused

    @property
    def strands_pod(self) -> bool:
        """True if the autoscaler launches the machine, and the pod then stays pending on it."""
        launched = self.autoscaler is not None and self.autoscaler.verdict == "serves"
        return launched and not self.explanation.fits


class ByMachine(Struct, frozen=True):
    """One subject on each machine, in the order in which the machines were given."""

    answers: tuple[MachineAnswer, ...]

    @property
    def fits(self) -> bool:
        """True if some machine serves the subject."""
        return any(answer.serves for answer in self.answers)


class AutoscalerQuestion(Struct, frozen=True):
    """The question whether an autoscaler would launch the machines."""

    choice: AutoscalerChoice
    written: ClusterState
    """The cluster with the selectors that people wrote."""


def compare(
    clusters: Iterable["MachineCluster"],
    questions: Callable[[ClusterState], Sequence[Question]],
    autoscaler: AutoscalerQuestion | None = None,
) -> tuple[ByMachine, ...]:
    """Return a comparison for each question; ``autoscaler`` judges each machine, too."""
    columns = [
        [cluster.explain(question, autoscaler) for question in questions(cluster.state)]
        for cluster in clusters
    ]
    return tuple(ByMachine(answers) for answers in zip(*columns, strict=True))


def make_clusters(
    state: ClusterState,
    machines: Mapping[str, DescribedMachine],
    questions: Callable[[ClusterState], Sequence[Question]],
    features: Features,
    options: Options,
) -> Iterator["MachineCluster"]:
    """Yield for each machine a cluster that has no other machine, and in which the subjects are
    pending.

    The clusters have all objects of ``state`` except volumes, nodes, and slices of single nodes.
    Nodes and their slices come from the machines. A subject that has a node becomes pending.
    """
    shared = {
        key: item
        for key, item in state.objects("ResourceSlice").items()
        if not state.decode(item).spec.node_name
    }
    clusterwide = state.with_kinds(
        {"Node": {}, "ResourceSlice": shared, "PersistentVolume": {}, "PersistentVolumeClaim": {}}
    )
    clusterwide = make_pending(clusterwide, questions(clusterwide))
    # Claims that the clusters share are read once: a merge keeps the values of objects.
    for question in questions(clusterwide):
        if question.kind == "ResourceClaim":
            clusterwide.decode(question.value)
        if question.kind in CLAIMS:
            shape_of(clusterwide, question.kind, question.value)
    for name, machine in machines.items():
        yield MachineCluster(name, machine, machine.published.merge(clusterwide), features, options)


def find_questions(
    state: ClusterState, names: Iterable[str], namespace: str | None, kinds: Mapping[str, str]
) -> list[Question]:
    """Find the named subjects, else the pending ones, else the templates, since a file of claims
    often has nothing else.
    """
    questions = [
        question for name in names for question in find_subjects(state, name, namespace, kinds)
    ] or find_all_waiting(state, namespace)
    if not questions:
        templates = (
            key for key in state.objects("ResourceClaimTemplate") if namespace in (None, key[0])
        )
        questions = [
            question
            for space, name in templates
            for question in find_subjects(state, f"template/{name}", space)
        ]
    if not questions:
        raise InputError(
            "no claim, template or pending pod in the input",
            hint="KIND/NAME asks about an object of the cluster, FILE or -f FILE about those of a"
            " file",
        )
    return questions


def claims_of_question(state: ClusterState, question: Question) -> tuple[PodClaim, ...]:
    """Return the claims that a subject needs, in the order of the pod."""
    inquiry = make_inquiry(state, question)
    if inquiry.claim is not None:
        return (inquiry.claim,)
    return tuple(inquiry.entry.claims) if inquiry.entry is not None else ()


def ask_autoscaler(
    autoscaler: AutoscalerChoice,
    machine: str,
    classes: Iterable[DeviceClass],
    pod_claims: Sequence[PodClaim],
) -> AutoscalerAnswer:
    """Judge a machine as an autoscaler would before it exists."""
    version = autoscaler.version or (autoscaler.tables.newest if autoscaler.tables else "")
    missing = [claim.full_name for claim in pod_claims if claim.claim is None]
    if autoscaler.tables is None:
        judgement = Judgement(
            "unknown", f"dractl does not know which devices {autoscaler.title} expects"
        )
    elif missing:
        judgement = Judgement("unknown", f"claim {', '.join(missing)} is not in the input")
    elif not pod_claims:
        judgement = Judgement("unknown", "the pod has no claims")
    else:
        judgement = judge(
            [claim.claim for claim in pod_claims if claim.claim is not None],
            {item.metadata.name: item for item in classes},
            machine,
            autoscaler.tables,
            autoscaler.version,
        )
    return AutoscalerAnswer(autoscaler.name, version, judgement.verdict, judgement.reason)


def make_pending(state: ClusterState, questions: Sequence[Question]) -> ClusterState:
    """Return the state in which the subjects are pending: pods without a node, claims without
    devices. It is ``state`` itself if all subjects are pending already.

    What the scheduler said about a pod is left out, since it spoke of the nodes of the cluster.
    """
    objects: dict[str, dict[Key, Raw]] = {"Pod": {}, "ResourceClaim": {}}
    for question in questions:
        kind, key = question.kind, question.key
        pod = state.pod(key) if kind == "Pod" else Pod(None)
        if pod.node_name or pod.conditions:
            spec = {name: value for name, value in pod.spec.items() if name != "nodeName"}
            claim_statuses = pod.status.get("resourceClaimStatuses", [])
            status = {"phase": "Pending", "resourceClaimStatuses": claim_statuses}
            objects["Pod"][key] = {**pod.raw, "spec": spec, "status": status}
        names = {key[1]} if kind == "ResourceClaim" else pod.claim_names
        for name in names:
            claim = state.claim((key[0], name))
            if claim.status:
                objects["ResourceClaim"][key[0], name] = {**claim.raw, "status": {}}
    return state.with_objects(objects) if any(objects.values()) else state


class Answer(Protocol):
    """An explanation, or only its verdict; the search for labels needs no more."""

    @property
    def fits(self) -> bool: ...

    @property
    def code(self) -> str: ...

    @property
    def pools(self) -> frozenset[tuple[str, str]]: ...


A = TypeVar("A", bound=Answer)
Ask = Callable[[Explainer, Question], A]


class NodeConditions(Struct, frozen=True):
    """The conditions under which an answer holds: labels of a node, and requirements that were not
    judged.
    """

    needs: tuple[RequiredLabel, ...] = ()
    """Unknown labels that the answer assumes."""
    set_by: Mapping[str, str] = field(default_factory=dict)
    """The components that set known labels on which the answer relies."""
    unjudged: tuple[str, ...] = ()
    """Requirements that were not evaluated."""

    @property
    def exist(self) -> bool:
        """True if the answer has any conditions."""
        return bool(self.needs or self.set_by or self.unjudged)


class MachineCluster:
    """A cluster of one node."""

    def __init__(
        self,
        name: str,
        described: DescribedMachine,
        state: ClusterState,
        features: Features,
        options: Options,
    ) -> None:
        self.name, self.description, self.state = name, described.description, state
        self.features, self.options = features, options
        self.node = next(item.spec.node_name or "" for item in described.published.slices)
        self.explainers: dict[tuple[RequiredLabel, ...], Explainer] = {}
        self.written: ClusterState | None = None
        """The cluster with the selectors that people wrote; None until an autoscaler is asked."""

    def explain(
        self, question: Question, autoscaler: AutoscalerQuestion | None = None
    ) -> MachineAnswer:
        """Explain a subject on this machine; ``autoscaler`` judges it, too."""
        explanation, conditions = self.answer(question, Explainer.explain)
        return MachineAnswer(
            self.name,
            explanation,
            conditions.needs,
            conditions.set_by,
            conditions.unjudged,
            None if autoscaler is None else self.ask_autoscaler(question, autoscaler),
            self.fill(question, conditions.needs) if explanation.fits else None,
        )

    def fill(self, question: Question, needs: tuple[RequiredLabel, ...]) -> MachineFilling | None:
        """Fill the machine with copies of a subject; None if they would share a claim, or if it is
        unknown how many fit.
        """
        state = self._explainer(needs).state
        if question.kind == "Pod":
            if shares_claims(state, question.value):
                return None
            alone, _ = _drop_rules_about_others(question)
            state = state.replace("Pod", question.key, alone.value)
        fit = place_copies(copies_of_object(state, question.kind, question.key), self.features)
        next_copy = explain_next_copy(fit, self.features)
        if may_fit(next_copy):
            return None
        by_node = list_reasons_by_node(next_copy)
        return MachineFilling(fit.fits, find_stranded(fit, self.features, by_node))

    def ask_autoscaler(
        self, question: Question, autoscaler: AutoscalerQuestion
    ) -> AutoscalerAnswer:
        """Judge this machine for a subject as an autoscaler would before it exists."""
        if self.written is None:
            self.written = site.restore_selectors(self.state, autoscaler.written)
        written, value = self.written, question.value
        if question.kind in CLAIMS:
            value = written.get(question.kind, question.key) or value
        claims = claims_of_question(written, Question(question.kind, question.key, value))
        return ask_autoscaler(autoscaler.choice, self.name, written.classes, claims)

    def answer(self, question: Question, ask: Ask[A]) -> tuple[A, NodeConditions]:
        """Answer a question, with labels assumed where they are not known."""
        if not question.pod.main_containers:
            answer, needs = self._answer_with_labels(question, (), ask)
            return answer, NodeConditions(needs)
        question, unjudged = _drop_rules_about_others(question)
        unjudged = (
            *list_unknown_resources(
                question.value, self.description.room, classes_by_resource(self.state.classes)
            ),
            *unjudged,
        )
        answer, needs = self._answer_with_labels(
            question, labels_for_pod(question.pod, self.description.labels), ask
        )
        return answer, NodeConditions(needs, self._label_setters(question.pod), unjudged)

    def _answer_with_labels(
        self, question: Question, needs: tuple[RequiredLabel, ...], ask: Ask[A]
    ) -> tuple[A, tuple[RequiredLabel, ...]]:
        """Answer a question about a node that also has the labels ``needs``.

        If the subject does not fit, also assume the labels that pools of several nodes need.
        """
        answer = ask(self._explainer(needs), question)
        if answer.fits:
            return answer, needs
        alternatives = list(
            labels_for_slices(self.state.slices, add_labels(self.description.labels, needs))
        )[:MAX_SELECTORS_ASSUMED]
        compatible = _compatible_labels(alternatives)
        for labels in [compatible, *alternatives] if len(alternatives) > 1 else alternatives:
            other = ask(self._explainer((*needs, *labels)), question)
            if other.fits:
                used = {f"pool {driver}/{pool}" for driver, pool in other.pools}
                return other, (*needs, *(label for label in labels if label.by in used))
            if labels is compatible or len(alternatives) == 1:
                is_mismatch = answer.code == "slice-node-mismatch"
                answer = other if is_mismatch else answer
        return answer, needs

    def _explainer(self, needs: tuple[RequiredLabel, ...]) -> Explainer:
        """Return the explainer of the cluster whose node also has the labels ``needs``."""
        explainer = self.explainers.get(needs)
        if explainer is None:
            metadata = {"name": self.node, "labels": add_labels(self.description.labels, needs)}
            node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
            if self.description.room:
                node["status"] = {"allocatable": dict(self.description.room)}
            state = self.state.replace("Node", ("", self.node), node)
            explainer = self.explainers[needs] = Explainer(state, self.features, self.options)
        return explainer

    def _label_setters(self, pod: Pod) -> dict[str, str]:
        """Return the components that set known labels for which a pod asks."""
        affinity = pod.node_affinity
        keys = dict.fromkeys(pod.node_selector)
        for term in affinity.node_selector_terms if affinity is not None else ():
            keys |= dict.fromkeys(expression.key for expression in term.match_expressions)
        setters = self.description.setters
        return {
            f"{key}={self.description.labels[key]}": setters[key] for key in keys if key in setters
        }


def _compatible_labels(
    alternatives: Iterable[tuple[RequiredLabel, ...]],
) -> tuple[RequiredLabel, ...]:
    """Return the labels of the alternatives that one node can meet together. If two alternatives
    exclude each other, the earlier one counts.
    """
    values: dict[str, str | None] = {}
    compatible: list[RequiredLabel] = []
    for labels in alternatives:
        if all(values.get(label.key, label.value) == label.value for label in labels):
            values |= {label.key: label.value for label in labels}
            compatible += labels
    return tuple(compatible)


def _drop_rules_about_others(question: Question) -> tuple[Question, tuple[str, ...]]:
    """Return the question without the pod's rules about other nodes and pods, and the names of
    these rules.
    """
    pod = question.pod
    spec, affinity = dict(pod.spec), dict(pod.affinity)
    dropped = [name for name in ("podAffinity", "podAntiAffinity") if affinity.pop(name, None)]
    dropped += [name for name in ("topologySpreadConstraints",) if spec.pop(name, None)]
    terms = maps_at(affinity, "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    if any(term.get("matchFields") for term in terms):
        dropped.append("matchFields of node affinity")
        terms_without_fields = [
            {key: item for key, item in term.items() if key != "matchFields"} for term in terms
        ]
        affinity["nodeAffinity"] = (
            {REQUIRED: {"nodeSelectorTerms": terms_without_fields}}
            if all(any(t.values()) for t in terms_without_fields)
            else {}
        )
    if any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in pod.volumes):
        dropped.append("volumes")
    if not dropped:
        return question, ()
    spec["affinity"] = affinity
    return Question(question.kind, question.key, {**question.value, "spec": spec}), tuple(dropped)


# -- needed labels of a node whose labels are not all known --


def labels_for_pod(pod: Pod, labels: Labels) -> tuple[RequiredLabel, ...]:
    """Return the labels that a pod's node selector and required node affinity need in addition to
    the known labels.

    Nothing is assumed for an affinity that no such node can meet.
    """
    requirements = [
        NodeSelectorRequirement(key, "In", (str(value),))
        for key, value in pod.node_selector.items()
    ]
    required = (
        _choose_labels(
            [requirement for requirement in requirements if requirement.key not in labels],
            "nodeSelector",
        )
        or ()
    )
    affinity = pod.node_affinity
    if affinity is not None:
        required += (
            labels_for_selector(affinity, add_labels(labels, required), "node affinity") or ()
        )
    return required


def labels_for_slices(
    slices: Iterable[ResourceSlice], labels: Labels
) -> dict[tuple[RequiredLabel, ...], None]:
    """Return the labels that node selectors of slices and devices need in addition to the known
    labels, each once.
    """
    alternatives: dict[tuple[RequiredLabel, ...], None] = {}
    for item in slices:
        by = f"pool {item.spec.driver}/{item.spec.pool.name}"
        for selector in (
            item.spec.node_selector,
            *(device.node_selector for device in item.spec.devices),
        ):
            required = labels_for_selector(selector, labels, by) if selector is not None else None
            if required:
                alternatives[required] = None
    return alternatives


def labels_for_selector(
    selector: NodeSelector, labels: Labels, by: str
) -> tuple[RequiredLabel, ...] | None:
    """Return the labels that a node needs for the first term that it can meet.

    Return None if it can meet no term.
    """
    return next(
        (
            n
            for t in selector.node_selector_terms
            if (n := _labels_for_term(t, labels, by)) is not None
        ),
        None,
    )


def _labels_for_term(
    term: NodeSelectorTerm, labels: Labels, by: str
) -> tuple[RequiredLabel, ...] | None:
    if not term.match_expressions:
        return None  # the term matches nothing, or names nodes
    decided = [requirement for requirement in term.match_expressions if requirement.key in labels]
    if not all(label_matches(requirement, labels) for requirement in decided):
        return None
    return _choose_labels(
        [requirement for requirement in term.match_expressions if requirement.key not in labels], by
    )


def _choose_labels(
    requirements: Sequence[NodeSelectorRequirement], by: str
) -> tuple[RequiredLabel, ...] | None:
    """Choose a value for each key that meets all its requirements; None if a key has no such
    value.
    """
    labels = []
    for key in dict.fromkeys(requirement.key for requirement in requirements):
        same_key = [requirement for requirement in requirements if requirement.key == key]
        values = [
            value for value in _candidate_values(same_key) if _satisfies(same_key, key, value)
        ]
        if not values:
            return None
        labels.append(RequiredLabel(key, values[0], ",".join(map(_selector_text, same_key)), by))
    return tuple(labels)


def _candidate_values(requirements: Iterable[NodeSelectorRequirement]) -> tuple[str | None, ...]:
    """Return values to try: the named values, the neighbours of bounds, no value, and a value that
    no requirement names.
    """
    named = [
        value
        for requirement in requirements
        if requirement.operator == "In"
        for value in requirement.values
    ]
    bounds = [
        value
        for requirement in requirements
        if requirement.operator in ("Gt", "Lt")
        for value in requirement.values
    ]
    neighbours = [
        str(int(bound) + step)
        for bound in bounds
        if bound.lstrip("-").isdecimal()
        for step in (1, -1)
    ]
    return (*named, None, *neighbours, "assumed")


def _satisfies(
    requirements: Iterable[NodeSelectorRequirement], key: str, value: str | None
) -> bool:
    labels = {} if value is None else {key: value}
    return all(label_matches(requirement, labels) for requirement in requirements)


def _selector_text(requirement: NodeSelectorRequirement) -> str:
    """Format a requirement as ``kubectl get nodes -l`` takes it: ``team=ml``, ``zone in (a,b)``,
    ``!spot``.
    """
    key, values = requirement.key, ",".join(requirement.values)
    match requirement.operator:
        case "In":
            return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return f"{key}{'>' if requirement.operator == 'Gt' else '<'}{values}"


def add_labels(labels: Labels, required: Iterable[RequiredLabel]) -> dict[str, str]:
    return {**labels, **{label.key: label.value for label in required if label.value is not None}}
