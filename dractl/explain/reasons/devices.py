"""Reasons about matching devices that are held or tainted."""

from collections.abc import Iterator

from dractl.cluster.devices import Holder
from dractl.cluster.shell import NextStep
from dractl.explain.reasons.base import (
    LIST_HOLDERS,
    SEE_POD_CLAIMS,
    SEE_SLICES,
    Facts,
    HeldByOthers,
    HeldDevices,
    Progress,
    ReasonPage,
    RequestCause,
    RequestsCause,
)
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope, plural, times


class DeviceInUse(HeldByOthers, frozen=True, kw_only=True):
    """Claims hold the devices."""

    page = ReasonPage(
        "device-in-use",
        "the devices are allocated to other claims",
        "Matching devices exist, and claims hold them. A claim holds its devices until nobody uses"
        " it, even if its pods have ended without releasing it. The scheduler does not preempt pods"
        " for devices.",
        LIST_HOLDERS,
        "Wait, end a pod that holds one, delete a claim that nobody uses any more, or add devices.",
        Progress.IN_USE,
    )

    want: int
    """The number of devices that the request wants."""
    have: int
    free: int
    of: int = 0
    """The number of matching devices."""

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.want, "have": self.have, "free": self.free}

    def sentence(self, names: Names, scope: Scope) -> str:
        if scope is Scope.ALL and self.free and len(self.nodes) > 1:
            most = f"no node has more than {self.free} of {self.of} matching devices free"
            return f"{self.lead(names)}{most}, {self.want} wanted"
        return self.lead(names) + _in_use(self.free, self.of, self.want)


class DeviceInUseSamePod(HeldDevices, frozen=True, kw_only=True):
    """The pod's own claims hold the devices."""

    page = ReasonPage(
        "device-in-use-same-pod",
        "another request of the same pod takes the device",
        "Requests and claims of one pod never share a device, unless it allows multiple"
        " allocations.",
        SEE_POD_CLAIMS,
        "Ask for fewer devices, or let one request serve both purposes.",
        Progress.APART,
    )

    want: int
    have: int
    free: int
    of: int = 0
    """The number of matching devices."""

    def facts(self) -> Facts:
        return {**super().facts(), "want": self.want, "have": self.have, "free": self.free}

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"{self.lead(names)}{_in_use(self.free, self.of, self.want)} by the pod's own claims"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield NextStep(
            "let one request of the pod serve both purposes, or add a node with more of these"
            " devices"
        )

    @property
    def named_holders(self) -> tuple[Holder, ...]:
        return self.holders

    @property
    def holders_clause(self) -> str:
        return ""  # the sentence already says that the pod's own claims hold them


def _in_use(free: int, of: int, want: int) -> str:
    if free:
        return f"{free} of {of} matching devices {'is' if free == 1 else 'are'} free, {want} wanted"
    every = {1: "the only matching device is", 2: "both matching devices are"}
    return f"{every.get(of, f'all {of} matching devices are')} in use"


class RivalRequests(RequestsCause, frozen=True, kw_only=True):
    """Two requests together want more devices than there are, and only the same devices satisfy
    both.
    """

    page = DeviceInUseSamePod.page

    device_class: str | None = None
    devices: tuple[str, ...] = ()
    want: int
    have: int

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "class": self.device_class,
            "devices": self.devices,
            "want": self.want,
            "have": self.have,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        devices = ", ".join(self.devices[:3]) + (" …" if len(self.devices) > 3 else "")
        both = " and ".join(
            names.short_name(r) if len({r.claim for r in self.requests}) > 1 else str(r)
            for r in self.requests
        )
        return (
            f"requests {both} want {self.want} devices, and both would have to take them from"
            f" {devices}"
        )


class Tainted(RequestCause, frozen=True, kw_only=True):
    """Devices have a taint that the request does not tolerate."""

    page = ReasonPage(
        "tainted",
        "a device taint is not tolerated",
        "The device, or a DeviceTaintRule, carries a taint with effect NoSchedule or NoExecute."
        " Tolerations of the pod are about nodes and do not count here; adminAccess does not"
        " tolerate taints either.",
        SEE_SLICES + " (taints); kubectl get devicetaintrules",
        "Repair the device and let the driver remove the taint, delete the rule, or add a"
        " toleration to the request.",
        Progress.IN_USE,
    )
    identity = ("request", "taint")

    taint: str | None = None
    """The most frequent taint."""
    taints: tuple[tuple[str, int], ...] = ()
    """All taints, with the number of devices."""
    rules: tuple[str, ...] = ()
    """The DeviceTaintRules that set the most frequent taint."""
    tolerates: tuple[str, ...] = ()
    """Tolerations of the request that resemble a taint but do not match it."""
    sweeping: tuple[str, ...] = ()
    """The rules that select every device of a driver."""
    devices: tuple[str, ...] = ()
    """The devices with a taint."""
    want: int
    have: int
    """The number of matching devices without a taint."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "taint": self.taint,
            "rules": self.rules,
            "devices": self.devices,
            "want": self.want,
            "have": self.have,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        number = sum(number for _, number in self.taints)
        has = "has" if number == 1 else "have"
        of = (
            f"{number} of {number + self.have} devices {has}"
            if self.have
            else f"{plural(number, 'device')} {has}"
        )
        why = f"{self.lead(names)}{of} a taint that is not tolerated: {self.taints_text()}"
        if self.have and (self.want or 0) > self.have:
            why += f"; {self.want} wanted"
        return (
            f"{why}; the request tolerates {', '.join(self.tolerates)}" if self.tolerates else why
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        if self.rules:
            yield NextStep(
                f"ask why DeviceTaintRule {self.rules[0]} is there",
                "kubectl get devicetaintrules -o yaml",
            )
        else:
            yield NextStep(
                "check the device: its driver set the taint", "kubectl get resourceslices -o yaml"
            )

    def taints_text(self) -> str:
        """Return ``xid=79:NoSchedule ×2 (DeviceTaintRule broken)``: the taints, and the rules that
        set them.
        """
        wide = ", which selects every device of its driver" if self.sweeping else ""
        by = f" (DeviceTaintRule {', '.join(self.rules)}{wide})" if self.rules else ""
        return ", ".join(taint + times(number) for taint, number in self.taints[:3]) + by
