"""Claims that hold devices of a described machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.alignment import Aligner
from dractl.allocation import Features
from dractl.cluster import sources
from dractl.drivers import Options, render
from dractl.machines import machine
from dractl.model import Target
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import claim, node, request

if TYPE_CHECKING:
    from dractl.alignment import Alignment
    from dractl.cluster.state import ClusterState
    from dractl.topology.machine import Machine

CLASSES = {"gpu": ("gpu.nvidia.com", "gpu.nvidia.com"), "nic": ("dranet", "dra.net")}


def holding(name: str, where: str, pod: str | None = None, **devices: list[str]) -> dict[str, Any]:
    """A claim with devices: ``gpu=[...]``, ``nic=[...]``; reserved for ``pod``."""
    results = [
        {"request": kind, "driver": CLASSES[kind][1], "pool": where, "device": each}
        for kind, names in devices.items()
        for each in names
    ]
    requests = [request(kind, CLASSES[kind][0], len(names)) for kind, names in devices.items()]
    reserved = (
        {"reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}]} if pod else {}
    )
    return claim(
        name, *requests, status={"allocation": {"devices": {"results": results}}, **reserved}
    )


def cluster(
    hardware: Machine | str,
    *objects: dict[str, Any],
    nodes: tuple[str, ...] = ("n",),
    known: bool = False,
) -> ClusterState:
    """A cluster of nodes with the hardware. ``known``: dractl knows the machines, not only the slices."""
    found = machine(hardware) if isinstance(hardware, str) else hardware
    rendered = [
        item
        for name in nodes
        for item in (
            *render(found, Options(name, Target.of("1.37")), device_classes=True).objects,
            node(name),
        )
    ]
    state = sources.of_objects([*rendered, *objects])
    return state.on(dict.fromkeys(nodes, (found, "snapshot"))) if known else state


def alignments(state: ClusterState, name: str = "c") -> dict[tuple[str, str], Alignment]:
    """The alignments of a claim by the kinds of devices."""
    aligner = Aligner(Scheduler(state, Features.for_release("1.37")))
    value = state.get("ResourceClaim", ("ml", name))
    assert value is not None
    return {found.kinds: found for found in aligner.of_claims([value])}
