"""The machines that would serve a claim or a pod: the same question, asked about a cluster of each machine alone.

A described machine has the labels that its hardware or its instance type determines. Whether its node has another one,
such as a zone or a team's own, nobody can say; so a selector on it is assumed to match, and the assumption is part of
the answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from dractl.allocation import Features
from dractl.allocation.nodes import label_matches
from dractl.capacity.changes import unknown
from dractl.cluster import ClusterState
from dractl.cluster.state import Key, at, map_at, maps_at, text_at
from dractl.explain.answer import Explanation
from dractl.explain.ask import Question
from dractl.explain.explain import Explainer, Options
from dractl.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ResourceSlice
from dractl.objects import Raw
from dractl.scheduler.extended import provided
from dractl.scheduler.snapshot import REQUIRED, node_selector

_MOST = 8  # selectors of slices that are assumed to match, one after the other


Labels = Mapping[str, str]


class Needed(Struct, frozen=True):
    """A label that the node must have, with ``value`` None one that it must not have. ``text`` is the requirement as a
    label selector, ``by`` who makes it."""

    key: str
    value: str | None
    text: str
    by: str


class DescribedMachine(Struct, frozen=True):
    """A machine that nobody has: what drivers would publish there, known labels and resources of its node, and the
    components that set those labels that only some clusters have."""

    published: ClusterState
    labels: Mapping[str, str] = field(default_factory=dict)
    room: Mapping[str, str] = field(default_factory=dict)
    setters: Mapping[str, str] = field(default_factory=dict)


class MachineAnswer(Struct, frozen=True):
    """The answer for one machine. ``needs`` are labels that the node must have for it, which are not known; ``set_by``
    are the components that set known labels that it relies on. ``unjudged`` are the pod's wishes that were left out:
    resources of which a node's amount is not known, and what is about other nodes and pods."""

    machine: str
    explanation: Explanation
    needs: tuple[Needed, ...] = ()
    set_by: Mapping[str, str] = field(default_factory=dict)
    unjudged: tuple[str, ...] = ()


class ByMachine(Struct, frozen=True):
    """One subject on each machine, in the order in which the machines were given."""

    answers: tuple[MachineAnswer, ...]

    @property
    def fits(self) -> bool:
        """True if a machine serves it."""
        return any(answer.explanation.fits for answer in self.answers)


def compare(
    state: ClusterState,
    machines: Mapping[str, DescribedMachine],
    questions: Callable[[ClusterState], Sequence[Question]],
    features: Features,
    options: Options,
) -> tuple[ByMachine, ...]:
    """Return a comparison for each question. Of ``state`` everything counts but nodes, volumes, and the ResourceSlices
    of single nodes: such devices are those of the machines. A subject that has a place is asked about as if it waited.
    """
    shared = {
        key: item
        for key, item in state.all("ResourceSlice").items()
        if not text_at(item, "spec", "nodeName")
    }
    alone = state.only(
        {"Node": {}, "ResourceSlice": shared, "PersistentVolume": {}, "PersistentVolumeClaim": {}}
    )
    alone = _unplaced(alone, questions(alone))
    columns = []
    for name, machine in machines.items():
        there = _Machine(name, machine, machine.published.merged(alone), features, options)
        columns.append([there.answer(question) for question in questions(there.state)])
    return tuple(ByMachine(answers) for answers in zip(*columns, strict=True))


def _unplaced(state: ClusterState, questions: Sequence[Question]) -> ClusterState:
    """Return the state in which the subjects wait: pods without their node, claims without their devices."""
    objects: dict[str, dict[Key, Raw]] = {"Pod": {}, "ResourceClaim": {}}
    for question in questions:
        kind, key = question.kind, question.key
        pod = state.get("Pod", key) or {} if kind == "Pod" else {}
        made = maps_at(pod, "status", "resourceClaimStatuses")
        if text_at(pod, "spec", "nodeName"):
            spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
            status = {"phase": "Pending", "resourceClaimStatuses": made}
            objects["Pod"][key] = {**pod, "spec": spec, "status": status}
        used = (*maps_at(pod, "spec", "resourceClaims"), *made)
        names = [key] if kind == "ResourceClaim" else []
        names += [(key[0], text_at(one, "resourceClaimName")) for one in used]
        for name in names:
            claim = state.get("ResourceClaim", name) or {}
            if claim.get("status"):
                objects["ResourceClaim"][name] = {**claim, "status": {}}
    return state.with_objects(objects)


class _Machine:
    """A cluster of one node."""

    def __init__(
        self,
        name: str,
        described: DescribedMachine,
        state: ClusterState,
        features: Features,
        options: Options,
    ) -> None:
        self.name, self.described, self.state = name, described, state
        self.features, self.options = features, options
        self.node = next(
            text_at(item, "spec", "nodeName")
            for item in described.published.all("ResourceSlice").values()
        )
        self.explainers: dict[tuple[Needed, ...], Explainer] = {}

    def answer(self, question: Question) -> MachineAnswer:
        """The answer to a question, with labels assumed where they are not known."""
        if not maps_at(question.value, "spec", "containers"):
            found, needs = self._assuming(question, ())
            return MachineAnswer(self.name, found, needs)
        question, unjudged = _by_itself(question)
        unjudged = (
            *unknown(question.value, self.described.room, provided(self.state.classes)),
            *unjudged,
        )
        found, needs = self._assuming(question, of_pod(question.value, self.described.labels))
        return MachineAnswer(self.name, found, needs, self._set_by(question.value), unjudged)

    def _assuming(
        self, question: Question, needs: tuple[Needed, ...]
    ) -> tuple[Explanation, tuple[Needed, ...]]:
        """The answer on a node with further labels, and with those that pools which are not of one node need as well,
        where it does not fit without them."""
        found = self._explain(question, needs)
        if found.fits:
            return found, needs
        wanted = list(of_slices(self.state.slices, with_needed(self.described.labels, needs)))[
            :_MOST
        ]
        together = _agreeing(wanted)
        for more in [together, *wanted] if len(wanted) > 1 else wanted:
            other = self._explain(question, (*needs, *more))
            if other.fits:
                used = {
                    f"pool {d.driver}/{d.pool}" for node in other.nodes[:1] for d in node.allocation
                }
                return other, (*needs, *(each for each in more if each.by in used))
            if more is together or len(wanted) == 1:
                only_there = found.reasons[:1] and found.reasons[0].code == "slice-node-mismatch"
                found = other if only_there else found
        return found, needs

    def _explain(self, question: Question, needs: tuple[Needed, ...]) -> Explanation:
        explainer = self.explainers.get(needs)
        if explainer is None:
            metadata = {"name": self.node, "labels": with_needed(self.described.labels, needs)}
            node: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
            if self.described.room:
                node["status"] = {"allocatable": dict(self.described.room)}
            state = self.state.replace("Node", ("", self.node), node)
            explainer = self.explainers[needs] = Explainer(state, self.features, self.options)
        return explainer.explain(question)

    def _set_by(self, pod: Raw) -> dict[str, str]:
        """The components that set known labels which a pod asks for."""
        affinity = at(pod, "spec", "affinity", "nodeAffinity", REQUIRED)
        asked = dict.fromkeys(map_at(pod, "spec", "nodeSelector"))
        for term in maps_at(affinity, "nodeSelectorTerms"):
            asked |= dict.fromkeys(
                text_at(each, "key") for each in maps_at(term, "matchExpressions")
            )
        setters = self.described.setters
        return {
            f"{key}={self.described.labels[key]}": setters[key] for key in asked if key in setters
        }


def _agreeing(wanted: Iterable[tuple[Needed, ...]]) -> tuple[Needed, ...]:
    """As many of the needs, from the first on, as one node can have."""
    values: dict[str, str | None] = {}
    found: list[Needed] = []
    for needs in wanted:
        if all(values.get(each.key, each.value) == each.value for each in needs):
            values |= {each.key: each.value for each in needs}
            found += needs
    return tuple(found)


def _by_itself(question: Question) -> tuple[Question, tuple[str, ...]]:
    """The question without the pod's wishes about other nodes and pods, and what these are."""
    spec = dict(map_at(question.value, "spec"))
    affinity = dict(map_at(spec, "affinity"))
    gone = [name for name in ("podAffinity", "podAntiAffinity") if affinity.pop(name, None)]
    gone += [name for name in ("topologySpreadConstraints",) if spec.pop(name, None)]
    terms = maps_at(affinity, "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    if any(term.get("matchFields") for term in terms):
        gone.append("matchFields of node affinity")
        kept = [{key: item for key, item in term.items() if key != "matchFields"} for term in terms]
        affinity["nodeAffinity"] = (
            {REQUIRED: {"nodeSelectorTerms": kept}} if all(any(t.values()) for t in kept) else {}
        )
    if any(
        "persistentVolumeClaim" in volume or "ephemeral" in volume
        for volume in maps_at(spec, "volumes")
    ):
        gone.append("volumes")
    if not gone:
        return question, ()
    spec["affinity"] = affinity
    return Question(question.kind, question.key, {**question.value, "spec": spec}), tuple(gone)


# -- labels that a subject needs of a node of which only some labels are known --


def of_pod(pod: Raw, labels: Labels) -> tuple[Needed, ...]:
    """What a pod's node selector and required node affinity need beyond known labels. Nothing is assumed of an affinity
    that no such node can meet."""
    selector = map_at(pod, "spec", "nodeSelector")
    wanted = [NodeSelectorRequirement(key, "In", (str(value),)) for key, value in selector.items()]
    found = _needed([each for each in wanted if each.key not in labels], "nodeSelector") or ()
    affinity = at(pod, "spec", "affinity", "nodeAffinity", REQUIRED)
    if isinstance(affinity, dict):
        found += (
            of_selector(node_selector(affinity), with_needed(labels, found), "node affinity") or ()
        )
    return found


def of_slices(slices: Iterable[ResourceSlice], labels: Labels) -> dict[tuple[Needed, ...], None]:
    """What the node selectors of slices and devices need beyond known labels, each once."""
    found: dict[tuple[Needed, ...], None] = {}
    for item in slices:
        by = f"pool {item.spec.driver}/{item.spec.pool.name}"
        for selector in (
            item.spec.node_selector,
            *(device.node_selector for device in item.spec.devices),
        ):
            needed = of_selector(selector, labels, by) if selector is not None else None
            if needed:
                found[needed] = None
    return found


def of_selector(selector: NodeSelector, labels: Labels, by: str) -> tuple[Needed, ...] | None:
    """What the first term that the node can meet needs; None if it can meet none."""
    return next(
        (n for t in selector.node_selector_terms if (n := _of_term(t, labels, by)) is not None),
        None,
    )


def _of_term(term: NodeSelectorTerm, labels: Labels, by: str) -> tuple[Needed, ...] | None:
    if not term.match_expressions:
        return None  # matches nothing, or names nodes
    known = [each for each in term.match_expressions if each.key in labels]
    if not all(label_matches(each, labels) for each in known):
        return None
    return _needed([each for each in term.match_expressions if each.key not in labels], by)


def _needed(wanted: Sequence[NodeSelectorRequirement], by: str) -> tuple[Needed, ...] | None:
    """A value for each key that meets all requirements on it; None if there is none for one of them."""
    found = []
    for key in dict.fromkeys(each.key for each in wanted):
        of_key = [each for each in wanted if each.key == key]
        values = [value for value in _candidates(of_key) if _meets(of_key, key, value)]
        if not values:
            return None
        found.append(Needed(key, values[0], ",".join(map(_text, of_key)), by))
    return tuple(found)


def _candidates(wanted: Iterable[NodeSelectorRequirement]) -> tuple[str | None, ...]:
    """Values to try: those that are named, the neighbours of bounds, none, and one that nobody names."""
    named = [value for each in wanted if each.operator == "In" for value in each.values]
    bounds = [value for each in wanted if each.operator in ("Gt", "Lt") for value in each.values]
    beside = [
        str(int(bound) + step)
        for bound in bounds
        if bound.lstrip("-").isdecimal()
        for step in (1, -1)
    ]
    return (*named, None, *beside, "assumed")


def _meets(wanted: Iterable[NodeSelectorRequirement], key: str, value: str | None) -> bool:
    labels = {} if value is None else {key: value}
    return all(label_matches(each, labels) for each in wanted)


def _text(requirement: NodeSelectorRequirement) -> str:
    """``team=ml``, ``zone in (a,b)``, ``!spot``: as ``kubectl get nodes -l`` takes it."""
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


def with_needed(labels: Labels, needed: Iterable[Needed]) -> dict[str, str]:
    return {**labels, **{each.key: each.value for each in needed if each.value is not None}}
