"""Differences between published and rendered devices, as text and JSON."""

import json
from collections.abc import Sequence
from typing import Any

from dractl.drivers.compare import DeviceDiff

SCHEMA = "dractl/render-diff/v1"


def to_json(differences: Sequence[DeviceDiff], node_name: str) -> str:
    """Return ``{"schema", "node", "differences": [{"driver", "device", "path"?, "published"?,
    "rendered"?}]}``.
    """
    rows = []
    for item in differences:
        row: dict[str, Any] = {"driver": item.driver, "device": item.device}
        if item.path:
            row["path"] = item.path
        row |= {
            side: value
            for side, value in (("published", item.published), ("rendered", item.rendered))
            if value is not None
        }
        rows.append(row)
    return json.dumps(
        {"schema": SCHEMA, "node": node_name, "differences": rows}, indent=2, ensure_ascii=False
    )


def to_text(differences: Sequence[DeviceDiff], node_name: str) -> str:
    """Return one line for each difference, with devices as headings; ``-`` is only published, ``+``
    only rendered.
    """
    if not differences:
        return f"{node_name}: published and rendered devices are the same\n"
    lines = []
    current: tuple[str, str] | None = None
    for item in differences:
        name = f"{item.driver}/{node_name}/{item.device}"
        if not item.path:
            lines.append(
                f"- {name}  published only" if item.rendered is None else f"+ {name}  rendered only"
            )
            current = None
            continue
        if current != (item.driver, item.device):
            lines.append(f"  {name}")
            current = (item.driver, item.device)
        if item.published is not None:
            lines.append(f"-   {item.path}: {_value_text(item.published)}")
        if item.rendered is not None:
            lines.append(f"+   {item.path}: {_value_text(item.rendered)}")
    return "\n".join(lines) + "\n"


def _value_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
