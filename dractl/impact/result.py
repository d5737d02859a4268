"""The effects of a change on what runs, as a value."""

from typing import Literal

from msgspec import Struct

from dractl.cluster.shell import NextStep
from dractl.cluster.state import Key
from dractl.model.order import natural

Effect = Literal["evicted", "blocked", "kept", "waits"]
EFFECTS: tuple[Effect, ...] = ("blocked", "evicted", "waits", "kept")
"""The effects in the order of reports: effects that need attention come first."""


class DeviceState(Struct, frozen=True, omit_defaults=True):
    """The state of a device at one time."""

    state: str
    """``free``, ``held``, ``tainted`` and so on, as ``dractl devices`` names it."""
    taints: tuple[str, ...] = ()
    """Taints as ``key=value:effect``, including the taints of DeviceTaintRules."""


class DeviceChange(Struct, frozen=True):
    """A device that a change concerns."""

    device: str
    """``driver/pool/device``."""
    node: str | None
    """The node of the device; None if several nodes reach it."""
    before: DeviceState | None
    """None if no slice and no claim had the device."""
    after: DeviceState | None
    """None if no slice and no claim has it any more."""


class PodImpact(Struct, frozen=True):
    """The effect of a change on one pod."""

    key: Key
    """Namespace and name of the pod."""
    effect: Effect
    """``evicted``: it is ended. ``blocked``: it is to end, and cannot. ``kept``: it goes on.
    ``waits``: it cannot start or end until something else happens.
    """
    why: str
    """The reason, as a clause."""
    at: int | None = None
    """Seconds from now until the pod is deleted; None if that is not known, or if it is not."""
    fits: str | None = None
    """The node of the pod that its owner creates instead; None if it finds none."""

    @property
    def name(self) -> str:
        """``namespace/name`` of the pod."""
        return "/".join(self.key)


class PendingPod(Struct, frozen=True):
    """A pod that waits for a node, and that the change concerns."""

    pod: str
    """``namespace/name``; for a pod that an owner will create, the name of the pod that it
    replaces.
    """
    before: str | None
    """The node that it would get without the change; None if it would find none."""
    after: str | None
    """The node that it gets after the change; None if it finds none."""
    replaces: bool = False
    """True if its owner creates it for a pod that the change ends."""


class Impact(Struct, frozen=True):
    """The effects of a change on what runs."""

    change: tuple[str, ...]
    """The objects that change, such as ``DeviceTaintRule/maintenance`` or ``drain Node/gpu-1``."""
    devices: tuple[DeviceChange, ...] = ()
    """The devices whose state or taints change, and the devices that a rule without effect
    selects.
    """
    pods: tuple[PodImpact, ...] = ()
    """The pods that the change concerns, pods that need attention first."""
    pending: tuple[PendingPod, ...] = ()
    """The pods that wait for a node after the change, or get another one through it."""
    steps: tuple[NextStep, ...] = ()
    """Steps to take, in the order in which they work."""
    notes: tuple[str, ...] = ()
    """Notes on further effects, and on gaps of the input."""

    def list_pods(self, *effects: Effect) -> tuple[PodImpact, ...]:
        """Return the pods with one of the effects."""
        return tuple(pod for pod in self.pods if pod.effect in effects)

    @property
    def hits(self) -> bool:
        """True if a pod is ended, or is to end and cannot."""
        return bool(self.list_pods("evicted", "blocked"))


def sort_pods(pods: list[PodImpact]) -> tuple[PodImpact, ...]:
    """Return pods in the order of reports: by effect, then by time, then by name."""
    return tuple(
        sorted(pods, key=lambda pod: (EFFECTS.index(pod.effect), pod.at or 0, natural(pod.name)))
    )
