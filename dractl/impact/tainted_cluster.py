"""A cluster before and after a change of taints, with the rules that change."""

from collections.abc import Mapping

from msgspec import Struct

from dractl.allocation import DeviceID, Features, effective_taint_rules
from dractl.allocation.taints import Reach
from dractl.cluster.clock import newest_time
from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState
from dractl.impact.eviction import reaches
from dractl.impact.taint_change import TaintObjects, store_taint_objects
from dractl.model import DeviceTaintRule
from dractl.objects import PoolName
from dractl.views import TaintRule

REHEARSAL = "None"
"""The effect of a rule that evicts no pods, and only counts them in its status."""


class TaintedCluster(Struct, frozen=True):
    """A cluster before and after a change of taints."""

    before: ClusterState
    after: ClusterState
    features: Features
    now: float
    """The time of the change, in seconds since 1970; 0 if the input has no time."""
    rules: tuple[TaintRule, ...]
    """The DeviceTaintRules that change, as they are stored."""
    change: tuple[str, ...]
    """The objects that change, each as ``KIND/NAME``."""

    @property
    def rehearsal(self) -> ClusterState:
        """The cluster after the change, with NoExecute in place of the effect None in its rules."""
        rules = {
            rule.key: rule.with_taint(effect="NoExecute")
            for rule in self.rules
            if rule.effect == REHEARSAL
        }
        return self.after.with_objects({"DeviceTaintRule": rules})


def change_cluster(
    state: ClusterState, objects: TaintObjects, features: Features
) -> TaintedCluster:
    """Return the cluster before and after ``objects`` are stored."""
    now = newest_time(state) or 0.0
    change = tuple(f"{kind}/{name}" for kind, by_key in objects.items() for _, name in by_key)
    after = store_taint_objects(state, objects, features, now)
    rules = tuple(
        TaintRule(after.get("DeviceTaintRule", key), key)
        for key in objects.get("DeviceTaintRule", {})
    )
    return TaintedCluster(state, after, features, now, rules, change)


def list_effective_rules(cluster: TaintedCluster) -> list[tuple[DeviceTaintRule, Reach]]:
    """Return the changed rules that can taint a device, each with the devices that it reaches."""
    names = {rule.key[1] for rule in cluster.rules}
    rules = [rule for rule in cluster.after.taint_rules if rule.metadata.name in names]
    return effective_taint_rules(rules, cluster.features, cluster.after.classes)


def list_selected_devices(cluster: TaintedCluster) -> Mapping[str, frozenset[DeviceID]]:
    """Return the devices that each changed rule selects, by the name of the rule.

    They include devices that appear only in claims.
    """
    state = cluster.after
    published = Devices(state, state.slices)
    pools: dict[PoolName, None] = {
        (item.spec.driver, item.spec.pool.name): None for item in state.slices
    }
    devices = {device.id for claim in state.claims.values() for device in claim.allocated_devices}
    devices |= {
        DeviceID(*pool, device.name)
        for pool in pools
        for item in published.pool(*pool)
        for device in item.spec.devices
    }
    return {
        rule.metadata.name: frozenset(d for d in devices if reaches(reach, d, published.get(d)))
        for rule, reach in list_effective_rules(cluster)
    }
