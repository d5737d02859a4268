"""The number of copies that fit, with everything a report says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.capacity import Fit, MaxCopies, StrandedDevices
from dractl.capacity.aligned_counts import AlignedCounts

if TYPE_CHECKING:
    from dractl.explain.answer import Reason


class FitReport(Struct, frozen=True):
    """The copies of one subject, as kube-scheduler places them."""

    fit: Fit
    stops: Sequence[Reason]
    """Reasons why the next copy stays pending."""
    stranded: Sequence[StrandedDevices]
    """Free devices that no further copy can use."""
    maximum: MaxCopies | None
    """The most copies over all orders of placing; None if it was not requested."""
    by_node: Mapping[str, Sequence[Reason]]
    """The obstacles of the next copy on each node, by the name of the node."""
    aligned: AlignedCounts | None = None
    """The number of copies by alignment; None if the subject has no alignment."""
    replicas: int | None = None
    """The number of copies that the user requested."""

    @property
    def is_unknown(self) -> bool:
        """True if values that no source shows decide whether another copy fits."""
        return any(reason.is_unknown_machine for reason in self.stops)

    @property
    def count(self) -> int:
        """The number of copies that fit; if the user requested the best alignment, only such copies
        count.
        """
        fits = self.fit.fits
        return fits if self.aligned is None else min(fits, self.aligned.first)
