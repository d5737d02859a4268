"""Next steps and notes for a change of taints: about rules, gates and replaced pods."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from dractl.allocation import DeviceID
from dractl.cluster.changes import Create
from dractl.cluster.devices import Devices
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import Key
from dractl.impact.aftermath import Aftermath
from dractl.impact.coverage import note_missing_kinds
from dractl.impact.eviction import Eviction, EvictionController
from dractl.impact.selection import note_unselected
from dractl.impact.summary import count, join
from dractl.impact.tainted_cluster import REHEARSAL, TaintedCluster, list_effective_rules
from dractl.model import Target
from dractl.simulation.admission import find_rejection

_KINDS = ("Pod", "ResourceClaim", "ResourceSlice")


class TaintEffects(Struct, frozen=True):
    """The effects of a change of taints."""

    cluster: TaintedCluster
    selected: Mapping[str, frozenset[DeviceID]]
    """The devices that each effective rule selects, by the name of the rule."""
    evictions: Mapping[Key, Eviction]
    """The pods that the controller deletes."""
    aftermath: Aftermath


def list_steps(effects: TaintEffects) -> Iterator[NextStep]:
    """Yield next steps for the rules."""
    can_rehearse = effects.cluster.features.has("effect-none")
    for rule in effects.cluster.rules:
        command = quote_command("kubectl describe devicetaintrule {}", rule.key[1])
        if rule.effect == REHEARSAL:
            yield NextStep(
                "see what the eviction controller counts, once the rule is created", command
            )
        elif rule.effect == "NoExecute" and effects.evictions and can_rehearse:
            yield NextStep(
                "rehearse it: create the rule with effect None first, and read its status", command
            )


def list_notes(effects: TaintEffects) -> Iterator[str]:
    """Yield notes on further effects and on missing facts."""
    cluster = effects.cluster
    yield from _note_gates(cluster)
    yield from _note_rejections(cluster)
    for rule, _ in list_effective_rules(cluster):
        if not effects.selected[rule.metadata.name]:
            yield from note_unselected(cluster.after, rule)
    for view in cluster.rules:
        if view.effect == REHEARSAL and effects.selected.get(view.key[1]):
            yield _count_rehearsal(effects, view.key[1])
    yield from _note_unselective_rules(cluster)
    if effects.evictions:
        yield "the controller deletes pods itself: PodDisruptionBudgets do not count"
    yield from _note_circles(effects)
    yield from effects.aftermath.notes
    yield from note_missing_kinds(cluster.before, _KINDS)


def _note_rejections(cluster: TaintedCluster) -> Iterator[str]:
    """Yield a note on each rule that the API server would refuse, and that would therefore have no
    effect.
    """
    features = cluster.features
    target = Target(features.release, features.on)
    for rule in cluster.rules:
        rejection = find_rejection(cluster.before, (Create(rule.raw),), target)
        if rejection is not None:
            server = f"the API server of {features.release}"
            yield f"{server} refuses DeviceTaintRule {rule.key[1]}: {rejection}"


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
    for rule in cluster.rules:
        if rule.has_selector:
            continue
        start = f"DeviceTaintRule {rule.key[1]} has no deviceSelector:"
        if not cluster.features.has("empty-rule-taints-all"):
            yield f"{start} it selects no device"
        elif cluster.features.has("rules-evict-by-name"):
            yield (
                f"{start} the scheduler of {cluster.features.release} avoids every device, and"
                " no pod is evicted"
            )


def _count_rehearsal(effects: TaintEffects, name: str) -> str:
    """Return the counts that the controller writes into the status of a rule with the effect
    None.
    """
    cluster, devices = effects.cluster, effects.selected[name]
    published = Devices(cluster.after, cluster.after.slices)
    number = sum(published.get(device) is not None for device in devices)
    allocated = sum(
        device.id in devices
        for claim in cluster.after.claims.values()
        for device in claim.allocated_devices
    )
    rehearsed = EvictionController(cluster.rehearsal, cluster.features).find_evictions()
    pods = [key for key, eviction in rehearsed.items() if eviction.source.rule == name]
    namespaces = len({namespace for namespace, _ in pods})
    return (
        f"DeviceTaintRule {name} has effect None and selects"
        f" {count(number, 'published device')} and {count(allocated, 'allocated device')}; with"
        f" NoExecute it would evict {count(len(pods), 'pod')} in {count(namespaces, 'namespace')}"
    )


def _note_circles(effects: TaintEffects) -> Iterator[str]:
    """Yield a note on new pods that get a tainted device and are evicted again."""
    state, features = effects.aftermath.scheduler.state, effects.cluster.features
    again = EvictionController(state, features).find_evictions()
    names = [
        "/".join(old)
        for new, old in effects.aftermath.successors.items()
        if new in again and old in effects.evictions
    ]
    if names:
        yield (
            f"the pods that replace {join(names)} get tainted devices, and are evicted again: their"
            " owners create pods over and over"
        )
