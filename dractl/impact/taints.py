"""The effects of DeviceTaintRules and of taints in slices on what runs."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from dractl.allocation import DeviceID, Features, effective_taint_rules
from dractl.allocation.taints import Reach
from dractl.cluster.changes import Create
from dractl.cluster.clock import newest_time
from dractl.cluster.devices import Devices
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, Key
from dractl.impact.aftermath import Aftermath, compare_pending_pods, end_pods
from dractl.impact.coverage import note_missing_kinds
from dractl.impact.devices import compare_devices, list_rows
from dractl.impact.eviction import (
    DeviceTaintSource,
    Eviction,
    EvictionController,
    format_taint,
    reaches,
)
from dractl.impact.result import Impact, PodImpact, sort_pods
from dractl.impact.selection import note_unselected
from dractl.impact.summary import count
from dractl.impact.taint_change import TaintObjects, store_taint_objects
from dractl.model import DeviceTaintRule, Target
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.admission import find_rejection
from dractl.views import Pod, TaintRule

_REHEARSAL = "None"
"""The effect of a rule that only counts what it would hit."""


class TaintedCluster(Struct, frozen=True):
    """A cluster before and after a change of taints."""

    before: ClusterState
    after: ClusterState
    features: Features
    now: float
    """The time of the change, in seconds since 1970; 0 if the input has no time."""
    rules: tuple[str, ...]
    """The names of the DeviceTaintRules that change."""
    change: tuple[str, ...]
    """What changes: ``KIND/NAME`` of each."""


class Wave(Struct, frozen=True):
    """The pods that end at one time, and what follows."""

    time: float
    """Seconds since 1970."""
    aftermath: Aftermath


def find_taint_impact(state: ClusterState, objects: TaintObjects, features: Features) -> Impact:
    """Return what happens to running pods once these objects are stored."""
    cluster = _change_cluster(state, objects, features)
    selected = _list_selected_devices(cluster)
    controller = EvictionController(cluster.after, features)
    evictions = controller.find_evictions()
    waves = _end_in_waves(Scheduler(cluster.after, features), evictions)
    aftermath = waves[-1].aftermath
    followers = list(_list_followers(cluster, waves, evictions))
    ended = evictions.keys() | {impact.key for impact in followers}
    rows_before, rows_after = list_rows(state, features), list_rows(cluster.after, features)
    sources = {eviction.source.device for eviction in evictions.values()}
    devices = tuple(
        compare_devices(
            rows_before, rows_after, {*sources, *(d for ds in selected.values() for d in ds)}
        )
    )
    return Impact(
        cluster.change,
        devices,
        sort_pods(
            [
                *(
                    _describe_eviction(cluster, key, eviction, aftermath)
                    for key, eviction in evictions.items()
                ),
                *followers,
                *_list_kept_pods(cluster, {change.device for change in devices}, ended),
            ]
        ),
        compare_pending_pods(Scheduler(state, features), aftermath),
        tuple(_list_steps(cluster, evictions)),
        tuple(dict.fromkeys(_list_notes(cluster, selected, evictions, aftermath))),
    )


def _change_cluster(
    state: ClusterState, objects: TaintObjects, features: Features
) -> TaintedCluster:
    now = newest_time(state) or 0.0
    change = tuple(f"{kind}/{name}" for kind, by_key in objects.items() for _, name in by_key)
    rules = tuple(name for _, name in objects.get("DeviceTaintRule", {}))
    after = store_taint_objects(state, objects, features, now)
    return TaintedCluster(state, after, features, now, rules, change)


def _list_selected_devices(cluster: TaintedCluster) -> dict[str, tuple[DeviceID, ...]]:
    """Return the devices that each of the changed rules selects, by the name of the rule.

    These are published ones, and ones that only claims have.
    """
    state = cluster.after
    published = Devices(state, state.slices)
    allocated = {device.id for claim in state.claims.values() for device in claim.allocated_devices}
    devices = allocated | {
        DeviceID(item.spec.driver, item.spec.pool.name, device.name)
        for item in state.slices
        if item in published.pool(item.spec.driver, item.spec.pool.name)
        for device in item.spec.devices
    }
    return {
        rule.metadata.name: tuple(sorted(d for d in devices if reaches(reach, d, published.get(d))))
        for rule, reach in _list_changed_rules(cluster)
    }


def _list_changed_rules(cluster: TaintedCluster) -> list[tuple[DeviceTaintRule, Reach]]:
    rules = [rule for rule in cluster.after.taint_rules if rule.metadata.name in cluster.rules]
    return effective_taint_rules(rules, cluster.features, cluster.after.classes)


# -- pods --


def _end_in_waves(scheduler: Scheduler, evictions: Mapping[Key, Eviction]) -> list[Wave]:
    """Return what follows when pods end at their times: those of one time together."""
    pods_by_time: dict[float, list[Key]] = {}
    for key, eviction in evictions.items():
        pods_by_time.setdefault(eviction.time or 0.0, []).append(key)
    waves = [Wave(0.0, Aftermath(scheduler))]
    for time, keys in sorted(pods_by_time.items()):
        before = waves[-1].aftermath
        # Their owner may have ended them with others by then.
        present = [key for key in keys if key not in before.followers]
        waves.append(Wave(time, end_pods(before, present)))
    return waves


def _list_followers(
    cluster: TaintedCluster, waves: list[Wave], evictions: Mapping[Key, Eviction]
) -> Iterator[PodImpact]:
    """Yield the pods that owners end because the controller ends others."""
    reported: set[Key] = set(evictions)
    for wave in waves:
        for key, why in wave.aftermath.followers.items():
            if key not in reported:
                reported.add(key)
                at = max(0, round(wave.time - cluster.now))
                yield PodImpact(key, "evicted", why, at, waves[-1].aftermath.nodes.get(key))


def _describe_eviction(
    cluster: TaintedCluster, key: Key, eviction: Eviction, aftermath: Aftermath
) -> PodImpact:
    return PodImpact(
        key,
        "evicted",
        f"{describe_cause(eviction)}{_describe_owner(cluster.before.pod(key))}",
        seconds_until(eviction, cluster.now),
        aftermath.nodes.get(key),
    )


def describe_cause(eviction: Eviction) -> str:
    """Return the taint that ends a pod, and what the claim tolerates."""
    source = eviction.source
    origin = f"DeviceTaintRule {source.rule} gives" if source.rule else "its slice gives"
    tolerated = (
        f"request {eviction.request} does not tolerate it"
        if eviction.delay is None
        else f"request {eviction.request} tolerates it for {eviction.delay} s"
    )
    return f"{origin} {source.device.device} {source.text}, and {tolerated}"


def _describe_owner(pod: Pod) -> str:
    if pod.has_ended:
        return "; it has ended, and is deleted"
    return "" if pod.controller is not None else "; no controller creates it again"


def seconds_until(eviction: Eviction, now: float) -> int | None:
    """Return the seconds from ``now`` until an eviction.

    None if it cannot be known: the input has no time to count from, and the taint has one.
    """
    if eviction.time is None:
        return None
    seconds = eviction.time - now
    if not now and seconds > (eviction.delay or 0):
        return None
    return max(0, round(seconds))


def _list_kept_pods(
    cluster: TaintedCluster, devices: set[str], ended: Collection[Key]
) -> Iterator[PodImpact]:
    """Yield the pods that use one of the devices and are not evicted, with the reason."""
    rehearsed = EvictionController(_rehearse(cluster), cluster.features)
    hypothetical = rehearsed.find_evictions() if cluster.rules else {}
    after = EvictionController(cluster.after, cluster.features)
    for key, pod in cluster.after.pods.items():
        if key in ended or not pod.node_name or pod.has_ended:
            continue
        ids = [
            device.id
            for name in pod.claim_names
            for device in cluster.after.claim((key[0], name)).allocated_devices
            if str(device.id) in devices
        ]
        if ids:
            taints = [taint for device in ids for taint in after.list_taints(device)]
            yield PodImpact(key, "kept", _explain_stay(cluster, pod, taints, hypothetical.get(key)))


def _rehearse(cluster: TaintedCluster) -> ClusterState:
    """Return the cluster in which the changed rules without effect evict."""
    rules = {
        ("", name): view.with_taint(effect="NoExecute")
        for name in cluster.rules
        if (view := TaintRule(cluster.after.get("DeviceTaintRule", ("", name)))).effect
        == _REHEARSAL
    }
    return cluster.after.with_objects({"DeviceTaintRule": rules})


def _explain_stay(
    cluster: TaintedCluster,
    pod: Pod,
    taints: list[DeviceTaintSource],
    hypothetical: Eviction | None,
) -> str:
    if pod.deletion_timestamp:
        return "it is Terminating already"
    if hypothetical is not None:
        when = f" after {hypothetical.delay} s" if hypothetical.delay else ""
        return f"effect None: with NoExecute it would be evicted{when}"
    if not taints:
        return "no taint with effect NoExecute"
    if not cluster.features.enabled("DRADeviceTaints"):
        return "gate DRADeviceTaints is off: nobody is evicted"
    controller = EvictionController(cluster.after, cluster.features)
    in_use = set(controller.list_claims_in_use(pod))
    if not any(
        (pod.key[0], name) in in_use for name in pod.claim_names - {pod.extended_claim_name}
    ):
        if pod.extended_claim_name and not cluster.features.has("evicts-extended-resources"):
            return (
                "it has the device through an extended resource, which the eviction controller"
                " overlooks up to 1.37.1"
            )
        return "its claim is not reserved for it"
    return f"its claim tolerates {taints[0].text}"


# -- what else to say --


def _list_steps(cluster: TaintedCluster, evictions: Mapping[Key, Eviction]) -> Iterator[NextStep]:
    for name in cluster.rules:
        rule = TaintRule(cluster.after.get("DeviceTaintRule", ("", name)))
        if rule.effect == _REHEARSAL:
            yield NextStep(
                "see what the eviction controller counts, once the rule is created",
                quote_command("kubectl describe devicetaintrule {}", name),
            )
        elif rule.effect == "NoExecute" and evictions and cluster.features.has("effect-none"):
            yield NextStep(
                "rehearse it: create the rule with effect None first, and read its status",
                quote_command("kubectl describe devicetaintrule {}", name),
            )


def _list_notes(
    cluster: TaintedCluster,
    selected: Mapping[str, tuple[DeviceID, ...]],
    evictions: Mapping[Key, Eviction],
    aftermath: Aftermath,
) -> Iterator[str]:
    yield from _note_gates(cluster)
    yield from _note_rejections(cluster)
    for rule, _ in _list_changed_rules(cluster):
        devices = selected[rule.metadata.name]
        if not devices:
            yield from note_unselected(cluster.after, rule)
        elif rule.spec.taint.effect == _REHEARSAL:
            yield _count_rehearsal(cluster, rule, devices)
    yield from _note_unselective_rules(cluster)
    if evictions:
        yield "the controller deletes pods itself: PodDisruptionBudgets do not count"
    yield from _note_circles(cluster, evictions, aftermath)
    yield from aftermath.notes
    yield from note_missing_kinds(cluster.before, ("Pod", "ResourceClaim", "ResourceSlice"))


def _note_rejections(cluster: TaintedCluster) -> Iterator[str]:
    """Yield a note on each rule that the API server refuses: it would have no effect."""
    features = cluster.features
    target = Target(features.release, features.on)
    for name in cluster.rules:
        rule = cluster.after.get("DeviceTaintRule", ("", name))
        rejection = find_rejection(cluster.before, (Create(rule),), target) if rule else None
        if rejection is not None:
            server = f"the API server of {features.release}"
            yield f"{server} refuses DeviceTaintRule {name}: {rejection}"


def _note_gates(cluster: TaintedCluster) -> Iterator[str]:
    features = cluster.features
    if not features.enabled("DRADeviceTaints"):
        yield (
            f"gate DRADeviceTaints is off in Kubernetes {features.release}: taints of devices have"
            " no effect"
        )
    elif (
        cluster.rules
        and features.has("taint-rules-gate")
        and not features.enabled("DRADeviceTaintRules")
    ):
        yield (
            f"gate DRADeviceTaintRules is off in Kubernetes {features.release}: DeviceTaintRules"
            " have no effect"
        )


def _note_unselective_rules(cluster: TaintedCluster) -> Iterator[str]:
    """Yield a note on rules without ``deviceSelector``, which releases treat in different ways."""
    for name in cluster.rules:
        rule = TaintRule(cluster.after.get("DeviceTaintRule", ("", name)))
        if rule.has_selector:
            continue
        if not cluster.features.has("empty-rule-taints-all"):
            yield f"DeviceTaintRule {name} has no deviceSelector: it selects no device"
        elif cluster.features.has("rules-evict-by-name"):
            yield (
                f"DeviceTaintRule {name} has no deviceSelector: the scheduler of"
                f" {cluster.features.release} avoids every device, and nobody is evicted"
            )


def _count_rehearsal(
    cluster: TaintedCluster, rule: DeviceTaintRule, devices: tuple[DeviceID, ...]
) -> str:
    """Return the counts that the controller writes into the status of a rule without effect."""
    published = Devices(cluster.after, cluster.after.slices)
    number = sum(published.get(device) is not None for device in devices)
    allocated = sum(
        device.id in devices
        for claim in cluster.after.claims.values()
        for device in claim.allocated_devices
    )
    evictions = EvictionController(_rehearse(cluster), cluster.features).find_evictions()
    pods = [key for key, e in evictions.items() if e.source.rule == rule.metadata.name]
    namespaces = len({namespace for namespace, _ in pods})
    return (
        f"DeviceTaintRule {rule.metadata.name} has effect None and selects"
        f" {count(number, 'published device')} and {count(allocated, 'allocated device')}; with"
        f" NoExecute it would evict {count(len(pods), 'pod')} in {count(namespaces, 'namespace')}"
    )


def _note_circles(
    cluster: TaintedCluster, evictions: Mapping[Key, Eviction], aftermath: Aftermath
) -> Iterator[str]:
    """Yield a note on new pods that get a tainted device, and are evicted again."""
    again = EvictionController(aftermath.scheduler.state, cluster.features).find_evictions()
    for new, old in aftermath.successors.items():
        if new in again and old in evictions:
            delay = again[new].delay
            when = (
                "at once" if _is_over(again[new], evictions[old]) else f"{delay} s after its taint"
            )
            yield (
                f"the pod that replaces {'/'.join(old)} gets {again[new].source.device.device}"
                f" again, with {format_taint(again[new].source.taint)}, and is evicted {when}: its"
                " owner creates pods over and over"
            )


def _is_over(again: Eviction, first: Eviction) -> bool:
    """Return whether the time of a new pod is over when the pod that it replaces is evicted."""
    return again.time is None or first.time is None or again.time <= first.time
