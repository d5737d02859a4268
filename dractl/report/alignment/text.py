"""Alignments as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.report.canvas import Canvas
from dractl.report.plain import printable, wrap

if TYPE_CHECKING:
    from dractl.alignment import Alignment, Use
    from dractl.alignment.quality import Share

_KIND_NAMES = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "nvme": "NVMe"}
_LEVEL_NOTES = {"root": "root: the same PCIe root", "numa": "numa: the same NUMA node"}
_MAX_PAIRS = 16
_BAR_COLUMNS = 10
_MIN_TEXT_COLUMNS = 30
_YELLOW, _GREEN = "33", "32"


class PairRow(Struct, frozen=True):
    """Two devices by their short names, and the level between them."""

    a: str
    b: str
    level: str
    """Level between the devices, or ``unknown``."""


# -- one alignment --


def title(alignment: Alignment) -> str:
    """Return ``GPU and NIC``, or ``GPU and GPU``."""
    return " and ".join(_KIND_NAMES[kind] for kind in alignment.kinds)


def describe_quality(alignment: Alignment) -> str:
    """Return in one sentence how good an alignment is."""
    number = len(alignment.pairs)
    pairs = "1 pair" if number == 1 else f"{number} pairs"
    levels = format_levels(alignment.levels)
    if not alignment.pairs:
        return f"not compared: {alignment.comparison_failure}"
    if alignment.share is None:
        return f"{pairs}: {levels}; the best is not known: {alignment.comparison_failure}"
    if alignment.is_best:
        return f"{pairs}: {levels}, the best that the node can give"
    return f"{_count_pairs(alignment.share, number)} of {pairs} as near as the best: {levels}"


def _count_pairs(share: Share, number: int) -> str:
    low, high = (round(part * number) for part in share)
    return str(low) if low == high else f"{low} to {high}"


def compare_with_best(alignment: Alignment) -> Iterator[str]:
    """Yield lines that compare an alignment with the best one that the node could give."""
    if alignment.share is None or alignment.is_best or alignment.best_free is None:
        return
    best_free = format_levels(alignment.best_free)
    if alignment.best_now == alignment.best_free:
        yield f"best now, as on the free node: {best_free}"
    else:
        yield f"best on the free node: {best_free}"
        if alignment.best_now is not None:
            is_best_now = alignment.share_now == (1, 1)
            levels = format_levels(alignment.best_now)
            best_now = "no better than what it has" if is_best_now else levels
            yield f"best now, beside what others hold: {best_now}"
    if alignment.improvement is not None:
        yield f"to get it: {alignment.improvement.text}"


def format_levels(levels: Mapping[str, int]) -> str:
    """Return ``3 PIX, 1 SYS``."""
    return ", ".join(f"{count} {level}" for level, count in levels.items())


def pair_rows(alignment: Alignment) -> list[PairRow]:
    """Return a row for each pair of devices."""
    return [
        PairRow(_short_name(pair.a), _short_name(pair.b), pair.level or "unknown")
        for pair in alignment.pairs
    ]


def _short_name(device: str) -> str:
    return device.rpartition("/")[2]


def alignment_lines(alignments: Sequence[Alignment]) -> Iterator[tuple[str, str]]:
    """Yield pairs of a heading, which may be empty, and a line below it."""
    for alignment in alignments:
        yield title(alignment), describe_quality(alignment)
        for line in compare_with_best(alignment):
            yield "", line
        is_known = any(pair.level is not None for pair in alignment.pairs)
        if is_known and not alignment.is_best and len(alignment.pairs) <= _MAX_PAIRS:
            rows = pair_rows(alignment)
            a_width = max((len(row.a) for row in rows), default=0)
            b_width = max((len(row.b) for row in rows), default=0)
            for row in rows:
                yield "", f"  {row.a:<{a_width}}  {row.b:<{b_width}}  {row.level}"
    notes = [note for level, note in _LEVEL_NOTES.items() if _has_level(alignments, level)]
    if any(map(_lacks_nvlink, alignments)):
        notes.append("slices do not show NVLink; add a snapshot with --devices")
    if notes:
        yield "", "; ".join(notes)


def _has_level(alignments: Sequence[Alignment], level: str) -> bool:
    return any(level in alignment.levels for alignment in alignments)


def _lacks_nvlink(alignment: Alignment) -> bool:
    """Return whether the levels of GPUs come from slices, since these do not show NVLink."""
    from_slices = any(pair.source == "slices" for pair in alignment.pairs)
    return alignment.kinds == ("gpu", "gpu") and from_slices


# -- all allocations of a cluster --


def fleet_text(uses: Sequence[Use], canvas: Canvas) -> str:
    """Return a bar for the devices of each pod or claim: its share of the best alignment, the worst
    first.
    """
    if not uses:
        return "no allocated claim has two devices that belong together\n"
    lines = [canvas.paint(fleet_summary(uses), "1"), ""]
    width = max(_MIN_TEXT_COLUMNS, canvas.width - _BAR_COLUMNS - 8)
    for use in uses:
        lines.append(f"{_paint_bar(use.share, canvas)}  {percent(use.share):>4}  {use_name(use)}")
        for alignment in use.alignments:
            levels = format_levels(alignment.levels)
            text = printable(f"{title(alignment)}: {levels}{describe_best(alignment)}")
            lines += [f"{'':{_BAR_COLUMNS + 8}}{line}" for line in wrap(text, width)]
    return canvas.plain("\n".join(lines) + "\n")


def fleet_summary(uses: Sequence[Use]) -> str:
    """Return how many allocations are aligned as well as their nodes can."""
    best = sum(use.share == 1 for use in uses)
    unknown = sum(use.share is None for use in uses)
    summary = f"{best} of {len(uses)} allocations are the best that their nodes can give"
    return summary + (f"; of {unknown} it is not known" if unknown else "")


def use_name(use: Use) -> str:
    """Return the name of the pod, or else of the claims, with the node."""
    user = f"pod {use.pod}" if use.pod else f"claim {', '.join(use.claims)}"
    return f"{printable(user)}  {printable(use.node or 'several nodes')}"


def describe_best(alignment: Alignment) -> str:
    """Return a remark in parentheses about the best alignment; empty if the pairs have it."""
    if alignment.share is None:
        return f" (best not known: {alignment.comparison_failure})"
    if alignment.is_best or alignment.best_free is None:
        return ""
    best = f"best {format_levels(alignment.best_free)}"
    if alignment.best_now not in (None, alignment.best_free):
        best += f", now {format_levels(alignment.best_now or {})}"
    return f" ({best})"


def percent(share: float | None) -> str:
    """Return a share for a column, rounded down so that only the best has 100%."""
    return "?" if share is None else f"{int(100 * share)}%"


def _paint_bar(share: float | None, canvas: Canvas) -> str:
    if share is None:
        return canvas.glyph("·", ".") * _BAR_COLUMNS
    full = int(share * _BAR_COLUMNS)
    bar = canvas.glyph("█", "#") * full + canvas.glyph("░", "-") * (_BAR_COLUMNS - full)
    return canvas.paint(bar, _YELLOW if share < 1 else _GREEN)
