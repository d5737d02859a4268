"""The effects of a change on running pods, as a value."""

from typing import Literal

from msgspec import Struct

from dractl.cluster.shell import NextStep
from dractl.cluster.state import Key
from dractl.model.order import natural

Effect = Literal["evicted", "blocked", "kept", "waits"]
EFFECTS: tuple[Effect, ...] = ("blocked", "evicted", "waits", "kept")
"""The effects in the order of reports, beginning with effects that need attention."""


class DeviceState(Struct, frozen=True, omit_defaults=True):
    """The state of a device at one time."""

    state: str
    """``free``, ``held``, ``tainted`` or another state of ``dractl devices``."""
    taints: tuple[str, ...] = ()
    """Taints as ``key=value:effect``, including the taints of DeviceTaintRules."""


class DeviceChange(Struct, frozen=True):
    """A device that a change concerns."""

    device: str
    """``driver/pool/device``."""
    node: str | None
    """The node of the device; None if it can be used from several nodes."""
    before: DeviceState | None
    """The state before the change; None if neither a slice nor a claim had the device."""
    after: DeviceState | None
    """The state after the change; None if neither a slice nor a claim has the device any more."""


class PodImpact(Struct, frozen=True):
    """The effect of a change on one pod."""

    key: Key
    """Namespace and name of the pod."""
    effect: Effect
    """``evicted``: the pod is ended. ``blocked``: the pod should end but cannot. ``kept``: the pod
    continues. ``waits``: the pod cannot start or end until something else happens.
    """
    why: str
    """The reason, as a clause."""
    at: int | None = None
    """Seconds from now until the pod is deleted; None if that is unknown, or if the pod is not
    deleted.
    """
    fits: str | None = None
    """The node of the successor that the owner creates; None if the successor gets no node."""

    @property
    def name(self) -> str:
        """``namespace/name`` of the pod."""
        return "/".join(self.key)


class PendingPod(Struct, frozen=True):
    """A pod that waits for a node and is affected by the change."""

    pod: str
    """``namespace/name``; for a pod that an owner will create, the name of the pod that it
    replaces.
    """
    before: str | None
    """The node that the pod would get without the change; None if there is no such node."""
    after: str | None
    """The node that the pod gets after the change; None if there is no such node."""
    replaces: bool = False
    """True if an owner creates the pod to replace a pod that the change ends."""


class Impact(Struct, frozen=True):
    """The effects of a change on running pods."""

    change: tuple[str, ...]
    """The objects that change, such as ``DeviceTaintRule/maintenance`` or ``drain Node/gpu-1``."""
    devices: tuple[DeviceChange, ...] = ()
    """The devices whose state or taints change, and the devices that a rule without effect
    selects.
    """
    pods: tuple[PodImpact, ...] = ()
    """The pods that the change affects, beginning with pods that need attention."""
    pending: tuple[PendingPod, ...] = ()
    """The new pods that get no node, and the waiting pods that gain or lose a node."""
    steps: tuple[NextStep, ...] = ()
    """The steps to take, in an order that works."""
    notes: tuple[str, ...] = ()
    """Notes on further effects, and on gaps of the input."""

    def list_pods(self, *effects: Effect) -> tuple[PodImpact, ...]:
        """Return the pods with one of the effects."""
        return tuple(pod for pod in self.pods if pod.effect in effects)

    @property
    def hits(self) -> bool:
        """True if a pod is ended, or should end but cannot."""
        return bool(self.list_pods("evicted", "blocked"))


def sort_pods(pods: list[PodImpact]) -> tuple[PodImpact, ...]:
    """Return pods in the order of reports: by effect, then by time, then by name."""
    return tuple(
        sorted(pods, key=lambda pod: (EFFECTS.index(pod.effect), pod.at or 0, natural(pod.name)))
    )
