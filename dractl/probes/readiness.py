"""Checks whether a node has everything that DRA needs: kernel drivers, libraries, links, CDI, the
runtime, kubelet's plugin registry.

Everything is read from one root, so the file system of a host that is mounted elsewhere can be
checked too.
"""

import re
from collections.abc import Iterator, Sequence

from dractl.probes.cdi import CDI_FOLDERS, absent_paths, cdi_fault, cdi_files, specification
from dractl.probes.classes import NVIDIA
from dractl.probes.root import SysRoot
from dractl.probes.services import (
    Check,
    State,
    cdi_folders,
    checkpoint,
    kubelet,
    network,
    registry,
    runtime,
)
from dractl.topology.levels import endpoints
from dractl.topology.links import has_link, slow_links
from dractl.topology.machine import Machine, PciDevice
from dractl.topology.units import show_bytes

_LIBRARIES = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "run/nvidia/driver/usr/lib64",
)
_PASSTHROUGH = frozenset({"vfio-pci", "uio_pci_generic", "igb_uio", "pci-stub"})


def checks(machine: Machine, root: SysRoot, drivers: Sequence[str]) -> tuple[Check, ...]:
    """Return all checks of ``root``, from which ``machine`` was read; ``drivers`` are the DRA
    drivers with hardware on it.
    """
    container_runtime = runtime(root)
    return (
        *_kernel_drivers(machine),
        *_nvidia_library(machine, root),
        *_links(machine),
        *_device_nodes(machine, root),
        *_cdi(root),
        *cdi_folders(root, container_runtime),
        *container_runtime.checks,
        *network(root, container_runtime),
        *kubelet(root),
        *registry(root, drivers, container_runtime),
        *checkpoint(root, container_runtime),
        _iommu(machine),
        *_sriov(machine),
        _huge_pages(machine),
    )


def _kernel_drivers(machine: Machine) -> Iterator[Check]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for device in machine.pci_devices:
        if device.kind in ("gpu", "accelerator") and not _virtual_function(device):
            groups.setdefault((device.kind, device.driver), []).append(device.bdf)
    if not groups:
        yield Check("kernel driver", "ok", "no GPU or accelerator on PCI needs one")
    for (kind, driver), addresses in groups.items():
        subject = (
            f"{kind} {addresses[0]}"
            if len(addresses) == 1
            else f"{len(addresses)} {kind}s, {', '.join(addresses)}"
        )
        yield _kernel_driver(subject, driver)


def _kernel_driver(subject: str, driver: str | None) -> Check:
    if driver is None:
        advice = "load the vendor's kernel driver; no DRA driver publishes the device without it"
        return Check("kernel driver", "missing", f"no driver is bound to {subject}", advice)
    if driver in _PASSTHROUGH:
        advice = "only DRA drivers that pass devices through to VMs publish it"
        return Check("kernel driver", "warning", f"{driver} is bound to {subject}", advice)
    if driver == "nouveau":
        advice = "blocklist nouveau and load NVIDIA's kernel driver"
        return Check("kernel driver", "missing", f"nouveau is bound to {subject}", advice)
    return Check("kernel driver", "ok", f"{driver} is bound to {subject}")


def _virtual_function(device: PciDevice) -> bool:
    return device.physical_function is not None


def _nvidia(machine: Machine) -> bool:
    return any(d.kind == "gpu" and d.vendor == NVIDIA for d in machine.pci_devices)


def _nvidia_library(machine: Machine, root: SysRoot) -> Iterator[Check]:
    if not _nvidia(machine):
        return
    kernel = re.search(
        r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s", root.text("proc/driver/nvidia/version") or ""
    )
    module = kernel[1] if kernel else None
    if machine.nvidia is not None and machine.nvidia.driver_version:
        yield Check(
            "NVML",
            "ok",
            f"driver {machine.nvidia.driver_version}, CUDA {machine.nvidia.cuda_driver_version}",
        )
    else:
        libraries = [
            f"{folder}/{name}"
            for folder in _LIBRARIES
            for name in root.names(folder)
            if _is_nvml(name)
        ]
        versions = {version for path in libraries if (version := _version(path))}
        advice = (
            "install the NVIDIA driver's libraries with the version of the loaded kernel module"
        )
        if not libraries and not root.is_directory("usr"):
            advice = "give the host's whole root with --root DIR, or run on the node itself"
            yield Check("NVML", "unknown", "no /usr here to look for libnvidia-ml.so in", advice)
        elif not libraries:
            why = next(
                (n.message for n in machine.notes if n.about == "nvml"),
                "no libnvidia-ml.so in the usual folders",
            )
            yield Check("NVML", "missing", why, advice)
        elif module and versions and module not in versions:
            versions_seen = f"library {', '.join(sorted(versions))}, kernel module {module}"
            yield Check(
                "NVML",
                "missing",
                versions_seen,
                "reload the kernel module or reboot: both must have the same version",
            )
        else:
            yield Check("NVML", "ok", f"/{libraries[0]}")
    for gpu in machine.gpus:
        if gpu.health in ("lost", "reset-required"):
            yield Check(
                "GPU health",
                "missing",
                f"{gpu.bdf}: {gpu.health}",
                "reset the GPU or reboot the node",
            )


def _links(machine: Machine) -> Iterator[Check]:
    slow = slow_links(machine)
    for link in slow:
        seen, _, advice = link.text.partition("; ")
        yield Check(
            "PCIe links", "warning", f"{link.device.kind} {link.device.bdf}: {seen}", advice
        )
    count = sum(has_link(device) for device in endpoints(machine))
    if count and not slow:
        plural = "" if count == 1 else "s"
        yield Check(
            "PCIe links", "ok", f"{count} link{plural}, as wide and fast as both ends allow"
        )
    elif endpoints(machine) and not count:
        yield Check(
            "PCIe links", "unknown", "this tree does not show the width and speed of any link"
        )


def _is_nvml(name: str) -> bool:
    return name.startswith("libnvidia-ml.so.")


def _version(path: str) -> str | None:
    match = re.search(r"\.so\.(\d+\.\d+(?:\.\d+)?)$", path)
    return match[1] if match else None


def _device_nodes(machine: Machine, root: SysRoot) -> Iterator[Check]:
    if not root.is_directory("dev"):
        yield Check(
            "device nodes",
            "unknown",
            "there is no /dev here",
            "mount the host's /dev below the root",
        )
        return
    present = set(root.names("dev"))
    if _nvidia(machine):
        count = sum(1 for name in present if re.fullmatch(r"nvidia\d+", name))
        wanted = sum(
            1
            for d in machine.pci_devices
            if d.driver == "nvidia" and d.kind == "gpu" and not _virtual_function(d)
        )
        missing = [name for name in ("nvidiactl", "nvidia-uvm") if name not in present]
        if missing or count < wanted:
            seen = f"{count} of {wanted} /dev/nvidiaN" + "".join(
                f", no /dev/{name}" for name in missing
            )
            advice = "run nvidia-modprobe or nvidia-persistenced at boot to create them"
            yield Check("device nodes", "missing", seen, advice)
        else:
            yield Check(
                "device nodes", "ok", f"{count} /dev/nvidiaN, /dev/nvidiactl, /dev/nvidia-uvm"
            )
    if any(d.driver == "amdgpu" for d in machine.pci_devices):
        state: State = "ok" if "kfd" in present else "missing"
        seen = "/dev/kfd" if state == "ok" else "no /dev/kfd"
        yield Check(
            "device nodes",
            state,
            seen,
            "" if state == "ok" else "load amdgpu with KFD support (CONFIG_HSA_AMD)",
        )


def _cdi(root: SysRoot) -> Iterator[Check]:
    folders = [folder for folder in CDI_FOLDERS if root.is_directory(folder)]
    real = {root.real(folder): folder for folder in reversed(folders)}
    if not real:
        advice = (
            "DRA drivers create /var/run/cdi when they prepare the first claim; check that the"
            " runtime can read it"
        )
        yield Check("CDI", "unknown", "neither /etc/cdi nor /var/run/cdi exists", advice)
        return
    paths = [path for folder in real.values() for path in cdi_files(root, folder)]
    for path in paths:
        fault = cdi_fault(root.bytes(path))
        if fault:
            advice = (
                "fix or remove the file: the runtime ignores it, and containers with its devices do"
                " not start"
            )
            yield Check("CDI", "missing", f"/{path}: {fault}", advice)
        elif root.is_directory("dev") and (absent := absent_paths(root, specification(root, path))):
            advice = (
                "see why it is absent (the kernel driver makes device nodes): containers with the"
                " device do not start"
            )
            yield Check(
                "CDI",
                "missing",
                f"/{path} names {', '.join(absent[:3])}, which does not exist here",
                advice,
            )
    count = len(paths)
    places = " and ".join(f"/{folder}" for folder in real.values())
    yield Check("CDI", "ok", f"{count} specification{'' if count == 1 else 's'} in {places}")


def _iommu(machine: Machine) -> Check:
    if machine.host.iommu is None:
        return Check("IOMMU", "unknown", "/sys/kernel/iommu_groups is missing")
    if machine.host.iommu:
        return Check("IOMMU", "ok", "on" + (", /dev/iommu exists" if machine.host.iommufd else ""))
    advice = (
        "enable it in the firmware (and boot with intel_iommu=on on Intel) if devices are passed"
        " through to VMs"
    )
    return Check("IOMMU", "warning", "off: there are no IOMMU groups", advice)


def _sriov(machine: Machine) -> Iterator[Check]:
    for device in machine.pci_devices:
        if device.sriov and device.sriov.total_vfs and device.kind in ("nic", "rdma"):
            active = device.sriov.num_vfs or 0
            seen = (
                f"{device.bdf} {' '.join(device.names)}: {active} of {device.sriov.total_vfs}"
                " virtual functions"
            )
            advice = "write a number to sriov_numvfs if pods should get virtual functions"
            yield Check(
                "SR-IOV",
                "ok" if active else "warning",
                " ".join(seen.split()),
                "" if active else advice,
            )


def _huge_pages(machine: Machine) -> Check:
    reserved = [
        f"node {node.id}: {pages.total} of {show_bytes(pages.size_bytes)}"
        for node in machine.numa_nodes
        for pages in node.huge_pages
        if pages.total
    ]
    advice = "reserve some (vm.nr_hugepages, hugepagesz=1G hugepages=N) if workloads request them"
    return (
        Check("huge pages", "ok", ", ".join(reserved))
        if reserved
        else Check("huge pages", "warning", "none", advice)
    )
