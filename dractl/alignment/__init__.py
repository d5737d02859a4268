"""The distance between allocated devices, and the smallest that their node allows.

from dractl.alignment import Aligner
Aligner(scheduler).align_claims(claims, node)  # an Alignment for each two kinds of devices
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dractl.alignment.aligner import Aligner
    from dractl.alignment.gang import GangAlignment, align_gang
    from dractl.alignment.quality import Alignment, Pair
    from dractl.alignment.uses import Use, list_uses

__all__ = ["Aligner", "Alignment", "GangAlignment", "Pair", "Use", "align_gang", "list_uses"]

_HOME = {
    "Aligner": "aligner",
    "Alignment": "quality",
    "GangAlignment": "gang",
    "Pair": "quality",
    "Use": "uses",
    "align_gang": "gang",
    "list_uses": "uses",
}


def __getattr__(name: str) -> Any:
    """Import a name above on first use: an explanation of a pending pod needs none of them."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"dractl.alignment.{_HOME[name]}"), name)
    return value
