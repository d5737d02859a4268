"""Meshes and cliques of GPUs."""

from __future__ import annotations

from dractl.topology.fabric import Clique, Mesh, cliques, meshes
from dractl.topology.machine import Fabric, Gpu, Link, Machine

_A, _B, _C = "0000:01:00.0", "0000:02:00.0", "0000:03:00.0"
_CLUSTER = "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"


def machine(*links: Link, fabrics: dict[str, Fabric] | None = None) -> Machine:
    return Machine(
        gpus=tuple(Gpu(bdf, fabric=(fabrics or {}).get(bdf)) for bdf in (_A, _B, _C)), links=links
    )


def test_equal_links_between_all_gpus_are_one_mesh() -> None:
    links = [Link(a, b, "nvlink", 18) for a, b in ((_A, _B), (_A, _C), (_B, _C))]
    assert meshes(machine(*links)) == (Mesh("NV18", (_A, _B, _C)),)


def test_unequal_or_missing_links_are_pairs() -> None:
    unequal = machine(
        Link(_A, _B, "nvlink", 2), Link(_A, _C, "nvlink", 1), Link(_B, _C, "nvlink", 2)
    )
    assert meshes(unequal) == (Mesh("NV2", (_A, _B)), Mesh("NV1", (_A, _C)), Mesh("NV2", (_B, _C)))
    assert meshes(machine(Link(_A, _B, "nvlink", 4), Link(_B, _C, "nvlink", 4))) == (
        Mesh("NV4", (_A, _B)),
        Mesh("NV4", (_B, _C)),
    )


def test_levels_of_nvml_are_not_links() -> None:
    assert meshes(machine(Link(_A, _B, "pcie", level="PIX"))) == ()


def test_gpus_of_one_clique() -> None:
    fabrics = {_A: Fabric("completed", _CLUSTER, 7), _B: Fabric("completed", _CLUSTER, 7)}
    assert cliques(machine(fabrics=fabrics)) == (Clique(f"{_CLUSTER}.7", (_A, _B)),)


def test_a_cluster_of_zeros_is_none() -> None:
    """go-nvlib's IsFabricAttached: every HGX H100 has this one."""
    zeros = Fabric("completed", "00000000-0000-0000-0000-000000000000", 0)
    assert cliques(machine(fabrics={_A: zeros})) == ()
