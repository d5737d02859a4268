"""``hami-core-gpu.project-hami.io``: NVIDIA GPUs that HAMi shares by cores and memory.

Source: Project-HAMi/k8s-dra-driver@ebeaad9 cmd/hami-kubelet-plugin/hami_core.go.
"""

from typing import Any

from dractl.drivers.agent import make_shareable, steps
from dractl.drivers.nvidia import start as nvidia_start
from dractl.drivers.nvidia.devices import product
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import pcie_root
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.topology.machine import Gpu, Machine

NAME = "hami-core-gpu.project-hami.io"


_POLICIES = {"cores": steps("0", "1"), "memory": steps("1Mi", "1Mi")}


class _Hami(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == "0x10de" and gpu.minor is not None for gpu in machine.gpus)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        why = nvidia_start.nvml_fault(machine)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")
        gpus = [gpu for gpu in machine.gpus if gpu.vendor == "0x10de" and gpu.minor is not None]
        return Inventory(single_slice(_device(gpu, machine) for gpu in gpus))


PROFILE = _Hami(NAME)


def _device(gpu: Gpu, machine: Machine) -> dict[str, Any]:
    pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
    domain, _, bus_and_function = (gpu.bdf or "").partition(":")
    attributes = {
        "type": "hami-gpu",
        "uuid": gpu.uuid,
        "minor": gpu.minor,
        **product(gpu, machine),
        "pcieBusID": f"{int(domain, 16):08x}:{bus_and_function}" if bus_and_function else None,
        **pcie_root(pci),
    }
    capacity = {"cores": {"value": "100"}}
    if gpu.memory_bytes is not None:
        capacity["memory"] = {"value": binary_quantity(gpu.memory_bytes)}
    device = {
        "name": f"hami-gpu-{gpu.minor}",
        "attributes": to_attributes(attributes),
        "capacity": capacity,
    }
    return make_shareable(device, _POLICIES)
