"""``dractl impact -o html``: a page to read before the change, and to share."""

from collections.abc import Iterator
from html import escape

from dractl.impact import DeviceChange, DeviceState, Impact, PodImpact
from dractl.impact.result import EFFECTS
from dractl.report.impact.text import headline
from dractl.report.page import bullets, cell, page, table

_LOOKS = {"blocked": "bad strong", "evicted": "warn strong", "waits": "warn", "kept": "soft"}
_STYLE = "body { max-width: 68rem; } table { width: 100%; }"


def render(impact: Impact, release: str) -> str:
    """Return the impact as a page."""
    return page(headline(impact), _parts(impact, release), _STYLE)


def _parts(impact: Impact, release: str) -> Iterator[str]:
    yield f"<h1>{escape(headline(impact))}</h1><p class=soft>Kubernetes {escape(release)}</p>"
    if impact.pods:
        yield "<h2>Pods</h2>"
        order = [pod for effect in EFFECTS for pod in impact.list_pods(effect)]
        yield table(map(_pod_row, order), ("pod", "effect", "in", "why", "new pod"), "rows")
    if impact.pending:
        yield "<h2>Waiting for a node afterwards</h2>"
        rows = (
            cell(f"replaces {pod.pod}" if pod.replaces else pod.pod)
            + cell(pod.before or "–")
            + cell(pod.after or "–")
            for pod in impact.pending
        )
        yield table(rows, ("pod", "without the change", "after it"), "rows")
    if impact.devices:
        yield "<h2>Devices</h2>"
        yield table(map(_device_row, impact.devices), ("device", "node", "before", "after"), "rows")
    if impact.steps:
        yield "<h2>Steps</h2><ol>"
        for step in impact.steps:
            command = f"<br><code>{escape(step.command)}</code>" if step.command else ""
            yield f"<li>{escape(step.text)}{command}</li>"
        yield "</ol>"
    if impact.notes:
        yield "<h2>Notes</h2>"
        yield bullets(impact.notes)


def _pod_row(pod: PodImpact) -> str:
    time = "" if pod.at is None else f"{pod.at} s"
    return (
        cell(pod.name)
        + cell(pod.effect, _LOOKS[pod.effect])
        + cell(time)
        + cell(pod.why)
        + cell(pod.fits or "")
    )


def _device_row(change: DeviceChange) -> str:
    cells = (change.device, change.node or "", _state(change.before), _state(change.after))
    return "".join(map(cell, cells))


def _state(state: DeviceState | None) -> str:
    return "–" if state is None else " ".join((state.state, *state.taints))
