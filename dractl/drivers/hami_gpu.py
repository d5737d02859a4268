"""``hami-core-gpu.project-hami.io``: NVIDIA GPUs that HAMi shares by cores and memory.

Source: Project-HAMi/k8s-dra-driver@ebeaad9 cmd/hami-kubelet-plugin/hami_core.go.
"""

from typing import Any

from dractl.drivers.agent import shared, steps
from dractl.drivers.nvidia import start as nvidia_start
from dractl.drivers.nvidia.devices import product
from dractl.drivers.profile import Inventory, Known, Options, one_slice
from dractl.drivers.standard import pcie_root
from dractl.drivers.values import binary_quantity, typed
from dractl.topology.machine import Gpu, Machine

NAME = "hami-core-gpu.project-hami.io"


_POLICIES = {"cores": steps("0", "1"), "memory": steps("1Mi", "1Mi")}


class _Hami(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == "0x10de" and gpu.minor is not None for gpu in machine.gpus)

    def found(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        why = nvidia_start.unreachable(machine)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")
        gpus = [gpu for gpu in machine.gpus if gpu.vendor == "0x10de" and gpu.minor is not None]
        return Inventory(one_slice(_device(gpu, machine) for gpu in gpus))


PROFILE = _Hami(NAME)


def _device(gpu: Gpu, machine: Machine) -> dict[str, Any]:
    pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
    domain, _, rest = (gpu.bdf or "").partition(":")
    found = {
        "type": "hami-gpu",
        "uuid": gpu.uuid,
        "minor": gpu.minor,
        **product(gpu, machine),
        "pcieBusID": f"{int(domain, 16):08x}:{rest}" if rest else None,
        **pcie_root(pci),
    }
    capacity = {"cores": {"value": "100"}}
    if gpu.memory_bytes is not None:
        capacity["memory"] = {"value": binary_quantity(gpu.memory_bytes)}
    device = {"name": f"hami-gpu-{gpu.minor}", "attributes": typed(found), "capacity": capacity}
    return shared(device, _POLICIES)
