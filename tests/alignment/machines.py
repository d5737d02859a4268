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

# dgx-h100: a GPU and its NIC on each of eight PCIe roots, four roots on each socket.
DGX_GPUS = [f"gpu-{n}" for n in range(8)]
DGX_NICS = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]

CLASSES = {"gpu": "gpu.nvidia.com", "nic": "dranet"}
DRIVERS = {"gpu": "gpu.nvidia.com", "nic": "dra.net"}


def allocated_claim(
    name: str, node_name: str, pod: str | None = None, **devices: list[str]
) -> dict[str, Any]:
    """Return a claim with devices, ``gpu=[...]`` and ``nic=[...]``, that is reserved for a pod."""
    requests = [request(kind, CLASSES[kind], len(names)) for kind, names in devices.items()]
    allocated = [
        {"request": kind, "driver": DRIVERS[kind], "pool": node_name, "device": device}
        for kind, names in devices.items()
        for device in names
    ]
    status: dict[str, Any] = {"allocation": {"devices": {"results": allocated}}}
    if pod is not None:
        status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"}]
    return claim(name, *requests, status=status)


def cluster(
    hardware: Machine | str,
    *objects: dict[str, Any],
    nodes: tuple[str, ...] = ("n",),
    with_snapshots: bool = False,
) -> ClusterState:
    """Return a cluster of nodes with the hardware, of which slices show only a part."""
    node_machine = machine(hardware) if isinstance(hardware, str) else hardware
    rendered: list[Any] = []
    for name in nodes:
        options = Options(name, Target.of("1.37"))
        rendered += [*render(node_machine, options, device_classes=True).objects, node(name)]
    state = sources.from_objects([*rendered, *objects])
    return (
        state.with_machines(dict.fromkeys(nodes, (node_machine, "snapshot")))
        if with_snapshots
        else state
    )


def scheduler_of(state: ClusterState) -> Scheduler:
    return Scheduler(state, Features.for_release("1.37"))


def align_claim(state: ClusterState, name: str = "c") -> dict[tuple[str, str], Alignment]:
    """Return the alignments of a claim by the kinds of devices."""
    value = state.get("ResourceClaim", ("ml", name))
    assert value is not None
    alignments = Aligner(scheduler_of(state)).align_claims([value])
    return {alignment.kinds: alignment for alignment in alignments}
