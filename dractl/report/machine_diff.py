"""``discover --diff``: what differs between two machines, a line a fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.report.canvas import Canvas
    from dractl.topology.diff import Difference


def render(found: tuple[Difference, ...], names: tuple[str, str], canvas: Canvas) -> str:
    """The differences by place, or that there are none."""
    if not found:
        return canvas.plain(f"{names[0]} and {names[1]}: no difference\n")
    lines = [canvas.paint(f"- {names[0]}", "31"), canvas.paint(f"+ {names[1]}", "32")]
    place = None
    for item in found:
        if item.place != place:
            lines += ["", canvas.paint(item.place, "1")]
            place = item.place
        if item.before is None:
            lines.append(canvas.paint(f"  + {item.what}: {item.after}", "32"))
        elif item.after is None:
            lines.append(canvas.paint(f"  - {item.what}: {item.before}", "31"))
        else:
            lines.append(f"  {item.what}: {canvas.paint(item.before, '31')} → {canvas.paint(item.after, '32')}")
    return canvas.plain("\n".join(lines) + "\n")
