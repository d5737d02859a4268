"""Karpenter's verdict on the claims of a pod, for a node that does not exist yet.

The verdict is that of Allocator.Allocate (sigs.k8s.io/karpenter
pkg/scheduling/dynamicresources/allocator.go) for an instance type whose only devices are the ones
that the provider declares.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from dractl.autoscaler.plan import (
    RefusedClaim,
    TooManyDevices,
    make_plan,
    selector_environment,
    template_devices,
)
from dractl.autoscaler.reasons import Stage, explain_failure
from dractl.autoscaler.search import Verdict, search
from dractl.facts.autoscalers import DeviceTables, InstanceType, is_aws_type
from dractl.model import DeviceClass, ResourceClaim

TRIES_PER_SECOND = 6_000_000
"""The number of devices that Karpenter tries in a second: 4 to 9 million, measured with Karpenter
1.15.0 on 20 searches of over 300 ms.
"""


class Judgement(Struct, frozen=True):
    """The verdict on one instance type."""

    verdict: Verdict
    reason: str
    """A clause with the reason; for ``serves``, it names the devices that the search chose."""
    stage: Stage = Stage.REFUSED
    """The stage that the claims reach."""
    seconds: float = 0.0
    """About how long Karpenter would search without its time limit, in seconds."""
    refuses_all_types: bool = False
    """True if Karpenter then also refuses every other instance type (ValidateClaimRequest)."""


def judge(
    claims: Sequence[ResourceClaim],
    classes: Mapping[str, DeviceClass],
    instance_type: str,
    tables: DeviceTables,
    version: str | None = None,
) -> Judgement:
    """Judge the claims of one pod as the given version of the autoscaler would; None stands for the
    newest version.
    """
    declared = tables.types.get(instance_type)
    if declared is None:
        if not is_aws_type(instance_type):
            return Judgement("unknown", f"{instance_type} is no instance type of {tables.provider}")
        declared = InstanceType(())
    if version is not None and is_older(version, tables.since):
        return Judgement(
            "never", f"the {tables.provider} provider declares no devices before {tables.since}"
        )
    if not claims:
        return Judgement("serves", "no claim limits it")
    devices = template_devices(declared)
    if not devices and any(claim.spec.devices.requests for claim in claims):
        return Judgement("never", f"Karpenter knows of no devices on {instance_type}")
    cel = _environment(tables.release)
    try:
        plan = make_plan(claims, classes, devices, cel)
    except RefusedClaim as refusal:
        return Judgement(
            "never", str(refusal), refuses_all_types=not isinstance(refusal, TooManyDevices)
        )
    outcome = search(plan)
    seconds = float("inf") if outcome.succeeds is None else outcome.tries / TRIES_PER_SECOND
    if seconds > tables.seconds:
        return Judgement(
            "never",
            f"Karpenter gives up after {tables.seconds} seconds: it tries every order of the"
            " devices",
            Stage.TOGETHER,
            seconds,
        )
    if outcome.succeeds:
        names = ", ".join(str(plan.devices[number].device.name) for number in outcome.chosen)
        return Judgement("serves", f"it counts on {names}", Stage.SERVED, seconds)
    failure = explain_failure(plan, instance_type, cel)
    return Judgement("never", failure.reason, failure.stage, seconds)


def find_shared_refusal(judgements: Iterable[Judgement]) -> str | None:
    """Return the reason of the first judgement that makes Karpenter refuse all instance types of a
    NodePool; None if there is no such judgement.

    Allocator.Allocate considers these types together, and stops at the first error.
    """
    return next((item.reason for item in judgements if item.refuses_all_types), None)


_environment = cache(selector_environment)


def is_older(version: str, other: str) -> bool:
    """Return True if a minor version is older than another; False for an unknown version."""
    return bool(version) and _numbers(version) < _numbers(other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.lstrip("v").split(".")[:2])
