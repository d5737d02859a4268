"""Pods that a controller recreates: how such a pod ends for good, and where its spec is written.

Deleting a pod of a ReplicaSet frees nothing: its replacement is there before the pod that waits is tried again. The
workload has to become smaller, and which of its pods goes then is its controller's choice, not ours.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from dractl.cluster.changes import Change, Delete, Patch, parse_pointer, parse_target, pointer
from dractl.cluster.kubelet import newest_of
from dractl.cluster.managers import describe_ownership
from dractl.cluster.pods import ended, event_about, is_pending, stuck
from dractl.cluster.state import ClusterState, Key, at, list_at, map_at, maps_at, parse_key, text_at
from dractl.cluster.workloads import (
    DELETION_COST,
    SCALABLE_KINDS,
    WORKLOAD_KINDS,
    ActivePods,
    controller_of,
    deletion_cost,
    deletion_rank,
    leader_group,
    pods_of_workload,
    workload_of,
    workload_target,
)
from dractl.explain.ask import Question
from dractl.explain.fixes.edits import move_operation
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.phrases import age
from dractl.objects import Raw

_TEMPLATE_POINTER = "/spec/template"
_TEMPLATE_PATH = ("spec", "template")
_ROLLOUT_KINDS = (
    "Deployment",
    "DaemonSet",
)  # replace their pods, the broken ones first, when the pod template changes


class Ending(Struct, frozen=True):
    """How pods end for good: the changes, the pods that end by them, and their cost."""

    title: str
    changes: tuple[Change, ...]
    deletions: tuple[Change, ...]
    effect: str = ""
    preference: Preference = Preference.END

    @property
    def owner(self) -> str | None:
        """The workload that becomes smaller, as a target of changes."""
        return next((c.target for c in reversed(self.changes) if isinstance(c, Patch)), None)


class Owners:
    """The workloads of a cluster and their pods, as seen from the waiting pod ``subject``, which a correction may have
    ended: its controller recreates it."""

    def __init__(self, state: ClusterState, asking: Key, pod: Raw) -> None:
        self.state = state
        self.subject = asking
        owner = workload_of(pod)
        self.subject_owner = (owner[0], (asking[0], owner[1])) if owner is not None else None
        self._group = leader_group(pod)
        self._active = ActivePods(state)

    @cached_property
    def _now(self) -> float | None:
        return newest_of(self.state)

    def plan_ending(self, pods: Iterable[str]) -> Ending | None:
        """How the pods (``namespace/name``) end for good; None where ending them does not help the waiting pod."""
        bare: list[str] = []
        leaving: list[str] = []
        made: dict[tuple[str, str, str], list[Key]] = {}
        for full_name in dict.fromkeys(pods):
            namespace, name = parse_key(full_name)
            pod = self.state.get("Pod", (namespace, name))
            owner = workload_of(pod)
            if text_at(pod, "metadata", "deletionTimestamp"):
                leaving.append(full_name)
            elif owner is None:
                bare.append(full_name)
            else:
                made.setdefault((*owner, namespace), []).append((namespace, name))
        endings = [self._await_termination(full_name) for full_name in leaving]
        if bare:
            gone = _delete_pods(bare)
            bare_effect = self._describe_unowned(bare)
            endings.append(
                Ending(f"delete pod {', '.join(bare)}", gone, gone, bare_effect, Preference.LAST)
            )
        for (kind, name, namespace), wanted in made.items():
            smaller = self._scale_down(kind, (namespace, name), wanted)
            if smaller is None:
                return None
            endings.append(smaller)
        gone = tuple(c for e in endings for c in e.deletions)
        idle = self._explain_stuck_pods(gone)
        effects = [
            *([idle] if idle else []),
            *dict.fromkeys(e.effect for e in endings),
            *self._exhausted_budgets(gone),
        ]
        return Ending(
            " and ".join(e.title for e in endings),
            tuple(c for e in endings for c in e.changes),
            gone,
            "; ".join(filter(None, effects)),
            Preference.IDLE
            if idle
            else max((e.preference for e in endings), default=Preference.END),
        )

    def _describe_unowned(self, pods: Sequence[str]) -> str:
        if len(pods) > 1:
            return "nothing re-creates them"
        (value,) = (self.state.get("Pod", parse_key(name)) for name in pods)
        since = text_at(value, "status", "startTime")
        began = " ".join((f"it runs since {since}", f"({age(since, self._now)})")) if since else ""
        return "; ".join(filter(None, ("nothing re-creates it", began, describe_ownership(value))))

    def _explain_stuck_pods(self, gone: Iterable[Change]) -> str:
        """Why pods that end do nothing with what they hold; empty unless that is true of all."""
        ending = [
            parse_target(c.target)[1]
            for c in gone
            if isinstance(c, Delete) and c.target.startswith("Pod/")
        ]
        why = [stuck(self.state.get("Pod", key)) for key in ending]
        if not why or not all(why):
            return ""
        return f"it {why[0]}" if len(why) == 1 else f"they cannot run: {ending[0][1]} {why[0]}"

    def _exhausted_budgets(self, gone: Iterable[Change]) -> Iterator[str]:
        """The PodDisruptionBudgets that are exhausted and cover a pod that would end: eviction would respect them,
        deleting and scaling do not."""
        ending = [
            parse_target(c.target)[1]
            for c in gone
            if isinstance(c, Delete) and c.target.startswith("Pod/")
        ]
        for key, budget in self.state.objects("PodDisruptionBudget").items():
            labels = map_at(budget, "spec", "selector", "matchLabels")
            covered = any(
                labels
                and pod[0] == key[0]
                and labels.items()
                <= map_at(self.state.get("Pod", pod), "metadata", "labels").items()
                for pod in ending
            )
            if covered and at(budget, "status", "disruptionsAllowed") == 0:
                yield f"PodDisruptionBudget {'/'.join(key)} allows no disruption now"

    def _await_termination(self, full_name: str) -> Ending:
        """The end of a pod that is Terminating already: to delete it again does nothing."""
        namespace, name = parse_key(full_name)
        pod = self.state.get("Pod", (namespace, name))
        since, node = (
            text_at(pod, "metadata", "deletionTimestamp"),
            text_at(pod, "spec", "nodeName"),
        )
        title = f"wait for pod {full_name}, Terminating on {node} since {since}"
        effect = f"delete it by force only if {node} is gone for good"
        kept = [str(name) for name in list_at(pod, "metadata", "finalizers")]
        if kept:
            effect = f"finalizer {', '.join(kept)} keeps it: to delete it by force does nothing"
        if event_about(self.state, pod or {}, "FailedKillPod"):
            effect = f"its kubelet cannot end it: is the DRA driver on {node} running?"
        return Ending(title, (), _delete_pods([full_name]), effect)

    def _scale_down(self, kind: str, key: Key, wanted: Sequence[Key]) -> Ending | None:
        """A workload scaled down until the wanted pods end; None if the waiting pod is one of its own, or
        of the same group of a LeaderWorkerSet."""
        active = self._active.of(kind, key)
        keys = [(key[0], text_at(p, "metadata", "name")) for p in active]
        if (
            self.subject in keys
            or self.subject_owner == (kind, key)
            or not set(wanted) <= set(keys)
        ):
            return None
        groups = {
            leader_group(p) for p in active if self._group is not None and key[0] == self.subject[0]
        }
        if self._group in groups - {None}:
            return (
                None  # without its leader, or the others of its group, the waiting pod is of no use
            )
        target = f"{kind}/{key[0]}/{key[1]}"
        if kind == "Job":
            above = controller_of(self.state.get(kind, key))
            job_set = (key[0], text_at(above, "name"))
            if text_at(above, "kind") == "JobSet" and self.state.get("JobSet", job_set) is not None:
                kind, key, target = "JobSet", job_set, "/".join(("JobSet", *job_set))
                keys = [k for k, pod in pods_of_workload(self.state, kind, key) if not ended(pod)]
            if self.subject in keys:
                return None
            patch = Patch(target, ({"op": "add", "path": "/spec/suspend", "value": True},))
            effect = f"ends its {len(keys)} pods" if len(keys) > 1 else "ends its pod"
            effect += "; or wait until it is done"
            gone = _delete_pods("/".join(k) for k in keys)
            return Ending(
                f"suspend {kind} {'/'.join(key)}", (patch,), gone, effect, Preference.LAST
            )
        if (
            kind not in SCALABLE_KINDS
            or len({text_at(controller_of(p), "name") for p in active}) > 1
        ):
            return None  # a DaemonSet, somebody else's kind; or a rollout is under way
        rank = deletion_rank(kind, active)
        names = {wanted_key[1] for wanted_key in wanted}
        chosen = [p for p in active if text_at(p, "metadata", "name") in names]
        order = sorted(active, key=lambda p: (rank(p), p not in chosen))
        fewer = 1 + max(map(order.index, chosen))
        cost = {id(p): deletion_cost(p) - 1 for p in chosen}
        if kind != "StatefulSet":
            # A cost counts before how many pods are on a node (kubernetes pkg/controller/controller_utils.go
            # ActivePodsWithRanks): where that would end others first, those to go are marked as the cheapest.
            least = min(map(deletion_cost, active)) - 1
            cheapest = sorted(
                active, key=lambda p: (*rank(p)[:3], least, 0) if p in chosen else rank(p)
            )
            if (marking := 1 + max(map(cheapest.index, chosen))) < fewer:
                order, fewer, cost = cheapest, marking, dict.fromkeys(cost, least)
        # Of pods that are alike the controller takes any: where one of them is to stay, those to go are marked.
        stay = [rank(p) for p in order[fewer:]]
        marked = [p for p in chosen if any(other <= rank(p) for other in stay)]
        left = len(order) - fewer
        patch = Patch(target, ({"op": "replace", "path": "/spec/replicas", "value": left},))
        gone = _delete_pods(f"{key[0]}/{text_at(p, 'metadata', 'name')}" for p in order[:fewer])
        title = f"scale {kind} {'/'.join(key)} from {len(order)} to {left} replica{'s' if left != 1 else ''}"
        if marked:
            those = ", ".join(text_at(p, "metadata", "name") for p in marked)
            title += f", {'pods' if len(marked) > 1 else 'pod'} {those} first"
        changes = (*(lower_deletion_cost(key[0], p, cost[id(p)]) for p in marked), patch)
        if left:
            return Ending(title, changes, gone)
        return Ending(
            title,
            changes,
            gone,
            "its last replica" if fewer == 1 else "all of its replicas",
            Preference.OUTAGE,
        )


def _delete_pods(pods: Iterable[str]) -> tuple[Change, ...]:
    return tuple(Delete(f"Pod/{pod}") for pod in pods)


def lower_deletion_cost(namespace: str, pod: Raw, cost: int | None = None) -> Patch:
    """The annotation that makes a controller end this pod before equal ones, or before those that cost more."""
    annotations = at(pod, "metadata", "annotations")
    value = str(deletion_cost(pod) - 1 if cost is None else cost)
    operation = {"op": "add", "path": "/metadata/annotations", "value": {DELETION_COST: value}}
    if isinstance(annotations, dict):
        operation = {
            "op": "add",
            "path": pointer("metadata", "annotations", DELETION_COST),
            "value": value,
        }
    return Patch(f"Pod/{namespace}/{text_at(pod, 'metadata', 'name')}", (operation,))


def describe_affected_pods(state: ClusterState, restarted: Collection[Key], patch: Patch) -> str:
    """Which pods besides those ``restarted`` a change of a template concerns; empty where none are."""
    kind, key = parse_target(patch.target)
    if any(str(o["path"]).startswith(_TEMPLATE_POINTER) for o in patch.operations):
        return f"for every pod of {kind} {'/'.join(key)}"
    if kind != "ResourceClaimTemplate":
        return ""
    others = sum(
        where not in restarted and not ended(pod) for where, pod in pods_of_template(state, key)
    )
    return f"{others} more pod{'s use' if others > 1 else ' uses'} the template" if others else ""


def pods_to_recreate(state: ClusterState, question: Question, change: Patch) -> list[Key]:
    """The waiting pods that have to be made anew so that a change reaches them: a claim keeps the spec that its
    template had, and only Deployments and DaemonSets replace pods whose template changes."""
    kind, key = parse_target(change.target)
    if question.kind != "Pod":
        return []
    owner = workload_target(state.get("Pod", question.key), question.key[0])
    if kind == "ResourceClaimTemplate":
        own = [question.key]
        if owner is not None:
            waiting = [(k, pod) for k, pod in pods_of_template(state, key) if is_pending(pod)]
            own = [k for k, pod in waiting if workload_target(pod, k[0]) == owner]
        return own or [question.key]
    if (
        change.target == owner
        and kind not in _ROLLOUT_KINDS
        and kind != "Job"
        and "replicas" not in str(change)
    ):
        return [question.key]
    return []


def pods_of_template(state: ClusterState, template: Key) -> Iterator[tuple[Key, Raw]]:
    """The pods whose claims a template makes."""
    for key, pod in state.objects("Pod").items():
        references = maps_at(pod, "spec", "resourceClaims") if key[0] == template[0] else ()
        if any(text_at(r, "resourceClaimTemplateName") == template[1] for r in references):
            yield key, pod


def move_to_template(state: ClusterState, key: Key, patch: Patch) -> Patch | None:
    """A patch of a pod as a patch of what a person would change: the pod template of its workload, or the pod itself.
    None where the template lacks what the patch changes: a controller or admission put it into the pod, and would do so
    again (the DaemonSet controller's affinity, a RuntimeClass's nodeSelector)."""
    pod = state.get("Pod", key)
    target = workload_target(pod, key[0])
    if target is None or target.partition("/")[0] not in WORKLOAD_KINDS:
        return patch
    written = state.get(*parse_target(target)) or _stand_in_workload(pod)
    operations: list[Raw] = []
    for operation in patch.operations:
        if _is_copied_limit(operation, written):
            continue
        changed = move_operation(operation, pod, written, _TEMPLATE_PATH)
        if changed is None:
            return None
        operations.append(changed)
    return Patch(target, tuple(operations)) if operations else None


def _stand_in_workload(pod: Raw | None) -> Raw:
    """What stands in for a workload that the input lacks: its pod without the tolerations that admission adds
    (kubernetes plugin/pkg/admission/defaulttolerationseconds)."""
    spec = dict(map_at(pod, "spec"))
    own = [
        t
        for t in maps_at(spec, "tolerations")
        if not text_at(t, "key").startswith("node.kubernetes.io/")
    ]
    spec.pop("tolerations", None)
    return {"spec": {"template": {"spec": {**spec, **({"tolerations": own} if own else {})}}}}


def _is_copied_limit(operation: Raw, written: Raw) -> bool:
    """True if an operation concerns the request of an extended resource that the API server copied from its limit."""
    match parse_pointer(str(operation.get("from") or operation["path"])):
        case ["spec", "containers", index, "resources", "requests", resource] if "/" in resource:
            container = at(written, *_TEMPLATE_PATH, "spec", "containers", int(index))
            given = (
                map_at(container, "resources", "requests"),
                map_at(container, "resources", "limits"),
            )
            return resource not in given[0] and resource in given[1]
    return False
