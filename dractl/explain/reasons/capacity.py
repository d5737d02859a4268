"""Reasons about parts of devices: counters that partitions share, and capacity that claims
share.
"""

from dractl.explain.reasons.base import (
    SEE_SLICES,
    Facts,
    HeldByOthers,
    HeldDevices,
    Progress,
    ReasonPage,
    RequestCause,
)
from dractl.explain.reasons.phrases import Names, Scope, name_holders, plural
from dractl.model.abbreviation import abbreviate


class CountersShort(HeldByOthers, frozen=True, kw_only=True):
    """Counters that devices consume have too little left."""

    page = ReasonPage(
        "counters-short",
        "partitions of the same hardware use up the shared counters",
        "A partition (such as a MIG device) consumes counters that it shares with others; too"
        " little of them is left, or what is left belongs to other positions on the device.",
        SEE_SLICES + " (sharedCounters, consumesCounters)",
        "Free the partitions that consume the same counter set, or ask for a partition of another"
        " size.",
        Progress.IN_USE,
    )

    driver: str
    pool: str
    counter_set: str | None = None
    counters: tuple[str, ...] = ()
    want: str | None = None
    """The amount that the first device needs."""
    free: str | None = None
    """The amount of its counter that is left."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "driver": self.driver,
            "pool": self.pool,
            "counterSet": self.counter_set,
            "counters": self.counters,
            "want": self.want,
            "free": self.free,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        parts = tuple(dict.fromkeys(device.rpartition("/")[2] for device in self.devices))
        devices = (
            f"device {parts[0]} shares"
            if len(parts) == 1
            else f"devices {abbreviate(parts, 2)} share"
        )
        amounts = f" (wants {self.want}, free {self.free})" if self.want is not None else ""
        return (
            f"{self.lead(names)}{devices} hardware with partitions that are in use: counter set"
            f" {self.counter_set} has too little left of {', '.join(self.counters[:4])}{amounts}"
        )

    def brief(self, names: Names, scope: Scope = Scope.ONE) -> str:
        # The funnel beside this sentence names the counters, but not the holders of the partitions.
        return self.sentence(names, scope) + (
            f"; held by {name_holders(self.holders)}" if self.holders else ""
        )

    @property
    def holders_clause(self) -> str:
        return ""  # the brief sentence names the holders already


class CapacityMissing(RequestCause, frozen=True, kw_only=True):
    """No device publishes the capacity."""

    page = ReasonPage(
        "capacity-missing",
        "the device does not publish that capacity",
        "The request names a capacity that no candidate has under exactly that name.",
        SEE_SLICES + " (capacity of the devices)",
        "Use the name that the driver publishes.",
        Progress.OTHER_DEVICES,
    )

    capacity: str
    nearest: str | None = None
    capacities: tuple[str, ...] = ()
    """The capacities that the devices publish."""
    devices: tuple[str, ...] = ()

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "capacity": self.capacity,
            "nearest": self.nearest,
            "found": self.capacities,
            "devices": self.devices,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        why = (
            f"{self.lead(names)}capacity {self.capacity} exists on 0 of"
            f" {plural(len(self.devices), 'device')}"
        )
        same = (
            self.nearest is not None
            and self.nearest.rpartition("/")[2] == self.capacity.rpartition("/")[2]
        )
        literal = "; names are compared as they are written" if same else ""
        return (
            f"{why}; they publish {', '.join(self.capacities[:5])}{literal}"
            if self.capacities
            else why
        )


class CapacityPolicy(HeldDevices, frozen=True, kw_only=True):
    """The device's policy does not allow the amount."""

    page = ReasonPage(
        "capacity-policy",
        "the amount violates the device's request policy",
        "The device serves only amounts from a range or a list (requestPolicy), and this is not one"
        " of them.",
        SEE_SLICES + " (capacity.*.requestPolicy)",
        "Ask for an amount within the policy.",
        Progress.OTHER_DEVICES,
    )

    capacity: str
    want: str | None = None
    free: str | None = None
    have: str | None = None
    allowed: str = ""
    """The amounts that the policy allows."""
    problem: str = ""
    """The fault in the amount, if the device has no policy."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "capacity": self.capacity,
            "want": self.want,
            "free": self.free,
            "have": self.have,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        why = f"{self.lead(names)}capacity {self.capacity}: wants {self.want}"
        return (
            f"{why}, and the request policy allows {self.allowed}"
            if self.allowed
            else f"{why}: {self.problem}"
        )


class CapacityShort(HeldByOthers, frozen=True, kw_only=True):
    """No device has enough of a capacity left."""

    page = ReasonPage(
        "capacity-short",
        "not enough capacity is left on any one device",
        "The amount must be free on a single device. A request that names no amount takes the"
        " default of the policy, or all.",
        SEE_SLICES + " and the consumedCapacity in kubectl get resourceclaims -A -o yaml",
        "Ask for less, or end a pod that has a share of the device.",
        Progress.IN_USE,
    )

    capacity: str
    want: str | None = None
    """The amount that the request wants."""
    free: str | None = None
    """The largest amount that is left of one device."""
    have: str | None = None
    """The capacity of that device."""
    asked: str | None = None
    """The amount in the claim, if the devices' policy rounds it up."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "capacity": self.capacity,
            "want": self.want,
            "free": self.free,
            "have": self.have,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        why = f"{self.lead(names)}capacity {self.capacity}: wants {self.want}"
        if self.asked is not None:
            why += f" ({self.asked}, rounded up to what the device allows)"
        if self.free != self.have:
            return f"{why}, at most {self.free} of {self.have} is free on one device"
        return f"{why}, the largest has {self.have}"
