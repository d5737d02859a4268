"""Differences between two machines, or between two states of one, whatever names their devices
have.

Places, products, drivers, links and nodes are compared. Device numbers (eth0, mlx5_0, card1, minor
numbers), UUIDs and addresses are not: they change from boot to boot and from node to node.
"""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from dractl.topology.machine import Gpu, Machine, NumaNode, PciDevice
from dractl.topology.units import show_bytes

_MEMORY_TOLERANCE = 0.01  # the kernel reserves a varying small part of the memory


class Difference(Struct, frozen=True):
    """A fact that differs between two machines."""

    place: str
    """The node, function or interface that has the fact."""
    what: str
    """The name of the fact."""
    before: str | None
    """The value on the first machine; None if the fact does not exist there."""
    after: str | None
    """The value on the second machine; None if the fact does not exist there."""
    unit: str | None = None
    """``bytes`` if both values are sizes."""


def differences(a: Machine, b: Machine) -> tuple[Difference, ...]:
    """Return the differences from ``a`` to ``b``: host, NUMA nodes, PCI functions with their GPUs,
    network interfaces.
    """
    return (*_host(a, b), *_nodes(a, b), *_functions(a, b), *_interfaces(a, b))


def _compare(place: str, facts: dict[str, tuple[object, object]]) -> Iterator[Difference]:
    for name, (before, after) in facts.items():
        if before != after:
            yield Difference(
                place, name, _text(before), _text(after), "bytes" if name == "memory" else None
            )


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _host(a: Machine, b: Machine) -> Iterator[Difference]:
    yield from _compare(
        "host",
        {
            "CPU model": (a.cpus.model, b.cpus.model),
            "sockets": (len(a.cpus.packages), len(b.cpus.packages)),
            "cores": (len(a.cpus.cores), len(b.cpus.cores)),
            "SMT": (a.cpus.smt_control, b.cpus.smt_control),
            "kernel": (a.host.kernel, b.host.kernel),
            "product": (a.host.product, b.host.product),
            "IOMMU": (a.host.iommu, b.host.iommu),
            "NVIDIA driver": _nvidia_drivers(a, b),
        },
    )


def _nvidia_drivers(a: Machine, b: Machine) -> tuple[str | None, str | None]:
    before, after = (m.nvidia.driver_version if m.nvidia else None for m in (a, b))
    return before, after


def _nodes(a: Machine, b: Machine) -> Iterator[Difference]:
    nodes, other = ({n.id: n for n in m.numa_nodes} for m in (a, b))
    for number in sorted(nodes.keys() | other.keys()):
        place, x, y = f"NUMA node {number}", nodes.get(number), other.get(number)
        if x is None or y is None:
            yield Difference(place, "node", _node(x), _node(y))
            continue
        facts: dict[str, tuple[object, object]] = {
            "CPUs": (x.cpus, y.cpus),
            "distances": (x.distances, y.distances),
        }
        if not _is_near(x.memory_bytes, y.memory_bytes):
            facts["memory"] = (x.memory_bytes, y.memory_bytes)
        pages = [{h.size_bytes: h.total for h in n.huge_pages if h.total} for n in (x, y)]
        for size in sorted(pages[0].keys() | pages[1].keys()):
            facts[f"huge pages of {show_bytes(size)}"] = (
                pages[0].get(size, 0),
                pages[1].get(size, 0),
            )
        yield from _compare(place, facts)


def _node(node: NumaNode | None) -> str | None:
    if node is None:
        return None
    return f"CPUs {node.cpus}" if node.cpus else "no CPUs"


def _is_near(a: int | None, b: int | None) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= _MEMORY_TOLERANCE * max(a, b)


def _product(device: PciDevice) -> tuple[str | None, ...]:
    return (
        device.class_code,
        device.vendor,
        device.device,
        device.subsystem_vendor,
        device.subsystem_device,
    )


def _name(device: PciDevice) -> str:
    name = device.device_name or f"[{(device.vendor or '?')[2:]}:{(device.device or '?')[2:]}]"
    return f"{device.kind} {name}" if device.kind != "other" else name


def _functions(a: Machine, b: Machine) -> Iterator[Difference]:
    """Compare functions in the same place. Of the remaining functions, two of the same product
    count as one function that moved.
    """
    functions, other = ({d.path or d.bdf: d for d in m.pci_devices} for m in (a, b))
    gpus = tuple({g.bdf: g for g in m.gpus} for m in (a, b))
    gone: list[PciDevice] = []
    new: list[PciDevice] = []
    for path in [*functions, *(p for p in other if p not in functions)]:
        x, y = functions.get(path), other.get(path)
        if x is not None and y is not None and _product(x) == _product(y):
            yield from _compare(x.bdf, _facts(x, y))
            yield from _gpu(x.bdf, gpus[0].get(x.bdf), gpus[1].get(y.bdf))
        else:
            gone += [x] if x is not None else []
            new += [y] if y is not None else []
    for x in gone:
        twin = next((y for y in new if _product(x) == _product(y)), None)
        if twin is None:
            yield Difference(x.bdf, "function", _name(x), None)
            continue
        new.remove(twin)
        yield Difference(x.bdf, f"place of {_name(x)}", x.path, twin.path)
        yield from _compare(twin.bdf, _facts(x, twin))
        yield from _gpu(twin.bdf, gpus[0].get(x.bdf), gpus[1].get(twin.bdf))
    for y in new:
        yield Difference(y.bdf, "function", None, _name(y))


def _facts(x: PciDevice, y: PciDevice) -> dict[str, tuple[object, object]]:
    vfs = [d.sriov.num_vfs if d.sriov else None for d in (x, y)]
    return {
        "driver": (x.driver, y.driver),
        "NUMA node": (x.numa_node, y.numa_node),
        "link width": (x.link_width, y.link_width),
        "link speed (GT/s)": (x.link_speed, y.link_speed),
        "virtual functions": (vfs[0], vfs[1]),
        "in an IOMMU group": (x.iommu_group is not None, y.iommu_group is not None),
    }


def _gpu(place: str, x: Gpu | None, y: Gpu | None) -> Iterator[Difference]:
    if x is None or y is None:
        return
    facts: dict[str, tuple[object, object]] = {"health": (x.health, y.health)}
    if not x.partial and not y.partial:
        facts |= {
            "GPU": (x.name, y.name),
            "memory": (x.memory_bytes, y.memory_bytes),
            "MIG": (x.mig_mode, y.mig_mode),
            "MIG devices": (_profiles(x), _profiles(y)),
            "ECC": (x.ecc, y.ecc),
            "active NVLinks": (sum(n.active for n in x.nvlinks), sum(n.active for n in y.nvlinks)),
        }
    yield from _compare(place, facts)


def _profiles(gpu: Gpu) -> str:
    counts = Counter(d.profile or str(d.profile_id) for d in gpu.mig_devices)
    return ", ".join(f"{n} {name}" for name, n in sorted(counts.items())) or "none"


def _interfaces(a: Machine, b: Machine) -> Iterator[Difference]:
    """Compare interfaces by their function; virtual ones come and go with pods and are not
    compared.
    """
    sides = []
    for machine in (a, b):
        facts: dict[str, list[tuple[object, ...]]] = {}
        for net in machine.net_interfaces:
            if net.bdf and not net.representor:
                facts.setdefault(net.bdf, []).append(
                    (net.mtu, net.operstate, net.speed_mbps, net.rdma_device is not None)
                )
        sides.append({bdf: sorted(rows, key=str) for bdf, rows in facts.items()})
    for bdf in sorted(sides[0].keys() & sides[1].keys()):
        for x, y in zip(sides[0][bdf], sides[1][bdf], strict=False):
            names = ("MTU", "state", "speed (Mb/s)", "RDMA")
            yield from _compare(bdf, dict(zip(names, zip(x, y, strict=True), strict=True)))
    for bdf in sorted(sides[0].keys() ^ sides[1].keys()):
        if bdf in a.pci and bdf in b.pci:
            yield Difference(
                bdf, "network interface", *(("present" if bdf in side else None) for side in sides)
            )
