"""A trial: a cluster with the subject as its controllers would create it, and the scheduler's
answer.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from dractl.capacity.gangs import TooFewPods, find_too_few_pods
from dractl.cluster.changes import parse_target
from dractl.cluster.podgroups import find_pod_group
from dractl.cluster.schedulers import scheduler_of
from dractl.cluster.state import API_GROUPS, ClusterState
from dractl.explain.ask import CLAIMS, Question, claim_question, pods_from_templates
from dractl.objects import Raw
from dractl.objects.values import drop_uid
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.verdict import Attempt, NodeVerdict

Path = Sequence[str | int]

MAX_ATTEMPTS = 200
"""The number of attempts that one search for obstacles may make."""


class Trial(Struct, frozen=True):
    """A cluster, and the subject as it would be created there."""

    state: ClusterState
    question: Question

    def edit_pod(self, edit: Callable[[Raw], Raw]) -> "Trial":
        """Return the trial with an edited spec of its pod; the same trial if its subject is a
        claim.
        """
        if self.question.kind in CLAIMS:
            return self
        value = self.question.value
        pod = {**value, "spec": edit(value.get("spec") or {})}
        question, state = replace(self.question, value=pod), self.state
        if self.question.kind == "Pod" and state.get("Pod", self.question.key) is not None:
            state = state.replace("Pod", self.question.key, pod)
        return Trial(state, question)

    def edit(self, target: str, edit: Callable[[Raw], Raw]) -> "Trial":
        """Return the trial with an edited object; if the object is missing, the trial stays the
        same.
        """
        kind, key = parse_target(target)
        value = self.state.get(kind, key)
        if value is None:
            return self
        state = self.state.with_edited(kind, {key: edit(value)})
        question = self.question
        if (question.kind, question.key) == (kind, key):
            question = replace(question, value=state.get(kind, key) or question.value)
        return Trial(state, question)

    def edit_all(self, kind: str, edit: Callable[[Raw], Raw]) -> "Trial":
        """Return the trial with all objects of a kind edited; unchanged objects are shared."""
        objects = {key: edit(value) for key, value in self.state.objects(kind).items()}
        return Trial(self.state.with_edited(kind, objects), self.question)


def recreate_subject(state: ClusterState, before: ClusterState, question: Question) -> Trial:
    """Return the subject as it is created in a cluster, with the claims of its templates.

    ``before`` is the cluster of the question. If the workload's template differs between the two
    clusters, the pod is made from the changed template. If the template of a claim is gone, or was
    not shown, the claim is recreated with its present spec.
    """
    value: Mapping[str, Any] = state.get(question.kind, question.key) or question.value
    if question.kind == "Pod":
        state = _restore_templates(state, before, question)
    if question.kind not in API_GROUPS:
        value = _pod_of_workload(state, before, question)
    if question.kind not in CLAIMS:
        value = {**drop_uid(value), "status": {}}
    return Trial(state, replace(question, value=value))


def _restore_templates(
    state: ClusterState, before: ClusterState, question: Question
) -> ClusterState:
    """Return the state with the claim templates that a pod names and the state lacks, made from the
    pod's existing claims.
    """
    pod, namespace = before.pod(question.key), question.key[0]
    for reference in pod.claim_references if pod.claim_statuses else ():
        template = namespace, reference.template_name
        claim = state.get("ResourceClaim", (namespace, pod.claim_statuses.get(reference.name, "")))
        kind = "ResourceClaimTemplate"
        if reference.template_name and claim and state.get(kind, template) is None:
            metadata = {"name": reference.template_name, "namespace": namespace}
            spec = {"spec": claim.get("spec") or {}}
            value = {"apiVersion": claim.get("apiVersion"), "kind": kind, "metadata": metadata}
            state = state.replace(kind, template, {**value, "spec": spec})
    return state


def _pod_of_workload(state: ClusterState, before: ClusterState, question: Question) -> Raw:
    """Return the pod that the template of the question's pod makes in another cluster."""
    old, new = (each.get(question.kind, question.key) for each in (before, state))
    if old is None or new is None or old is new:
        return question.value
    pairs = zip(
        pods_from_templates(replace(question, value=old)),
        pods_from_templates(replace(question, value=new)),
        strict=False,
    )
    made = (then.value for now, then in pairs if now.value == question.value)
    return next(made, question.value)


class Oracle:
    """kube-scheduler, which answers about trials; the attempts are counted."""

    def __init__(self, scheduler: Scheduler, max_attempts: int = MAX_ATTEMPTS) -> None:
        self.scheduler = scheduler
        self.max_attempts = max_attempts
        self.attempts = 0

    @property
    def is_exhausted(self) -> bool:
        """True if no more attempts may be made."""
        return self.attempts >= self.max_attempts

    def attempt(self, trial: Trial, nodes: Collection[str] | None = None) -> Attempt:
        """Return the attempt to place the subject of a trial, on all nodes or on some."""
        self.attempts += 1
        scheduler = self.scheduler.with_state(trial.state)
        question = trial.question
        if question.kind not in CLAIMS:
            return scheduler.attempt_pod(question.value, recreated=True, node_names=nodes)
        attempt = scheduler.attempt_claim(claim_question(trial.state, question))
        if nodes is None:
            return attempt
        return replace(attempt, nodes=tuple(n for n in attempt.nodes if n.name in nodes))

    def list_fitting_nodes(self, trial: Trial, nodes: Collection[str]) -> tuple[NodeVerdict, ...]:
        """Return the verdicts on the nodes on which the subject fits; none if it is not placed."""
        if ignores_pod(trial):
            return ()
        attempt = self.attempt(trial, nodes or None)
        return tuple(node for node in attempt.nodes if node.fits) if attempt.fits else ()

    def fits(self, trial: Trial, nodes: Collection[str] | None = None) -> bool:
        """Decide whether the subject of a trial is placed."""
        return not ignores_pod(trial) and self.attempt(trial, nodes).fits


def ignores_pod(trial: Trial) -> bool:
    """Decide whether the pod names another scheduler, and nothing in the input shows that it
    runs.
    """
    question = trial.question
    if question.kind in CLAIMS:
        return False
    scheduler = scheduler_of(trial.state, question.value, question.key)
    return not scheduler.is_kube_scheduler and scheduler.runs is not True


def find_too_few_pods_of_gang(trial: Trial) -> TooFewPods | None:
    """Return the cause for a pod whose gang has fewer pods than have to start together."""
    question = trial.question
    if question.kind != "Pod":
        return None
    return find_too_few_pods(trial.state, find_pod_group(trial.state, question.pod))


class Liftable(Protocol):
    """A part of a trial that can be left out."""

    def lift(self, trial: Trial) -> Trial:
        """Return the trial without this part."""
        ...


def lift_all(trial: Trial, demands: Iterable[Liftable]) -> Trial:
    """Return the trial without some demands."""
    for demand in demands:
        trial = demand.lift(trial)
    return trial


def filter_entries(value: Raw, path: Path, keeps: Callable[[Raw], bool]) -> Raw:
    """Return an object with only some entries of the list at a path."""
    return edit_in(value, path, lambda entries: [each for each in entries or () if keeps(each)])


def map_entries(value: Raw, path: Path, edit: Callable[[Raw], Raw]) -> Raw:
    """Return an object with the entries of the list at a path edited."""
    return edit_in(value, path, lambda entries: [edit(each) for each in entries or ()])


def append_entries(value: Raw, path: Path, *further: Raw) -> Raw:
    """Return an object with further entries in the list at a path."""
    return edit_in(value, path, lambda entries: [*(entries or ()), *further])


def set_in(value: Raw, path: Path, new: Any) -> Raw:
    """Return an object with the value ``new`` at a path."""
    return edit_in(value, path, lambda _: new)


def edit_in(value: Raw, path: Path, edit: Callable[[Any], Any]) -> Raw:
    """Return an object with the value at a path edited; ``edit`` gets None if it is missing.

    Missing maps on the path are created, unless they would be empty.
    """
    edited: Raw = _edit_at(value, path, edit)
    return edited


def _edit_at(value: Any, path: Path, edit: Callable[[Any], Any]) -> Any:
    if not path:
        return edit(value)
    step, *below = path
    if isinstance(value, list):
        if not isinstance(step, int) or step >= len(value):
            return value
        return [*value[:step], _edit_at(value[step], below, edit), *value[step + 1 :]]
    fields = value or {}
    part = _edit_at(fields.get(step), below, edit)
    return fields if part in ([], {}) and step not in fields else {**fields, step: part}
