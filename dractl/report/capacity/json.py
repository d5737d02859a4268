"""``devices -o json``: the schema dractl/devices/v1."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dractl.capacity import DeviceRow, Inventory, PluginRow, PoolRow, Problem
from dractl.capacity.summaries import Amount, PartitionCount, ShareableDevices
from dractl.cluster.coverage import Unread
from dractl.cluster.devices import Holder
from dractl.cluster.origin import NO_ORIGIN, Origin
from dractl.facts import current
from dractl.report.alignment.json import use_json

if TYPE_CHECKING:
    from dractl.alignment import Use

DEVICE_FIELDS = (
    *("driver", "pool", "device", "node", "classes", "model", "pcieRoot", "numaNode", "state"),
    *("capacity", "holders", "taints"),
)
"""The fields of an entry of ``devices``."""


def devices(
    stock: Inventory,
    plugins: Sequence[PluginRow],
    problems: Sequence[Problem],
    release: str,
    *,
    unread: Sequence[Unread] = (),
    uses: Sequence[Use] = (),
    assumed: bool = False,
    origin: Origin = NO_ORIGIN,
) -> str:
    """Return the inventory of a cluster, and its ``unread`` resources. ``assumed`` is True if
    neither the user nor the input names the release.

    Rows are written one by one, since the values of 40,000 devices would take hundreds of
    megabytes.
    """
    members = {
        "schema": _text("dractl/devices/v1"),
        **({"input": json.dumps(origin_value)} if (origin_value := origin.to_json()) else {}),
        "kubernetesVersion": _text(release),
        **({"kubernetesVersionAssumed": "true"} if assumed else {}),
        "facts": json.dumps(current().to_json()),
        "pools": _list(_pool(row) for row in stock.pools),
        "devices": _list(_device(row) for row in stock.devices),
        "plugins": _list(
            {
                "node": p.node,
                "resource": p.resource,
                "allocatable": p.allocatable,
                "requested": p.requested,
            }
            for p in plugins
        ),
        "problems": _list(
            {
                "code": p.code,
                "message": p.message,
                "objects": list(p.objects),
                "next": [
                    {"text": step.text, **({"command": step.command} if step.command else {})}
                    for step in p.next
                ],
            }
            for p in problems
        ),
    }
    if uses:
        members["alignments"] = _list(map(use_json, uses))
    if unread:
        members["unread"] = _list(row.as_json() for row in unread)
    return "{\n" + ",\n".join(f' "{name}": {value}' for name, value in members.items()) + "\n}"


def _text(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def _list(values: Iterable[Any]) -> str:
    """Return a list as the JSON value of a field, indented as in the object."""
    written = ",\n".join("  " + _text(value).replace("\n", "\n  ") for value in values)
    return f"[\n{written}\n ]" if written else "[]"


def _pool(row: PoolRow) -> dict[str, Any]:
    return {
        "driver": row.driver,
        "pool": row.pool,
        "node": row.node,
        "generation": row.generation,
        "slices": row.slices,
        "expected": row.expected,
        "complete": row.usable,
        "total": row.total,
        "allocated": row.allocated,
        "available": row.available,
        "unavailable": row.unavailable,
        **({"shared": _shareable_value(row.shared)} if row.shared is not None else {}),
        **(
            {"counters": {name: _amounts(amounts) for name, amounts in row.counters}}
            if row.counters
            else {}
        ),
        **(
            {"partitions": [_partitions(each) for each in row.partitions]} if row.partitions else {}
        ),
    }


def _shareable_value(found: ShareableDevices) -> dict[str, Any]:
    return {"full": found.full, "partial": found.partial, "capacity": _amounts(found.capacity)}


def _amounts(amounts: Sequence[Amount]) -> dict[str, Any]:
    return {
        a.name: {"total": a.total, "consumed": a.consumed, "available": a.remaining}
        for a in amounts
    }


def _partitions(row: PartitionCount) -> dict[str, Any]:
    return {
        "attribute": row.attribute,
        "type": row.type,
        "total": row.total,
        "allocatable": row.allocatable,
    }


def _device(row: DeviceRow) -> dict[str, Any]:
    return {
        "driver": row.id.driver,
        "pool": row.id.pool,
        "device": row.id.device,
        "node": row.node,
        "classes": list(row.classes),
        "model": row.model,
        "pcieRoot": row.pcie_root,
        "numaNode": row.numa_node,
        "state": row.state,
        "capacity": {
            amount.name: {"total": amount.total, "consumed": amount.consumed}
            for amount in row.capacity
        },
        "holders": [
            _holder(holder, request)
            for holder, request in zip(row.holders, row.requests, strict=True)
        ],
        "taints": list(row.taints),
    }


def _holder(holder: Holder, request: str) -> dict[str, Any]:
    return {
        "claim": holder.claim,
        "request": request,
        "pods": [holder.pod] if holder.pod else [],
        "since": holder.since,
        "finished": holder.finished,
    }
