"""The verdicts of a node autoscaler on described machines, below the copies that fit."""

from collections.abc import Sequence

from dractl.explain.fleet.machines import MachineJudgement
from dractl.report.canvas import Canvas
from dractl.report.plain import printable

_WORDS = {"serves": "launches", "never": "does not launch", "unknown": "unknown for"}


def render(machines: Sequence[MachineJudgement], canvas: Canvas) -> str:
    """Render a line for each machine; "" without machines."""
    lines = [
        canvas.plain(
            printable(
                f"{item.autoscaler.name} {_WORDS[item.autoscaler.verdict]} {item.machine}:"
                f" {item.autoscaler.reason}"
            )
        )
        for item in machines
    ]
    return "\n" + "\n".join(lines) + "\n" if lines else ""
