"""The pods that the device taint eviction controller deletes, and when.

Upstream: kubernetes pkg/controller/devicetainteviction/device_taint_eviction.go. The controller
deletes pods itself, without the eviction API: PodDisruptionBudgets do not count. The controller
checks the allocation of a claim, not the claim's requests, and only the effect NoExecute.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from dractl.allocation import (
    EVICTING_EFFECT,
    DeviceID,
    Features,
    effective_taint_rules,
    eviction_delay,
    is_tolerated,
)
from dractl.allocation.taints import Reach, Uncompilable
from dractl.cluster.devices import Devices
from dractl.cluster.state import ClusterState, Key
from dractl.model import DeviceTaint, DeviceTaintRule, ResourceClaim
from dractl.model.slices import Device
from dractl.model.taints import format_taint
from dractl.views import Claim, Pod, parse_timestamp

_POD_GROUPS = "podgroups"
_WORKLOAD_CLAIMS_GATE = "DRAWorkloadResourceClaims"


class DeviceTaintSource(Struct, frozen=True):
    """A taint of a device, and the object that has it."""

    device: DeviceID
    taint: DeviceTaint
    rule: str = ""
    """The DeviceTaintRule that adds it; "" for a taint in a slice."""

    @property
    def text(self) -> str:
        """The taint as kubectl writes it: ``key=value:effect``."""
        return format_taint(self.taint)


class Eviction(Struct, frozen=True):
    """The deletion of a pod by the eviction controller."""

    time: float | None
    """The time in seconds since 1970; None if a taint has no time that can be read."""
    source: DeviceTaintSource
    """The taint that takes effect first."""
    delay: int | None
    """The seconds for which a toleration keeps the pod; None if no toleration matches the taint."""
    request: str
    """The request of the claim that has the device."""


class EvictionController:
    """The device taint eviction controller in one cluster."""

    def __init__(self, state: ClusterState, features: Features) -> None:
        self.state = state
        self.features = features
        self._slices = Devices(state, state.slices)
        self._rules = _list_evicting_rules(state, features)
        self._by_name = features.has("rules-evict-by-name")
        self._is_running = features.enabled("DRADeviceTaints")

    def find_evictions(self) -> dict[Key, Eviction]:
        """Return the pods that the controller deletes sooner or later, each with its eviction."""
        if not self._is_running:
            return {}
        by_claim = {
            key: eviction
            for key, claim in self.state.claims.items()
            if claim.is_allocated and (eviction := self._evict_claim(key, claim)) is not None
        }
        if not by_claim:
            return {}
        evictions: dict[Key, Eviction] = {}
        for key, pod in self.state.pods.items():
            causes = [
                by_claim[claim]
                for claim in self.list_claims_in_use(pod)
                if claim in by_claim and pod.node_name and not pod.deletion_timestamp
            ]
            if causes:
                evictions[key] = _first(causes)
        return evictions

    def list_claims_in_use(self, pod: Pod) -> Iterator[Key]:
        """Yield the claims of a pod that the controller checks, which are the claims reserved for
        the pod.

        Up to 1.37.1, the controller ignores the claim for extended resources.
        """
        namespace = pod.key[0]
        generated = dict(pod.claim_statuses)
        names: list[tuple[str, bool]] = []
        for reference in pod.claim_references:
            if reference.template_name:
                names.append((generated.get(reference.name, ""), True))
            else:
                names.append((reference.claim_name, False))
        if self.features.has("evicts-extended-resources"):
            names.append((pod.extended_claim_name, True))
        for name, is_generated in names:
            claim = self.state.claim((namespace, name))
            if not name or not claim.is_allocated:
                continue
            if is_generated and not self._is_made_for(claim, pod):
                continue
            if self._is_reserved_for(claim, pod):
                yield namespace, name

    def _is_made_for(self, claim: Claim, pod: Pod) -> bool:
        owner = claim.controller
        if owner is None:
            return False
        if _is_pod(pod, owner.uid, owner.name):
            return True
        accepts_groups = self.features.enabled(_WORKLOAD_CLAIMS_GATE)
        return accepts_groups and (owner.kind, owner.name) == ("PodGroup", pod.pod_group_name)

    def _is_reserved_for(self, claim: Claim, pod: Pod) -> bool:
        accepts_groups = self.features.enabled(_WORKLOAD_CLAIMS_GATE) and pod.pod_group_name
        return any(
            _is_pod(pod, consumer.uid, consumer.name)
            or (
                accepts_groups
                and (consumer.resource, consumer.name) == (_POD_GROUPS, pod.pod_group_name)
            )
            for consumer in claim.consumers
        )

    def _evict_claim(self, key: Key, view: Claim) -> Eviction | None:
        """Return the first eviction for a device of an allocated claim; None if no taint evicts its
        pods.
        """
        if not any(self.list_taints(device.id) for device in view.allocated_devices):
            return None
        claim: ResourceClaim | None = self.state.decode_claim(key)
        allocation = claim.status.allocation if claim is not None else None
        causes: list[Eviction] = []
        for result in allocation.devices.results if allocation is not None else ():
            device = DeviceID(result.driver, result.pool, result.device)
            for source in self.list_taints(device):
                if is_tolerated(result.tolerations, source.taint):
                    continue
                delay = eviction_delay(result.tolerations, source.taint)
                added = parse_timestamp(source.taint.time_added or "")
                time = None if added is None else added + (delay or 0)
                causes.append(Eviction(time, source, delay, result.request))
        return _first(causes) if causes else None

    def list_taints(self, device: DeviceID) -> list[DeviceTaintSource]:
        """Return the taints of a device that evict pods."""
        published = self._slices.get(device)
        sources = [
            DeviceTaintSource(device, taint)
            for taint in (published.taints if published is not None else ())
            if taint.effect == EVICTING_EFFECT
        ]
        sources += [
            DeviceTaintSource(device, rule.spec.taint, rule.metadata.name)
            for rule, reach in self._rules
            if self._is_reached(reach, device, published)
        ]
        return sources

    def _is_reached(self, reach: Reach, device: DeviceID, published: Device | None) -> bool:
        if published is None and not self._by_name:
            return False
        return reaches(reach, device, published)


def reaches(reach: Reach, device: DeviceID, published: Device | None) -> bool:
    """Return whether a DeviceTaintRule taints a device, which may be missing in the slices."""
    try:
        return reach.covers(
            device.driver, device.pool, published or Device({"name": device.device})
        )
    except Uncompilable:
        return False


def _list_evicting_rules(
    state: ClusterState, features: Features
) -> list[tuple[DeviceTaintRule, Reach]]:
    rules = effective_taint_rules(state.taint_rules, features, state.classes)
    return [
        (rule, reach)
        for rule, reach in rules
        if rule.spec.taint.effect == EVICTING_EFFECT
        and (rule.spec.device_selector is not None or not features.has("rules-evict-by-name"))
    ]


def _is_pod(pod: Pod, uid: str, name: str) -> bool:
    """Return whether a reference refers to a pod: by the pod's UID or, if the pod has none, by
    name.
    """
    return uid == pod.uid if pod.uid else name == pod.name


def _first(evictions: Iterable[Eviction]) -> Eviction:
    """Return the earliest eviction; one without a time counts as the earliest."""
    return min(evictions, key=lambda one: (one.time is not None, one.time or 0.0))
