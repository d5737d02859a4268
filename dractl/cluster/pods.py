"""The state of a pod object: whether it has ended or still waits, and the claims that it refers to."""

from collections.abc import Sequence
from datetime import datetime

from dractl.cluster.state import ClusterState, Key, map_at, maps_at, text_at
from dractl.objects import Raw

_NEW = 10.0  # seconds
ENDED = ("Succeeded", "Failed")
DEFAULT_SCHEDULER = "default-scheduler"  # k8s.io/api core/v1 DefaultSchedulerName


def ended(pod: Raw) -> bool:
    return text_at(pod, "status", "phase") in ENDED


def is_pending(pod: Raw) -> bool:
    """True if a pod still waits for a node."""
    return not text_at(pod, "spec", "nodeName") and text_at(pod, "status", "phase") not in ENDED


# Why a container waits and will not run soon (kubernetes pkg/kubelet/images/types.go, pkg/kubelet/container).
_STUCK = (
    *(
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "InvalidImageName",
        "ErrImageNeverPull",
    ),
    *("CreateContainerConfigError", "CreateContainerError", "RunContainerError"),
)


def stuck(pod: Raw | None) -> str:
    """``is in CrashLoopBackOff (57 restarts)``: why a pod on a node does nothing there; empty for others."""
    for kind in ("initContainerStatuses", "containerStatuses"):
        for status in maps_at(pod, "status", kind):
            reason = text_at(status, "state", "waiting", "reason")
            if reason in _STUCK:
                restarts = status.get("restartCount")
                return f"is in {reason}" + (f" ({restarts} restarts)" if restarts else "")
    return ""


def is_new(state: ClusterState, pod: Raw) -> bool:
    """True if a pod was created moments before the cluster was read: controllers and the scheduler may be about to look
    at it."""
    created = text_at(pod, "metadata", "creationTimestamp")
    if state.read_at is None or not created:
        return False
    try:
        return state.read_at - datetime.fromisoformat(created).timestamp() < _NEW
    except ValueError:
        return False


def scheduler_name(pod: Raw) -> str:
    """The scheduler that a pod names, or the one that the API server fills in."""
    return text_at(pod, "spec", "schedulerName") or DEFAULT_SCHEDULER


def claims_named(namespace: str, pod: Raw) -> set[Key]:
    """The claims that a pod refers to, by name or through its status."""
    named = (
        *(text_at(entry, "resourceClaimName") for entry in maps_at(pod, "spec", "resourceClaims")),
        *(
            text_at(entry, "resourceClaimName")
            for entry in maps_at(pod, "status", "resourceClaimStatuses")
        ),
        text_at(pod, "status", "extendedResourceClaimStatus", "resourceClaimName"),
    )
    return {(namespace, name) for name in named if name}


def consumers(state: ClusterState, claim: Key) -> Sequence[Raw]:
    """The pods that refer to a claim, by name or through their status."""
    return [
        pod
        for key, pod in state.objects("Pod").items()
        if key[0] == claim[0] and claim in claims_named(key[0], pod)
    ]


def reserved_for(claim: Raw | None) -> str:
    """The consumers that a claim is reserved for: ``pod a, b and 2 more``, ``PodGroup ring``; empty for none."""
    entries = maps_at(claim, "status", "reservedFor")
    pods = [text_at(entry, "name") for entry in entries if text_at(entry, "resource") == "pods"]
    more = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
    said = [f"pod {', '.join(pods[:3])}{more}"] if pods else []
    others = [entry for entry in entries if text_at(entry, "resource") != "pods"]
    said += [
        f"{_KINDS.get(text_at(e, 'resource'), text_at(e, 'resource'))} {text_at(e, 'name')}"
        for e in others
    ]
    return ", ".join(said)


_KINDS = {"podgroups": "PodGroup"}
_COMBINED = "(combined from similar events): "  # client-go tools/record/events_cache.go


def strip_combined(message: str) -> str:
    """Return the message of an event without the prefix for many of one kind."""
    return message.removeprefix(_COMBINED)


def event_about(state: ClusterState, pod: Raw, reason: str, mention: str = "") -> str:
    """The newest event with ``reason`` about a pod that mentions a text; empty if the input has none."""
    uid, name = text_at(pod, "metadata", "uid"), text_at(pod, "metadata", "name")
    best = ("", "")
    for event in state.objects("Event").values():
        about = map_at(event, "involvedObject") or map_at(event, "regarding")
        if (
            event.get("reason") != reason
            or about.get("name") != name
            or about.get("uid") not in (uid, None)
        ):
            continue
        message = strip_combined(text_at(event, "message") or text_at(event, "note"))
        when = (
            text_at(event, "lastTimestamp")
            or text_at(event, "eventTime")
            or text_at(event, "metadata", "creationTimestamp")
        )
        if mention in message:
            best = max(best, (when, message))
    return best[1]
