"""Machines in a YAML file: the settings of a line, and ``roots`` with the places of devices.

A root is ``{numa: 0, devices: [2xH100, nic]}``. It may have a name (``root: pci0000:44``), and
``devices`` may be a map from products to counts or addresses: ``{H100: ["0000:53:00.0"], EFAv2:
4}``. In place of an address, a NIC can have a map with further facts: ``{address: "0000:0c:00.0",
interface: rdma0, mtu: 9000}``. ``behind`` is the folder of the root below /sys/devices, if the root
is not directly in /sys/devices. ``numa: null`` means that the kernel does not know the node of the
root. ``wiring: unknown`` in place of ``root`` and ``numa`` means that no document says where the
devices are.

``reported`` are devices that only a vendor's agent knows, by driver: ``{npu.rebellions.ai: [{name:
rbln0, ...}]}``; ``dractl rule DRIVER`` lists the attributes. ``labels`` are labels of the node.
``evidence`` has the sources of values.
"""

import os
import re
from functools import cache
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from dractl.drivers import reported
from dractl.errors import InputError, UsageError
from dractl.facts import hardware
from dractl.machines import names
from dractl.machines.labels import ARCH, ARCHITECTURES, is_key, is_value
from dractl.machines.layout import (
    FILE_KEYS,
    KEYS,
    MAX_DEVICES,
    SURE,
    Layout,
    PlannedDevice,
    PlannedRoot,
    Provenance,
    numbers,
    parse_count,
    unknown_key,
    unknown_product,
)
from dractl.machines.products import Product, find
from dractl.manifests import Document, load as load_documents
from dractl.topology.machine import BDF, Reported

_ROOT = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}\Z")
_ROOT_KEYS = ("root", "numa", "devices", "behind", "wiring")
_KEYS = {"nic": ("interface", "link", "mtu", "sriov", "subsystem", "uplink"), "nvidia": ("number",)}
"""The keys that a device can have in addition to its address, by the kind of its product."""
_SLOT = {
    "address": (BDF, "have the form 0000:53:00.0"),
    "interface": (re.compile(r"[^\s/:]{1,15}\Z"), "be a name of at most 15 bytes"),
    "link": (re.compile(r"(ethernet|infiniband)\Z"), "be ethernet or infiniband"),
    "number": (re.compile(r"\d{1,2}\Z"), "be a number such as 0"),
    "mtu": (re.compile(r"[1-9]\d{1,4}\Z"), "be a number such as 9000"),
    "sriov": (re.compile(r"(True|False)\Z"), "be true or false"),
    "uplink": (re.compile(r"(True|False)\Z"), "be true or false"),
    "subsystem": (re.compile(r"0x[0-9a-f]{4}\Z"), "be four hexadecimal digits such as 0x0240"),
}
_TOP = (*KEYS, *FILE_KEYS, "title", "labels", "evidence", "reported")


class _At:
    """Errors in one file, each with its line."""

    def __init__(self, document: Document) -> None:
        self.document = document

    def error(
        self, path: tuple[str | int, ...], message: str, hint: str | None = None
    ) -> InputError:
        return InputError(message, place=str(self.document.locate(path)), hint=hint)

    def unknown(self, path: tuple[str | int, ...], known: tuple[str, ...]) -> InputError:
        """Return the error for an unknown key, with the place of the key."""
        error = unknown_key(str(path[-1]), known)
        message = error.message.removeprefix("--hardware: ")
        return InputError(message, place=str(self.document.locate(path, key=True)), hint=error.hint)


_OTHER_KEYS = re.compile(rb"(?:^|[{,])[ \t]*[\"']?(?:apiVersion|schema)[\"']?[ \t]*:", re.MULTILINE)


def is_description(path: str) -> bool:
    """Return True for a YAML file that describes a machine, as opposed to slices or a snapshot.

    No machine file has the keys of slices or snapshots, so a large dump need not be parsed for
    this.
    """
    if not path.endswith((".yaml", ".yml")) or not os.path.isfile(path):
        return False
    return _OTHER_KEYS.search(Path(path).read_bytes()) is None


def read(path: str) -> Layout:
    """Return the layout that a file describes. Raises InputError with the line of an error and the
    allowed values.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError("is not a file; a machine file is one YAML file", place=path)
    inputs = load_documents([path], relevant_only=False)
    for broken in inputs.broken:
        message = broken.message.replace(
            "not a Kubernetes object", "not a map of a machine's settings"
        )
        hint = broken.hint if message == broken.message else f"keys are {', '.join(_TOP)}"
        raise InputError(message, place=str(broken.position), hint=hint)
    if len(inputs.documents) != 1:
        raise InputError(
            f"has {len(inputs.documents)} documents; a machine file must have exactly one",
            place=path,
        )
    document = inputs.documents[0]
    at, value = _At(document), document.value
    for key in value:
        if key not in _TOP:
            raise at.unknown((key,), _TOP)
    settings = {
        key: item for key, item in value.items() if key in (*KEYS, *FILE_KEYS) and key != "roots"
    }
    for key, item in settings.items():
        _check_setting(at, key, item)
    roots = _roots(at, value.get("roots", []))
    asked = numbers(settings).get("numa", 0)
    for number, root in enumerate(roots):
        if asked and root.numa is not None and root.numa >= asked:
            raise at.error(
                ("roots", number, "numa"),
                f"numa must be from 0 to {asked - 1}, as the machine's numa is {asked}",
            )
    return Layout(
        roots,
        max(asked, *((root.numa or 0) + 1 for root in roots), 1),
        settings,
        str(value.get("title", "")),
        _evidence(at, value.get("evidence", [])),
        _devices_of_reports(at, value.get("reported", {})),
        _labels(at, value.get("labels", {})),
    )


def _check_setting(at: _At, key: str, item: Any) -> None:
    try:
        numbers({key: item})
    except UsageError as error:
        raise at.error((key,), error.message.removeprefix("--hardware: "), error.hint) from error


def _roots(at: _At, value: Any) -> tuple[PlannedRoot, ...]:
    if not isinstance(value, list):
        raise at.error(
            ("roots",), "roots must be a list such as [{numa: 0, devices: [2xH100, nic]}]"
        )
    roots: list[PlannedRoot] = []
    seen: dict[str, tuple[str | int, ...]] = {}
    for number, item in enumerate(value):
        path = ("roots", number)
        if not isinstance(item, dict):
            raise at.error(path, "a root must be a map such as {numa: 0, devices: [2xH100, nic]}")
        for key in item:
            if key not in _ROOT_KEYS:
                raise at.unknown((*path, key), _ROOT_KEYS)
        node, name = item.get("numa", 0), item.get("root")
        if node is not None and (type(node) is not int or not 0 <= node < 1024):
            raise at.error(
                (*path, "numa"), f"numa must be a NUMA node from 0 to 1023, or null, not {node!r}"
            )
        if name is not None and not _ROOT.match(str(name)):
            raise at.error(
                (*path, "root"), f"root must be a host bridge such as pci0000:44, not {name!r}"
            )
        if name in seen:
            raise at.error((*path, "root"), f"root {name} is described twice")
        if name is not None:
            seen[name] = path
        is_wired = _is_wired(at, path, item)
        slots = _slots(at, (*path, "devices"), item.get("devices", []))
        behind = str(item.get("behind", "")).strip("/")
        roots.append(PlannedRoot(slots, node if is_wired else None, name, behind, is_wired))
    addresses: set[str] = set()
    for number, root in enumerate(roots):
        for slot in root.slots:
            if slot.address in addresses:
                raise at.error(
                    ("roots", number, "devices"), f"address {slot.address} is given to two devices"
                )
            addresses |= {slot.address} if slot.address is not None else set()
    return tuple(roots)


def _is_wired(at: _At, path: tuple[str | int, ...], root: dict[str, Any]) -> bool:
    """Return False if the wiring of a root is unknown."""
    if "wiring" not in root:
        return True
    if root["wiring"] != "unknown":
        raise at.error(
            (*path, "wiring"),
            f"wiring must be unknown, or left out, not {root['wiring']!r}",
            "root, numa and addresses say where devices are",
        )
    for key in ("root", "numa", "behind"):
        if key in root:
            raise at.error((*path, key), f"a root whose wiring is unknown has no {key}")
    return False


def _slots(at: _At, path: tuple[str | int, ...], value: Any) -> tuple[PlannedDevice, ...]:
    if isinstance(value, list):
        products = [
            _product(at, (*path, number), str(item), count=True)
            for number, item in enumerate(value)
        ]
        return tuple(
            PlannedDevice(product)
            for product, count in products
            for _ in range(min(count, MAX_DEVICES + 1))
        )
    if not isinstance(value, dict):
        raise at.error(
            path,
            "devices must be a list such as [2xH100, nic], or a map from products to addresses",
        )
    slots: list[PlannedDevice] = []
    for name, places in value.items():
        product, _ = _product(at, (*path, name), name, count=False)
        if type(places) is int and 1 <= places <= MAX_DEVICES:
            slots += [PlannedDevice(product)] * places
        elif isinstance(places, list):
            slots += [
                _slot(at, (*path, name, number), product, place)
                for number, place in enumerate(places)
            ]
        else:
            raise at.error(
                (*path, name), f"{name} must be a number of devices or a list of addresses"
            )
    return tuple(slots)


def _slot(at: _At, path: tuple[str | int, ...], product: Product, place: Any) -> PlannedDevice:
    """Return the device for an address, or for a map with further facts."""
    keys = ("address", *_KEYS.get(product.kind, ()))
    facts = place if isinstance(place, dict) else {"address": place}
    for key, value in facts.items():
        if key not in keys:
            raise at.unknown((*path, key), keys)
        pattern, wanted = _SLOT[key]
        if not pattern.match(str(value)):
            location = path if facts is not place else (*path, key)
            raise at.error(
                location, f"{'an ' if key == 'address' else ''}{key} must {wanted}, not {value!r}"
            )
    return PlannedDevice(product, **facts)


def _product(
    at: _At, path: tuple[str | int, ...], text: str, *, count: bool
) -> tuple[Product, int]:
    try:
        if count:
            return parse_count(text)
        product = find(text)
        if product is None:
            raise unknown_product(text)
    except UsageError as error:
        raise at.error(path, error.message.removeprefix("--hardware: "), error.hint) from error
    return product, 1


@cache
def load(name: str) -> Layout:
    """Return the layout of a machine that names.canonical knows."""
    with as_file(
        hardware.machines_folder().joinpath(f"{names.canonical(name) or name}.yaml")
    ) as path:
        return read(str(path))


def _labels(at: _At, value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise at.error(
            ("labels",), "labels must be a map such as {topology.kubernetes.io/zone: us-east-1a}"
        )
    for key, item in value.items():
        path = ("labels", key)
        if not is_key(key):
            raise InputError(
                f"{key!r} is not a valid label key",
                place=str(at.document.locate(path, key=True)),
                hint="a key is NAME or DOMAIN/NAME, such as topology.kubernetes.io/zone",
            )
        if not isinstance(item, str):
            raise at.error(path, f"label {key} must be a string, not {item!r}", "quote it")
        if not is_value(item):
            allowed = (
                "at most 63 letters, digits, '-', '_' or '.', and begin and end with a letter or"
                " digit"
            )
            raise at.error(path, f"label {key} must be {allowed}")
        if key == ARCH and item not in ARCHITECTURES:
            raise at.error(
                path, f"label {key} must be one of {', '.join(ARCHITECTURES)}, not {item!r}"
            )
    return dict(value)


def _evidence(at: _At, value: Any) -> tuple[Provenance, ...]:
    if not isinstance(value, list):
        raise at.error(
            ("evidence",),
            "evidence must be a list such as [{of: roots, sure: recorded, source: ...}]",
        )
    evidence = []
    for number, item in enumerate(value):
        path = ("evidence", number)
        if not isinstance(item, dict) or set(item) != {"of", "sure", "source"}:
            raise at.error(path, "evidence must have the keys of, sure and source")
        if item["sure"] not in SURE:
            raise at.error((*path, "sure"), f"sure must be {', '.join(SURE)}, not {item['sure']!r}")
        evidence.append(Provenance(str(item["of"]), item["sure"], str(item["source"])))
    return tuple(evidence)


def _devices_of_reports(at: _At, value: Any) -> tuple[Reported, ...]:
    """Return the devices that a vendor's agent reports; the driver's catalogue has their attributes
    and types.
    """
    if not isinstance(value, dict):
        raise at.error(("reported",), "reported must be a map from drivers to lists of devices")
    all_devices = []
    for driver, devices in value.items():
        if not isinstance(devices, list):
            raise at.error(("reported", driver), f"the devices of {driver} must be a list")
        for number, item in enumerate(devices):
            path = ("reported", driver, number)
            try:
                all_devices.append(reported.device(str(driver), item))
            except reported.Unpublishable as misfit:
                raise at.error((*path, *misfit.path), misfit.message, misfit.hint) from misfit
            except UsageError as error:
                raise at.error(("reported", driver), error.message, error.hint) from error
    return tuple(all_devices)
