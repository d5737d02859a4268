"""``discover --diff``: the differences between two machines, one on a line."""

from dractl.report.canvas import Canvas
from dractl.topology.diff import Difference
from dractl.topology.units import show_bytes


def render(differences: tuple[Difference, ...], names: tuple[str, str], canvas: Canvas) -> str:
    """Return the differences by place, or a line saying that there are none."""
    if not differences:
        return canvas.plain(f"{names[0]} and {names[1]}: no difference\n")
    lines = [canvas.paint(f"- {names[0]}", "31"), canvas.paint(f"+ {names[1]}", "32")]
    place = None
    for item in differences:
        if item.place != place:
            lines += ["", canvas.paint(item.place, "1")]
            place = item.place
        before, after = (_value_text(value, item.unit) for value in (item.before, item.after))
        if item.before is None:
            lines.append(canvas.paint(f"  + {item.what}: {after}", "32"))
        elif item.after is None:
            lines.append(canvas.paint(f"  - {item.what}: {before}", "31"))
        else:
            lines.append(
                f"  {item.what}: {canvas.paint(before, '31')} → {canvas.paint(after, '32')}"
            )
    return canvas.plain("\n".join(lines) + "\n")


def _value_text(value: str | None, unit: str | None) -> str:
    return show_bytes(int(value)) if unit == "bytes" and value is not None else str(value)
