"""Alignment across the pods of a gang: the same rails of their NICs, and the same NVLink domain of their GPUs.

A rail is a number that the NIC nearest to a GPU has on every node of a kind: traffic between NICs of one number stays
on one switch. Nothing tells which switch a NIC is cabled to; taken is the order of GPUs with their nearest NICs, on
nodes that have equally many.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dractl.alignment.aligner import Aligner
from dractl.alignment.distance import kind
from dractl.allocation import DeviceID
from dractl.cluster.devices import result_device
from dractl.cluster.state import maps_at, text_at
from dractl.objects import Raw
from dractl.topology.fabric import cliques
from dractl.topology.rails import rails

_CLIQUE = "nvidia.com/gpu.clique"


class Across(Struct, frozen=True):
    """The rails of each pod's NICs and the NVLink clique (``CLUSTER.CLIQUE``) of each pod's GPUs, by pod; None where
    they are not known."""

    rails: Mapping[str, tuple[int, ...] | None]
    cliques: Mapping[str, str | None]

    @property
    def same_rails(self) -> bool | None:
        """True if all pods use the same rails; None if that is not known, or fewer than two have NICs."""
        return _same(list(self.rails.values()))

    @property
    def same_clique(self) -> bool | None:
        """True if the GPUs of all pods are in one NVLink domain; None as for rails."""
        return _same(list(self.cliques.values()))


def _same(values: Sequence[object]) -> bool | None:
    known = [value for value in values if value is not None]
    if len(values) < 2 or (len(known) < len(values) and len(set(known)) < 2):
        return None
    return len(set(known)) == 1


def across(aligner: Aligner, pods: Sequence[Raw]) -> Across | None:
    """The rails and cliques of pods that are on nodes; None if fewer than two have devices."""
    used: dict[str, tuple[int, ...] | None] = {}
    found: dict[str, str | None] = {}
    by_node: dict[str, dict[DeviceID, int]] = {}
    for pod in pods:
        node, name = text_at(pod, "spec", "nodeName"), text_at(pod, "metadata", "name")
        key = text_at(pod, "metadata", "namespace"), name
        claims = [
            aligner.state.get("ResourceClaim", claim) for claim in aligner.state.claims_of_pod(key)
        ]
        devices = [
            result_device(result)
            for claim in claims
            for result in maps_at(claim, "status", "allocation", "devices", "results")
        ]
        nics = [device for device in devices if kind(device.driver) == "nic"]
        if node and nics:
            numbers = by_node.setdefault(node, _rails(aligner, node))
            used[name] = (
                tuple(sorted({numbers[nic] for nic in nics}))
                if set(nics) <= numbers.keys()
                else None
            )
        if node and any(kind(device.driver) == "gpu" for device in devices):
            found[name] = _clique(aligner, node)
    if len({len(set(numbers.values())) for numbers in by_node.values()}) > 1:
        used = dict.fromkeys(used)  # numbers of nodes of different kinds do not compare
    return Across(used, found) if max(len(used), len(found)) > 1 else None


def _rails(aligner: Aligner, node: str) -> dict[DeviceID, int]:
    """The rail of each NIC of a node that is near to a GPU: from its machine, else by the PCIe roots that both have."""
    places = aligner.places(node)
    known = aligner.levels.get(node)
    if known is not None:
        order = {
            bdf: number for number, rail in enumerate(rails(known.machine)) for bdf in rail.nics
        }
        found = {
            d: order[p.function]
            for d, p in places.items()
            if p.kind == "nic" and p.function in order
        }
        return found if len(set(found.values())) > 1 else {}
    with_gpu = {root for place in places.values() if place.kind == "gpu" for root in place.roots}
    nics = {
        device: place.roots[0]
        for device, place in places.items()
        if place.kind == "nic" and place.roots
    }
    roots = {root: number for number, root in enumerate(sorted(with_gpu & set(nics.values())))}
    return (
        {device: roots[root] for device, root in nics.items() if root in roots}
        if len(roots) > 1
        else {}
    )


def _clique(aligner: Aligner, node: str) -> str | None:
    """The NVLink clique of a node's GPUs: the label that NVIDIA's feature discovery sets, else that of its machine."""
    label = aligner.nodes[node].labels.get(_CLIQUE) if node in aligner.nodes else None
    if label:
        return str(label)
    known = aligner.levels.get(node)
    names = {clique.name for clique in cliques(known.machine)} if known is not None else set()
    return names.pop() if len(names) == 1 else None
