"""Rails: the RDMA NICs nearest to each GPU.

Sysfs does not show which switch a NIC is cabled to, but it does show which NICs a GPU should use:
the nearest ones. Among NICs of equal bandwidth, NCCL chooses by the same rule (src/graph/topo.cc,
ncclTopoGetLocal).
"""

from msgspec import Struct

from dractl.topology.levels import endpoints, nearest, rank
from dractl.topology.machine import Machine


class Rail(Struct, frozen=True):
    """A group of GPUs that have the same nearest NICs. Addresses are PCI addresses."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    level: str
    """The level between each of the GPUs and each of the NICs."""


def rails(machine: Machine) -> tuple[Rail, ...]:
    """Return the rails of the machine's GPUs; none without GPUs or RDMA NICs on PCI."""
    with_rdma = {device.bdf for device in machine.rdma_devices}
    devices = endpoints(machine)
    nics = [d.bdf for d in devices if d.kind in ("nic", "rdma") and d.bdf in with_rdma]
    levels = nearest(machine)
    gpus_by_nics: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for gpu in (d.bdf for d in devices if d.kind == "gpu" and nics):
        level = min((levels[gpu, nic] for nic in nics), key=rank)
        gpus_by_nics.setdefault(
            (tuple(nic for nic in nics if levels[gpu, nic] == level), level), []
        ).append(gpu)
    return tuple(
        Rail(tuple(gpus), nearest_nics, level)
        for (nearest_nics, level), gpus in gpus_by_nics.items()
    )
