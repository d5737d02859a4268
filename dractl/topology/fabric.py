"""GPU fabrics: direct links between the GPUs of a node, and the NVLink domain that the node belongs
to.
"""

from msgspec import Struct

from dractl.topology.machine import Link, Machine

_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


class Mesh(Struct, frozen=True):
    """GPUs, as PCI addresses, with the same kind of direct link between any two of them: ``NV#`` or
    ``XGMI``.
    """

    level: str
    gpus: tuple[str, ...]


class Clique(Struct, frozen=True):
    """GPUs, as PCI addresses, of one NVLink partition; ``name`` is the value of the node label
    nvidia.com/gpu.clique.
    """

    name: str
    gpus: tuple[str, ...]


def meshes(machine: Machine) -> tuple[Mesh, ...]:
    """Return all direct links: one mesh if all GPUs are linked equally, otherwise pairs."""
    linked: list[Mesh] = []
    order = [gpu.bdf for gpu in machine.gpus if gpu.bdf is not None]
    for kind in ("nvlink", "xgmi"):
        links = [
            link for link in machine.links if link.kind == kind and (kind == "xgmi" or link.count)
        ]
        ends = {end for link in links for end in (link.a, link.b)}
        gpus = tuple(bdf for bdf in order if bdf in ends)
        levels = {_level(link) for link in links}
        if len(levels) == 1 and len(links) == len(gpus) * (len(gpus) - 1) // 2:
            linked.append(Mesh(levels.pop(), gpus))
        else:
            linked += [Mesh(_level(link), (link.a, link.b)) for link in links]
    return tuple(linked)


def _level(link: Link) -> str:
    return "XGMI" if link.kind == "xgmi" else f"NV{link.count}"


def cliques(machine: Machine) -> tuple[Clique, ...]:
    """Return the cliques of GPUs that belong to an NVLink domain. GPUs with a cluster UUID of zeros
    belong to none (go-nvlib, IsFabricAttached).
    """
    members: dict[str, list[str]] = {}
    for gpu in machine.gpus:
        fabric = gpu.fabric
        if (
            gpu.bdf is not None
            and fabric is not None
            and fabric.cluster_uuid not in (None, _NO_CLUSTER)
        ):
            members.setdefault(f"{fabric.cluster_uuid}.{fabric.clique_id}", []).append(gpu.bdf)
    return tuple(Clique(name, tuple(gpus)) for name, gpus in members.items())
