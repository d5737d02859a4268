"""NUMA nodes: CPUs, memory, huge pages, distances."""

import re
from collections.abc import Callable

from dractl.probes.root import SysRoot
from dractl.topology import cpulist
from dractl.topology.machine import HugePages, NumaNode
from dractl.topology.units import show_bytes

_NODES = "sys/devices/system/node"
_TOTAL = re.compile(r"MemTotal:\s*(\d+) kB")


def probe(
    root: SysRoot, online: frozenset[int], note: Callable[[str, str], None]
) -> list[NumaNode]:
    """Return the online NUMA nodes by id; none if the kernel has no NUMA support."""
    ids = sorted(int(n[4:]) for n in root.names(_NODES) if re.fullmatch(r"node\d{1,6}", n))
    if not ids:
        note(
            "numa",
            f"there is no /{_NODES}: the kernel was built without NUMA, or /sys is not shown here"
            " in full",
        )
    nodes = [_node(root, number, online, ids, note) for number in ids]
    _overlaps(nodes, note)
    return nodes


def note_uncounted_memory(
    nodes: list[NumaNode], total: int | None, note: Callable[[str, str], None]
) -> None:
    """Add a note if the nodes have less than nine tenths of the machine's memory: memory that is
    added to a running virtual machine may appear only in /proc/meminfo.
    """
    sizes = [node.memory_bytes for node in nodes if node.memory_bytes is not None]
    if total and sizes and len(sizes) == len(nodes) and sum(sizes) < total * 0.9:
        counted, all_of_it = show_bytes(sum(sizes)), show_bytes(total)
        note(
            "numa",
            f"the NUMA nodes have {counted}, /proc/meminfo {all_of_it}: the node of the rest is"
            " unknown",
        )


def _node(
    root: SysRoot,
    number: int,
    online: frozenset[int],
    ids: list[int],
    note: Callable[[str, str], None],
) -> NumaNode:
    base = f"{_NODES}/node{number}"
    cpus = _cpus(root, base)
    memory = _memory(root, base)
    row = _distances(root, base, number, ids, note)
    return NumaNode(
        id=number,
        cpus=cpulist.show(cpus & online if online else cpus),
        memory_bytes=memory,
        memory_kind=_memory_kind(memory, has_cpus=bool(cpus)),
        distances=row,
        huge_pages=_huge_pages(root, base),
        hugetlb=None if root.is_directory(f"{base}/hugepages") else False,
    )


def _memory_kind(memory: int | None, *, has_cpus: bool) -> str | None:
    if memory is None:
        return None
    if memory == 0:
        return "none"
    return "dram" if has_cpus else "cpuless"


def _distances(
    root: SysRoot, base: str, number: int, ids: list[int], note: Callable[[str, str], None]
) -> tuple[int, ...]:
    """Return the node's row of the SLIT, with a column for each of ``ids``. The kernel writes a
    column for each online node.
    """
    row = _row(root.text(f"{base}/distance"))
    try:
        online = sorted(cpulist.parse(root.text(f"{_NODES}/online") or ""))
    except ValueError:
        online = []
    for columns in (ids, online):
        if len(row) == len(columns) and set(ids) <= set(columns):
            return tuple(
                distance for node, distance in zip(columns, row, strict=True) if node in ids
            )
    if row:
        note(
            f"node{number}",
            f"its distance file has {len(row)} columns for {len(ids)}"
            f" {'node' if len(ids) == 1 else 'nodes'} and was not used",
        )
    else:
        note(f"node{number}", "its distances to other nodes cannot be read")
    return ()


def _cpus(root: SysRoot, base: str) -> frozenset[int]:
    text, mask = root.text(f"{base}/cpulist"), root.text(f"{base}/cpumap")
    try:
        return cpulist.parse(text) if text is not None else cpulist.parse_mask(mask or "")
    except ValueError:
        return frozenset()


def _memory(root: SysRoot, base: str) -> int | None:
    match = _TOTAL.search(root.text(f"{base}/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _row(text: str | None) -> tuple[int, ...]:
    parts = (text or "").split()
    return tuple(int(p) for p in parts) if all(p.isdecimal() and len(p) < 6 for p in parts) else ()


def _huge_pages(root: SysRoot, base: str) -> tuple[HugePages, ...]:
    sizes = []
    for name in root.names(f"{base}/hugepages"):
        match = re.fullmatch(r"hugepages-(\d{1,12})kB", name)
        total = root.integer(f"{base}/hugepages/{name}/nr_hugepages")
        if match and total is not None:
            free = root.integer(f"{base}/hugepages/{name}/free_hugepages")
            sizes.append(HugePages(int(match[1]) * 1024, total, free))
    return tuple(sorted(sizes, key=lambda h: h.size_bytes))


def _overlaps(nodes: list[NumaNode], note: Callable[[str, str], None]) -> None:
    """Add one note if the firmware assigns CPUs to more than one node."""
    first: dict[int, int] = {}
    again: set[int] = set()
    for node in nodes:
        for cpu in cpulist.parse(node.cpus):
            if first.setdefault(cpu, node.id) != node.id:
                again.add(node.id)
    if again:
        which = f"node {cpulist.show(again)}" if len(again) == 1 else f"nodes {cpulist.show(again)}"
        note(
            "numa",
            f"the firmware lists CPUs of {which} in another node too: the nodes cannot be told"
            " apart",
        )
