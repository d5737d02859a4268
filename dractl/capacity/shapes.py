"""A shape such as ``gpu=2,nic=1`` as a claim of this cluster: the classes that its drivers' devices have, aligned."""

from typing import Any

from dractl.allocation import Features
from dractl.capacity.copies import NAMED, Copies, of_claim
from dractl.capacity.inventory import PCIE_ROOT, DeviceRow, Stock, inventory
from dractl.cluster.state import ClusterState
from dractl.errors import InputError
from dractl.facts.resources import hardware
from dractl.model.shapes import MIG, mig_selector, parse, request_name

_MIG_CLASS = "mig.nvidia.com"
_SELECTORS = {"rdma": 'device.attributes["dra.net"].?rdma.orValue(false)'}


def of_shape(
    state: ClusterState, features: Features, text: str, namespace: str, *, constrained: bool = True
) -> Copies:
    """Copies of a claim for ``KIND=COUNT,...``, where a kind is gpu, nic, rdma ... or the name of a DeviceClass.

    Several kinds are wanted on one PCIe root, if ``constrained``.

    Raises UsageError for a text that is no shape, InputError for a kind that nothing in the cluster is of.
    """
    counts = parse(text, known=[name for _, name in state.all("DeviceClass")])
    stock = inventory(state, features)
    requests = []
    aligned = constrained and len(counts) > 1
    for kind, count in counts.items():
        device_class, rows = _class(stock, kind, named=("", kind) in state.all("DeviceClass"))
        aligned = aligned and any(row.pcie_root for row in rows)
        exactly: dict[str, Any] = {
            "deviceClassName": device_class,
            "allocationMode": "ExactCount",
            "count": count,
        }
        selector = mig_selector(kind) or _SELECTORS.get(kind)
        if selector is not None and device_class != kind:
            exactly["selectors"] = [{"cel": {"expression": selector}}]
        requests.append({"name": request_name(kind), "exactly": exactly})
    devices: dict[str, Any] = {"requests": requests}
    if aligned:
        devices["constraints"] = [{"matchAttribute": PCIE_ROOT}]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": devices},
    }
    return of_claim(state, text + (" on one PCIe root" if aligned else ""), namespace, claim)


def is_shape(state: ClusterState, text: str) -> bool:
    """True if a text is meant as a shape: it has a count or several kinds, or is a kind of which no object has the
    name."""
    if "/" in text:
        return False
    if not text or any(mark in text for mark in "=,"):
        return True
    if any(key[1] == text for kind in NAMED for key in state.all(kind)):
        return False
    return text in hardware() or ("", text) in state.all("DeviceClass")


def _class(stock: Stock, kind: str, *, named: bool) -> tuple[str, list[DeviceRow]]:
    """The DeviceClass of a kind and the devices that it matches: one of that name, else the one named after the driver,
    else the one that matches most."""
    if named:
        return kind, [row for row in stock.devices if kind in row.classes]
    if kind.startswith(MIG):
        partitions = [row for row in stock.devices if _MIG_CLASS in row.classes]
        if not partitions:
            raise InputError(f"no MIG device in this cluster: no device is of class {_MIG_CLASS}")
        return _MIG_CLASS, partitions
    rows = [row for row in stock.devices if row.id.driver in hardware()[kind]]
    matched: dict[str, list[DeviceRow]] = {}
    for row in rows:
        for name in row.classes:
            matched.setdefault(name, []).append(row)
    drivers = {row.id.driver for row in rows}
    classes = sorted(matched, key=lambda name: (name not in drivers, -len(matched[name]), name))
    if not classes:
        published = (
            f"drivers publish {len(rows)} of them, but no DeviceClass matches"
            if rows
            else "no driver publishes any"
        )
        there = sorted({row.id.driver for row in stock.devices})
        hint = (
            f"there are devices of {', '.join(there)}"
            if there
            else "the cluster has no ResourceSlice"
        )
        raise InputError(f"no {kind} in this cluster: {published}", hint=hint)
    return classes[0], matched[classes[0]]
