"""``dra.memory``: memory and huge pages by NUMA node, as devices from which claims take any amount.

Source: ffromani/dra-driver-memory, pkg/sysinfo/{machine,discover,rslice}.go, pkg/types/types.go,
pkg/unitconv/unit.go, hack/ci/install.tmpl.yaml; jaypipes/ghw pkg/topology/topology_linux.go.
"""

from collections.abc import Iterator
from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, Slice
from dractl.drivers.standard import NUMA_NODE
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.topology.machine import Machine, NumaNode

NAME = "dra.memory"
_PAGE_SIZE, _HUGE = "resource.kubernetes.io/pageSize", "resource.kubernetes.io/hugeTLB"
_MIN_MEMORY = 1 << 20  # MinimumAllocatable of memory; the minimum of huge pages is one page


class _Memory(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(node.memory_bytes for node in machine.numa_nodes)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        slices: dict[int, list[dict[str, Any]]] = {}  # by the size of huge pages, with 0 for memory
        comments: dict[str, str] = {}
        notices: list[str] = []
        # In ghw's order of nodes: by the names of their folders, so that node10 comes before node2.
        for place, node in enumerate(sorted(machine.numa_nodes, key=lambda node: str(node.id))):
            if node.memory_bytes is None:
                notices.append(
                    f"{NAME}: the amount of memory of NUMA node {node.id} is unknown here"
                )
                continue
            for page, amount in _amounts(node):
                device = _device(place, page, amount, machine)
                slices.setdefault(page, []).append(device)
                remarks = []
                if place != node.id:
                    remarks.append(
                        f"this is NUMA node {node.id}; the driver publishes its index in the list"
                        " of nodes"
                    )
                if not page and machine.host.page_bytes is None:
                    remarks.append(
                        "pageSize and requestPolicy are left out: the size of pages is unknown here"
                    )
                if remarks:
                    comments[device["name"]] = "; ".join(remarks)
        if slices:
            notices.append(
                f"{NAME}: the driver's own device names end in six random characters, not in a"
                " number"
            )
        apart = tuple(Slice(tuple(slices[page])) for page in sorted(slices))
        return Inventory(apart, comments, notices=tuple(notices))


PROFILE = _Memory(NAME)


def _amounts(node: NumaNode) -> Iterator[tuple[int, int]]:
    """Yield the size of the pages (0 for memory) and the number of bytes, for each kind of
    memory.
    """
    if node.memory_bytes:
        yield 0, node.memory_bytes
    for pages in sorted(node.huge_pages, key=lambda pages: pages.size_bytes):
        if pages.total:
            yield pages.size_bytes, pages.size_bytes * pages.total


def _device(place: int, huge: int, amount: int, machine: Machine) -> dict[str, Any]:
    """Return the device of ToDevice; its requestPolicy allows whole pages."""
    page = huge or machine.host.page_bytes
    size: dict[str, Any] = {"value": binary_quantity(amount)}
    if page is not None:
        step = binary_quantity(page)
        limits = {"min": step, "max": size["value"], "step": step}
        size["requestPolicy"] = {
            "default": step if huge else binary_quantity(_MIN_MEMORY),
            "validRange": limits,
        }
    attributes = {
        NUMA_NODE: place,
        _PAGE_SIZE: _shortest_size(page) if page is not None else None,
        _HUGE: bool(huge),
        "dra.cpu/numaNodeID": place,
        "dra.net/numaNode": place,
    }
    return {
        "name": f"hugepages-{_shortest_size(huge).lower()}-{place}" if huge else f"memory-{place}",
        "attributes": to_attributes(attributes),
        "capacity": {"size": size},
        "allowMultipleAllocations": True,
    }


def _shortest_size(size: int) -> str:
    """Return a size like SizeInBytesToMinimizedString: ``2Mi`` for 2097152."""
    units = ["B", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
    while size % 1024 == 0 and len(units) > 1:
        size, units = size // 1024, units[1:]
    return f"{size}{units[0]}"
