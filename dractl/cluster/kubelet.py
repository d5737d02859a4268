"""What kubelet, the container runtime and the control plane say of a pod on its node: events, containers, the node."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from dractl.cluster.pods import ENDED
from dractl.cluster.state import ClusterState, Key, at, map_at, maps_at, text_at
from dractl.objects import Raw

_COMBINED = "(combined from similar events): "  # client-go tools/record/events_cache.go
_SECONDS = (
    19  # the length of a timestamp without what is below the second, which only some events have
)

# -- events --


class Event(Struct, frozen=True):
    """An event about an object, ``when`` it was seen last (RFC 3339; empty if it does not say)."""

    reason: str
    message: str
    when: str

    @property
    def uninjected(self) -> str | None:
        """``uninjected`` of its message."""
        return uninjected(self.message)

    @property
    def prepare(self) -> Prepare:
        """Why a claim is not prepared, from an event FailedPrepareDynamicResources."""
        return prepare_of(self.message)


def events_about(state: ClusterState, value: Raw) -> tuple[Event, ...]:
    """The events about an object, oldest first; not those about an earlier object of the same name."""
    metadata = map_at(value, "metadata")
    uid, born = text_at(metadata, "uid"), text_at(metadata, "creationTimestamp")[:_SECONDS]
    key = (text_at(metadata, "namespace"), text_at(metadata, "name"))
    own: list[Event] = []
    for event in state.events_of(key):
        about = map_at(event, "involvedObject") or map_at(event, "regarding")
        # Both are written by the API server's clock; kubelet's may differ.
        written = text_at(event, "metadata", "creationTimestamp")[:_SECONDS]
        if about.get("uid") == uid or (
            about.get("uid") is None and (not written or written >= born)
        ):
            message = (text_at(event, "message") or text_at(event, "note")).removeprefix(_COMBINED)
            own.append(Event(text_at(event, "reason"), message, _seen(event)))
    return tuple(sorted(own, key=lambda event: event.when[:_SECONDS]))


ENDS = (
    "Evicted",
    "TaintManagerEviction",
    "DeviceTaintManagerEviction",
    "Preempted",
)  # why others end a pod


def last_of(state: ClusterState, pod: Key) -> Event | None:
    """The event that says most of a pod that is gone: why others ended it, else its newest."""
    events = [
        Event(
            text_at(event, "reason"),
            text_at(event, "message") or text_at(event, "note"),
            _seen(event),
        )
        for event in state.events_of(pod)
        if (map_at(event, "involvedObject") or map_at(event, "regarding")).get("kind") == "Pod"
    ]
    return max(
        events, key=lambda event: (event.reason in ENDS, event.when[:_SECONDS]), default=None
    )


def _seen(event: Raw) -> str:
    return (
        text_at(event, "series", "lastObservedTime")
        or text_at(event, "lastTimestamp")
        or text_at(event, "eventTime")
        or text_at(event, "metadata", "creationTimestamp")
    )


def now_of(state: ClusterState) -> float | None:
    """When the cluster was read, in seconds since 1970. That of a dump is the newest time in its leases, events and
    nodes; None if it has none of them."""
    if state.read_at is not None:
        return state.read_at
    times = [text_at(lease, "spec", "renewTime") for lease in state.objects("Lease").values()]
    times += [_seen(event) for event in state.objects("Event").values()]
    for node in state.objects("Node").values():
        times += [
            text_at(condition, "lastHeartbeatTime")
            for condition in maps_at(node, "status", "conditions")
        ]
    return max(filter(None, map(seconds, set(times))), default=None)


def newest_of(state: ClusterState) -> float | None:
    """The time that ages are counted to, in seconds since 1970: when the cluster was read; of a dump the newest time
    that it has, that of its youngest pod and claim included. None if it has none."""
    born = {
        text_at(value, "metadata", "creationTimestamp")
        for kind in ("Pod", "ResourceClaim")
        for value in state.objects(kind).values()
    }
    known = [now_of(state), *map(seconds, born)]
    return max((time for time in known if time is not None), default=None)


def seconds(timestamp: str) -> float | None:
    """A timestamp (RFC 3339) in seconds since 1970; None for what is none."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except (ValueError, OverflowError):
        return None


# -- the node --


class Silence(Struct, frozen=True):
    """Why nobody on a node answers: what its Ready condition says, and since when."""

    node: str
    message: str
    since: str


def silence(state: ClusterState, node: str) -> Silence | None:
    """Why a node does not answer; None if its kubelet reports, or if the input does not tell.

    kube-controller-manager sets Ready to Unknown and adds the taint node.kubernetes.io/unreachable
    (kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go).
    """
    value = state.get("Node", ("", node))
    if value is None:
        return (
            Silence(node, "there is no such node any more", "")
            if state.has("Node") and node
            else None
        )
    ready = next(
        (c for c in maps_at(value, "status", "conditions") if c.get("type") == "Ready"), None
    )
    if ready is None or text_at(ready, "status") != "Unknown":
        return None
    return Silence(
        node, text_at(ready, "message").rstrip("."), text_at(ready, "lastTransitionTime")
    )


def unready(state: ClusterState, node: str) -> str:
    """What the kubelet of a node says is not ready on it; empty if nothing is."""
    conditions = maps_at(state.get("Node", ("", node)), "status", "conditions")
    ready = next(
        (c for c in conditions if c.get("type") == "Ready" and c.get("status") == "False"), None
    )
    return (text_at(ready, "message") or text_at(ready, "reason")) if ready is not None else ""


# -- containers --


class ContainerStatus(Struct, frozen=True):
    """A container as its kubelet reports it. ``state`` is empty where nothing is said. ``reason``, ``message``,
    ``code`` (the exit code) and ``since`` (when it began) are of that state, ``last`` is the one before. ``restarts``
    counts how often it was started again. ``init``: the pod waits for its end; ``begun``: it has run at least once."""

    name: str
    state: Literal["", "waiting", "running", "terminated"]
    reason: str = ""
    message: str = ""
    code: int = 0
    since: str = ""
    restarts: int = 0
    ready: bool = False
    init: bool = False
    begun: bool = False
    last: ContainerStatus | None = None

    @property
    def failed(self) -> bool:
        """True if it ended with an error."""
        return self.state == "terminated" and (
            self.code != 0 or self.reason not in ("", "Completed")
        )

    @property
    def began(self) -> float | None:
        """``since`` in seconds since 1970."""
        return seconds(self.since)

    @property
    def uninjected(self) -> str | None:
        """``uninjected`` of what it waits for."""
        return uninjected(self.message or self.reason)


def containers(pod: Raw) -> tuple[ContainerStatus, ...]:
    """The containers of a pod: those of its init, then its main ones. Sidecars are init containers that are restarted
    for ever; the pod does not wait for their end. Ephemeral containers stop nobody and are left out."""
    sidecars = {
        text_at(c, "name")
        for c in maps_at(pod, "spec", "initContainers")
        if c.get("restartPolicy") == "Always"
    }
    return tuple(
        _container(
            status,
            init=field == "initContainerStatuses" and text_at(status, "name") not in sidecars,
        )
        for field in ("initContainerStatuses", "containerStatuses")
        for status in maps_at(pod, "status", field)
    )


def _container(status: Raw, *, init: bool) -> ContainerStatus:
    now, before = _state(status, "state"), _state(status, "lastState")
    restarts = status.get("restartCount")
    last = ContainerStatus(text_at(status, "name"), **before) if before["state"] else None
    return ContainerStatus(
        text_at(status, "name"),
        **now,
        restarts=restarts if isinstance(restarts, int) else 0,
        ready=status.get("ready") is True,
        init=init,
        begun=bool(
            text_at(status, "containerID") or last or now["state"] in ("running", "terminated")
        ),
        last=last,
    )


def _state(status: Raw, field: str) -> dict[str, Any]:
    for name in ("waiting", "running", "terminated"):
        value = at(status, field, name)
        if isinstance(value, dict):
            code = value.get("exitCode")
            code = code if isinstance(code, int) else 0
            return {
                "state": name,
                "reason": text_at(value, "reason"),
                "message": text_at(value, "message"),
                "code": code,
                "since": text_at(value, "startedAt"),
            }
    return {"state": ""}


class Health(Struct, frozen=True):
    """What kubelet heard of a device's health (KEP-4680): the claim's name in the pod, the device's CDI name, why."""

    claim: str
    device: str
    message: str

    def of(self, names: Sequence[str]) -> str | None:
        """The one of a claim's devices that is meant: a driver's CDI name ends with the device's own where it follows
        the examples of Kubernetes; None if that cannot be told."""
        if len(names) == 1:
            return names[0]
        return next(
            (name for name in names if self.device.endswith((f"-{name}", f"={name}"))), None
        )


def unhealthy(pod: Raw) -> Iterator[Health]:
    """The devices of a pod that its kubelet reports as unhealthy."""
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in maps_at(pod, "status", field):
            for entry in maps_at(status, "allocatedResourcesStatus"):
                name = text_at(entry, "name")
                for resource in maps_at(entry, "resources"):
                    if name.startswith("claim:") and text_at(resource, "health") == "Unhealthy":
                        claim = name.removeprefix("claim:").partition("/")[0]
                        yield Health(
                            claim, text_at(resource, "resourceID"), text_at(resource, "message")
                        )


# -- the pod --


class PodCondition(Struct, frozen=True):
    """A condition of a pod, empty where the pod has none of that type."""

    status: str = ""
    reason: str = ""
    message: str = ""
    since: str = ""


class KubeletReport(Struct, frozen=True):
    """What a pod says of itself, its kubelet and others of it. ``node``, ``phase``, ``reason`` and ``message`` are
    empty where the pod does not say. ``restarts`` is its restart policy, ``until`` when it had to be gone (RFC 3339),
    ``heard``: its kubelet has accepted it."""

    node: str
    phase: str
    reason: str
    message: str
    restarts: str
    created: str
    until: str
    heard: bool
    finalizers: tuple[str, ...]
    conditions: Mapping[str, PodCondition]
    containers: tuple[ContainerStatus, ...]
    unhealthy: tuple[Health, ...]
    events: tuple[Event, ...]

    @property
    def ended(self) -> bool:
        return self.phase in ENDED

    @property
    def due(self) -> float | None:
        """``until`` in seconds since 1970."""
        return seconds(self.until)

    @property
    def placed(self) -> float | None:
        """When it was given its node, in seconds since 1970."""
        return seconds(self.condition("PodScheduled").since or self.created)

    def condition(self, kind: str) -> PodCondition:
        return self.conditions.get(kind, PodCondition())


def report_of(state: ClusterState, pod: Raw) -> KubeletReport:
    """What a pod says of itself, its kubelet and others of it."""
    metadata, spec, status = map_at(pod, "metadata"), map_at(pod, "spec"), map_at(pod, "status")
    return KubeletReport(
        node=text_at(spec, "nodeName"),
        phase=text_at(status, "phase"),
        reason=text_at(status, "reason"),
        message=text_at(status, "message"),
        restarts=text_at(spec, "restartPolicy"),
        created=text_at(metadata, "creationTimestamp"),
        until=text_at(metadata, "deletionTimestamp"),
        heard=bool(text_at(status, "startTime")),
        finalizers=tuple(f for f in metadata.get("finalizers") or () if isinstance(f, str)),
        conditions={
            text_at(c, "type"): PodCondition(
                text_at(c, "status"),
                text_at(c, "reason"),
                text_at(c, "message"),
                text_at(c, "lastTransitionTime"),
            )
            for c in reversed(maps_at(status, "conditions"))
        },
        containers=containers(pod),
        unhealthy=tuple(dict.fromkeys(unhealthy(pod))),
        events=events_about(state, pod),
    )


# -- prepare --

Answer = Literal["unregistered", "silent", "refused", "unasked"]


class Prepare(Struct, frozen=True):
    """Why a claim is not prepared, from kubelet's event. ``answer``: the driver is not registered, did not answer,
    refused in the ``words`` that follow, or was never asked."""

    answer: Answer
    words: str
    driver: str = ""

    @property
    def gate(self) -> str | None:
        """The feature gate of the driver that is off, where it refuses for that."""
        found = _GATE.search(self.words) if self.answer == "refused" else None
        return (found["gate"] or found["other"]) if found is not None else None

    @property
    def libraries(self) -> bool:
        """True if the driver does not find its vendor's libraries and programs where it was told to look."""
        return _LIBRARIES.search(self.words) is not None

    @property
    def mentioned(self) -> frozenset[str]:
        """The single words, in which names of devices may be."""
        return frozenset(re.findall(r"[\w.-]*\w", self.words))


# kubernetes-sigs/dra-driver-nvidia-gpu api/nvidia.com/resource/v1beta1/validate.go
_GATE = re.compile(
    r"the \"?(?P<gate>\w+)\"? feature gate is not enabled|feature gate \"?(?P<other>\w+)\"?",
    re.IGNORECASE,
)
_LIBRARIES = re.compile(
    r"\.so\b|nvidia-smi|driver root|failed to locate|could not locate|unable to locate|librar(?:y|ies)"
)

# How kubelet begins FailedPrepareDynamicResources: kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go and
# pkg/kubelet/cm/dra/manager.go PrepareResources.
_LEADS = ("Failed to prepare dynamic resources: ", "prepare dynamic resources: ")

# (answer, text after the leads, releases, of these seen in events of a real kubelet, source). What was not seen was
# read in the source at v1.34.4, v1.35.4, v1.36.3 and v1.37.1.
_SAID: tuple[tuple[Answer, str, str, str, str], ...] = (
    (
        "unregistered",
        r".*DRA driver (?P<driver>\S+) is not registered",
        "1.34-1.37",
        "1.34-1.37",
        "dra/plugin/",
    ),
    (
        "silent",
        r"NodePrepareResources: .*code = (?:Unavailable|DeadlineExceeded|Canceled).*",
        "1.34-1.37",
        "1.34-1.37, but Canceled",
        "dra/manager.go",
    ),
    (
        "refused",
        r"NodePrepareResources failed for ResourceClaim \S+: (?P<words>.*)",
        "1.34-1.37",
        "1.34-1.37",
        "dra/manager.go",
    ),
    (
        "refused",
        r"NodePrepareResources failed for claim \S+: (?P<words>.*)",
        "1.31-1.33",
        "",
        "dra/manager.go",
    ),
    ("refused", r"NodePrepareResources: (?P<words>.*)", "1.34-1.37", "", "dra/manager.go"),
    (
        "refused",
        r"(?P<words>NodePrepareResources (?:skipped|returned) .*)",
        "1.31-1.37",
        "",
        "dra/manager.go",
    ),
)


def prepare_of(message: str) -> Prepare:
    """Why a claim is not prepared, from the message of an event FailedPrepareDynamicResources."""
    for lead in _LEADS:
        message = message.removeprefix(lead)
    for answer, pattern, *_ in _SAID:
        found = re.match(pattern, message, re.DOTALL)
        if found is not None:
            facts = found.groupdict()
            return Prepare(answer, message, facts.get("driver") or "")
    # What kubelet finds before it asks anybody, or the driver's words alone.
    refused = "rpc error" in message
    return Prepare("refused" if refused else "unasked", message)


# -- start --

Lack = Literal[
    "runtime",
    "handler",
    "runtimeclass",
    "plugin",
    "network",
    "object",
    "key",
    "space",
    "volume",
    "command",
    "unknown",
]


class Obstacle(Struct, frozen=True):
    """What kubelet or the container runtime lacks to start a pod, from their words: a ``name`` of a ``kind`` where they
    say one, ``where`` they looked for it."""

    lack: Lack
    name: str = ""
    kind: str = ""
    where: str = ""


# Words of kubelet and containerd 2.2.9, seen on a real node, and of CRI-O; the first that is found counts. Those of
# handlers, plugins, ConfigMaps and Secrets were seen with kubelet 1.34.4 to 1.37.1, the others with 1.37.1.
_LACKS: tuple[tuple[Lack, str], ...] = (
    ("runtime", r"(?:containerd|crio|cri-dockerd)\.sock|container runtime is down"),
    ("handler", r"(?:no runtime for|failed to find runtime handler) \"?(?P<name>[^\"\s]+)"),
    ("runtimeclass", r"runtimeclass\S* \"?(?P<name>[^\"\s]+)\"? not found"),
    ("plugin", r"failed to find plugin \"(?P<name>[^\"]+)\" in path \[(?P<where>[^\]]*)\]"),
    ("network", r"\bcni\b|network plugin|networkPlugin|setup network"),
    ("object", r"(?P<kind>secret|configmap) \"(?P<name>[^\"]+)\" not found"),
    ("key", r"couldn't find key|references non-existent (?:secret|config) key"),
    ("space", r"no space left on device"),
    ("volume", r"volume"),
    ("command", r"executable file not found|no such file or directory|permission denied"),
)


def obstacle_of(words: str) -> Obstacle:
    """What lacks for the start of a pod, from the words of kubelet or of the container runtime."""
    for lack, pattern in _LACKS:
        found = re.search(pattern, words, re.IGNORECASE)
        if found is not None:
            return Obstacle(lack, **found.groupdict())
    return Obstacle("unknown")


# tags.cncf.io/container-device-interface pkg/cdi/cache.go, InjectDevices; containerd and CRI-O pass it on
_CDI = re.compile(r"unresolvable CDI devices|CDI device injection failed|CDI host device")
# the same, pkg/cdi/container-edits_unix.go, fillInfo
_ABSENT = re.compile(
    r"CDI host device \"?(?P<path>[^\s\":]+)|stat \"?(?P<other>/dev/[^\s\":]+)\"?: no such file"
)


def uninjected(words: str) -> str | None:
    """None unless the container runtime says that it cannot give a container its CDI devices; then the path on the node
    that is absent, empty where it knows no such device."""
    if not _CDI.search(words):
        return None
    absent = _ABSENT.search(words)
    return (absent["path"] or absent["other"]) if absent is not None else ""


def newest(events: Iterable[Event], reasons: Iterable[str]) -> Event | None:
    """The newest of the events that have one of these reasons."""
    wanted = frozenset(reasons)
    return next((event for event in reversed(tuple(events)) if event.reason in wanted), None)
