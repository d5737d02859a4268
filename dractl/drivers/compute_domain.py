"""``compute-domain.nvidia.com``: IMEX channels of NVLink domains that span nodes.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/compute-domain-kubelet-plugin, deployments/helm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers import nvidia_start, nvidia_versions
from dractl.drivers.nvidia_catalogue import since
from dractl.drivers.profile import (
    Attribute,
    Catalogue,
    Inventory,
    Options,
    Setting,
    device_class,
    one_slice,
)
from dractl.drivers.values import typed

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

NAME, VENDOR = "compute-domain.nvidia.com", "0x10de"
# Feature gates that are on by default, and the version that each came with.
_DNS_NAMES, _CRASH = "IMEXDaemonsWithDNSNames", "CrashOnNVLinkFabricErrors"
_OLDEST_DRIVER = "570.158.01"  # main.go, IMEXDaemonsWithDNSNamesMinDriverVersion

CATALOGUE = Catalogue(
    title="NVIDIA compute domains (IMEX channels over multi-node NVLink)",
    source="kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-kubelet-plugin",
    versions=nvidia_versions.VERSIONS,
    released=nvidia_versions.RELEASED,
    tags=nvidia_versions.TAGS,
    aliases=nvidia_versions.ALIASES,
    attributes=(
        Attribute("type", "string", "kind of device", values=("channel", "daemon")),
        Attribute("id", "int", "0: of a node's 2048 channels, one is published"),
    ),
    settings=(
        Setting(_DNS_NAMES, "true, false", f"feature gate (25.8): true refuses NVIDIA drivers before {_OLDEST_DRIVER}"),
        Setting(
            _CRASH, "true, false", "feature gate (25.12): true refuses GPUs that are not registered with their fabric"
        ),
    ),
    notes=(
        "published on every node with NVIDIA GPUs; without a multi-node NVLink fabric a compute domain joins no GPUs",
        "the NVLink clique is a node label (nvidia.com/gpu.clique), not an attribute",
    ),
)


class _ComputeDomain(Struct, frozen=True):
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

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        why = _why_not(machine, options)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")
        devices = (
            {"name": f"{kind}-0", "attributes": typed({"type": kind, "id": 0})} for kind in ("channel", "daemon")
        )
        return Inventory(one_slice(devices))


PROFILE = _ComputeDomain()


def _why_not(machine: Machine, options: Options) -> str | None:
    """NewDeviceState: the version of NVIDIA's driver, then the GPUs' place in the NVLink fabric (getCliqueID)."""
    why = nvidia_start.unreachable(machine)
    if why is not None:
        return why
    driver = machine.nvidia.driver_version if machine.nvidia is not None else None
    if since(options, "25.8", NAME) and options.flag(NAME, _DNS_NAMES, default=True) and driver and _older(driver):
        return (
            f"NVIDIA's driver {driver} is older than {_OLDEST_DRIVER}, which the feature gate {_DNS_NAMES} needs "
            f"({_DNS_NAMES}=false switches it off)"
        )
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.source == "nvml"]
    fabrics = [(gpu, gpu.fabric) for gpu in gpus if gpu.fabric is not None]
    strict = options.flag(NAME, _CRASH, default=True) and since(options, "25.12", NAME)
    for gpu, fabric in fabrics:
        if strict and fabric.state != "completed":
            return f"GPU {gpu.bdf} is not registered with its NVLink fabric: {fabric.state}"
    if len({fabric.cluster_uuid for _, fabric in fabrics} - {None}) > 1:
        return "its GPUs are of several NVLink clusters"
    if len({fabric.clique_id for _, fabric in fabrics} - {None}) > 1:
        return "its GPUs are of several NVLink cliques"
    return None


def _older(driver: str) -> bool:
    numbers = [[int(part) for part in text.split(".") if part.isdecimal()] for text in (driver, _OLDEST_DRIVER)]
    return numbers[0] < numbers[1]
