"""Claims that are allocated before their pod is bound: what their devices wait for, and which ones the scheduler gives
back (kubernetes pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go: isClaimReadyForBinding,
deallocateOrDeletePodClaims)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.cluster.state import maps_at, text_at
from dractl.explain.answer import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from dractl.scheduler.attempt import NodeVerdict
    from dractl.scheduler.preenqueue import PodClaim

    Raw = Mapping[str, Any]


def reserved_for(claim: PodClaim, pod: Raw | None) -> bool:
    """Whether a claim is reserved for this very pod."""
    uid = text_at(pod, "metadata", "uid")
    return bool(uid) and any(text_at(c, "uid") == uid for c in maps_at(claim.value, "status", "reservedFor"))


def failure(claim: PodClaim) -> str | None:
    """The condition with which a device's driver has refused to get it ready."""
    for result, conditions in _devices(claim):
        for name in result.get("bindingFailureConditions") or ():
            found = conditions.get(name)
            if found is not None and found.get("status") == "True":
                said = ": ".join(filter(None, (text_at(found, "reason"), text_at(found, "message"))))
                return f"{_name(result)} has {name}" + (f" ({said})" if said else "")
    return None


def pending(claims: Sequence[PodClaim]) -> Reason | None:
    """What a pod waits for whose claims are all allocated. While it does it has no condition PodScheduled."""
    if not all(claim.allocated for claim in claims):
        return None
    for claim in claims:
        for result, conditions in _devices(claim):
            wanted = [str(name) for name in result.get("bindingConditions") or ()]
            open_ones = [name for name in wanted if text_at(conditions.get(name), "status") != "True"]
            if not open_ones:
                continue
            since = text_at(claim.value, "status", "allocation", "allocationTimestamp")
            until = f"ten minutes after {since}" if since else "after ten minutes"
            why = (
                f"claim {claim.full_name} is allocated; the scheduler waits until the driver of {_name(result)} sets "
                f"{', '.join(open_ones)} in the claim's status.devices; it gives up {until} and allocates anew"
            )
            return Reason(
                "binding-pending",
                why,
                pod_claim=claim.name or None,
                claim=claim.full_name,
                request=text_at(result, "request") or None,
                driver=text_at(result, "driver"),
                devices=(_name(result),),
                found=tuple(open_ones),
            )
    return None


def given_back(nodes: Sequence[NodeVerdict], pod: Raw) -> PodClaim | None:
    """The allocated claim that PostFilter releases where no node fits: one that keeps the pod from a node which
    nothing else keeps it from, and that nobody else uses. The scheduler picks one at random, then tries again."""
    for node in nodes:
        if not node.asked or not node.allocates:
            continue
        for claim in node.elsewhere:
            users = len(maps_at(claim.value, "status", "reservedFor"))
            if users == 0 or (users == 1 and reserved_for(claim, pod)):
                return claim
    return None


def without_allocation(claim: Raw) -> Raw:
    status = {k: v for k, v in claim["status"].items() if k not in ("allocation", "reservedFor", "devices")}
    return {**claim, "status": status}


def _devices(claim: PodClaim) -> Iterator[tuple[Raw, dict[str, Raw]]]:
    """The results of an allocation, each with the conditions that its driver has set."""
    reported = maps_at(claim.value, "status", "devices")
    for result in maps_at(claim.value, "status", "allocation", "devices", "results"):
        same = (d for d in reported if all(d.get(k) == result.get(k) for k in ("driver", "pool", "device", "shareID")))
        yield result, {text_at(c, "type"): c for c in maps_at(next(same, None), "conditions")}


def _name(result: Raw) -> str:
    return "/".join(text_at(result, key) for key in ("driver", "pool", "device"))
