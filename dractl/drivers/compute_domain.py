"""``compute-domain.nvidia.com``: IMEX channels of NVLink domains that span nodes.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/compute-domain-kubelet-plugin, deployments/helm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers.profile import Attribute, Catalogue, Inventory, Options, device_class, one_slice, version_index
from dractl.drivers.values import typed

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

NAME, VENDOR = "compute-domain.nvidia.com", "0x10de"

CATALOGUE = Catalogue(
    title="NVIDIA compute domains (IMEX channels over multi-node NVLink)",
    source="kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-kubelet-plugin",
    versions=("0.1", "0.2", "0.3", "0.4", "0.5"),
    released="0.4",
    attributes=(
        Attribute("type", "string", "kind of device", values=("channel", "daemon")),
        Attribute("id", "int", "0: of a node's 2048 channels, one is published"),
    ),
    notes=(
        "published on every node with NVIDIA GPUs; without a multi-node NVLink fabric a compute domain joins no GPUs",
        "the NVLink clique is a node label (nvidia.com/gpu.clique), not an attribute",
    ),
)


@dataclass(frozen=True, slots=True)
class _ComputeDomain:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        """The chart runs it on every GPU node (values.yaml resources.computeDomains), with NVLink fabric or without."""
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        kind = f"device.driver == '{NAME}' && device.attributes['{NAME}'].type"
        return (
            device_class("compute-domain-daemon.nvidia.com", f"{kind} == 'daemon'"),
            device_class(
                "compute-domain-default-channel.nvidia.com",
                f"{kind} == 'channel' && device.attributes['{NAME}'].id == 0",
            ),
        )

    def inventory(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        devices = (
            {"name": f"{kind}-0", "attributes": typed({"type": kind, "id": 0})} for kind in ("channel", "daemon")
        )
        return Inventory(one_slice(devices))


PROFILE = _ComputeDomain()
