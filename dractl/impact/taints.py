"""The effects of DeviceTaintRules and of taints in slices on running pods."""

from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.state import ClusterState, Key
from dractl.impact.aftermath import Aftermath, compare_pending_pods, evict_pods
from dractl.impact.devices import compare_devices, list_rows
from dractl.impact.eviction import DeviceTaintSource, Eviction, EvictionController
from dractl.impact.result import DeviceChange, Impact, PodImpact, sort_pods
from dractl.impact.taint_change import TaintObjects
from dractl.impact.taint_notes import TaintEffects, list_notes, list_steps
from dractl.impact.tainted_cluster import TaintedCluster, change_cluster, list_selected_devices
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod


class Wave(Struct, frozen=True):
    """The pods that end at the same time, and the consequences."""

    seconds: int
    """Seconds from now."""
    aftermath: Aftermath


def find_taint_impact(state: ClusterState, objects: TaintObjects, features: Features) -> Impact:
    """Return the effects on running pods when ``objects`` are stored."""
    cluster = change_cluster(state, objects, features)
    evictions = EvictionController(cluster.after, features).find_evictions()
    waves = _end_in_waves(cluster, evictions)
    aftermath = waves[-1].aftermath
    effects = TaintEffects(cluster, list_selected_devices(cluster), evictions, aftermath)
    devices = tuple(_list_devices(effects))
    ended = _list_ended_pods(effects, waves)
    kept = _list_kept_pods(cluster, {change.device for change in devices}, ended)
    return Impact(
        cluster.change,
        devices,
        sort_pods([*ended.values(), *kept]),
        compare_pending_pods(Scheduler(state, features), aftermath),
        tuple(list_steps(effects)),
        tuple(dict.fromkeys(list_notes(effects))),
    )


def _list_devices(effects: TaintEffects) -> Iterator[DeviceChange]:
    """Yield each device whose taints change, or that a rule selects, or that makes pods end."""
    cluster = effects.cluster
    before, after = (
        list_rows(state, cluster.features) for state in (cluster.before, cluster.after)
    )
    concerned = {eviction.source.device for eviction in effects.evictions.values()}
    yield from compare_devices(before, after, concerned.union(*effects.selected.values()))


def _end_in_waves(cluster: TaintedCluster, evictions: Mapping[Key, Eviction]) -> list[Wave]:
    """Evict the pods in the order of their times. Pods with the same time form one wave."""
    pods_by_time: dict[int, list[Key]] = {}
    for key, eviction in evictions.items():
        pods_by_time.setdefault(seconds_until(eviction, cluster.now) or 0, []).append(key)
    waves = [Wave(0, Aftermath(Scheduler(cluster.after, cluster.features)))]
    for seconds, keys in sorted(pods_by_time.items()):
        before = waves[-1].aftermath
        # An owner may have ended some of the pods already, together with pods that ended earlier.
        present = [key for key in keys if key not in before.followers]
        waves.append(Wave(seconds, evict_pods(before, present)))
    return waves


def _list_ended_pods(effects: TaintEffects, waves: list[Wave]) -> dict[Key, PodImpact]:
    """Return the pods that the controller deletes, and the pods that their owners then end."""
    nodes, cluster = effects.aftermath.nodes, effects.cluster
    impacts = {
        key: PodImpact(
            key,
            "evicted",
            f"{_describe_cause(eviction)}{_describe_owner(cluster.before.pod(key))}",
            seconds_until(eviction, cluster.now),
            nodes.get(key),
        )
        for key, eviction in effects.evictions.items()
        if key not in effects.aftermath.followers
    }
    for wave in waves:
        for key, why in wave.aftermath.followers.items():
            if key not in impacts:
                impacts[key] = PodImpact(key, "evicted", why, wave.seconds, nodes.get(key))
    return impacts


def _describe_cause(eviction: Eviction) -> str:
    """Return the taint because of which a pod ends, and the tolerations of the claim."""
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

    Return None if this is unknown: the taint has a time, but the input has no current time to
    compare with it.
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
    """Yield the running pods that use one of ``devices`` and that the change does not end, each
    with the reason.
    """
    controller = EvictionController(cluster.after, cluster.features)
    rehearsed = EvictionController(cluster.rehearsal, cluster.features).find_evictions()
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
            taints = [taint for device in ids for taint in controller.list_taints(device)]
            why = _explain_stay(controller, pod, taints, rehearsed.get(key))
            yield PodImpact(key, "kept", why)


def _explain_stay(
    controller: EvictionController,
    pod: Pod,
    taints: list[DeviceTaintSource],
    rehearsed: Eviction | None,
) -> str:
    """Return why a pod keeps its device.

    ``rehearsed`` is the eviction that a rule with the effect None would cause if it had NoExecute.
    """
    features = controller.features
    if pod.deletion_timestamp:
        return "it is Terminating already"
    if rehearsed is not None:
        when = f" after {rehearsed.delay} s" if rehearsed.delay else ""
        return f"effect None: with NoExecute it would be evicted{when}"
    if not taints:
        return "no taint with effect NoExecute"
    if not features.enabled("DRADeviceTaints"):
        return "gate DRADeviceTaints is off: no pod is evicted"
    in_use = {name for _, name in controller.list_claims_in_use(pod)}
    if in_use.isdisjoint(pod.claim_names - {pod.extended_claim_name}):
        if pod.extended_claim_name and not features.has("evicts-extended-resources"):
            return (
                "it has the device through an extended resource, which the eviction controller"
                " overlooks up to 1.37.1"
            )
        return "its claim is not reserved for it"
    return f"its claim tolerates {taints[0].text}"
