"""How many of the waiting pods each fix lets start, all of them together: each fix is proven for one pod alone."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dractl.capacity.replicas import first_of
from dractl.cluster.changes import Delete, PatchError, apply, parse_target
from dractl.cluster.podgroups import object_of
from dractl.cluster.state import ClusterState, map_at, text_at
from dractl.cluster.workloads import workload
from dractl.explain.answer import Explanation, Fix, Relief
from dractl.explain.explain import Explainer
from dractl.objects import Raw

_TRIED = 12  # fixes, those that most pods wait for first
_PLACED = 1000  # pods of one answer


def with_relief(
    explainer: Explainer, answers: Sequence[Explanation], tell: Callable[[str], None] = lambda _: None
) -> list[Explanation]:
    """The answers, with :attr:`Fix.relief` for the fixes that several pods wait for."""
    waiting: dict[str, list[tuple[Explanation, Fix]]] = {}
    for answer in answers:
        for fix in answer.fixes if _alone(explainer.state, answer) else ():
            if fix.changes and not _of_replicas(explainer.state, answer, fix):  # a driver's devices are not known
                waiting.setdefault(_action(fix), []).append((answer, fix))
    shared = sorted((action for action in waiting if _pods(waiting[action]) > 1), key=lambda a: -_pods(waiting[a]))
    relief: dict[str, Relief] = {}
    for number, action in enumerate(shared[:_TRIED], 1):
        tell(f"counting the pods that fit after each fix ({number} of {min(len(shared), _TRIED)})")
        fitting = _fitting(explainer, waiting[action])
        if fitting is not None:
            relief[action] = Relief(fitting, _pods(waiting[action]))
    return [replace(a, fixes=tuple(replace(f, relief=relief.get(_action(f))) for f in a.fixes)) for a in answers]


def _of_replicas(state: ClusterState, answer: Explanation, fix: Fix) -> bool:
    """True if a fix ends replicas of the same workload, as a rollout does again and again."""
    ended = (parse_target(c.target)[1] for c in fix.tried if isinstance(c, Delete) and c.target.startswith("Pod/"))
    own = workload(state.get("Pod", (answer.subject.namespace, answer.subject.name)) or {})
    others = (state.get("Pod", key) for key in ended if key != (answer.subject.namespace, answer.subject.name))
    return own is not None and any(
        pod is not None and workload(pod) == own and text_at(pod, "spec", "nodeName") for pod in others
    )


def _action(fix: Fix) -> str:
    """Equal for fixes that are one and the same change, whichever pods are recreated with it."""
    return repr([c for c in fix.changes if not (isinstance(c, Delete) and c.target.startswith("Pod/"))] or fix.changes)


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
        pods = _replicas(explainer.state, state, answer)[:_PLACED]
        found = first_of(state, answer.subject.name, pods, explainer.features, len(pods))
        if found.undecided:
            return None
        fits, state = fits + found.fits, found.state
    return fits


def _replicas(before: ClusterState, after: ClusterState, answer: Explanation) -> list[Raw]:
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
