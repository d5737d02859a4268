"""``devices`` and ``fit`` as comma-separated values: a line for each device, or for each node."""

from collections.abc import Iterable, Sequence

from dractl.capacity import DeviceRow, Fit
from dractl.report.capacity.text import short_name
from dractl.report.comma_separated import csv_table

_DEVICE_COLUMNS = (
    "node",
    "driver",
    "pool",
    "device",
    "state",
    "classes",
    "model",
    "pcieRoot",
    "numaNode",
    "taints",
    "claims",
    "pods",
)
_FIT_COLUMNS = ("subject", "node", "copies", "decided")


def devices(rows: Iterable[DeviceRow], *, headers: bool) -> str:
    """Return a line for each device; a cell with several names has spaces between them."""
    return csv_table(_DEVICE_COLUMNS if headers else (), map(_device_cells, rows))


def _device_cells(row: DeviceRow) -> tuple[str, ...]:
    return (
        row.node or "",
        row.id.driver,
        row.id.pool,
        row.id.device,
        row.state,
        " ".join(row.classes),
        row.model or "",
        row.pcie_root or "",
        "" if row.numa_node is None else str(row.numa_node),
        " ".join(row.taints),
        " ".join(dict.fromkeys(holder.claim for holder in row.holders)),
        " ".join(dict.fromkeys(holder.pod for holder in row.holders if holder.pod)),
    )


def fit(fits: Sequence[Fit]) -> str:
    """Return the copies of each subject that each node takes.

    The numbers are lower bounds if the search ended undecided.
    """
    return csv_table(
        _FIT_COLUMNS,
        [
            (short_name(found), node.name, str(node.fits), "false" if found.undecided else "true")
            for found in fits
            for node in found.nodes
        ],
    )
