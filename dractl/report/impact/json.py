"""``dractl impact -o json``: ``dractl/impact/v1``."""

from typing import Any

from msgspec import to_builtins

from dractl.facts import current
from dractl.impact import DeviceChange, DeviceState, Impact

SCHEMA = "dractl/impact/v1"


def value(impact: Impact, release: str) -> dict[str, Any]:
    """Return the impact as plain values."""
    return {
        "schema": SCHEMA,
        "facts": current().to_json(),
        "kubernetesVersion": release,
        "change": list(impact.change),
        "devices": [_device(change) for change in impact.devices],
        "pods": [
            {"pod": pod.name, "effect": pod.effect, "at": pod.at, "why": pod.why, "fits": pod.fits}
            for pod in impact.pods
        ],
        "pending": [to_builtins(pod) for pod in impact.pending],
        "steps": [{"text": step.text, "command": step.command} for step in impact.steps],
        "notes": list(impact.notes),
    }


def _device(change: DeviceChange) -> dict[str, Any]:
    return {
        "device": change.device,
        "node": change.node,
        "before": _state(change.before),
        "after": _state(change.after),
    }


def _state(state: DeviceState | None) -> dict[str, Any] | None:
    return None if state is None else {"state": state.state, "taints": list(state.taints)}
