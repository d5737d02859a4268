"""Vital Product Data: the NIC to which a ConnectX Data Direct function belongs.

Source: rdma-core kernel-boot/rdma_topo (parse_vpd); the format is in PCI Local Bus 3.0, appendix I.
Only ConnectX functions are read: on some devices of other vendors, reading ``vpd`` takes seconds.
The kernel lets only root read it.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from dractl.probes.root import SysRoot
from dractl.topology.complexes import is_connectx, is_data_direct
from dractl.topology.machine import PciDevice

_LARGE, _END_SMALL, _END_LARGE, _READ_ONLY = 0x80, 0x78, 0x79, 0x90


def pair_data_direct(
    root: SysRoot, devices: list[PciDevice], note: Callable[[str, str], None]
) -> list[PciDevice]:
    """Return the devices, and for each Data Direct function its NIC: the physical functions with
    the same V3 in their VPD.

    V3 is effectively a serial number, so the pairs are stored, but not V3 itself.
    """
    functions = [device for device in devices if is_data_direct(device)]
    if not functions:
        return devices
    nics: dict[str, list[str]] = {}
    for device in devices:
        if is_connectx(device) and (uuid := _uuid(root, device)):
            nics.setdefault(uuid, []).append(device.bdf)
    owners: dict[str, tuple[str, ...]] = {}
    for function in functions:
        uuid = _uuid(root, function)
        owners[function.bdf] = tuple(nics.get(uuid, ())) if uuid else ()
        if not owners[function.bdf]:
            why = (
                "no NIC has the same V3 in its VPD"
                if uuid
                else "its VPD, which only root may read, has no V3"
            )
            note(function.bdf, f"the NIC of this Data Direct function is unknown: {why}")
    return [replace(d, data_direct_of=owners[d.bdf]) if d.bdf in owners else d for d in devices]


def _uuid(root: SysRoot, device: PciDevice) -> str | None:
    return (
        keyword(root.bytes(f"sys/devices/{device.path}/vpd") or b"", "V3") if device.path else None
    )


def keyword(data: bytes, name: str) -> str | None:
    """Return the value of a keyword of the read-only resource (VPD-R); None if it is missing or the
    data are damaged.
    """
    resource = next((resource for tag, resource in _resources(data) if tag == _READ_ONLY), b"")
    while len(resource) >= 3 and (size := resource[2]) <= len(resource) - 3:
        if resource[:2] == name.encode():
            return resource[3 : 3 + size].decode("ascii", "replace").strip(" \0") or None
        resource = resource[3 + size :]
    return None


def _resources(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data and data[0] not in (_END_SMALL, _END_LARGE):
        large = bool(data[0] & _LARGE)
        head = 3 if large else 1
        size = int.from_bytes(data[1:3], "little") if large else data[0] & 0x07
        if len(data) < head + size:
            return
        yield data[0], data[head : head + size]
        data = data[head + size :]
