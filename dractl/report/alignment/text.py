"""The alignment of devices that belong together, as JSON, as lines of text, and as the rows of a table."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from dractl.alignment import Alignment, Use
from dractl.alignment.quality import Improvement, Share
from dractl.report.canvas import Canvas
from dractl.report.page import cell, table
from dractl.report.plain import printable, wrap

_NAMES = {"gpu": "GPU", "nic": "NIC", "cpu": "CPU", "nvme": "NVMe"}
_WORDS = {"root": "root: the same PCIe root", "numa": "numa: the same NUMA node"}
_PAIRS = 16  # on one screen
_LONGEST = 200  # allocations on a page


def as_json(found: Alignment) -> dict[str, Any]:
    """An alignment as the plain value that is printed."""
    return {
        "kinds": list(found.kinds),
        "pairs": [{"a": p.a, "b": p.b, "level": p.level, "source": p.source} for p in found.pairs],
        "levels": dict(found.levels),
        "bestFree": None if found.best_free is None else dict(found.best_free),
        "bestNow": None if found.best_now is None else dict(found.best_now),
        "share": None if found.share is None else list(found.share),
        "shareNow": None if found.share_now is None else list(found.share_now),
        "with": None if found.improvement is None else constraint_json(found.improvement),
        **({"why": found.why} if found.why else {}),
    }


def constraint_json(value: Improvement) -> dict[str, Any]:
    """A constraint as the plain value that is printed."""
    parts = {"parts": value.parts} if value.parts > 1 else {}
    within = {"within": value.within} if value.within else {}
    return {
        "matchAttribute": value.match_attribute,
        "requests": list(value.requests),
        **parts,
        **within,
    }


def title(found: Alignment) -> str:
    """``GPU and NIC``, or ``GPU and GPU``."""
    return " and ".join(_NAMES[kind] for kind in found.kinds)


def verdict(found: Alignment) -> str:
    """How good the alignment is, in one sentence."""
    number = len(found.pairs)
    pairs = "1 pair" if number == 1 else f"{number} pairs"
    if not found.pairs:
        return f"not compared: {found.why}"
    if found.share is None:
        return f"{pairs}: {counted(found.levels)}; the best is not known: {found.why}"
    if found.best:
        return f"{pairs}: {counted(found.levels)}, the best that the node can give"
    return f"{_part(found.share, number)} of {pairs} as near as the best: {counted(found.levels)}"


def comparison(found: Alignment) -> Iterator[str]:
    """What the node could give instead."""
    if found.share is None or found.best or found.best_free is None:
        return
    if found.best_now == found.best_free:
        yield f"best now, as on the free node: {counted(found.best_free)}"
    else:
        yield f"best on the free node: {counted(found.best_free)}"
        if found.best_now is not None:
            rest = (
                "no better than what it has"
                if found.share_now == (1, 1)
                else counted(found.best_now)
            )
            yield f"best now, beside what others hold: {rest}"
    if found.improvement is not None:
        yield f"to get it: {found.improvement.text}"


def counted(levels: Mapping[str, int]) -> str:
    """``3 PIX, 1 SYS``."""
    return ", ".join(f"{count} {level}" for level, count in levels.items())


def _part(share: Share, number: int) -> str:
    low, high = (round(part * number) for part in share)
    return str(low) if low == high else f"{low} to {high}"


def rows(found: Alignment, most: int = _PAIRS) -> list[tuple[str, str, str]]:
    """Device, device, level; if there are too many, only the farthest."""
    shown = found.pairs if len(found.pairs) <= most else ()
    return [(_short(p.a), _short(p.b), p.level or "unknown") for p in shown]


def _short(device: str) -> str:
    return device.rpartition("/")[2]


def lines(alignments: Sequence[Alignment]) -> Iterator[tuple[str, str]]:
    """A heading or nothing, and a line below it."""
    for found in alignments:
        yield title(found), verdict(found)
        for text in comparison(found):
            yield "", text
        shown: Sequence[tuple[str, str, str]] = () if found.best else rows(found)
        widths = [max((len(row[n]) for row in shown), default=0) for n in (0, 1)]
        for a, b, level in shown:
            yield "", f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {level}"
    told = [
        word for level, word in _WORDS.items() if any(level in found.levels for found in alignments)
    ]
    if any(found.kinds == ("gpu", "gpu") and _published(found) for found in alignments):
        told.append(
            "slices do not tell of NVLink; with --devices and a snapshot of the node it is known"
        )
    if told:
        yield "", "; ".join(told)


def _published(found: Alignment) -> bool:
    return any(pair.source == "slices" for pair in found.pairs)


# -- everything that is allocated --

_BAR = 10  # columns


def use_json(use: Use) -> dict[str, Any]:
    """The alignments of one pod's devices as the plain value that is printed."""
    return {
        "pod": use.pod,
        "claims": list(use.claims),
        "node": use.node,
        "share": use.share,
        "alignment": [as_json(found) for found in use.alignments],
    }


def fleet(uses: Sequence[Use], canvas: Canvas) -> str:
    """Pods and claims by their share of the best, the worst first, each with a bar."""
    if not uses:
        return "no allocated claim has two devices that belong together\n"
    lines = [canvas.paint(summary(uses), "1"), ""]
    for use in uses:
        colour = (
            "33"
            if use.share is not None and use.share < 1
            else "32"
            if use.share is not None
            else ""
        )
        bar = canvas.paint(_bar(use.share, canvas), colour) if colour else _bar(use.share, canvas)
        lines.append(f"{bar}  {percent(use.share):>4}  {name(use)}")
        for found in use.alignments:
            text = f"{title(found)}: {counted(found.levels)}{_instead(found)}"
            lines += [
                f"{'':{_BAR + 8}}{line}"
                for line in wrap(printable(text), max(30, canvas.width - _BAR - 8))
            ]
    return canvas.plain("\n".join(lines) + "\n")


def summary(uses: Sequence[Use]) -> str:
    """How many are aligned as well as their nodes can."""
    best = sum(use.share == 1 for use in uses)
    unknown = sum(use.share is None for use in uses)
    told = f"{best} of {len(uses)} allocations are the best that their nodes can give"
    return told + (f"; of {unknown} it is not known" if unknown else "")


def name(use: Use) -> str:
    """The pod, else the claims, and the node."""
    what = f"pod {use.pod}" if use.pod else f"claim {', '.join(use.claims)}"
    return f"{printable(what)}  {printable(use.node or 'several nodes')}"


def _instead(found: Alignment) -> str:
    if found.share is None:
        return f" (best not known: {found.why})"
    if found.best or found.best_free is None:
        return ""
    now = (
        ""
        if found.best_now in (None, found.best_free)
        else f", now {counted(found.best_now or {})}"
    )
    return f" (best {counted(found.best_free)}{now})"


def percent(part: float | None) -> str:
    """A share in a column; never rounded up to the best."""
    return "?" if part is None else f"{int(100 * part)}%"


def _bar(part: float | None, canvas: Canvas) -> str:
    if part is None:
        return canvas.glyph("·", ".") * _BAR
    full = int(part * _BAR)
    return canvas.glyph("█", "#") * full + canvas.glyph("░", "-") * (_BAR - full)


# -- pages --

STYLE = """
.levels { display: flex; height: 14px; width: 16rem; max-width: 40vw; gap: 1px; }
.levels i { display: block; height: 100%; flex: 1; background: var(--good); }
.levels i.NODE, .levels i.numa { background: var(--nvme); } .levels i.SYS { background: var(--bad); }
.levels i.unknown { background: var(--edge); }
"""


def section(alignments: Sequence[Alignment]) -> Iterator[str]:
    """The alignments of one subject: what it has above what it could have, and the pairs."""
    for found in alignments:
        yield f"<h2>{title(found)} <small class=soft>{escape(verdict(found))}</small></h2>"
        best = [
            ("has", found.levels),
            ("best now", found.best_now),
            ("best when free", found.best_free),
        ]
        yield table(_levels(word, levels) for word, levels in best if levels is not None)
        if found.improvement is not None:
            yield f"<p>To get the best that is free: <code>{escape(found.improvement.text)}</code></p>"
        pairs = "".join(
            f"<tr>{cell(a)}{cell(b)}{cell(level)}</tr>"
            for a, b, level in rows(found, len(found.pairs))
        )
        yield f"<details><summary>the pairs</summary><div class=wide><table>{pairs}</table></div></details>"


def _levels(word: str, levels: Mapping[str, int]) -> str:
    marks = "".join(
        f'<i class="{level}" title="{level}"></i>' * count for level, count in levels.items()
    )
    return (
        f"{cell(word, 'w')}<td><div class=levels>{marks}</div></td>{cell(counted(levels), 'soft')}"
    )


def fleet_section(uses: Sequence[Use]) -> Iterator[str]:
    """Everything that is allocated, the worst first."""
    if not uses:
        return
    lines = [
        cell(percent(use.share), "n")
        + cell(name(use))
        + cell(title(found))
        + _levels("", found.levels)
        + cell(_instead(found).strip(" ()"), "soft")
        for use in uses[:_LONGEST]
        for found in use.alignments
    ]
    more = f"<p>and {len(uses) - _LONGEST} more</p>" if len(uses) > _LONGEST else ""
    open_ = " open" if 0 < sum(use.share != 1 for use in uses) <= _PAIRS else ""
    yield f"<section><h2>Alignment</h2><details{open_}><summary>{escape(summary(uses))}</summary>{table(lines)}{more}"
    yield "</details></section>"
