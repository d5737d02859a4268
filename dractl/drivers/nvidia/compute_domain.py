"""``compute-domain.nvidia.com``: IMEX channels of NVLink domains that span nodes.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/compute-domain-kubelet-plugin, deployments/helm.
"""

from dractl.drivers.nvidia import start as nvidia_start
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.topology.machine import Machine

NAME, VENDOR = "compute-domain.nvidia.com", "0x10de"
# Feature gates that are on by default, each with the version that introduced it.
_DNS_NAMES, _CRASH = "IMEXDaemonsWithDNSNames", "CrashOnNVLinkFabricErrors"
# Off by default; used with imex.mode hostManaged (driver.go, computeDomainPublishedDevices).
_HOST_IMEX = "HostManagedIMEXDaemon"
_OLDEST_DRIVER = "570.158.01"  # main.go, IMEXDaemonsWithDNSNamesMinDriverVersion


class _ComputeDomain(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        """Return True on every GPU node, since the chart runs the driver on GPU nodes with and
        without an NVLink fabric (values.yaml resources.computeDomains).
        """
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        why = _start_fault(machine, options)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")
        by_host = options.flag(NAME, _HOST_IMEX) and options.has(NAME, "host-imex")
        devices = (
            {"name": f"{kind}-0", "attributes": to_attributes({"type": kind, "id": 0})}
            for kind in (("channel",) if by_host else ("channel", "daemon"))
        )
        return Inventory(single_slice(devices))


PROFILE = _ComputeDomain(NAME)


def _start_fault(machine: Machine, options: Options) -> str | None:
    """Return the reason why NewDeviceState fails: the version of NVIDIA's driver, then the GPUs'
    place in the NVLink fabric (getCliqueID).
    """
    why = nvidia_start.nvml_fault(machine)
    if why is not None:
        return why
    driver = machine.nvidia.driver_version if machine.nvidia is not None else None
    if (
        options.has(NAME, "dns-names")
        and options.flag(NAME, _DNS_NAMES, default=True)
        and driver
        and _older(driver)
    ):
        return (
            f"NVIDIA's driver {driver} is older than {_OLDEST_DRIVER}, which the feature gate"
            f" {_DNS_NAMES} needs ({_DNS_NAMES}=false switches it off)"
        )
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.source == "nvml"]
    fabrics = [(gpu, gpu.fabric) for gpu in gpus if gpu.fabric is not None]
    strict = options.flag(NAME, _CRASH, default=True) and options.has(NAME, "fabric-errors")
    for gpu, fabric in fabrics:
        if strict and fabric.state != "completed":
            return f"GPU {gpu.bdf} is not registered with its NVLink fabric: {fabric.state}"
    if len({fabric.cluster_uuid for _, fabric in fabrics} - {None}) > 1:
        return "its GPUs are of several NVLink clusters"
    if len({fabric.clique_id for _, fabric in fabrics} - {None}) > 1:
        return "its GPUs are of several NVLink cliques"
    return None


def _older(driver: str) -> bool:
    numbers = [
        [int(part) for part in text.split(".") if part.isdecimal()]
        for text in (driver, _OLDEST_DRIVER)
    ]
    return numbers[0] < numbers[1]
