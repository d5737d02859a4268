"""How near to each other the devices of an allocation are, and how near they could be.

from dractl.alignment import Aligner
Aligner(scheduler).of_claims(claims, node)      # one Alignment for each two kinds of devices that belong together
"""

from dractl.alignment.across import Across, across
from dractl.alignment.aligner import Aligner, Use, uses
from dractl.alignment.quality import Alignment, Pair, share

__all__ = ["Across", "Aligner", "Alignment", "Pair", "Use", "across", "share", "uses"]
