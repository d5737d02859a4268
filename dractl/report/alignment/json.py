"""Alignments as plain values, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.alignment import Alignment, Use
    from dractl.alignment.quality import Improvement


def alignment_json(alignment: Alignment) -> dict[str, Any]:
    """Return an alignment as a plain value."""
    return {
        "kinds": list(alignment.kinds),
        "pairs": [
            {"a": pair.a, "b": pair.b, "level": pair.level, "source": pair.source}
            for pair in alignment.pairs
        ],
        "levels": dict(alignment.levels),
        "bestFree": None if alignment.best_free is None else dict(alignment.best_free),
        "bestNow": None if alignment.best_now is None else dict(alignment.best_now),
        "share": None if alignment.share is None else list(alignment.share),
        "shareNow": None if alignment.share_now is None else list(alignment.share_now),
        "with": None if alignment.improvement is None else constraint_json(alignment.improvement),
        **({"why": alignment.comparison_failure} if alignment.comparison_failure else {}),
    }


def constraint_json(constraint: Improvement) -> dict[str, Any]:
    """Return a constraint as a plain value."""
    return {
        "matchAttribute": constraint.match_attribute,
        "requests": list(constraint.requests),
        **({"parts": constraint.parts} if constraint.parts > 1 else {}),
        **({"within": constraint.within} if constraint.within else {}),
    }


def use_json(use: Use) -> dict[str, Any]:
    """Return the alignments of one pod's devices as a plain value."""
    return {
        "pod": use.pod,
        "claims": list(use.claims),
        "node": use.node,
        "share": use.share,
        "alignment": [alignment_json(alignment) for alignment in use.alignments],
    }
