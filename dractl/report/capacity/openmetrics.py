"""``devices -o openmetrics``: counts by driver, node, model and state, and by the namespaces that
hold devices, for a scrape or a pushgateway.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from dractl.alignment import Alignment, Use
from dractl.capacity import DeviceRow, Inventory, PluginRow
from dractl.capacity.inventory import STATES
from dractl.capacity.owners import namespace_of


def render(stock: Inventory, plugins: Sequence[PluginRow], uses: Sequence[Use] = ()) -> str:
    """Return the OpenMetrics text format, version 1.0."""
    counts = Counter((_group(row), row.state) for row in stock.devices)
    lines = [
        "# TYPE dractl_devices gauge",
        "# HELP dractl_devices Devices of ResourceSlices by state.",
    ]
    # A state without devices is 0: a series that vanishes keeps its last value in a query for a
    # while, and an alert on it never ends.
    for group in sorted({group for group, _ in counts}):
        for device_state in STATES:
            labels = _labels(**asdict(group), state=device_state)
            lines.append(f"dractl_devices{labels} {counts[group, device_state]}")
    lines += _holdings(stock.devices)
    lines += [
        "# TYPE dractl_plugin_units gauge",
        "# HELP dractl_plugin_units Extended resources of device plugins.",
    ]
    for plugin in plugins:
        for state, count in (("allocatable", plugin.allocatable), ("requested", plugin.requested)):
            labels = _labels(node=plugin.node, resource=plugin.resource, state=state)
            lines.append(f"dractl_plugin_units{labels} {count}")
    lines += _alignments(uses)
    return "\n".join([*lines, "# EOF"]) + "\n"


class _Group(Struct, frozen=True, order=True):
    """Devices that are counted together; the names of the fields are labels."""

    driver: str
    node: str
    model: str


def _group(row: DeviceRow) -> _Group:
    return _Group(row.id.driver, row.node or "", row.model or "")


def _holdings(rows: Sequence[DeviceRow]) -> Iterator[str]:
    """Yield the devices that each namespace holds, by class: a device counts in each of its
    classes.
    """
    counts = Counter(
        (namespace, name, row.id.driver, row.model or "")
        for row in rows
        for namespace in dict.fromkeys(map(namespace_of, row.holders))
        for name in row.classes or ("",)
    )
    yield "# TYPE dractl_devices_held gauge"
    yield "# HELP dractl_devices_held Devices that claims of a namespace hold, by DeviceClass."
    for (namespace, name, driver, model), count in sorted(counts.items()):
        labels = {"namespace": namespace, "class": name, "driver": driver, "model": model}
        yield f"dractl_devices_held{_labels(**labels)} {count}"


def _alignments(uses: Sequence[Use]) -> Iterator[str]:
    if not uses:
        return
    each = [(use, alignment) for use in uses for alignment in use.alignments]
    yield "# TYPE dractl_alignment_pairs gauge"
    yield "# HELP dractl_alignment_pairs Pairs of allocated devices that belong together, by level."
    for use, alignment in each:
        for level, count in alignment.levels.items():
            yield f"dractl_alignment_pairs{_alignment_labels(use, alignment, level=level)} {count}"
    yield "# TYPE dractl_alignment_share gauge"
    yield (
        "# HELP dractl_alignment_share Part of the pairs as near as in the best allocation on the"
        " free node."
    )
    for use, alignment in each:
        if alignment.share is not None:
            yield (
                f"dractl_alignment_share{_alignment_labels(use, alignment)}"
                f" {alignment.share[0]:.4g}"
            )


def _alignment_labels(use: Use, found: Alignment, **more: str) -> str:
    kinds = "-".join(found.kinds)
    return _labels(
        node=use.node or "", pod=use.pod or "", claims=",".join(use.claims), kinds=kinds, **more
    )


def _labels(**labels: str) -> str:
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
        for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
