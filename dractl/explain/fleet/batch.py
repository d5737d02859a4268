"""Answers about many subjects: one failure does not end the others, and equal replicas share an
answer.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec.structs import replace

from dractl.cluster.changes import Change, Delete, PatchError, apply, parse_target
from dractl.cluster.podgroups import group_object
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.cluster.workloads import topmost
from dractl.errors import DractlError
from dractl.explain.answer import SEVERITY, Explanation, Fix, Relief, Subject
from dractl.explain.ask import Question
from dractl.explain.explain import Explainer
from dractl.explain.fleet.known_machines import note_known_machines
from dractl.explain.reasons.scheduling import NoConsumer, WouldFitNow
from dractl.objects import Raw
from dractl.program import program_name
from dractl.views import Pod

# The maximum number of fixes whose relief is counted; fixes for the most pods come first
MAX_FIXES_COUNTED = 12
_KINDS_OF_NODES = ("Node", "ResourceSlice", "DeviceTaintRule")
MAX_REPLICAS_PLACED = 1000  # maximum number of replicas with one answer placed together
# Fields that differ between replicas of one workload, and do not affect the nodes where they can
# run.
_REPLICA_FIELDS = ("hostname", "nodeName")
_REPLICA_LABELS = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
)
# Labels that also differ between the parts of one workload. They matter only if pods choose nodes
# by labels of other pods.
_PART_LABELS = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
    "jobset.sigs.k8s.io/job-global-index",
    "jobset.sigs.k8s.io/job-group-index",
    "jobset.sigs.k8s.io/job-index",
    "jobset.sigs.k8s.io/job-key",
    "leaderworkerset.sigs.k8s.io/group-index",
    "leaderworkerset.sigs.k8s.io/group-key",
    "leaderworkerset.sigs.k8s.io/worker-index",
)


def explain_each(
    explainer: Explainer,
    questions: Sequence[Question],
    progress: Callable[[str], None] = lambda _: None,
    *,
    group_replicas: bool = False,
) -> list[Explanation]:
    """Return the answers, worst first.

    With ``group_replicas``, equal replicas of a workload share the answer of one, which names the
    others; fixes then say how many pods fit after them (:attr:`Fix.relief`). A subject that cannot
    be explained is ``undecided``; if it is the only one, its error is raised. ``progress`` is
    called before each step.
    """
    if len(questions) == 1:
        progress(f"explaining {_subject_text(questions[0])}")
        return [_explain(explainer, questions[0])]
    groups: dict[Hashable, list[Question]] = {}
    for position, question in enumerate(questions):
        key = _replica_key(explainer.state, question) if group_replicas else None
        groups.setdefault(position if key is None else key, []).append(question)
    answers = []
    for number, group in enumerate(groups.values(), 1):
        progress(f"explaining {_subject_text(group[0])} ({number} of {len(groups)})")
        answer = _explain_or_report(explainer, group[0])
        names = tuple(question.key[1] for question in group[1:])
        if names:
            kind, name = _top_owner(explainer.state, group[0]) or ("", "")
            answer = replace(
                answer, alike=names, workload=f"{kind.lower()} {group[0].key[0]}/{name}"
            )
        answers.append(answer)
    if not group_replicas:
        return sort_by_severity(answers)

    split = [part for answer in answers for part in _split_by_fit(explainer, answer)]
    return sort_by_severity(_add_relief(explainer, split, progress))


def _split_by_fit(explainer: Explainer, answer: Explanation) -> list[Explanation]:
    """Split an answer if only some of its replicas fit at once: one answer is for these, one for
    the others. Return any other answer unchanged.
    """
    fits = answer.fits or any(reason.code == WouldFitNow.page.code for reason in answer.reasons[:1])
    namespace, key_of_subject = (
        answer.subject.namespace,
        (answer.subject.namespace, answer.subject.name),
    )
    if (
        not (fits and answer.alike)
        or group_object(Pod(explainer.state.get("Pod", key_of_subject) or {})) is not None
    ):
        return [answer]
    names = (answer.subject.name, *answer.alike)
    from dractl.capacity.replicas import place_first  # not for a single subject

    pods = [
        explainer.state.get("Pod", (namespace, name)) or {} for name in names[:MAX_REPLICAS_PLACED]
    ]
    placement = place_first(
        explainer.state, answer.subject.name, pods, explainer.features, len(pods)
    )
    if placement.pending is None or placement.undecided or not placement.fits:
        return [answer]
    pending_pod = Pod(placement.pending)
    metadata = {
        key: value
        for key, value in pending_pod.metadata.items()
        if key not in ("uid", "ownerReferences")
    }
    spec = {key: value for key, value in pending_pod.spec.items() if key != "nodeName"}
    key = namespace, names[placement.fits]
    explainer_after = Explainer(
        placement.state, explainer.features, replace(explainer.options, fixes=0)
    )
    other = explainer_after.explain(
        Question("Pod", key, {**placement.pending, "metadata": metadata, "spec": spec}),
        placement.attempt,
    )
    fitting, pending = names[1 : placement.fits], names[placement.fits + 1 :]
    summary = (
        f"{placement.fits} of {len(pods)} pods of {answer.workload}"
        f" fit{'s' * (placement.fits == 1)} at once"
    )
    return [
        replace(answer, alike=fitting, workload=answer.workload if fitting else ""),
        replace(
            other,
            alike=pending,
            workload=answer.workload if pending else "",
            notes=(summary, *other.notes),
        ),
    ]


def drop_repeated_step(answer: Explanation, names: Sequence[str]) -> Explanation:
    """Drop the next step that repeats the question. ``names`` are the names that the user asked
    about (``podgroup/ring``).
    """
    commands = {f"{program_name()} explain {name.lower()}" for name in names}
    steps = tuple(step for step in answer.next if step.command.partition(" -n ")[0] not in commands)
    if steps == answer.next:
        return answer
    if not (steps or answer.fixes):
        kind, _, name = names[0].partition("/")
        namespace = answer.subject.namespace
        step_command = quote_command(
            "kubectl get {} {} -n {} -o yaml", f"{kind.lower()}s.scheduling.k8s.io", name, namespace
        )
        steps = (NextStep("see what the scheduler has written about the group", step_command),)
    return replace(answer, next=steps)


def _subject_text(question: Question) -> str:
    return f"{question.kind.lower()} {'/'.join(part for part in question.key if part)}"


def _top_owner(state: ClusterState, question: Question) -> tuple[str, str] | None:
    """Return the kind and name of the topmost workload of a pod, or of its PodGroup."""
    owner, group = Pod(question.value).workload, group_object(Pod(question.value))
    if owner is None:
        return None if group is None else (group[0], group[1][1])
    kind, (_, name) = topmost(state, owner[0], (question.key[0], owner[1]))
    return kind, name


def sort_by_severity(explanations: Iterable[Explanation]) -> list[Explanation]:
    """Sort answers by severity, then by the number of their replicas, then as in the input.

    Claims that no pod uses come after the pods that are pending.
    """
    return sorted(explanations, key=lambda e: (_severity(e), -len(e.alike)))


def _severity(e: Explanation) -> float:
    unused = any(reason.code == NoConsumer.page.code for reason in e.reasons[:1])
    return SEVERITY.index("allocatable") - 0.5 if unused else SEVERITY.index(e.verdict)


def _explain(explainer: Explainer, question: Question) -> Explanation:
    """Explain a subject. If no node can ever serve it, add a note on whether a new machine of a
    model that the cluster has would serve it.
    """
    answer = explainer.explain(question)
    if answer.when != "never":
        return answer
    further = note_known_machines(explainer.scheduler, question)
    return replace(answer, notes=(*answer.notes, *further))


def _explain_or_report(explainer: Explainer, question: Question) -> Explanation:
    """Explain a subject; an error becomes an undecided answer."""
    try:
        return _explain(explainer, question)
    except DractlError as error:
        message, note = str(error), error.hint
    except Exception as error:
        message, note = (
            f"internal error: {type(error).__name__}: {error}",
            "please report it, with the objects",
        )
    return Explanation(
        Subject(question.kind, *question.key),
        "undecided",
        explainer.features.release,
        explainer.options.release_assumed,
        headline=f"cannot be explained: {message}",
        notes=(note,) if note else (),
        age=question.view.creation_timestamp or None,
        phase=question.pod.phase or None,
    )


def _replica_key(state: ClusterState, question: Question) -> Hashable:
    """Return a key that is equal for interchangeable pending pods of one workload; None for any
    other subject.
    """
    pod, owner = question.pod, _top_owner(state, question)
    if question.kind != "Pod" or owner is None or not pod.is_pending:
        return None
    claims = []
    for reference in pod.claim_references:
        name = pod.claim_statuses.get(reference.name) or reference.claim_name
        claim = state.claim((question.key[0], name))
        if claim.is_allocated:
            return None
        is_deleted = bool(claim.deletion_timestamp)
        claims.append((claim.exists, is_deleted, repr(claim.spec), reference))
    spec = {key: value for key, value in pod.spec.items() if key not in _REPLICA_FIELDS}
    by_labels = (
        pod.affinity.get("podAffinity")
        or pod.affinity.get("podAntiAffinity")
        or spec.get("topologySpreadConstraints")
    )
    varying = _REPLICA_LABELS if by_labels else (*_REPLICA_LABELS, *_PART_LABELS)
    labels = {key: value for key, value in pod.labels.items() if key not in varying}
    has_condition = "PodScheduled" in pod.conditions
    return (question.key[0], owner, repr(spec), repr(labels), tuple(claims), has_condition)


# -- the number of waiting pods that start together after a fix, which is proven for one pod --


def _add_relief(
    explainer: Explainer,
    answers: Sequence[Explanation],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Explanation]:
    """Set the relief of each fix that is offered to several pods: the number of pods that fit after
    it.

    A fix is proven for one pod by itself; its relief counts the pods that start together.
    """
    answers_by_action: dict[str, list[tuple[Explanation, Fix]]] = {}
    for answer in answers:
        for fix in answer.fixes if _is_single_pod(explainer.state, answer) else ():
            # A fix of a driver or of hardware changes no object and is not counted, since the
            # devices after it are only assumed.
            if fix.changes and not _ends_replicas(explainer.state, answer, fix):
                answers_by_action.setdefault(_change_key(fix), []).append((answer, fix))
    common = sorted(
        (action for action in answers_by_action if _count_pods(answers_by_action[action]) > 1),
        key=lambda a: -_count_pods(answers_by_action[a]),
    )
    relief: dict[str, Relief] = {}
    for number, action in enumerate(common[:MAX_FIXES_COUNTED], 1):
        progress(
            f"counting the pods that fit after each fix ({number} of"
            f" {min(len(common), MAX_FIXES_COUNTED)})"
        )
        fitting = _count_fitting(explainer, answers_by_action[action])
        if fitting is not None:
            relief[action] = Relief(fitting, _count_pods(answers_by_action[action]))
    return [
        replace(a, fixes=tuple(replace(f, relief=relief.get(_change_key(f))) for f in a.fixes))
        for a in answers
    ]


def _ends_replicas(state: ClusterState, answer: Explanation, fix: Fix) -> bool:
    """Return True if a fix ends replicas of the same workload; in a rollout these come back again
    and again.
    """
    victims = (
        parse_target(c.target)[1]
        for c in fix.tried
        if isinstance(c, Delete) and c.target.startswith("Pod/")
    )
    subject = answer.subject.namespace, answer.subject.name
    owner = state.pod(subject).workload
    pods = (state.pod(key) for key in victims if key != subject)
    return owner is not None and any(pod.workload == owner and pod.node_name for pod in pods)


def _change_key(fix: Fix) -> str:
    """Return a key that is equal for fixes that make the same change, whichever pods they
    recreate.
    """
    return repr(
        [c for c in fix.changes if not (isinstance(c, Delete) and c.target.startswith("Pod/"))]
        or fix.changes
    )


def _count_pods(waiting: Sequence[tuple[Explanation, Fix]]) -> int:
    return sum(1 + len(answer.alike) for answer, _ in waiting)


def _is_single_pod(state: ClusterState, answer: Explanation) -> bool:
    """Return True for a pod that kube-scheduler places by itself."""
    pod = state.get("Pod", (answer.subject.namespace, answer.subject.name))
    return answer.subject.kind == "Pod" and pod is not None and group_object(Pod(pod)) is None


def _count_fitting(explainer: Explainer, waiting: Sequence[tuple[Explanation, Fix]]) -> int | None:
    """Count the pods that fit after a fix, one answer after the other; None if that is
    undecided.

    If a pod does not fit, the pods that the scheduler cannot tell apart from it are not tried.
    """
    from dractl.capacity.replicas import place_first  # not for a single subject

    state, fits = explainer.state, 0
    unschedulable: set[Hashable] = set()
    changes = {repr(change): change for _, fix in waiting for change in fix.tried or fix.changes}
    try:
        state = apply(state, changes.values())
    except PatchError:
        return None
    if _keeps_pods(explainer.state, changes.values(), waiting):
        state = state.with_kinds({"ResourceQuota": {}})  # quotas count when objects are created
    for answer, _ in waiting:
        pods = _pods_after_fix(explainer.state, state, answer)[:MAX_REPLICAS_PLACED]
        classes = {(answer.subject.namespace, Pod(pod).scheduling_key) for pod in pods}
        if classes <= unschedulable:
            continue
        placement = place_first(state, answer.subject.name, pods, explainer.features, len(pods))
        if placement.undecided:
            return None
        # With a quota, equal pods can fare differently, since each takes a part of it.
        if not placement.fits and len(classes) == 1 and not state.has("ResourceQuota"):
            unschedulable |= classes
        fits, state = fits + placement.fits, placement.state
    return fits


def _keeps_pods(
    state: ClusterState, changes: Iterable[Change], waiting: Sequence[tuple[Explanation, Fix]]
) -> bool:
    """Return True if all claims of the waiting pods are created, and the changes concern neither
    these pods nor these claims.
    """
    keys = {
        (answer.subject.namespace, name)
        for answer, _ in waiting
        for name in (answer.subject.name, *answer.alike)
    }
    targets = (parse_target(change.target) for change in changes)
    is_kept = all(
        kind in _KINDS_OF_NODES or (kind == "Pod" and key not in keys) for kind, key in targets
    )
    return is_kept and not any(state.pod(key).has_uncreated_claims for key in keys)


def _pods_after_fix(before: ClusterState, after: ClusterState, answer: Explanation) -> list[Raw]:
    """Return the pods of an answer, as their owner would create them after a fix."""
    namespace, name = answer.subject.namespace, answer.subject.name
    template = after.get("Pod", (namespace, name)) or before.get("Pod", (namespace, name))
    assert template is not None
    pods: list[Raw] = []
    for replica in (name, *answer.alike):
        pod = before.get("Pod", (namespace, replica)) or template
        metadata = {**template["metadata"], "name": replica, "namespace": namespace}
        pods.append({**pod, "metadata": metadata, "spec": Pod(template).spec})
    return pods
