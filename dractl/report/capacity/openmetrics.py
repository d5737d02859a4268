"""``devices`` and ``fit`` with ``-o openmetrics``, for a scrape or a pushgateway."""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from dractl.alignment import Alignment, Use
from dractl.capacity import DeviceRow, Fit, Inventory, PluginRow, StrandedDevices
from dractl.capacity.inventory import STATES
from dractl.capacity.owners import namespace_of
from dractl.report import openmetrics
from dractl.report.capacity.text import short_name
from dractl.report.openmetrics import Sample, gauge


def devices(stock: Inventory, plugins: Sequence[PluginRow], uses: Sequence[Use] = ()) -> str:
    """Return the numbers of devices by driver, node, model and state, and by the namespaces that
    hold them.
    """
    return openmetrics.render(
        gauge(
            "dractl_devices", "Devices of ResourceSlices by state.", _count_states(stock.devices)
        ),
        gauge(
            "dractl_devices_held",
            "Devices that claims of a namespace hold, by DeviceClass.",
            _count_holdings(stock.devices),
        ),
        gauge(
            "dractl_plugin_units",
            "Extended resources of device plugins.",
            (
                ({"node": plugin.node, "resource": plugin.resource, "state": state}, count)
                for plugin in plugins
                for state, count in (
                    ("allocatable", plugin.allocatable),
                    ("requested", plugin.requested),
                )
            ),
        ),
        _alignment_lines(uses),
    )


def fit(counts: Sequence[tuple[Fit, Sequence[StrandedDevices]]]) -> str:
    """Return the copies of each subject that each node takes, and the free devices that no
    further copy can use.

    The numbers of copies are lower bounds if the search ended undecided.
    """
    return openmetrics.render(
        gauge(
            "dractl_fit_copies",
            "Further copies that fit, by node.",
            (
                ({"subject": short_name(count), "node": node.name}, node.fits)
                for count, _ in counts
                for node in count.nodes
            ),
        ),
        gauge(
            "dractl_fit_stranded_devices",
            "Free devices that no further copy can use.",
            (sample for count, stranded in counts for sample in _count_stranded(count, stranded)),
        ),
    )


def _count_stranded(count: Fit, stranded: Sequence[StrandedDevices]) -> Iterator[Sample]:
    """Yield the stranded devices of each driver and node, 0 for the nodes without any."""
    numbers: Counter[tuple[str, str]] = Counter()
    for entry in stranded:
        numbers[entry.driver, entry.node] += len(entry.devices)
    drivers = sorted({driver for driver, _ in numbers})
    for node in count.nodes:
        for driver in drivers:
            labels = {"subject": short_name(count), "driver": driver, "node": node.name}
            yield labels, numbers[driver, node.name]


class _Group(Struct, frozen=True, order=True):
    """Devices that are counted together; the names of the fields are labels."""

    driver: str
    node: str
    model: str


def _count_states(rows: Sequence[DeviceRow]) -> Iterator[Sample]:
    """Yield the number of devices in each state.

    A state without devices is reported as 0. A series that disappeared would keep its last value in
    queries for a while, and an alert on it would not end.
    """
    counts = Counter(
        (_Group(row.id.driver, row.node or "", row.model or ""), row.state) for row in rows
    )
    for group in sorted({group for group, _ in counts}):
        for state in STATES:
            yield {**asdict(group), "state": state}, counts[group, state]


def _count_holdings(rows: Sequence[DeviceRow]) -> Iterator[Sample]:
    """Yield the number of devices that each namespace holds, by class; a device counts in each of
    its classes.
    """
    counts = Counter(
        (namespace, name, row.id.driver, row.model or "")
        for row in rows
        for namespace in dict.fromkeys(map(namespace_of, row.holders))
        for name in row.classes or ("",)
    )
    for (namespace, name, driver, model), count in sorted(counts.items()):
        yield {"namespace": namespace, "class": name, "driver": driver, "model": model}, count


def _alignment_lines(uses: Sequence[Use]) -> Iterator[str]:
    if not uses:
        return
    each = [(use, alignment) for use in uses for alignment in use.alignments]
    yield from gauge(
        "dractl_alignment_pairs",
        "Pairs of allocated devices that belong together, by level.",
        (
            ({**_alignment_labels(use, alignment), "level": level}, count)
            for use, alignment in each
            for level, count in alignment.levels.items()
        ),
    )
    yield from gauge(
        "dractl_alignment_share",
        "Share of the pairs that are as near as in the best allocation on the empty node.",
        (
            (_alignment_labels(use, alignment), f"{alignment.share[0]:.4g}")
            for use, alignment in each
            if alignment.share is not None
        ),
    )


def _alignment_labels(use: Use, alignment: Alignment) -> dict[str, str]:
    return {
        "node": use.node or "",
        "pod": use.pod or "",
        "claims": ",".join(use.claims),
        "kinds": "-".join(alignment.kinds),
    }
