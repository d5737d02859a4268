"""The obstacles as an answer shows them, and the time when the subject could fit."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.changes import parse_target
from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState, Key
from dractl.explain.answer import Obstacle, When
from dractl.explain.ask import CLAIMS
from dractl.explain.context import Case
from dractl.explain.obstacles.claim_demands import (
    ClassOfRequest,
    Count,
    FreeDevices,
    RequestedDevices,
)
from dractl.explain.obstacles.demands import Demand
from dractl.explain.obstacles.isolation import isolate
from dractl.explain.obstacles.releases import release_claims
from dractl.explain.obstacles.search import NodeObstacles, Obstacles
from dractl.explain.obstacles.trial import Oracle, Trial, lift_all, recreate_subject
from dractl.explain.reasons.base import Cause, ClaimCause, HeldDevices, RequestsCause
from dractl.explain.reasons.cross_object import PodsNotCreated
from dractl.explain.reasons.limits import ClassMissing
from dractl.explain.reasons.misfits import format_expression
from dractl.model.abbreviation import abbreviate
from dractl.model.names import RequestRef
from dractl.objects import Claim, Raw
from dractl.scheduler.bound_pods import BoundPods
from dractl.scheduler.pod_affinity import PodAffinity
from dractl.scheduler.snapshot import snapshot_of


class Description(Struct, frozen=True):
    """The obstacles of a subject, as its answer shows them."""

    obstacles: tuple[Obstacle, ...] = ()
    """The obstacles on the nearest node, the deciding one first."""
    causes: tuple[Cause, ...] = ()
    """The cause that each obstacle has once the others are lifted."""
    when: When | None = None
    """The time when the subject could fit; None if that is not known."""
    lasting: tuple[Cause, ...] = ()
    """The causes that would remain with no device held; empty unless the subject can never fit."""
    notes: tuple[str, ...] = ()
    """Demands that cannot be judged, since there are no devices to compare them with."""


def describe_obstacles(
    oracle: Oracle, case: Case, obstacles: Obstacles, causes: Sequence[Cause]
) -> Description:
    """Describe the obstacles on the nearest node.

    ``causes`` are the causes in the cluster as it is; they describe a single obstacle.
    """
    if not obstacles.on_nodes or not causes:
        return Description()
    nearest = obstacles.on_nodes[0]
    when = _find_when(oracle, case, nearest)
    deciding_first = sorted(nearest.demands, key=lambda demand: demand.passes)
    lasts = when == "never"
    pairs = [
        (demand, _causes_of(oracle, case, nearest, demand, lasts=lasts) or causes[:1])
        for demand in deciding_first
    ]
    return Description(
        tuple(_obstacle(case, nearest, demand, theirs) for demand, theirs in pairs),
        tuple(cause for _, theirs in pairs for cause in theirs),
        when,
        tuple(c for demand, theirs in pairs if lasts and not demand.passes for c in theirs),
        tuple(_note_unjudged_demands(case, nearest, pairs)),
    )


def _first_of(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return the first cause. That pods are refused is no answer to a demand if there is another,
    since it comes first whatever the demand is.
    """
    others = [cause for cause in causes if not isinstance(cause, PodsNotCreated)]
    return (others or causes)[:1]


def _causes_of(
    oracle: Oracle, case: Case, nearest: NodeObstacles, demand: Demand, *, lasts: bool
) -> tuple[Cause, ...]:
    """Return the causes of a demand with the others lifted; none if it is the only demand.

    A count that stands for several constraints has one cause for each of them. If the subject can
    never fit, the causes are found with all devices free, so that no holder is blamed.
    """
    others = [other for other in nearest.demands if other is not demand]
    constraints = demand.constraints if isinstance(demand, Count) else ()
    if not others and not constraints:
        return ()
    nodes = nearest.nodes
    if lasts and not demand.passes and nodes:
        others.append(FreeDevices())
    alone = [
        isolate(
            oracle, case, case.state, [*others, *(c for c in constraints if c is not each)], nodes
        )
        for each in constraints or (demand,)
    ]
    causes = (_rename_claims(cause, i.case, case) for i in alone for cause in _first_of(i.causes))
    return tuple(dict.fromkeys(_keep_existing_classes(case, cause) for cause in causes))


def _rename_claims(cause: Cause, recreated: Case, case: Case) -> Cause:
    """Return a cause of the recreated subject with the names that its claims have now.

    The resource claim controller adds a random suffix to the name of a claim that it makes; the
    recreated subject's claims have none.
    """
    current = {claim.name: name for name, claim in case.claims.items()}
    names = {
        name: current[claim.name]
        for name, claim in recreated.claims.items()
        if current.get(claim.name, name) != name
    }

    def rename(value: object) -> object:
        if isinstance(value, RequestRef):
            return replace(value, claim=names.get(value.claim, value.claim))
        if isinstance(value, tuple):
            return tuple(map(rename, value))
        return value

    fields = {
        name: rename(getattr(cause, name))
        for name in ("request", "requests")
        if hasattr(cause, name)
    }
    if isinstance(cause, ClaimCause) and cause.claim is not None:
        fields["claim"] = names.get(cause.claim, cause.claim)
    return replace(cause, **fields) if names else cause


def _note_unjudged_demands(
    case: Case, nearest: NodeObstacles, pairs: Sequence[tuple[Demand, Sequence[Cause]]]
) -> Iterator[str]:
    """Yield notes on the other demands of requests without devices, since it is unknown whether
    their devices would meet them.
    """
    for demand, causes in pairs:
        # With one of these causes there are devices for the request, which something else takes.
        is_served = any(isinstance(cause, RequestsCause | HeldDevices) for cause in causes)
        if is_served or not isinstance(demand, RequestedDevices):
            continue
        value = case.state.get(*parse_target(demand.target)) or {}
        claim = Claim.of(demand.target, value, demand.prefix)
        request = claim.request(demand.request)
        if request is None:
            continue
        demanded = [format_expression(selector.text) for selector in request.selectors]
        demanded += [f"a count of {request.amount}"] if request.amount > 1 else []
        demanded += [
            f"{constraint.kind} {constraint.attribute}"
            for constraint in claim.constraints
            if request in claim.targets(constraint.requests)
        ]
        if demanded:
            yield (
                f"not known of request {demand.request}, without devices to compare with: "
                + ", ".join(demanded)
            )
        drivers = case.drivers_of(request.device_class).union(
            *(d.drivers for d in nearest.demands if isinstance(d, ClassOfRequest))
        )
        yield from _note_unpublished_devices(case, drivers, nearest)


def _note_unpublished_devices(
    case: Case, drivers: Container[str], nearest: NodeObstacles
) -> Iterator[str]:
    """Yield notes on demands that devices would not meet even once their driver publishes them."""
    for rule in case.state.taint_rules:
        selector = rule.spec.device_selector
        if selector is not None and selector.driver in drivers:
            yield (
                f"DeviceTaintRule {rule.metadata.name} taints the devices of {selector.driver} "
                "once they are published"
            )
    held = Counter(
        {
            pod.full_name: sum(
                device.driver in drivers and case.devices.get(device.id) is None
                for name in pod.claim_names
                for device in case.state.claim((pod.key[0], name)).held_devices
            )
            for pod in case.state.pods.values()
            if pod.node_name in nearest.nodes and not pod.has_ended
        }
    )
    # The pods with most devices come first, since they leave the fewest for others.
    holders = [name for name, number in held.most_common() if number]
    if holders:
        yield f"allocated although no slice has them: devices of {abbreviate(holders)}"


def _obstacle(
    case: Case, nearest: NodeObstacles, demand: Demand, causes: Sequence[Cause]
) -> Obstacle:
    have = "; ".join(map(case.say, causes))
    return Obstacle(demand.kind, demand.object, demand.want, have, nearest.nodes, causes[0].code)


def _keep_existing_classes(case: Case, cause: Cause) -> Cause:
    """Return a cause that suggests only classes of the cluster, and none that the trial added."""
    if not isinstance(cause, ClassMissing):
        return cause
    names = {name for _, name in case.state.objects("DeviceClass")}
    return replace(
        cause,
        nearest=cause.nearest if cause.nearest in names else None,
        classes=tuple(name for name in cause.classes if name in names),
        substitutes=tuple(name for name in cause.substitutes if name in names),
        none_known=not case.state.covers("DeviceClass"),
    )


# -- when --


def _find_when(oracle: Oracle, case: Case, nearest: NodeObstacles) -> When:
    """Return the time when a subject could fit. Demands that end the attempt before any node is
    tried are lifted first.
    """
    before = [demand for demand in nearest.demands if demand.is_before_nodes]
    trial = lift_all(recreate_subject(case.state, case.state, case.question), before)
    if len(before) == len(nearest.demands):
        return "blocked"
    # The nearest node usually answers for all nodes; a claim by itself is tried on all nodes at
    # once.
    idle = list_idle_trials(trial)
    is_one_enough = nearest.nodes and case.question.kind not in CLAIMS
    is_held = is_one_enough and oracle.fits(idle[0], nearest.nodes)
    return "now-held" if is_held or any(map(oracle.fits, idle)) else "never"


def list_idle_trials(trial: Trial) -> list[Trial]:
    """Return the trial in a cluster where no device is held and no other pod runs, and, if the
    subject's affinity asks for pods that run, another one with these pods.
    """
    idle = Trial(_empty(trial), trial.question)
    companions = _list_companions(trial)
    if not companions:
        return [idle]
    pods = {**idle.state.objects("Pod"), **companions}
    return [idle, Trial(idle.state.with_kinds({"Pod": pods}), trial.question)]


def _list_companions(trial: Trial) -> Mapping[Key, Raw]:
    """Return the pods on nodes that the subject's required affinity asks for."""
    question = trial.question
    if question.kind in CLAIMS or not question.pod.pod_affinity:
        return {}
    others = BoundPods(snapshot_of(trial.state), question.pod)
    return {each.pod.key: each.pod.raw for each in PodAffinity(others).affinity_matches}


@derive_from("Pod")
def _list_unbound_pods(state: ClusterState, besides: Key | None) -> Mapping[Key, Raw]:
    """Return the pods without a node, and the pod ``besides``. All subjects without a node share
    the mapping, and so everything that the scheduler derives from it.
    """
    return {key: pod.raw for key, pod in state.pods.items() if key == besides or not pod.node_name}


def _empty(trial: Trial) -> ClusterState:
    """Return the cluster in which no other pod runs, and no claim holds devices."""
    subject = None if trial.question.kind in CLAIMS else trial.question.key
    is_bound = subject is not None and bool(trial.state.pod(subject).node_name)
    pods = _list_unbound_pods(trial.state, subject if is_bound else None)
    return trial.state.with_kinds({"Pod": pods, "ResourceClaim": release_claims(trial.state)})
