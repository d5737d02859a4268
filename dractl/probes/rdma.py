"""RDMA devices and their ports."""

from dractl.probes.enumerate import Enumerator
from dractl.probes.pci import function_of
from dractl.probes.root import SysRoot
from dractl.topology.machine import RdmaDevice, RdmaPort


def probe(root: SysRoot, enumerator: Enumerator) -> list[RdmaDevice]:
    """Return every RDMA device by name, software ones included."""
    return [
        _device(root, scanned.name, scanned.path) for scanned in enumerator.devices("infiniband")
    ]


def _device(root: SysRoot, name: str, path: str | None) -> RdmaDevice:
    base = f"sys/devices/{path}" if path else f"sys/class/infiniband/{name}"
    device = root.real(f"{base}/device")
    bdf = function_of(device.removeprefix("sys/devices/") if device else path)
    ports = sorted(int(p) for p in root.names(f"{base}/ports") if p.isdecimal())
    nets = set(root.names(f"{base}/device/net"))
    for port in ports:
        # This folder has a file for each RoCE address that names the interface; for a bonded
        # device, the file names the bond.
        attributes = f"{base}/ports/{port}/gid_attrs/ndevs"
        nets |= {
            net
            for index in root.names(attributes)[:64]
            if (net := root.text(f"{attributes}/{index}"))
        }
    return RdmaDevice(
        name=name,
        bdf=bdf,
        net_interfaces=tuple(sorted(nets)),
        ports=tuple(_port(root, f"{base}/ports/{number}", number) for number in ports),
        firmware=root.text(f"{base}/fw_ver"),
    )


def _port(root: SysRoot, base: str, number: int) -> RdmaPort:
    state = root.text(f"{base}/state")  # "4: ACTIVE"
    return RdmaPort(
        number=number,
        state=state.partition(":")[2].strip() or state if state else None,
        link_layer=root.text(f"{base}/link_layer"),
        rate=root.text(f"{base}/rate"),
    )
