"""AMD GPUs: the facts that the amdgpu driver and KFD show in sysfs (AMD's own DRA driver uses no
library either).

Files: drivers/gpu/drm/amd/amdgpu and drivers/gpu/drm/amd/amdkfd/kfd_topology.c of the kernel.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.probes.classes import AMD
from dractl.probes.root import SysRoot
from dractl.topology.machine import Amdgpu, AmdPartition, Gpu, Link, PciDevice

_NODES = "sys/class/kfd/kfd/topology/nodes"
_PLATFORM = "sys/devices/platform"
_XGMI = 11  # CRAT_IOLINK_TYPE_XGMI


class _Node(Struct, frozen=True):
    """A GPU as KFD lists it."""

    facts: dict[str, int]
    memory: int | None
    """The size of the GPU's first memory bank, which AMD's driver publishes."""
    peers: Counter[int]


def probe(root: SysRoot, devices: Iterable[PciDevice]) -> tuple[dict[str, Gpu], tuple[Link, ...]]:
    """Return AMD's GPUs by address, and the XGMI links between them. GPUs without a bound driver
    are left to the PCI probe.
    """
    nodes = _nodes(root)
    by_bdf = {_address(node.facts): number for number, node in nodes.items()}
    by_minor = {
        minor: number
        for number, node in nodes.items()
        if (minor := node.facts.get("drm_render_minor"))
    }
    partitions = _partitions(root, {minor: nodes[number] for minor, number in by_minor.items()})
    gpus: dict[str, Gpu] = {}
    for device in devices:
        if device.vendor == AMD and device.kind == "gpu" and device.driver == "amdgpu":
            # AMD's driver looks up render minors, too, since partitions share an address
            # (pkg/amdgpu/amdgpu.go).
            number = (
                by_minor.get(_number(device, "renderD") or 0)
                if by_minor
                else by_bdf.get(device.bdf)
            )
            gpus[device.bdf] = _gpu(
                root, device, None if number is None else nodes[number], partitions
            )
    addresses = {number: _address(node.facts) for number, node in nodes.items()}
    links = tuple(
        Link(addresses[a], addresses[b], "xgmi", count=count, source="kfd")
        for a, node in sorted(nodes.items())
        for b, count in sorted(node.peers.items())
        if a < b and b in addresses and addresses[a] in gpus and addresses[b] in gpus
    )
    return gpus, links


def _nodes(root: SysRoot) -> dict[int, _Node]:
    nodes = {}
    for name in root.names(_NODES):
        facts = _properties(root, f"{_NODES}/{name}/properties")
        # The other nodes are CPUs
        if name.isdecimal() and (facts.get("simd_count") or facts.get("drm_render_minor")):
            memory = _properties(root, f"{_NODES}/{name}/mem_banks/0/properties").get(
                "size_in_bytes"
            )
            links = (
                _properties(root, f"{_NODES}/{name}/io_links/{link}/properties")
                for link in root.names(f"{_NODES}/{name}/io_links")
            )
            peers = Counter(
                link["node_to"] for link in links if link.get("type") == _XGMI and "node_to" in link
            )
            nodes[int(name)] = _Node(facts, memory, peers)
    return nodes


def _partitions(root: SysRoot, by_minor: Mapping[int, _Node]) -> dict[str, list[AmdPartition]]:
    """Return the partitions that are platform devices, by the address of their GPU. KFD's entry for
    a partition has this address. amdgpu also makes devices for partitions that the current mode
    does not have; KFD has no entry for them.
    """
    by_gpu: dict[str, list[AmdPartition]] = {}
    for name in root.names(_PLATFORM):
        drm = root.names(f"{_PLATFORM}/{name}/drm") if name.startswith("amdgpu_xcp_") else ()
        card, minor = _number_after(drm, "card"), _number_after(drm, "renderD")
        node = by_minor.get(minor) if minor is not None else None
        if card is None or minor is None or node is None:
            continue
        partition = AmdPartition(
            card_index=card,
            render_minor=minor,
            simd_count=node.facts.get("simd_count"),
            simd_per_cu=node.facts.get("simd_per_cu"),
            memory_bytes=node.memory,
            kfd_id=_kfd_id(node),
        )
        by_gpu.setdefault(_slot(_address(node.facts)), []).append(partition)
    return by_gpu


def report_dotted_partitions(root: SysRoot, note: Callable[[str, str], None]) -> None:
    """Add a note on partitions whose devices have the name amdgpu_xcp.N of older kernels:
    gpu.amd.com looks for amdgpu_xcp_N (ROCm/k8s-gpu-dra-driver pkg/amdgpu/amdgpu.go,
    ROCm/k8s-device-plugin#157).
    """
    names = [
        name
        for name in root.names(_PLATFORM)
        if name.startswith("amdgpu_xcp.") and root.names(f"{_PLATFORM}/{name}/drm")
    ]
    if names:
        devices = "device of a partition has" if len(names) == 1 else "devices of partitions have"
        note(
            names[0],
            f"{len(names)} {devices} a dot in the name, which the driver gpu.amd.com does not look"
            " for: it publishes only the first partition of each GPU; a newer amdgpu names them"
            " amdgpu_xcp_N",
        )


def _slot(bdf: str) -> str:
    """Return an address without its function number, which KFD uses for the number of a
    partition.
    """
    return bdf.rpartition(".")[0]


def _kfd_id(node: _Node | None) -> str | None:
    return (
        f"{node.facts['unique_id']:016x}"
        if node is not None and "unique_id" in node.facts
        else None
    )


def _properties(root: SysRoot, path: str) -> dict[str, int]:
    pairs = (line.split() for line in (root.text(path) or "").splitlines())
    return {
        pair[0]: int(pair[1])
        for pair in pairs
        if len(pair) == 2 and pair[1].isdecimal() and len(pair[1]) < 24
    }


def _address(facts: dict[str, int]) -> str:
    """Return the address of a GPU: KFD packs bus, device and function into location_id."""
    location = facts.get("location_id", 0)
    bus, device, function = location >> 8 & 0xFF, location >> 3 & 0x1F, location & 7
    return f"{facts.get('domain', 0):04x}:{bus:02x}:{device:02x}.{function}"


def _gpu(
    root: SysRoot,
    device: PciDevice,
    node: _Node | None,
    partitions: Mapping[str, Sequence[AmdPartition]],
) -> Gpu:
    base = f"sys/devices/{device.path}" if device.path else f"sys/bus/pci/devices/{device.bdf}"
    bank = node.memory if node else None
    memory = root.integer(f"{base}/mem_info_vram_total") if bank is None else bank
    unique = root.text(f"{base}/unique_id")
    return Gpu(
        bdf=device.bdf,
        vendor=device.vendor,
        source="kfd" if node else "pci",
        partial=memory is None,
        minor=None,
        name=root.text(f"{base}/product_name") or None,
        memory_bytes=memory,
        driver_version=root.text("sys/module/amdgpu/version") or None,
        amd=Amdgpu(
            card_index=_number(device, "card"),
            render_minor=_number(device, "renderD"),
            compute_partition=_lower(root.text(f"{base}/current_compute_partition")),
            memory_partition=_lower(root.text(f"{base}/current_memory_partition")),
            simd_count=node.facts.get("simd_count") if node else None,
            simd_per_cu=node.facts.get("simd_per_cu") if node else None,
            unique_id=unique or _kfd_id(node),
            kfd_id=_kfd_id(node),
            memory_bank=False if node is not None and bank is None else None,
            source_version=root.text("sys/module/amdgpu/srcversion") or None,
            partitions=tuple(partitions.get(_slot(device.bdf), ())),
            gfx_version=node.facts.get("gfx_target_version") if node else None,
        ),
    )


def _number(device: PciDevice, prefix: str) -> int | None:
    return _number_after(device.names, prefix)


def _number_after(names: Iterable[str], prefix: str) -> int | None:
    numbers = (name[len(prefix) :] for name in names if name.startswith(prefix))
    return next((int(number) for number in numbers if number.isdecimal()), None)


def _lower(text: str | None) -> str | None:
    return text.lower() if text else None
