"""Reasons about devices that have to be prepared before a pod is bound to their node."""

from collections.abc import Iterator

from dractl.cluster.shell import NextStep, quote_command
from dractl.explain.reasons.base import (
    SEE_CLAIM,
    SEE_SLICES,
    ClaimCause,
    Facts,
    Progress,
    ReasonPage,
)
from dractl.explain.reasons.limits import GateOff
from dractl.explain.reasons.next_step import AskedObject
from dractl.explain.reasons.phrases import Names, Scope


class BindingConditionsOff(GateOff, frozen=True, kw_only=True):
    """Devices have binding conditions, but the feature gate for them is off."""

    page = ReasonPage(
        "binding-conditions-off",
        "devices with binding conditions are not used while the gate is off",
        "The device must be prepared before a pod is bound, which needs DRADeviceBindingConditions"
        " and DRAResourceClaimDeviceStatus.",
        SEE_SLICES + " (bindingConditions)",
        "Enable the gates in kube-scheduler.",
        Progress.HIDDEN,
    )


class BindingPending(ClaimCause, frozen=True, kw_only=True):
    """The claim is allocated, and the scheduler waits for binding conditions of its device."""

    page = ReasonPage(
        "binding-pending",
        "the scheduler waits for the device to be ready",
        "The claim is allocated; the driver has not set the device's binding conditions yet (10"
        " minutes at most).",
        SEE_CLAIM + " (status.devices[].conditions); event BindingConditionsPending",
        "Look at the driver's controller that prepares the device.",
        Progress.STOPPED,
        ("BindingConditionsPending: waiting for binding conditions for device on node node-1",),
    )

    request_name: str | None = None
    """The request of the device."""
    driver: str | None = None
    devices: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    since: str = ""
    """The time at which the claim was allocated (RFC 3339)."""

    def facts(self) -> Facts:
        return {
            **super().facts(),
            "request": self.request_name,
            "driver": self.driver,
            "devices": self.devices,
            "found": self.conditions,
        }

    def sentence(self, names: Names, scope: Scope) -> str:
        until = f"ten minutes after {self.since}" if self.since else "after ten minutes"
        return (
            f"claim {self.claim} is allocated; the scheduler waits until the driver of"
            f" {self.devices[0]} sets {', '.join(self.conditions)} in the claim's status.devices;"
            f" it gives up {until} and allocates again"
        )

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _conditions_step(self.claim, asked)


class BindingFailed(ClaimCause, frozen=True, kw_only=True):
    """The driver has refused to prepare a device of the claim."""

    page = BindingPending.page
    steps_beside_fixes = True

    failure: str
    """The clause about the condition that the driver has set."""

    def sentence(self, names: Names, scope: Scope) -> str:
        return f"claim {self.claim} cannot be used: {self.failure}"

    def steps(self, asked: AskedObject) -> Iterator[NextStep]:
        yield _conditions_step(self.claim, asked)


def _conditions_step(claim: str | None, asked: AskedObject) -> NextStep:
    name = (claim or "").rpartition("/")[2]
    return NextStep(
        "see which conditions the driver has set",
        quote_command("kubectl get resourceclaim {} -n {} -o yaml", name, asked.namespace),
    )
