"""``devices -o openmetrics``: counts by driver, node, model and state, for a scrape or a pushgateway."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.capacity import PluginRow, Stock


def render(stock: Stock, plugins: Sequence[PluginRow]) -> str:
    """The OpenMetrics text format, version 1.0."""
    counts = Counter((row.id.driver, row.node or "", row.model or "", row.state) for row in stock.devices)
    lines = ["# TYPE dractl_devices gauge", "# HELP dractl_devices Devices of ResourceSlices by state."]
    lines += [
        f"dractl_devices{_labels(driver=driver, node=node, model=model, state=state)} {count}"
        for (driver, node, model, state), count in sorted(counts.items())
    ]
    lines += ["# TYPE dractl_plugin_units gauge", "# HELP dractl_plugin_units Extended resources of device plugins."]
    for plugin in plugins:
        for state, count in (("allocatable", plugin.allocatable), ("requested", plugin.requested)):
            labels = _labels(node=plugin.node, resource=plugin.resource, state=state)
            lines.append(f"dractl_plugin_units{labels} {count}")
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(**labels: str) -> str:
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, value in labels.items()
    }
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"
