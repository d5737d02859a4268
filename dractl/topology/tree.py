"""The PCI tree as it is usually drawn: NUMA node, PCIe root, switch, device."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from dractl.topology.machine import BDF, Machine, PciDevice


class Switch(Struct, frozen=True):
    """A bridge with several slots below it: a PCIe switch, or a port that leads to one."""

    device: PciDevice | None
    inside: tuple[Switch | PciDevice, ...]


class Root(Struct, frozen=True):
    """A PCIe root."""

    name: str
    inside: tuple[Switch | PciDevice, ...]
    below: str | None = None
    """The device below which the root lies, if it is not directly in ``/sys/devices`` (VMD,
    Hyper-V).
    """


class NumaRoots(Struct, frozen=True):
    """The roots of one NUMA node; ``node`` is None for roots whose node is unknown."""

    node: int | None
    roots: tuple[Root, ...]


class _Bridge(Struct):
    device: PciDevice | None = None
    bridges: dict[str, _Bridge] = field(default_factory=dict)
    devices: list[PciDevice] = field(default_factory=list)


def groups(machine: Machine) -> tuple[NumaRoots, ...]:
    """Return the whole tree: nodes by id, followed by the roots whose node is unknown."""
    roots_by_node: dict[int | None, list[Root]] = {}
    for name, top in _roots(machine).items():
        roots_by_node.setdefault(_node_of(top), []).append(
            Root(name, _contents(top), _device_above(machine, name))
        )
    return tuple(
        NumaRoots(node, tuple(roots_by_node[node]))
        for node in sorted(roots_by_node, key=lambda n: (n is None, 0 if n is None else n))
    )


def _roots(machine: Machine) -> dict[str, _Bridge]:
    roots: dict[str, _Bridge] = {}
    for device in machine.pci_devices:
        here = roots.setdefault(device.pcie_root or _name_absence(device, machine), _Bridge())
        for bridge in device.bridges:
            here = here.bridges.setdefault(bridge, _Bridge(machine.pci.get(bridge)))
        if (device.class_code or "").startswith("0x0604"):
            here.bridges.setdefault(device.bdf, _Bridge(device))
        else:
            here.devices.append(device)
    return roots


def _name_absence(device: PciDevice, machine: Machine) -> str:
    """Return the heading of devices without a root. Devices of a described machine have a root, but
    no source may show it.
    """
    return "PCIe root unknown" if machine.described and not device.path else "no PCIe root"


def _node_of(root: _Bridge) -> int | None:
    """Return the node that most functions of the root have, since a host bridge belongs to one
    proximity domain.
    """
    counts: Counter[int] = Counter()
    pending = [root]
    while pending:
        here = pending.pop()
        pending += here.bridges.values()
        functions = [*here.devices, *([here.device] if here.device else [])]
        counts.update(d.numa_node for d in functions if d.numa_node is not None)
    return counts.most_common(1)[0][0] if counts else None


def _device_above(machine: Machine, root: str) -> str | None:
    path = next((d.path.split("/") for d in machine.pci_devices if d.pcie_root == root), [])
    above = path[: path.index(root)] if root in path else []
    if not above:
        return None
    return above[-1] if BDF.match(above[-1]) else above[0]


def _contents(bridge: _Bridge) -> tuple[Switch | PciDevice, ...]:
    """Return the devices and switches below a bridge. Ports that lead to a single slot are skipped,
    since nothing branches there.
    """
    items: list[Switch | PciDevice] = list(bridge.devices)
    for below in bridge.bridges.values():
        inner = _contents(below)
        slots = {
            item.bdf.rpartition(".")[0] if isinstance(item, PciDevice) else id(item)
            for item in inner
        }
        if len(slots) <= 1:
            items += inner
        else:
            items.append(Switch(below.device, inner))
    return tuple(items)
