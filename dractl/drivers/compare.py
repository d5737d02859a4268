"""Compares published devices with rendered ones one by one, whatever the names of their slices."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.model import to_v1
from dractl.objects import newest, slice_of

_MISSING = object()

# Values that only the driver's process knows, since dra-example-driver takes them from Go's random
# generator. kubernetes-sigs/dra-example-driver internal/profiles/gpu/gpu.go
_PROCESS_OWN_VALUES = frozenset(
    {("gpu.example.com", "attributes.uuid"), ("net.example.com", "attributes.uuid")}
)


class DeviceDiff(Struct, frozen=True):
    """One difference."""

    driver: str
    device: str
    path: str
    """The field that differs; "" if only one side has the device."""
    published: Any
    """The published value; None if the slice lacks it."""
    rendered: Any
    """The rendered value; None if the rendering lacks it."""


def differences(
    published: Iterable[Mapping[str, Any]],
    rendered: Iterable[Mapping[str, Any]],
    node_name: str,
    drivers: Iterable[str],
) -> tuple[DeviceDiff, ...]:
    """Return the differences between the devices of ``node_name`` of these drivers. The order and
    names of slices do not matter, and neither do values that only the driver's process knows.
    """
    theirs = devices(published, node_name, frozenset(drivers))
    ours = devices(rendered, node_name, frozenset(drivers))
    diffs: list[DeviceDiff] = []
    for key in sorted(theirs.keys() | ours.keys()):
        their, our = theirs.get(key), ours.get(key)
        if their is None or our is None:
            diffs.append(DeviceDiff(*key, "", their, our))
            continue
        diffs += [
            DeviceDiff(
                *key, path, None if left is _MISSING else left, None if right is _MISSING else right
            )
            for path, left, right in _compare(their, our, "")
            if (key[0], path) not in _PROCESS_OWN_VALUES
        ]
    return tuple(diffs)


def nodes(slices: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the nodes of slices."""
    return tuple(sorted({name for item in slices if (name := slice_of(item).node)}))


def devices(
    slices: Iterable[Mapping[str, Any]], node_name: str, drivers: frozenset[str]
) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the devices of a node by driver and name, taken from the newest generation of each
    pool.
    """
    views = (slice_of(to_v1(item)) for item in slices)
    wanted = [item for item in views if item.node == node_name and item.driver in drivers]
    return {
        (driver, device.name): device.fields
        for (driver, _), members in newest(wanted, lambda item: item.identity).items()
        for item in members
        for device in item.devices
    }


def _compare(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            below = key
            if path:
                is_plain = "/" not in key and "." not in key
                below = f"{path}.{key}" if is_plain else f"{path}[{key}]"
            yield from _compare(left.get(key, _MISSING), right.get(key, _MISSING), below)
    elif left != right:
        yield path, left, right
