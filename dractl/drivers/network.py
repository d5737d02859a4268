"""Devices that are not in a node: ResourceSlices for several or all nodes, from a file that lists
pools of such devices.

A pool is a document ``{driver: camera.example.com, pool: yard, allNodes: true, devices: [...]}``.
Instead of ``allNodes`` it can have a ``nodeSelector``, which is a map of labels or a NodeSelector.
If each device has its own node selection, the pool has none. A device has ``name``, ``attributes``
and ``capacity`` as plain values (``{version: 1.2.3}`` for a version), and any other field of a
device in the API, such as ``bindingConditions``.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from msgspec import Struct

from dractl.drivers.rendering import drop_fields, slice_name
from dractl.drivers.values import value as typed
from dractl.errors import InputError
from dractl.manifests import Document, load
from dractl.model.releases import Target
from dractl.validation import Violation, validate

_DRIVER = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_KEYS = ("driver", "pool", "generation", "allNodes", "nodeSelector", "devices")
_DEVICE_KEYS = (
    "name",
    "attributes",
    "capacity",
    "allNodes",
    "nodeSelector",
    "taints",
    "bindsToNode",
    "bindingConditions",
    "bindingFailureConditions",
    "allowMultipleAllocations",
)
_FORMS = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions")
# ResourceSliceMaxDevices, ...WithTaintsOrConsumesCounters
_MAX_DEVICES, _MAX_TAINTED_DEVICES = 128, 64


class Network(Struct, frozen=True):
    """The slices of devices that are not in a node."""

    slices: tuple[dict[str, Any], ...]
    notices: tuple[str, ...] = ()
    """The fields that the release drops from the slices."""

    @property
    def pools(self) -> frozenset[tuple[str, str]]:
        """The pools, each by its driver and its name."""
        return frozenset(
            (item["spec"]["driver"], item["spec"]["pool"]["name"]) for item in self.slices
        )


def read(path: str, target: Target) -> Network:
    """Return the slices that a file describes. Raises InputError with the line if an API server
    would refuse one.
    """
    inputs = load([path], relevant_only=False)
    for broken in inputs.broken:
        raise InputError(broken.message, place=str(broken.position), hint=broken.hint)
    if not inputs.documents:
        raise InputError("has no pool of devices", place=path)
    notices: list[str] = []
    slices: list[dict[str, Any]] = []
    pools: set[tuple[str, str]] = set()
    for document in inputs.documents:
        pool_slices = list(_slices(document, target, notices))
        key = (pool_slices[0]["spec"]["driver"], pool_slices[0]["spec"]["pool"]["name"])
        if key in pools:
            raise _error(
                document,
                ("pool",),
                f"pool {key[1]} of {key[0]} is defined twice; give each document its own pool",
            )
        pools.add(key)
        slices += pool_slices
    return Network(tuple(slices), tuple(dict.fromkeys(notices)))


def _slices(document: Document, target: Target, notices: list[str]) -> Iterator[dict[str, Any]]:
    pool = document.value
    _check_keys(document, (), pool, _KEYS, "a pool")
    driver, name = pool.get("driver"), str(pool.get("pool", "network"))
    if not isinstance(driver, str) or not _DRIVER.match(driver):
        raise _error(
            document, ("driver",), "driver must be a DRA driver's name, such as camera.example.com"
        )
    if "pool" in pool and not isinstance(pool["pool"], str):
        raise _error(document, ("pool",), "pool must be a name, such as building-7")
    devices = pool.get("devices")
    if not isinstance(devices, list) or not devices:
        raise _error(
            document,
            ("devices",),
            "devices must be a list such as [{name: camera-1, attributes: {zoom: 4}}]",
        )
    described = [_device(document, number, item) for number, item in enumerate(devices)]
    seen: set[str] = set()
    for number, device in enumerate(described):
        name_of = str(device.get("name"))
        if name_of in seen:
            raise _error(document, ("devices", number, "name"), f"two devices are named {name_of}")
        seen.add(name_of)
    node_fields = _nodes(document, pool, described)
    most = _MAX_TAINTED_DEVICES if any("taints" in device for device in described) else _MAX_DEVICES
    parts = [described[start : start + most] for start in range(0, len(described), most)]
    for number, part in enumerate(parts):
        spec = {
            "driver": driver,
            "pool": {
                "name": name,
                "generation": pool.get("generation", 1),
                "resourceSliceCount": len(parts),
            },
            **node_fields,
            "devices": part,
        }
        drop_fields(spec, "slice", target, f"{driver}/{name}", notices)
        if "perDeviceNodeSelection" in node_fields and "perDeviceNodeSelection" not in spec:
            why = (
                f"Kubernetes {target.release} does not support nodes per device without"
                " DRAPartitionableDevices"
            )
            hint = (
                "give each group of nodes a pool of its own, or name the gate with --feature-gates"
            )
            raise _error(document, ("devices", 0), why, hint)
        item = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": slice_name(number, driver, name.replace("/", "-"))},
            "spec": spec,
        }
        for violation in validate(item, target):
            if violation.type is not None:  # the API server reports it
                raise _violation_error(document, violation, number * most)
        yield item


def _device(document: Document, number: int, item: Any) -> dict[str, Any]:
    path = ("devices", number)
    if not isinstance(item, dict):
        raise _error(
            document, path, "a device must be a map such as {name: camera-1, attributes: {zoom: 4}}"
        )
    _check_keys(document, path, item, _DEVICE_KEYS, "a device")
    device = dict(item)
    for key in ("attributes", "capacity"):
        if not isinstance(item.get(key, {}), dict):
            raise _error(document, (*path, key), f"{key} must be a map from names to values")
    if "attributes" in item:
        device["attributes"] = {
            name: _attribute(document, (*path, "attributes", name), value)
            for name, value in item["attributes"].items()
        }
    if "capacity" in item:
        device["capacity"] = {
            name: value if isinstance(value, dict) else {"value": str(value)}
            for name, value in item["capacity"].items()
        }
    if "nodeSelector" in item:
        device["nodeSelector"] = _selector(document, (*path, "nodeSelector"), item["nodeSelector"])
    return device


def _attribute(document: Document, path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        if len(value) != 1 or next(iter(value)) not in _FORMS:
            raise _error(document, path, f"an attribute has one of the types {', '.join(_FORMS)}")
        return value
    if isinstance(value, bool | int | str) or (isinstance(value, list) and value):
        return typed(value)
    raise _error(
        document,
        path,
        "an attribute must be a string, an integer, true or false, or a map such as version: 1.2.3",
    )


def _nodes(
    document: Document, pool: dict[str, Any], devices: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the slice's fields for the nodes that can reach its devices."""
    numbers_with_nodes = [
        number
        for number, device in enumerate(devices)
        if "allNodes" in device or "nodeSelector" in device
    ]
    if numbers_with_nodes and ("allNodes" in pool or "nodeSelector" in pool):
        place = ("devices", numbers_with_nodes[0])
        raise _error(document, place, "the pool already sets the nodes that can reach its devices")
    if numbers_with_nodes:
        if len(numbers_with_nodes) < len(devices):
            missing = next(
                number for number in range(len(devices)) if number not in numbers_with_nodes
            )
            raise _error(
                document,
                ("devices", missing),
                "it needs allNodes or a nodeSelector because the other devices have one",
            )
        return {"perDeviceNodeSelection": True}
    if "nodeSelector" in pool and "allNodes" not in pool:
        return {"nodeSelector": _selector(document, ("nodeSelector",), pool["nodeSelector"])}
    if pool.get("allNodes") is True and "nodeSelector" not in pool:
        return {"allNodes": True}
    choice = "either allNodes: true or a nodeSelector, in the pool or in each device"
    raise _error(
        document,
        ("allNodes",) if "allNodes" in pool else (),
        f"a pool of network devices needs {choice}",
    )


def _selector(document: Document, path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """Return a map of labels as a NodeSelector, and a NodeSelector unchanged."""
    if not isinstance(value, dict) or not value:
        raise _error(document, path, "nodeSelector must be a map of labels, or a NodeSelector")
    if "nodeSelectorTerms" in value:
        return value
    wanted = [
        {"key": key, "operator": "In", "values": [str(label)]} for key, label in value.items()
    ]
    return {"nodeSelectorTerms": [{"matchExpressions": wanted}]}


def _check_keys(
    document: Document, path: tuple[str | int, ...], value: Any, known: Sequence[str], what: str
) -> None:
    for key in value:
        if key not in known:
            near = get_close_matches(key, known, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            place = document.locate((*path, key), key=True)
            raise InputError(
                f"unknown key {key!r}{meant}",
                place=str(place),
                hint=f"{what} has {', '.join(known)}",
            )


def _error(
    document: Document, path: tuple[str | int, ...], message: str, hint: str | None = None
) -> InputError:
    return InputError(message, place=str(document.locate(path)), hint=hint)


def _violation_error(document: Document, violation: Violation, first: int) -> InputError:
    """Return a violation in a slice, placed in the file that it comes from."""
    path = violation.path[1:] if violation.path[:1] == ("spec",) else ()
    if path[:1] == ("devices",) and len(path) > 1 and isinstance(path[1], int):
        path = ("devices", path[1] + first, *path[2:])
    named = violation.message.startswith(str(violation.field))
    text = violation.message if named else f"{violation.field}: {violation.message}"
    return _error(document, path, f"an API server refuses this: {text}")
