"""Groups of pods as a whole: how many replicas of a workload, or pods of a gang, fit, and what the next stops at."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from dractl.alignment import Across, across
from dractl.capacity import Choice, Together, together
from dractl.capacity.gangs import domains
from dractl.cluster.kinds import kind_of
from dractl.cluster.podgroups import group_of, minimum, podgroup
from dractl.cluster.pods import ended, is_pending
from dractl.cluster.state import GROUPS, ClusterState, Key, at, map_at, text_at
from dractl.cluster.workloads import owned_pods, refusal, with_volumes
from dractl.explain.answer import Reason
from dractl.explain.ask import Question, address, made_pods
from dractl.explain.explain import Explainer, Options
from dractl.explain.reasons.gangs import GangTooSmall
from dractl.explain.reasons.phrases import Names
from dractl.explain.unread import decided
from dractl.model import pod_templates
from dractl.objects import Raw

_MOST = 10_000  # replicas of one template that are placed
_EACH_NODE = "DaemonSet"  # one pod a node: not replicas of which some could fit


class Group(Struct, frozen=True):
    """The replicas of a workload or the pods of a gang. ``replicas`` are wanted, ``placed`` have a node, and of the
    others ``fits`` get one as kube-scheduler goes, without ending anybody's pods.

    ``pod`` is the first that stays pending, for ``reasons``. ``most`` is what the best order reaches, those that are
    placed included, if that is known; it is ``proven`` that none reaches more. In ``order``, which names a pod of each
    kind, all fit. ``choices`` are the numbers that each alternative of ``firstAvailable`` alone would reach. Of a gang
    ``minimum`` pods start together or none does. ``domain`` (``key=value``) is where they fit, if a topology constraint
    keeps them together; ``waits`` says what keeps all of them besides. ``across``: the rails and NVLink domains of the
    pods on nodes.
    """

    name: str  # Kind/namespace/name
    replicas: int
    placed: int
    fits: int
    pod: str = ""
    reasons: tuple[Reason, ...] = ()
    scheduler_message: str | None = None
    most: int | None = None
    proven: bool = False
    order: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    minimum: int | None = None
    undecided: bool = False
    domain: str = ""
    waits: str = ""
    across: Across | None = None

    @property
    def complete(self) -> bool:
        """True if every replica has a node or gets one."""
        return self.placed + self.fits >= self.replicas

    @property
    def starts(self) -> bool:
        """True unless too few of a gang fit, or something else keeps all of its pods."""
        return not self.waits and (self.minimum is None or self.placed + self.fits >= self.minimum)


def groups(
    explainer: Explainer,
    names: Sequence[str],
    namespace: str | None,
    kinds: Mapping[str, str],
    tell: Callable[[str], None] = lambda _: None,
) -> list[Group]:
    """The groups among ``names`` (``deploy/NAME``, ``podgroup/NAME``) that have more than one pod."""
    state, found = explainer.state, []
    if not decided(state.rights):
        return []  # what claims and pods hold that may not be read is not known
    for text in names:
        word, name, where = address(state, text, namespace, kinds)
        kind = kind_of(state, word, kinds, "") if word else "Pod"
        if kind in GROUPS or kind == _EACH_NODE:
            continue
        named = [key for key in state.all(kind) if key[1] == name and where in (None, key[0])]
        spaces = dict.fromkeys(key[0] for key in state.all("Pod") if where in (None, key[0]))
        for key in named or [(space, name) for space in spaces]:
            for gang, pods, made in _parts(state, kind, key):
                if len(pods) + len(made) > 1:
                    found.append(
                        _group(explainer, f"{kind}/{'/'.join(key)}", key[0], gang, pods, made, tell)
                    )
    return found


def _parts(
    state: ClusterState, kind: str, key: Key
) -> list[tuple[tuple[str, ...], list[Raw], list[Raw]]]:
    """The pods of a workload by the gang that they are of, and those that its controller has not created yet."""
    value = state.get(kind, key)
    there = [(own, pod) for own, pod in owned_pods(state, kind, key) if not ended(pod)]
    parts: dict[tuple[str, ...], list[Raw]] = {}
    for _, pod in sorted(there, key=lambda item: (*_order(item[1]), item[0])):
        if not text_at(pod, "metadata", "deletionTimestamp"):
            parts.setdefault(group_of(pod), []).append(
                {**pod, "metadata": {**pod["metadata"], "namespace": key[0]}}
            )
    refused = refusal(state, *key) is not None
    made = (
        []
        if value is None or refused
        else _made(Question(kind, key, value), sum(map(len, parts.values())))
    )
    if not parts and made:
        return [(group_of(made[0]), [], made)]
    return [(gang, pods, made if len(parts) == 1 else []) for gang, pods in parts.items()]


def _order(pod: Raw) -> tuple[int, str]:
    """The higher priority first, then the older pod."""
    priority = at(pod, "spec", "priority")
    return -priority if isinstance(priority, int) else 0, text_at(
        pod, "metadata", "creationTimestamp"
    )


def _made(workload: Question, there: int) -> list[Raw]:
    """The pods that a workload wants beside those that exist: of each template as many as it says."""
    paths = [path for path, _ in pod_templates(dict(workload.value))]
    found: list[Raw] = []
    for path, question in zip(paths, made_pods(workload), strict=True):
        count = _replicas(workload.value, path)
        if there and len(paths) > 1:
            return []  # which of them are there cannot be told
        name = text_at(question.value, "metadata", "name") + (
            f"-{path[-3]}" if len(paths) > 1 else ""
        )
        for number in range(there, count):
            metadata = {**question.value["metadata"], "name": f"{name}-{number}"}
            found.append(with_volumes(workload.value, {**question.value, "metadata": metadata}))
    return found


def _replicas(value: Raw, path: Sequence[str | int]) -> int:
    """How many pods of the template at ``path`` a workload has at once: the product of ``replicas`` and ``parallelism``
    around it (JobSet, RayCluster), and of a LeaderWorkerSet's size without its leader."""
    count = 1
    for depth in range(len(path)):
        around = at(value, *path[:depth])
        if not isinstance(around, dict):
            continue
        for field in ("replicas", "parallelism"):
            number = around.get(field)
            if isinstance(number, int) and not isinstance(number, bool):
                count *= max(number, 0)
        size = around.get("size")
        if path[depth] == "workerTemplate" and isinstance(size, int):
            count *= max(size - 1 if "leaderTemplate" in around else size, 0)
    completions, parallelism = at(value, "spec", "completions"), at(value, "spec", "parallelism")
    if isinstance(completions, int) and isinstance(parallelism, int):
        count = min(count, completions)
    return min(count, _MOST)


def _group(
    explainer: Explainer,
    name: str,
    namespace: str,
    gang: tuple[str, ...],
    pods: Sequence[Raw],
    made: Sequence[Raw],
    tell: Callable[[str], None],
) -> Group:

    waiting = [*(pod for pod in pods if is_pending(pod)), *made]
    placed, replicas = len(pods) + len(made) - len(waiting), len(pods) + len(made)
    least = minimum(explainer.state, namespace, gang)
    on_nodes = [pod for pod in pods if not is_pending(pod)]
    near = across(explainer.aligner, on_nodes) if len(on_nodes) > 1 else None
    if not waiting:
        return Group(name, replicas, placed, 0, minimum=least, across=near)
    of_one = podgroup(explainer.state, waiting[0])
    topology = of_one.topology if of_one is not None else ""
    own = name.rpartition("/")[2]
    places = domains(explainer.state, topology, on_nodes) or {"": explainer.state}
    reached = {
        where: together(nodes, own, waiting, explainer.features, tell)
        for where, nodes in places.items()
    }
    where, found = max(reached.items(), key=lambda item: item[1].fits)
    return Group(
        name,
        replicas,
        placed,
        found.fits,
        "" if found.pending is None else text_at(found.pending, "metadata", "name"),
        _stops(explainer, found),
        None if found.attempt is None else found.attempt.message,
        None if found.most is None else placed + min(found.most.fits, len(waiting)),
        found.most is not None and (found.most.proven or found.most.fits >= len(waiting)),
        found.order,
        found.choices,
        least,
        found.undecided,
        where,
        _waits(explainer, waiting[0], namespace),
        near,
    )


def _waits(explainer: Explainer, pod: Raw, namespace: str) -> str:
    """The reason that keeps a whole gang from starting, unless it is that too few fit; empty without one."""
    key = namespace, text_at(pod, "metadata", "name")
    causes = explainer.group(Question("Pod", key, pod)).causes
    return causes[0].said(Names()) if causes and not isinstance(causes[0], GangTooSmall) else ""


def _stops(explainer: Explainer, found: Together) -> tuple[Reason, ...]:
    """Why the next pod stays pending, in the cluster with those that fit."""
    if found.pending is None:
        return ()
    metadata = {
        key: v
        for key, v in map_at(found.pending, "metadata").items()
        if key not in ("uid", "ownerReferences")
    }
    spec = {key: v for key, v in map_at(found.pending, "spec").items() if key != "nodeName"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    key = text_at(pod, "metadata", "namespace"), text_at(pod, "metadata", "name")
    asked = Explainer(found.state, explainer.features, Options(fixes=0))
    return asked.explain(Question("Pod", key, pod), found.attempt).reasons
