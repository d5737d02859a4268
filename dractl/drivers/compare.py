"""What a driver really publishes against what dractl renders: device by device, whatever the slices are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.model import to_v1

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference. Without ``path`` the whole device is on one side only; ``None`` is what a side lacks."""

    driver: str
    device: str
    path: str
    published: Any
    rendered: Any


def differences(
    published: Iterable[Mapping[str, Any]],
    rendered: Iterable[Mapping[str, Any]],
    node_name: str,
    drivers: Iterable[str],
) -> tuple[Difference, ...]:
    """Differences between the devices of ``node_name`` of these drivers; order and names of slices do not matter."""
    theirs = devices(published, node_name, frozenset(drivers))
    ours = devices(rendered, node_name, frozenset(drivers))
    found: list[Difference] = []
    for key in sorted(theirs.keys() | ours.keys()):
        their, our = theirs.get(key), ours.get(key)
        if their is None or our is None:
            found.append(Difference(*key, "", their, our))
            continue
        found += [
            Difference(*key, path, None if left is _MISSING else left, None if right is _MISSING else right)
            for path, left, right in _compare(their, our, "")
        ]
    return tuple(found)


def nodes(slices: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The nodes that slices are of."""
    names = {item.get("spec", {}).get("nodeName") for item in slices}
    return tuple(sorted(name for name in names if isinstance(name, str)))


def devices(
    slices: Iterable[Mapping[str, Any]], node_name: str, drivers: frozenset[str]
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The devices of a node by driver and name, of each pool's newest generation."""
    pools: dict[tuple[str, str], tuple[int, list[Mapping[str, Any]]]] = {}
    for item in slices:
        spec = to_v1(item).get("spec", {})
        if spec.get("nodeName") != node_name or spec.get("driver") not in drivers:
            continue
        pool = spec.get("pool", {})
        key, generation = (spec["driver"], pool.get("name", "")), pool.get("generation", 0)
        newest, members = pools.get(key, (generation, []))
        if generation > newest or not members:
            members = [] if generation > newest else members
            newest = max(generation, newest)
        if generation == newest:
            members.append(spec)
        pools[key] = (newest, members)
    return {
        (driver, device["name"]): device
        for (driver, _), (_, members) in pools.items()
        for spec in members
        for device in spec.get("devices") or ()
    }


def _compare(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            below = f"{path}.{key}" if path and "/" not in key and "." not in key else f"{path}[{key}]" if path else key
            yield from _compare(left.get(key, _MISSING), right.get(key, _MISSING), below)
    elif left != right:
        yield path, left, right
