"""The causes that name the holders of wanted devices."""

from collections.abc import Iterable, Iterator

from dractl.cluster.devices import Holder
from dractl.explain.reasons.amounts import AllNeedsFree, NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Cause, HeldDevices
from dractl.explain.reasons.capacity import CapacityShort, CountersShort
from dractl.explain.reasons.constraints import ConstraintConflict
from dractl.explain.reasons.devices import DeviceInUse

HOLDING_CAUSES = (HeldDevices, ConstraintConflict, NotEnoughTogether, SearchConflict)
HOLDER_CODES = frozenset(
    cause.page.code for cause in (AllNeedsFree, CapacityShort, CountersShort, DeviceInUse)
)
"""The codes of causes that blame the holders of devices alone (HeldByOthers)."""


def list_holders(causes: Iterable[Cause]) -> Iterator[Holder]:
    """Yield the holders of the devices that causes are about, one for each pod and cause."""
    for cause in causes:
        if isinstance(cause, HOLDING_CAUSES):
            yield from cause.holders
