"""The causes that name the holders of wanted devices."""

from collections.abc import Iterable, Iterator

from dractl.cluster.devices import Holder
from dractl.explain.reasons.amounts import NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Cause, HeldDevices
from dractl.explain.reasons.constraints import ConstraintConflict

HOLDING_CAUSES = (HeldDevices, ConstraintConflict, NotEnoughTogether, SearchConflict)


def list_holders(causes: Iterable[Cause]) -> Iterator[Holder]:
    """Yield the holders of the devices that causes are about, one for each pod and cause."""
    for cause in causes:
        if isinstance(cause, HOLDING_CAUSES):
            yield from cause.holders
