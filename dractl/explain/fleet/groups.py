"""Groups of pods as a whole: how many replicas of a workload or pods of a gang fit, and why no more
do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.capacity.gangs import split_by_topology
from dractl.cluster.kinds import resolve_kind
from dractl.cluster.podgroups import find_pod_group, group_reference, min_count
from dractl.cluster.state import API_GROUPS, ClusterState, Key, at
from dractl.cluster.workloads import newest_refusal, pods_of_workload, with_volumes
from dractl.explain.answer import Reason
from dractl.explain.ask import Question, parse_address, pods_from_templates
from dractl.explain.explain import Explainer, Options
from dractl.explain.permissions import can_decide
from dractl.explain.reasons.gangs import GangTooSmall
from dractl.explain.reasons.phrases import Names
from dractl.model import pod_templates
from dractl.objects import Raw
from dractl.views import Pod, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dractl.alignment import GangAlignment
    from dractl.capacity import AlternativeFit, Placement

MAX_REPLICAS = 10_000  # the maximum number of replicas of one template that are placed
# A DaemonSet has one pod per node, so the number of its pods that fit is not computed.
_DAEMON_SET = "DaemonSet"


class Group(Struct, frozen=True):
    """The replicas of a workload or the pods of a gang."""

    name: str
    """``Kind/namespace/name``."""
    replicas: int
    """The number of pods that are wanted."""
    placed: int
    """The number of pods that have a node."""
    fits: int
    """The number of further pods that kube-scheduler places without ending other pods."""
    pod: str = ""
    """The first pod that stays pending."""
    reasons: tuple[Reason, ...] = ()
    """The reasons why that pod stays pending."""
    scheduler_message: str | None = None
    most: int | None = None
    """The number of pods that the best order places, with the pods that have a node; None if
    unknown.
    """
    proven: bool = False
    """True if no order reaches more than ``most``."""
    order: tuple[str, ...] = ()
    """An order in which all pods fit; each kind of pod is named by one of its pods."""
    choices: tuple[AlternativeFit, ...] = ()
    """The number of pods that fit with each alternative of ``firstAvailable`` alone."""
    minimum: int | None = None
    """The number of pods of a gang that start together or not at all."""
    undecided: bool = False
    """True if more pods may fit: the search ended early, or devices or claims were not shown."""
    domain: str = ""
    """The topology domain (``key=value``) in which the gang fits, if a constraint keeps its pods
    together.
    """
    waits: str = ""
    """The cause that keeps all pods from starting; "" if there is none, or if too few pods fit."""
    across: GangAlignment | None = None
    """The alignment of the pods that have a node: their rails and NVLink domains."""

    @property
    def complete(self) -> bool:
        """True if every replica has a node or gets one."""
        return self.placed + self.fits >= self.replicas

    @property
    def starts(self) -> bool:
        """True unless too few pods of a gang fit, or something else keeps the whole gang from
        starting.
        """
        return not self.waits and (self.minimum is None or self.placed + self.fits >= self.minimum)


def explain_groups(
    explainer: Explainer,
    names: Sequence[str],
    namespace: str | None,
    kinds: Mapping[str, str],
    progress: Callable[[str], None] = lambda _: None,
) -> list[Group]:
    """Return the groups among ``names`` (``deploy/NAME``, ``podgroup/NAME``) that have more than
    one pod.
    """
    state, groups = explainer.state, []
    if not can_decide(state.rights):
        return []  # unreadable claims and pods hold unknown devices
    for text in names:
        address = parse_address(state, text, namespace, kinds)
        word, name, group_namespace = address.word, address.name, address.namespace
        kind = resolve_kind(state, word, kinds, "") if word else "Pod"
        if kind in API_GROUPS or kind == _DAEMON_SET:
            continue
        keys = [
            key
            for key in state.objects(kind)
            if key[1] == name and group_namespace in (None, key[0])
        ]
        namespaces = dict.fromkeys(
            key[0] for key in state.objects("Pod") if group_namespace in (None, key[0])
        )
        for key in keys or [(other, name) for other in namespaces]:
            for gang, pods, missing in _pods_by_gang(state, kind, key):
                if len(pods) + len(missing) > 1:
                    groups.append(
                        _explain_group(
                            explainer,
                            f"{kind}/{'/'.join(key)}",
                            key[0],
                            gang,
                            pods,
                            missing,
                            progress,
                        )
                    )
    return groups


def _pods_by_gang(
    state: ClusterState, kind: str, key: Key
) -> list[tuple[tuple[str, ...], list[Raw], list[Raw]]]:
    """Return the pods of a workload by gang, together with pods that the controller has not created
    yet.
    """
    value = state.get(kind, key)
    pods = [(pod_key, Pod(raw)) for pod_key, raw in pods_of_workload(state, kind, key)]
    existing = [(pod_key, pod) for pod_key, pod in pods if not pod.has_ended]
    by_gang: dict[tuple[str, ...], list[Raw]] = {}
    for _, pod in sorted(existing, key=lambda item: (*_queue_key(item[1]), item[0])):
        if not pod.deletion_timestamp:
            by_gang.setdefault(group_reference(pod), []).append(
                {**pod.raw, "metadata": {**pod.metadata, "namespace": key[0]}}
            )
    refused = newest_refusal(state, *key) is not None
    missing = (
        []
        if value is None or refused
        else _pods_to_create(Question(kind, key, value), sum(map(len, by_gang.values())))
    )
    if not by_gang and missing:
        return [(group_reference(Pod(missing[0])), [], missing)]
    return [(gang, pods, missing if len(by_gang) == 1 else []) for gang, pods in by_gang.items()]


def _queue_key(pod: Pod) -> tuple[int, str]:
    """Return a sort key: higher priority first, then the older pod."""
    return -pod.priority, pod.creation_timestamp


def _pods_to_create(workload: Question, existing: int) -> list[Raw]:
    """Return the pods that a workload wants in addition to the existing ones, template by
    template.
    """
    paths = [path for path, _ in pod_templates(dict(workload.value))]
    pods: list[Raw] = []
    for path, question in zip(paths, pods_from_templates(workload), strict=True):
        count = _count_replicas(workload.value, path)
        if existing and len(paths) > 1:
            return []  # the input does not show which pods exist
        name = question.view.name + (f"-{path[-3]}" if len(paths) > 1 else "")
        for number in range(existing, count):
            metadata = {**question.value["metadata"], "name": f"{name}-{number}"}
            pods.append(with_volumes(workload.value, {**question.value, "metadata": metadata}))
    return pods


def _count_replicas(value: Raw, path: Sequence[str | int]) -> int:
    """Return how many pods of the template at ``path`` a workload runs at once.

    That is the product of ``replicas`` and ``parallelism`` around the template (JobSet,
    RayCluster), and the size of a LeaderWorkerSet without its leader.
    """
    count = 1
    for depth in range(len(path)):
        parent = at(value, *path[:depth])
        if not isinstance(parent, dict):
            continue
        for field in ("replicas", "parallelism"):
            number = parent.get(field)
            if isinstance(number, int) and not isinstance(number, bool):
                count *= max(number, 0)
        size = parent.get("size")
        if path[depth] == "workerTemplate" and isinstance(size, int):
            count *= max(size - 1 if "leaderTemplate" in parent else size, 0)
    job = Workload(value)
    if job.completions is not None and job.parallelism is not None:
        count = min(count, job.completions)
    return min(count, MAX_REPLICAS)


def _explain_group(
    explainer: Explainer,
    name: str,
    namespace: str,
    gang: tuple[str, ...],
    pods: Sequence[Raw],
    missing: Sequence[Raw],
    progress: Callable[[str], None],
) -> Group:
    # Most explanations are about single pods, which need neither.
    from dractl.alignment import align_gang
    from dractl.capacity import place_replicas

    pending = [*(pod for pod in pods if Pod(pod).is_pending), *missing]
    placed, replicas = len(pods) + len(missing) - len(pending), len(pods) + len(missing)
    minimum_pods = min_count(explainer.state, namespace, gang)
    on_nodes = [pod for pod in pods if not Pod(pod).is_pending]
    fabric = align_gang(explainer.aligner, on_nodes) if len(on_nodes) > 1 else None
    if not pending:
        return Group(name, replicas, placed, 0, minimum=minimum_pods, across=fabric)
    pod_group = find_pod_group(explainer.state, Pod(pending[0]))
    topology = pod_group.topology if pod_group is not None else ""
    workload_name = name.rpartition("/")[2]
    placed_pods = [Pod(pod) for pod in on_nodes]
    states = split_by_topology(explainer.state, topology, placed_pods) or {"": explainer.state}
    placements = {
        domain: place_replicas(nodes, workload_name, pending, explainer.features, progress)
        for domain, nodes in states.items()
    }
    domain, placement = max(placements.items(), key=lambda item: item[1].fits)
    reasons, is_unknown = _reasons_for_next_pod(explainer, placement)
    most = None if is_unknown else placement.max_copies
    return Group(
        name,
        replicas,
        placed,
        placement.fits,
        Pod(placement.pending).name,
        reasons,
        None if placement.attempt is None else placement.attempt.message,
        None if most is None else placed + min(most.fits, len(pending)),
        most is not None and (most.proven or most.fits >= len(pending)),
        placement.order,
        placement.by_alternative,
        minimum_pods,
        placement.undecided or is_unknown,
        domain,
        _gang_cause(explainer, pending[0], namespace),
        fabric,
    )


def _gang_cause(explainer: Explainer, pod: Raw, namespace: str) -> str:
    """Return the cause that keeps a whole gang from starting; empty if there is none, or if the
    cause is that too few pods fit.
    """
    key = namespace, Pod(pod).name
    causes = explainer.group(Question("Pod", key, pod)).causes
    return (
        causes[0].full_sentence(Names())
        if causes and not isinstance(causes[0], GangTooSmall)
        else ""
    )


def _reasons_for_next_pod(
    explainer: Explainer, placement: Placement
) -> tuple[tuple[Reason, ...], bool]:
    """Return why the next pod stays pending, in the cluster with the pods that fit, and True if it
    is unknown whether it does.

    The cluster lacks all pods after the next one, so a reason about the size of their gang is left
    out.
    """
    if placement.pending is None:
        return (), False
    pending = Pod(placement.pending)
    metadata = {
        key: value
        for key, value in pending.metadata.items()
        if key not in ("uid", "ownerReferences")
    }
    placing = ("nodeName", "schedulerName")  # fields that would keep kube-scheduler from the pod
    spec = {key: value for key, value in pending.spec.items() if key not in placing}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    explainer_after = Explainer(placement.state, explainer.features, Options(fixes=0))
    explanation = explainer_after.explain(Question("Pod", pending.key, pod), placement.attempt)
    reasons = (reason for reason in explanation.reasons if reason.code != GangTooSmall.page.code)
    return tuple(reasons), explanation.verdict == "undecided"
