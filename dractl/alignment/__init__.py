"""The distance between allocated devices, and the smallest that their node allows.

from dractl.alignment import Aligner
Aligner(scheduler).align_claims(claims, node)  # an Alignment for each two kinds of devices
"""

from typing import TYPE_CHECKING

from dractl.exports import import_on_use

if TYPE_CHECKING:
    from dractl.alignment.aligner import Aligner
    from dractl.alignment.gang import GangAlignment, align_gang
    from dractl.alignment.quality import Alignment, Pair
    from dractl.alignment.uses import Use, list_uses

__all__ = ["Aligner", "Alignment", "GangAlignment", "Pair", "Use", "align_gang", "list_uses"]

__getattr__ = import_on_use(
    __name__,
    {
        "Aligner": "aligner",
        "Alignment": "quality",
        "GangAlignment": "gang",
        "Pair": "quality",
        "Use": "uses",
        "align_gang": "gang",
        "list_uses": "uses",
    },
)
