"""Containers of a pod, as its kubelet reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from dractl.model.paths import at, list_at, map_at, maps_at, text_at
from dractl.objects import Raw
from dractl.redaction import redact


class ContainerClaim(Struct, frozen=True):
    """An entry of ``resources.claims``: a claim of the pod whose devices a container gets."""

    name: str
    """The name of the claim in the pod."""
    request: str
    """The request whose devices the container gets; "" for all."""


def read_container_claims(raw: Raw) -> tuple[ContainerClaim, ...]:
    """Return ``resources.claims`` of a container, or of the spec of a pod."""
    return tuple(
        ContainerClaim(text_at(entry, "name"), text_at(entry, "request"))
        for entry in maps_at(raw, "resources", "claims")
    )


class Container(Struct, frozen=True):
    """A container of a pod's spec."""

    raw: Raw

    @property
    def name(self) -> str:
        """``name``."""
        return text_at(self.raw, "name")

    @property
    def requests(self) -> Mapping[str, Any]:
        """``resources.requests`` as written."""
        return self.amounts("requests")

    @property
    def ports(self) -> Sequence[Raw]:
        """``ports`` as written."""
        return maps_at(self.raw, "ports")

    @property
    def claims(self) -> tuple[ContainerClaim, ...]:
        """``resources.claims``."""
        return read_container_claims(self.raw)

    @property
    def image(self) -> str:
        """``image``."""
        return text_at(self.raw, "image")

    @property
    def command(self) -> tuple[str, ...]:
        """``command``; empty if the image decides."""
        return tuple(map(str, list_at(self.raw, "command")))

    def amounts(self, field: str) -> Mapping[str, Any]:
        """Return ``requests`` or ``limits`` of its resources as written."""
        return map_at(self.raw, "resources", field)

    @property
    def command_line(self) -> tuple[str, ...]:
        """``command`` and ``args``."""
        return (*self.command, *map(str, list_at(self.raw, "args")))


class ContainerStatus(Struct, frozen=True):
    """A container as its kubelet reports it."""

    name: str
    state: Literal["", "waiting", "running", "terminated"]
    """The state; empty if the kubelet has not reported one."""
    reason: str = ""
    """The reason for the state; ``message`` and ``exit_code`` also describe the state."""
    message: str = ""
    exit_code: int = 0
    started_at: str = ""
    """When the container began to run (RFC 3339)."""
    finished_at: str = ""
    """When the container ended (RFC 3339)."""
    restarts: int = 0
    """The number of times that the kubelet has restarted the container."""
    is_ready: bool = False
    is_init: bool = False
    """True if the pod waits until the container has ended; False for sidecars."""
    has_started: bool = False
    """True if the container has run at least once."""
    last: ContainerStatus | None = None
    """The previous state."""

    @property
    def last_change(self) -> str:
        """When the container began or ended last (RFC 3339); "" if it has never run."""
        states = (self, self.last) if self.last is not None else (self,)
        return max(max(state.started_at, state.finished_at) for state in states)

    @property
    def has_failed(self) -> bool:
        """True if the container ended with an error."""
        return self.state == "terminated" and (
            self.exit_code != 0 or self.reason not in ("", "Completed")
        )


class DeviceHealth(Struct, frozen=True):
    """The kubelet's report of an unhealthy device (KEP-4680)."""

    claim: str
    """The name of the claim in the pod."""
    device: str
    """The CDI name of the device."""
    message: str

    def match_device(self, names: Sequence[str]) -> str | None:
        """Return the device of a claim that the report is about; None if that is ambiguous.

        A driver's CDI name ends with the name of the device if the driver follows the examples of
        Kubernetes.
        """
        if len(names) == 1:
            return names[0]
        return next(
            (name for name in names if self.device.endswith((f"-{name}", f"={name}"))), None
        )


def container_status(status: Raw, *, is_init: bool) -> ContainerStatus:
    """Decode an entry of ``status.containerStatuses`` or ``status.initContainerStatuses``."""
    state, previous = _decode_state(status, "state"), _decode_state(status, "lastState")
    name, restarts = text_at(status, "name"), status.get("restartCount")
    last = ContainerStatus(name, **previous) if previous["state"] else None
    return ContainerStatus(
        name,
        **state,
        restarts=restarts if isinstance(restarts, int) else 0,
        is_ready=status.get("ready") is True,
        is_init=is_init,
        has_started=bool(
            text_at(status, "containerID") or last or state["state"] in ("running", "terminated")
        ),
        last=last,
    )


def _decode_state(status: Raw, field: str) -> dict[str, Any]:
    for name in ("waiting", "running", "terminated"):
        state = at(status, field, name)
        if isinstance(state, dict):
            exit_code = state.get("exitCode")
            return {
                "state": name,
                "reason": text_at(state, "reason"),
                "message": redact(text_at(state, "message")),
                "exit_code": exit_code if isinstance(exit_code, int) else 0,
                "started_at": text_at(state, "startedAt"),
                "finished_at": text_at(state, "finishedAt"),
            }
    return {"state": ""}
