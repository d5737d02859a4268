"""``dractl impact`` as text: the change, the affected pods, the pods that find a new node, and the
next steps.
"""

from collections import Counter
from collections.abc import Iterator

from dractl.impact import DeviceChange, Impact, PendingPod, PodImpact
from dractl.impact.result import EFFECTS
from dractl.report.canvas import Canvas
from dractl.report.plain import add_remark, printable, wrap

MAX_PODS = 12
"""Maximum number of paragraphs about pods with one effect, without ``every``."""
MAX_NAMES = 4
"""Maximum number of pods that a paragraph names, without ``every``."""
MAX_DEVICE_GROUPS = 8
"""Maximum number of groups of devices that are named, without ``every``."""
_STYLES = {"blocked": "1;31", "evicted": "33", "waits": "33", "kept": "2"}
_TITLES = {"blocked": "blocked", "evicted": "evicted", "waits": "waiting", "kept": "kept"}
_INDENT = "    "


def render(impact: Impact, canvas: Canvas, release: str, *, every: bool = False) -> str:
    """Return the report; with ``every`` all pods and devices are named."""
    *above, last = _wrap_text(headline(impact), canvas, "")
    lines = [*above, add_remark(last, f"Kubernetes {printable(release)}", canvas.width), ""]
    for effect in EFFECTS:
        lines += _pods(impact.list_pods(effect), canvas, every=every)
    lines += _list_pending(impact.pending, canvas, every=every)
    lines += _devices(impact.devices, canvas, every=every)
    lines += _steps(impact, canvas)
    if impact.notes:
        lines.append(canvas.paint("Notes", "1"))
        lines += [line for note in impact.notes for line in _wrap_text(note, canvas, "  ")]
    return canvas.plain("\n".join(lines).rstrip() + "\n")


def headline(impact: Impact) -> str:
    """Return the change, and how many pods it affects."""
    counts = Counter(pod.effect for pod in impact.pods)
    parts = [
        f"{counts[effect]} {_TITLES[effect]}"
        + (_describe_places(impact) if effect == "evicted" else "")
        for effect in EFFECTS
        if counts[effect]
    ]
    pods = f"pods: {', '.join(parts)}" if parts else "no pod is concerned"
    return f"{printable(', '.join(impact.change))}: {pods}"


def _describe_places(impact: Impact) -> str:
    placed = sum(pod.fits is not None for pod in impact.list_pods("evicted"))
    return f" ({placed} with another place)" if placed else ""


def _pods(pods: tuple[PodImpact, ...], canvas: Canvas, *, every: bool) -> Iterator[str]:
    """Yield the pods of one effect; pods with one time, reason and new node share a paragraph."""
    if not pods:
        return
    effect = pods[0].effect
    yield canvas.paint(f"{_TITLES[effect].capitalize()} ({len(pods)})", _STYLES[effect])
    groups: dict[tuple[str, str, str | None], list[str]] = {}
    for pod in pods:
        groups.setdefault((_describe_time(pod), pod.why, pod.fits), []).append(pod.name)
    shown = list(groups.items()) if every else list(groups.items())[:MAX_PODS]
    for (time, why, fits), names in shown:
        listed = ", ".join(names if every else names[:MAX_NAMES])
        more = len(names) - MAX_NAMES
        listed += f" and {more} more" if more > 0 and not every else ""
        yield from _wrap_text(f"{listed}{time}: {why}", canvas, "  ")
        if fits is not None:
            arrow, noun = canvas.glyph("→", "->"), "pod goes" if len(names) == 1 else "pods go"
            yield f"{_INDENT}{arrow} its new {noun} to {printable(fits)}"
    hidden = len(pods) - sum(len(names) for _, names in shown)
    if hidden:
        yield f"  and {hidden} more; -v shows all"
    yield ""


def _describe_time(pod: PodImpact) -> str:
    if pod.effect != "evicted":
        return ""
    if pod.at is None:
        return " later"
    return f" in {pod.at} s" if pod.at else " at once"


def _list_pending(pods: tuple[PendingPod, ...], canvas: Canvas, *, every: bool) -> Iterator[str]:
    if not pods:
        return
    yield canvas.paint(f"Waiting for a node afterwards ({len(pods)})", "1")
    shown = pods if every else pods[:MAX_PODS]
    for pod in shown:
        yield from _wrap_text(_describe_pending(pod), canvas, "  ")
    if len(pods) > len(shown):
        yield f"  and {len(pods) - len(shown)} more; -v shows all"
    yield ""


def _describe_pending(pod: PendingPod) -> str:
    if pod.replaces:
        return f"the pod that replaces {pod.pod}: no node fits"
    if pod.after is not None:
        return f"{pod.pod}: gets {pod.after}, and waited before"
    return f"{pod.pod}: no node fits any more; without the change {pod.before} would"


def _devices(changes: tuple[DeviceChange, ...], canvas: Canvas, *, every: bool) -> Iterator[str]:
    if not changes:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        key = (change.node or "several nodes", _describe_change(change, canvas))
        groups.setdefault(key, []).append(change.device)
    yield canvas.paint(f"Devices ({len(changes)})", "1")
    shown = list(groups.items()) if every else list(groups.items())[:MAX_DEVICE_GROUPS]
    for (node, text), devices in shown:
        names = ", ".join(devices if every else [device.rpartition("/")[2] for device in devices])
        yield from _wrap_text(f"{node}: {names}: {text}", canvas, "  ")
    if len(groups) > len(shown):
        yield f"  and more on {len(groups) - len(shown)} nodes; -v shows all"
    yield ""


def _describe_change(change: DeviceChange, canvas: Canvas) -> str:
    before, after = (
        "not there"
        if device_state is None
        else " ".join((device_state.state, *device_state.taints))
        for device_state in (change.before, change.after)
    )
    return before if before == after else f"{before} {canvas.glyph('→', '->')} {after}"


def _steps(impact: Impact, canvas: Canvas) -> Iterator[str]:
    if not impact.steps:
        return
    yield canvas.paint("Steps", "1")
    for number, step in enumerate(impact.steps, 1):
        yield from _wrap_text(f"{number}. {step.text}", canvas, "  ", hanging="   ")
        if step.command:
            yield f"     {printable(step.command)}"
    yield ""


def _wrap_text(text: str, canvas: Canvas, indent: str, hanging: str = "  ") -> list[str]:
    lines = wrap(printable(text), canvas.width - len(indent), hanging)
    return [indent + line for line in lines]
