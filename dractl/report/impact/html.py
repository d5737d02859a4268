"""``dractl impact -o html``: a page to read before the change, and to share."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import compress

from dractl.impact import DeviceChange, DeviceState, Impact, PodImpact
from dractl.impact.result import EFFECTS
from dractl.report.impact.text import headline
from dractl.report.page import bullets, cell, page, prose, table

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
        heads = ("pod", "effect", "ends after", "why", "node of the new pod")
        yield table(*_drop_empty_columns(list(map(_pod_cells, order)), heads), "rows")
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
            yield f"<li>{prose(step.text)}{command}</li>"
        yield "</ol>"
    if impact.notes:
        yield "<h2>Notes</h2>"
        yield bullets(impact.notes)


def _pod_cells(pod: PodImpact) -> tuple[str, ...]:
    time = "" if pod.at is None else f"{pod.at} s"
    return (
        cell(pod.name),
        cell(pod.effect, _LOOKS[pod.effect]),
        cell(time),
        cell(pod.why),
        cell(pod.fits or ""),
    )


def _drop_empty_columns(
    rows: Sequence[Sequence[str]], heads: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the rows, and the heads, of the columns that have a text in any row."""
    shown = [{*column} != {cell("")} for column in zip(*rows, strict=True)]
    return ["".join(compress(row, shown)) for row in rows], list(compress(heads, shown))


def _device_row(change: DeviceChange) -> str:
    cells = (change.device, change.node or "", _state(change.before), _state(change.after))
    return "".join(map(cell, cells))


def _state(state: DeviceState | None) -> str:
    return "–" if state is None else " ".join((state.state, *state.taints))
