"""Alignments as sections of a page."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from dractl.alignment import Alignment, Use
from dractl.report.alignment.text import (
    describe_best,
    describe_quality,
    fleet_summary,
    format_levels,
    pair_rows,
    percent,
    title,
    use_name,
)
from dractl.report.page import cell, table

_MAX_USES = 200
_MAX_OPEN_USES = 16  # longer tables of uses are folded
STYLE = """
.levels { display: flex; height: 14px; width: 16rem; max-width: 40vw; gap: 1px; }
.levels i { display: block; height: 100%; flex: 1; background: var(--good); }
.levels i.NODE, .levels i.numa { background: var(--nvme); } \
.levels i.SYS { background: var(--bad); }
.levels i.unknown { background: var(--edge); }
@media print { .pairs tbody { display: block; columns: 4; } .pairs tr { display: block; font-size: 10px; }
  .pairs td { border: 0; padding: 0 8px 0 0; } }
"""


def alignment_section(alignments: Sequence[Alignment]) -> Iterator[str]:
    """Yield the alignments of one subject, each as a table of its levels and of the best possible
    levels, and a list of the pairs of devices.
    """
    for alignment in alignments:
        quality = escape(describe_quality(alignment))
        yield f"<h2>{title(alignment)} <small class=soft>{quality}</small></h2>"
        rows = [
            ("has", alignment.levels),
            ("best now", alignment.best_now),
            ("best when free", alignment.best_free),
        ]
        yield table(_level_cells(word, levels) for word, levels in rows if levels is not None)
        if alignment.improvement is not None:
            constraint = escape(alignment.improvement.text)
            yield f"<p>To get the best that is free: <code>{constraint}</code></p>"
        pairs = "".join(
            f"<tr>{cell(row.a)}{cell(row.b)}{cell(row.level)}</tr>" for row in pair_rows(alignment)
        )
        yield (
            "<details><summary>the pairs</summary>"
            f"<div class='wide pairs'><table>{pairs}</table></div></details>"
        )


def _level_cells(word: str, levels: Mapping[str, int]) -> str:
    """Return the cells of a row: ``word``, a mark for each pair of devices, and the number of pairs
    at each level.
    """
    marks = "".join(
        f'<i class="{level}" title="{level}"></i>' * count for level, count in levels.items()
    )
    numbers = cell(format_levels(levels), "soft")
    return f"{cell(word, 'w')}<td><div class=levels>{marks}</div></td>{numbers}"


def fleet_section(uses: Sequence[Use]) -> Iterator[str]:
    """Yield the alignments of all allocations, the worst first."""
    if not uses:
        return
    rows = [_use_row(use, alignment) for use in uses[:_MAX_USES] for alignment in use.alignments]
    more = f"<p>and {len(uses) - _MAX_USES} more</p>" if len(uses) > _MAX_USES else ""
    is_open = 0 < sum(use.share != 1 for use in uses) <= _MAX_OPEN_USES
    details = "<details open>" if is_open else "<details>"
    summary = f"<summary>{escape(fleet_summary(uses))}</summary>"
    yield f"<section><h2>Alignment</h2>{details}{summary}{table(rows)}{more}"
    yield "</details></section>"


def _use_row(use: Use, alignment: Alignment) -> str:
    return (
        cell(percent(use.share), "n")
        + cell(use_name(use))
        + cell(title(alignment))
        + _level_cells("", alignment.levels)
        + cell(describe_best(alignment).strip(" ()"), "soft")
    )
