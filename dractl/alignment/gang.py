"""Alignment across the pods of a gang: rails of their NICs, and NVLink domains of their GPUs.

A rail is the set of NICs, one on each node, that are cabled to the same switch. The cables are not
visible, so the NICs of a node are numbered in the order of their nearest GPUs. NICs with the same
number are assumed to be on one rail if their nodes have equally many NICs.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dractl.alignment.aligner import Aligner
from dractl.alignment.distance import device_kind
from dractl.alignment.locator import device_id
from dractl.allocation import DeviceID
from dractl.objects import Raw
from dractl.topology.fabric import cliques
from dractl.topology.machine import Machine
from dractl.topology.rails import rails
from dractl.views import Pod

_CLIQUE_LABEL = "nvidia.com/gpu.clique"  # set by NVIDIA's GPU feature discovery


class GangAlignment(Struct, frozen=True):
    """Rails and NVLink domains of the pods of a gang."""

    rails: Mapping[str, tuple[int, ...] | None]
    """Rails of the NICs of each pod with NICs; None if they are unknown."""

    cliques: Mapping[str, str | None]
    """NVLink clique (``CLUSTER.CLIQUE``) of the GPUs of each pod with GPUs; None if unknown."""

    @property
    def same_rails(self) -> bool | None:
        """Whether all pods use the same rails; None if unknown, or if fewer than two have NICs."""
        return _all_same(list(self.rails.values()))

    @property
    def same_clique(self) -> bool | None:
        """Whether all GPUs are in one NVLink domain; None if unknown, or if fewer than two pods
        have GPUs.
        """
        return _all_same(list(self.cliques.values()))


def _all_same(values: Sequence[object]) -> bool | None:
    """Return whether all values are the same; None if that is unknown because some values are
    None.
    """
    distinct = {value for value in values if value is not None}
    if len(values) < 2 or (None in values and len(distinct) < 2):
        return None
    return len(distinct) == 1


def align_gang(aligner: Aligner, pods: Sequence[Raw]) -> GangAlignment | None:
    """Return the alignment of pods that have nodes; None if fewer than two of them have devices."""
    rails_by_pod: dict[str, tuple[int, ...] | None] = {}
    clique_by_pod: dict[str, str | None] = {}
    rails_by_node: dict[str, dict[DeviceID, int]] = {}
    for pod in map(Pod, pods):
        node = pod.node_name
        if not node:
            continue
        devices = _list_devices(aligner, pod)
        nics = [device for device in devices if device_kind(device.driver) == "nic"]
        if nics:
            if node not in rails_by_node:
                rails_by_node[node] = _number_rails(aligner, node)
            rails_by_pod[pod.name] = _rails_of_nics(nics, rails_by_node[node])
        if any(device_kind(device.driver) == "gpu" for device in devices):
            clique_by_pod[pod.name] = _find_clique(aligner, node)
    if len({len(set(numbers.values())) for numbers in rails_by_node.values()}) > 1:
        # Rail numbers cannot be compared between nodes of different kinds.
        rails_by_pod = dict.fromkeys(rails_by_pod)
    if max(len(rails_by_pod), len(clique_by_pod)) < 2:
        return None
    return GangAlignment(rails_by_pod, clique_by_pod)


def _list_devices(aligner: Aligner, pod: Pod) -> list[DeviceID]:
    return [
        device_id(allocated)
        for claim in aligner.state.claims_of_pod(pod.key)
        for allocated in aligner.state.claim(claim).allocated_devices
    ]


def _rails_of_nics(
    nics: Sequence[DeviceID], numbers: Mapping[DeviceID, int]
) -> tuple[int, ...] | None:
    if not set(nics) <= numbers.keys():
        return None
    return tuple(sorted({numbers[nic] for nic in nics}))


def _number_rails(aligner: Aligner, node: str) -> dict[DeviceID, int]:
    """Return the rail of each NIC that is near a GPU; empty if the node has a single rail."""
    levels = aligner.locator.levels.get(node)
    numbers = (
        _rails_by_roots(aligner, node)
        if levels is None
        else _rails_by_machine(aligner, node, levels.machine)
    )
    return numbers if len(set(numbers.values())) > 1 else {}


def _rails_by_machine(aligner: Aligner, node: str, machine: Machine) -> dict[DeviceID, int]:
    number_by_function = {
        function: number for number, rail in enumerate(rails(machine)) for function in rail.nics
    }
    return {
        device: number_by_function[location.function]
        for device, location in aligner.locator.locate_all(node).items()
        if location.kind == "nic" and location.function in number_by_function
    }


def _rails_by_roots(aligner: Aligner, node: str) -> dict[DeviceID, int]:
    """Return the rails by the PCIe roots that have both a GPU and a NIC."""
    locations = aligner.locator.locate_all(node)
    gpu_roots = {
        root
        for location in locations.values()
        if location.kind == "gpu"
        for root in location.pcie_roots
    }
    root_by_nic = {
        device: location.pcie_roots[0]
        for device, location in locations.items()
        if location.kind == "nic" and location.pcie_roots
    }
    shared_roots = sorted(gpu_roots.intersection(root_by_nic.values()))
    numbers = {root: number for number, root in enumerate(shared_roots)}
    return {nic: numbers[root] for nic, root in root_by_nic.items() if root in numbers}


def _find_clique(aligner: Aligner, node: str) -> str | None:
    """Return the NVLink clique of a node's GPUs, from its label or else from its machine."""
    label = aligner.nodes[node].labels.get(_CLIQUE_LABEL) if node in aligner.nodes else None
    if label:
        return str(label)
    levels = aligner.locator.levels.get(node)
    names = {clique.name for clique in cliques(levels.machine)} if levels is not None else set()
    return names.pop() if len(names) == 1 else None
