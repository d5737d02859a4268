"""The answers about many subjects: one failure does not end the others, and equal replicas are asked about once."""

from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec.structs import replace

from dractl.capacity.replicas import first_of
from dractl.cluster.changes import Delete, PatchError, apply, parse_target
from dractl.cluster.paste import NextStep, command
from dractl.cluster.podgroups import object_of
from dractl.cluster.pods import is_pending
from dractl.cluster.state import ClusterState, at, map_at, maps_at, text_at
from dractl.cluster.workloads import topmost, workload
from dractl.errors import DractlError
from dractl.explain.answer import SEVERITY, Explanation, Fix, Relief, Subject
from dractl.explain.ask import Question
from dractl.explain.explain import Explainer
from dractl.explain.reasons.scheduling import NoConsumer, WouldFitNow
from dractl.objects import Raw
from dractl.program import program_name

_TRIED = 12  # fixes, those that most pods wait for first
_REPLICAS = 1000  # of one answer that are placed together
# What tells replicas of one workload apart and changes nothing about where they can run.
_OF_ONE = ("hostname", "nodeName")
_LABELS = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
)
# The same for the parts of one workload, unless the pods choose nodes by other pods' labels.
_LABELS_OF_PARTS = (
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
    tell: Callable[[str], None] = lambda _: None,
    *,
    alike: bool = False,
) -> list[Explanation]:
    """The answers, worst first. With ``alike`` equal replicas of a workload have one answer, in which the others are
    named. A subject that cannot be explained is ``undecided``, unless it is the only one: then the error is raised.
    Then fixes say how many pods fit after them (:attr:`Fix.relief`). ``tell`` is called with each step before it is
    taken."""
    if len(questions) == 1:
        tell(f"explaining {_called(questions[0])}")
        return [explainer.explain(questions[0])]
    groups: dict[Hashable, list[Question]] = {}
    for position, question in enumerate(questions):
        key = _likeness(explainer.state, question) if alike else None
        groups.setdefault(position if key is None else key, []).append(question)
    answers = []
    for number, group in enumerate(groups.values(), 1):
        tell(f"explaining {_called(group[0])} ({number} of {len(groups)})")
        answer = _safely(explainer, group[0])
        names = tuple(question.key[1] for question in group[1:])
        if names:
            kind, name = _together(explainer.state, group[0]) or ("", "")
            answer = replace(
                answer, alike=names, workload=f"{kind.lower()} {group[0].key[0]}/{name}"
            )
        answers.append(answer)
    if not alike:
        return worst_first(answers)

    parted = [part for answer in answers for part in _parted(explainer, answer)]
    return worst_first(_with_relief(explainer, parted, tell))


def _parted(explainer: Explainer, answer: Explanation) -> list[Explanation]:
    """The answer, if it is true of all the replicas that it stands for: of those of which one fits by itself perhaps
    not all do. Then those that fit, and the others, beside them."""
    fits = answer.fits or any(reason.code == WouldFitNow.page.code for reason in answer.reasons[:1])
    namespace, own = answer.subject.namespace, (answer.subject.namespace, answer.subject.name)
    if not (fits and answer.alike) or object_of(explainer.state.get("Pod", own) or {}) is not None:
        return [answer]
    names = (answer.subject.name, *answer.alike)
    pods = [explainer.state.get("Pod", (namespace, name)) or {} for name in names[:_REPLICAS]]
    found = first_of(explainer.state, answer.subject.name, pods, explainer.features, len(pods))
    if found.pending is None or found.undecided or not found.fits:
        return [answer]
    metadata = {
        key: v
        for key, v in map_at(found.pending, "metadata").items()
        if key not in ("uid", "ownerReferences")
    }
    spec = {key: v for key, v in map_at(found.pending, "spec").items() if key != "nodeName"}
    key = namespace, names[found.fits]
    beside = Explainer(found.state, explainer.features, replace(explainer.options, fixes=0))
    other = beside.explain(
        Question("Pod", key, {**found.pending, "metadata": metadata, "spec": spec}), found.attempt
    )
    first, rest = names[1 : found.fits], names[found.fits + 1 :]
    number = f"{found.fits} of {len(pods)} pods of {answer.workload} fit{'s' * (found.fits == 1)} at once"
    return [
        replace(answer, alike=first, workload=answer.workload if first else ""),
        replace(
            other,
            alike=rest,
            workload=answer.workload if rest else "",
            notes=(number, *other.notes),
        ),
    ]


def without_question(answer: Explanation, names: Sequence[str]) -> Explanation:
    """The answer without the next step that asks what was asked: ``names`` (``podgroup/ring``)."""
    asked = {f"{program_name()} explain {name.lower()}" for name in names}
    steps = tuple(step for step in answer.next if step.command.partition(" -n ")[0] not in asked)
    if steps == answer.next:
        return answer
    if not (steps or answer.fixes):
        kind, _, name = names[0].partition("/")
        namespace = answer.subject.namespace
        look = command(
            "kubectl get {} {} -n {} -o yaml", f"{kind.lower()}s.scheduling.k8s.io", name, namespace
        )
        steps = (NextStep("see what the scheduler has written about the group", look),)
    return replace(answer, next=steps)


def _called(question: Question) -> str:
    return f"{question.kind.lower()} {'/'.join(part for part in question.key if part)}"


def _together(state: ClusterState, question: Question) -> tuple[str, str] | None:
    """Kind and name of the topmost workload of a pod, or else of its PodGroup."""
    own, group = workload(question.value), object_of(question.value)
    if own is None:
        return None if group is None else (group[0], group[1][1])
    kind, (_, name) = topmost(state, own[0], (question.key[0], own[1]))
    return kind, name


def worst_first(explanations: Iterable[Explanation]) -> list[Explanation]:
    """Answers in the order of their severity; within one, those of most replicas first, then as in the input. Claims
    that nobody waits for come after the pods that wait."""
    return sorted(explanations, key=lambda e: (_severity(e), -len(e.alike)))


def _severity(e: Explanation) -> float:
    unused = any(reason.code == NoConsumer.page.code for reason in e.reasons[:1])
    return SEVERITY.index("allocatable") - 0.5 if unused else SEVERITY.index(e.verdict)


def _safely(explainer: Explainer, question: Question) -> Explanation:
    try:
        return explainer.explain(question)
    except DractlError as error:
        why, note = str(error), error.hint
    except Exception as error:
        why, note = (
            f"internal error: {type(error).__name__}: {error}",
            "please report it, with the objects",
        )
    return Explanation(
        Subject(question.kind, *question.key),
        "undecided",
        explainer.features.release,
        explainer.options.release_assumed,
        headline=f"cannot be explained: {why}",
        notes=(note,) if note else (),
        age=text_at(question.value, "metadata", "creationTimestamp") or None,
        phase=text_at(question.value, "status", "phase") or None,
    )


def _likeness(state: ClusterState, question: Question) -> Hashable:
    """Equal for pending pods of one workload that differ in nothing that matters; None for what stands alone."""
    pod = question.value
    owner = _together(state, question)
    if question.kind != "Pod" or owner is None or not is_pending(pod):
        return None
    claims = []
    made = maps_at(pod, "status", "resourceClaimStatuses")
    statuses = {text_at(status, "name"): text_at(status, "resourceClaimName") for status in made}
    for reference in maps_at(pod, "spec", "resourceClaims"):
        name = statuses.get(text_at(reference, "name")) or text_at(reference, "resourceClaimName")
        claim = state.get("ResourceClaim", (question.key[0], name))
        if at(claim, "status", "allocation") is not None:
            return None
        deleted = text_at(claim, "metadata", "deletionTimestamp")
        claims.append((claim is None, bool(deleted), repr(at(claim, "spec")), repr(reference)))
    spec = {key: value for key, value in map_at(pod, "spec").items() if key not in _OF_ONE}
    near = map_at(spec, "affinity")
    by_labels = (
        near.get("podAffinity")
        or near.get("podAntiAffinity")
        or spec.get("topologySpreadConstraints")
    )
    own = _LABELS if by_labels else (*_LABELS, *_LABELS_OF_PARTS)
    labels = {
        key: value for key, value in map_at(pod, "metadata", "labels").items() if key not in own
    }
    tried = any(
        condition.get("type") == "PodScheduled"
        for condition in maps_at(pod, "status", "conditions")
    )
    return (question.key[0], owner, repr(spec), repr(labels), tuple(claims), tried)


# -- how many of the waiting pods each fix lets start, all of them together: each is proven for one pod alone --


def _with_relief(
    explainer: Explainer,
    answers: Sequence[Explanation],
    tell: Callable[[str], None] = lambda _: None,
) -> list[Explanation]:
    """The answers, with :attr:`Fix.relief` for the fixes that several pods wait for."""
    waiting: dict[str, list[tuple[Explanation, Fix]]] = {}
    for answer in answers:
        for fix in answer.fixes if _alone(explainer.state, answer) else ():
            if fix.changes and not _of_recreated(
                explainer.state, answer, fix
            ):  # a driver's devices are not known
                waiting.setdefault(_action(fix), []).append((answer, fix))
    shared = sorted(
        (action for action in waiting if _pods(waiting[action]) > 1),
        key=lambda a: -_pods(waiting[a]),
    )
    relief: dict[str, Relief] = {}
    for number, action in enumerate(shared[:_TRIED], 1):
        tell(f"counting the pods that fit after each fix ({number} of {min(len(shared), _TRIED)})")
        fitting = _fitting(explainer, waiting[action])
        if fitting is not None:
            relief[action] = Relief(fitting, _pods(waiting[action]))
    return [
        replace(a, fixes=tuple(replace(f, relief=relief.get(_action(f))) for f in a.fixes))
        for a in answers
    ]


def _of_recreated(state: ClusterState, answer: Explanation, fix: Fix) -> bool:
    """True if a fix ends replicas of the same workload, as a rollout does again and again."""
    ended = (
        parse_target(c.target)[1]
        for c in fix.tried
        if isinstance(c, Delete) and c.target.startswith("Pod/")
    )
    own = workload(state.get("Pod", (answer.subject.namespace, answer.subject.name)) or {})
    others = (
        state.get("Pod", key)
        for key in ended
        if key != (answer.subject.namespace, answer.subject.name)
    )
    return own is not None and any(
        pod is not None and workload(pod) == own and text_at(pod, "spec", "nodeName")
        for pod in others
    )


def _action(fix: Fix) -> str:
    """Equal for fixes that are one and the same change, whichever pods are recreated with it."""
    return repr(
        [c for c in fix.changes if not (isinstance(c, Delete) and c.target.startswith("Pod/"))]
        or fix.changes
    )


def _pods(waiting: Sequence[tuple[Explanation, Fix]]) -> int:
    return sum(1 + len(answer.alike) for answer, _ in waiting)


def _alone(state: ClusterState, answer: Explanation) -> bool:
    """True for a pod that kube-scheduler places by itself."""
    pod = state.get("Pod", (answer.subject.namespace, answer.subject.name))
    return answer.subject.kind == "Pod" and pod is not None and object_of(pod) is None


def _fitting(explainer: Explainer, waiting: Sequence[tuple[Explanation, Fix]]) -> int | None:
    """The number of pods that fit after a fix, those of each answer placed in turn; None if that is not decided."""
    state, fits = explainer.state, 0
    changes = {repr(change): change for _, fix in waiting for change in fix.tried or fix.changes}
    try:
        state = apply(state, changes.values())
    except PatchError:
        return None
    for answer, _ in waiting:
        pods = _recreated(explainer.state, state, answer)[:_REPLICAS]
        found = first_of(state, answer.subject.name, pods, explainer.features, len(pods))
        if found.undecided:
            return None
        fits, state = fits + found.fits, found.state
    return fits


def _recreated(before: ClusterState, after: ClusterState, answer: Explanation) -> list[Raw]:
    """The pods of an answer as their owner creates them after a fix: like the one that was tried."""
    namespace, name = answer.subject.namespace, answer.subject.name
    tried = after.get("Pod", (namespace, name)) or before.get("Pod", (namespace, name))
    assert tried is not None
    found: list[Raw] = []
    for each in (name, *answer.alike):
        pod = before.get("Pod", (namespace, each)) or tried
        metadata = {**tried["metadata"], "name": each, "namespace": namespace}
        found.append({**pod, "metadata": metadata, "spec": map_at(tried, "spec")})
    return found
