"""The reasons why ``gpu.nvidia.com`` does not start on a machine: one fact that NVML refuses ends
the enumeration of all GPUs.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/nvlib.go (getGpuInfo,
getMigDevices, GetPerGpuAllocatableDevices); NVIDIA/go-nvlib, pkg/nvlib/device (VisitDevices,
GetArchitectureAsString, NewMigProfile).
"""

from dractl.drivers.nvidia.devices import is_unnamed, profiles_known_to_driver
from dractl.drivers.nvidia.names import NAME, VENDOR
from dractl.drivers.nvidia.vfio import vfio_gpus
from dractl.drivers.profile import Options
from dractl.drivers.standard import pcie_root
from dractl.drivers.values import version
from dractl.topology.machine import Gpu, Machine

_HEALTH = {
    "lost": "GPU {0} is lost (GPU_IS_LOST); a driver that runs already keeps its slices",
    "reset-required": "GPU {0} needs a reset (RESET_REQUIRED)",
}
_NEEDED = {
    "uuid": "UUID",
    "name": "name",
    "minor": "minor number",
    "brand": "brand that the driver knows",
    "architecture": "architecture that the driver knows",
    "cuda_compute_capability": "CUDA compute capability",
}
_FAILURES = {
    "DRIVER_NOT_LOADED": "the NVIDIA kernel driver is not loaded",
    "LIB_RM_VERSION_MISMATCH": (
        "the NVML library and the loaded kernel driver have different versions"
    ),
}
_NEW_ARCHITECTURES = {"Rubin": "rubin"}  # by name, the driver's change that added it


def start_fault(
    machine: Machine, options: Options, *, passthrough: bool, dynamic: bool
) -> str | None:
    """Return the first reason why the driver does not start; None if it starts."""
    if passthrough and machine.host.iommu is False:
        return "passthroughSupport needs an IOMMU, and none is enabled"
    if passthrough and options.has(NAME, "vfio-devices") and not machine.numa_nodes:
        # go-nvlib pkg/nvpci reads numa_node of every NVIDIA and Mellanox function, and the file
        # exists only in kernels with CONFIG_NUMA.
        return "passthroughSupport needs the NUMA node of each GPU, and the kernel knows none"
    modules = machine.host.module_aliases is not False or not options.has(NAME, "vfio-variants")
    if passthrough and not modules and any(vfio_gpus(machine)):
        # go-nvlib pkg/nvpassthrough FindBestVFIOVariant, called for each GPU.
        return (
            f"passthroughSupport needs /lib/modules/{machine.host.kernel}/modules.alias, which is"
            " missing"
        )
    lost = nvml_fault(machine)
    if lost is not None:
        return lost
    nvidia = machine.nvidia
    for gpu in machine.gpus:
        why = _gpu_fault(gpu, machine, options, dynamic=dynamic) if gpu.vendor == VENDOR else None
        if why is not None:
            return why
    if nvidia is not None and any(gpu.source == "nvml" for gpu in machine.gpus):
        for component, text in (
            ("driver", nvidia.driver_version),
            ("CUDA driver", nvidia.cuda_driver_version),
        ):
            if text is None:
                return f"NVML does not report the {component} version"
            if version(text) is None:
                return f"the {component} version {text!r} is not a version"
    return None


def nvml_fault(machine: Machine) -> str | None:
    """Return the reason why NVML does not answer, or does not answer for one GPU; None if it
    answers for all GPUs.
    """
    nvidia = machine.nvidia
    if nvidia is not None and nvidia.failure is not None:
        return f"NVML does not start: {_FAILURES.get(nvidia.failure, nvidia.failure)}"
    if nvidia is not None and nvidia.unreachable:
        lost = [str(gpu.bdf) for gpu in machine.gpus if gpu.health == "lost"]
        which = "1 GPU is" if nvidia.unreachable == 1 else f"{nvidia.unreachable} GPUs are"
        if lost:
            which = f"GPU {', '.join(lost)} is"
        return (
            f"{which} out of NVML's reach (GPU_IS_LOST); a driver that runs already keeps its"
            " slices"
        )
    for gpu in machine.gpus:
        if gpu.vendor == VENDOR and gpu.health in _HEALTH:
            return _HEALTH[gpu.health].format(gpu.bdf)
    return None


def _gpu_fault(gpu: Gpu, machine: Machine, options: Options, *, dynamic: bool) -> str | None:
    if gpu.source != "nvml":
        return None
    if gpu.bdf is None:
        return f"NVML reports no PCI address of GPU {gpu.index}"
    for name, fact in _NEEDED.items():
        if getattr(gpu, name) is None:
            return f"NVML reports no {fact} of GPU {gpu.bdf}"
    if gpu.refused is not None:
        return f"NVML fails to report a fact of GPU {gpu.bdf}: {gpu.refused}"
    if gpu.architecture in _NEW_ARCHITECTURES and not options.has(
        NAME, _NEW_ARCHITECTURES[gpu.architecture]
    ):
        return (
            f"the architecture of GPU {gpu.bdf}, {gpu.architecture}, is newer than this version of"
            " the driver"
        )
    if gpu.memory_bytes is None and not options.has(NAME, "unified-memory"):
        return f"NVML reports no memory size of GPU {gpu.bdf}, which versions before 0.4 need"
    if len(str(gpu.bdf).partition(":")[0]) > 4 and options.has(NAME, "four-digit-domains"):
        return f"the PCI domain of GPU {gpu.bdf} has more than four digits"
    pci = machine.pci.get(str(gpu.bdf))
    is_placed = pci is None or pci.path
    if is_placed and not options.has(NAME, "optional-root") and not any(pcie_root(pci).values()):
        return f"the PCIe root of GPU {gpu.bdf} is unknown, and 25.3 needs it"
    return _mig_fault(gpu, options, dynamic=dynamic)


def _mig_fault(gpu: Gpu, options: Options, *, dynamic: bool) -> str | None:
    unnamed = next((profile for profile in gpu.mig_profiles if is_unnamed(profile)), None)
    if unnamed is not None and options.has(NAME, "graphics-profiles"):
        return f"GPU {gpu.bdf} offers the MIG profile {unnamed.name}, which go-nvlib cannot name"
    if (
        dynamic
        and options.has(NAME, "dynamic-mig-checks")
        and gpu.mig_mode is not None
        and gpu.virtualization == "unknown"
    ):
        return f"NVML reports no virtualization mode of GPU {gpu.bdf}"
    # Unless a GPU is a vGPU, the driver makes its MIG devices itself, and then does not look for
    # existing ones.
    if dynamic and (not options.has(NAME, "dynamic-mig-checks") or gpu.virtualization != "vgpu"):
        return None
    # partitions.go PartGetDevice of a MigStaticDeviceType
    if dynamic and gpu.mig_mode and gpu.mig_devices:
        return (
            f"GPU {gpu.bdf} is a vGPU with MIG devices, and dynamicMIG makes the driver panic on"
            " them"
        )
    if gpu.mig_mode and gpu.mig_refused is not None:
        return f"NVML fails to report a fact of the MIG devices of GPU {gpu.bdf}: {gpu.mig_refused}"
    profiles = {profile.id: profile for profile in profiles_known_to_driver(gpu, options)}
    for mig in gpu.mig_devices if gpu.mig_mode else ():
        profile = profiles.get(mig.profile_id)
        if profile is None:
            return f"GPU {gpu.bdf} has MIG device {mig.uuid} of an unknown profile"
        if mig.compute_slices not in (None, profile.slices):
            return (
                f"GPU {gpu.bdf} has MIG device {mig.uuid}, a compute instance of"
                f" {mig.compute_slices} of the {profile.slices} slices of its GPU instance"
            )
    return None
