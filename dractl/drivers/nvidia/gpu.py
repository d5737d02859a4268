"""``gpu.nvidia.com``: NVIDIA's GPU driver, with full GPUs and MIG devices (either kind also as a
partition with counters), GPUs for passthrough, and shares.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin (nvlib.go, driver.go),
deployments/helm.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl import facts
from dractl.drivers.nvidia import shares as nvidia_shares, start as nvidia_start
from dractl.drivers.nvidia.devices import full, partial, static_mig
from dractl.drivers.nvidia.names import FABRIC_MANAGER, LIST_ATTRIBUTES, NAME, VENDOR
from dractl.drivers.nvidia.partitions import is_partitionable, partitions
from dractl.drivers.nvidia.vfio import vfio_devices
from dractl.drivers.profile import Inventory, Known, Options, Slice, single_slice
from dractl.errors import UsageError
from dractl.program import program_name
from dractl.topology.machine import Gpu, Machine

_SKIPPED = ("DGX Display", "NVIDIA DGX Display")  # go-nvlib's default skip list


class _Nvidia(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        dynamic, passed, managed = (
            options.flag(NAME, name)
            for name in ("dynamicMIG", "passthroughSupport", FABRIC_MANAGER)
        )
        options.flag(NAME, LIST_ATTRIBUTES)
        shares = nvidia_shares.parse_shares(options)
        if dynamic and passed:
            raise UsageError(
                f"{NAME}: dynamicMIG and passthroughSupport cannot be combined; the driver refuses"
                " that"
            )
        why = nvidia_start.start_fault(machine, options, passthrough=passed, dynamic=dynamic)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")

        def share(device: dict[str, Any]) -> dict[str, Any]:
            return device if shares is None else nvidia_shares.apply_shares(device, shares)

        collected = _Collected()
        for gpu in _gpus(machine, options):
            _add(collected, gpu, machine, options, share, dynamic=dynamic, vfio=passed)
        if passed and options.has(NAME, "vfio-devices"):
            for device, unknown in vfio_devices(machine, options):
                collected.others.append(device)
                if unknown:
                    collected.comments[device["name"]] = "; ".join(unknown)
        elif passed:
            collected.notices.append(
                f"{NAME}: 25.12 has the gate PassthroughSupport, but finds no vfio device with it"
            )
        if collected.partial:
            gpus = f"{collected.partial} GPU{'s' if collected.partial > 1 else ''}"
            collected.notices.append(
                f"{NAME}: {gpus} known from PCI alone: model, memory and versions are unknown here,"
                f" and names may differ; a snapshot taken on the node ({program_name()} discover"
                " --save) has them"
            )
        if dynamic and not collected.counter_sets:
            off = any(gpu.mig_mode is False and gpu.mig_profiles for gpu in machine.gpus)
            why = (
                "MIG mode is off, and these GPUs need a reset to switch it on (--hardware"
                " SPEC,mig=on describes it)"
            )
            reason = why if off else "no GPU can be partitioned"
            collected.notices.append(f"{NAME}: dynamicMIG changes nothing here: {reason}")
        if managed:
            collected.notices.append(
                f"{NAME}: partition1 to partition8 are left out: only Fabric Manager knows them"
            )
        slices = _by_gpu(collected, machine, options) if dynamic else single_slice(collected.others)
        lacking = _unread_attributes(collected.others) if collected.partial else frozenset()
        return Inventory(
            slices,
            collected.comments,
            collected.left_out,
            tuple(collected.notices),
            unknown=lacking,
        )


PROFILE = _Nvidia(NAME)


def _unread_attributes(devices: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the attributes and capacities that the driver publishes for a GPU and
    that these devices lack.
    """
    attributes_known = {name for device in devices for name in device["attributes"]}
    rows = facts.driver(NAME)
    published = [row.name for row in rows.attributes] + [row.name for row in rows.capacities]
    names = (name for name in published if name not in attributes_known)
    return frozenset(name if "/" in name else f"{NAME}/{name}" for name in names)


class _Collected(Struct):
    """Devices collected GPU by GPU."""

    per_gpu: list[tuple[list[dict[str, Any]], dict[str, Any] | None]] = field(default_factory=list)
    """With the gate DynamicMIG: the devices of each GPU, and its counter set if it has one."""
    others: list[dict[str, Any]] = field(default_factory=list)
    """Devices that are published together."""
    comments: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    partial: int = 0

    @property
    def counter_sets(self) -> list[dict[str, Any]]:
        return [counters for _, counters in self.per_gpu if counters is not None]


def _gpus(machine: Machine, options: Options) -> list[Gpu]:
    """Return the GPUs in the order of the slices: by address (driver.go), or up to 25.12 by minor
    number.
    """
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.name not in _SKIPPED]
    by_minor = sorted(gpus, key=lambda gpu: (gpu.minor is None, gpu.minor or 0, gpu.bdf or ""))
    dynamic = options.flag(NAME, "dynamicMIG") and options.has(NAME, "dynamic-mig-checks")
    return sorted(by_minor, key=lambda gpu: gpu.bdf or "") if dynamic else by_minor


def _add(
    collected: _Collected,
    gpu: Gpu,
    machine: Machine,
    options: Options,
    share: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    dynamic: bool,
    vfio: bool,
) -> None:
    """Add the devices of one GPU (GetPerGpuAllocatableDevices)."""
    pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
    counters: dict[str, Any] | None = None
    if gpu.source != "nvml":
        device = _device_of_pci(collected, gpu, machine, options, vfio=vfio)
        devices = [] if device is None else [device]
    elif dynamic and is_partitionable(gpu, options):
        devices, counters = partitions(gpu, machine, pci, options, share)
    elif gpu.mig_mode:
        devices = [share(static_mig(gpu, mig, machine, pci, options)) for mig in gpu.mig_devices]
        if not devices:
            published = "no more than a vfio device" if vfio else "nothing"
            collected.left_out[gpu.bdf or ""] = (
                f"in MIG mode without a MIG device: the driver publishes {published} of this GPU"
            )
    else:
        devices = [share(full(gpu, machine, pci, options))]
    if dynamic:
        collected.per_gpu.append((devices, counters))
    else:
        collected.others += devices


def _device_of_pci(
    collected: _Collected, gpu: Gpu, machine: Machine, options: Options, *, vfio: bool
) -> dict[str, Any] | None:
    """Return a GPU for which NVML was not queried. None if the driver does not see it."""
    if gpu.bdf is None:
        collected.notices.append(
            "a GPU without a PCI address is not published: its place is unknown"
        )
        return None
    pci = machine.pci.get(gpu.bdf)
    bound = pci.driver if pci is not None else None
    if bound not in (None, "nvidia"):
        consequence = (
            "it is published for passthrough only" if vfio else "the driver does not see this GPU"
        )
        collected.left_out[gpu.bdf or ""] = f"bound to {bound}, not to nvidia: {consequence}"
        return None
    if machine.nvidia is not None:
        collected.left_out[gpu.bdf or ""] = "NVML does not list this GPU"
        return None
    number = next(n for n in range(len(machine.gpus)) if n not in collected.taken)
    collected.taken.add(number)
    collected.partial += 1
    device = partial(number, gpu, pci, options)
    collected.comments[device["name"]] = (
        f"{gpu.bdf}: partial, known from PCI alone. NVML would report its UUID, model, memory and"
        " versions, and its minor number, which the driver names it by; the number here is only"
        " the next free one."
    )
    return device


def _by_gpu(collected: _Collected, machine: Machine, options: Options) -> tuple[Slice, ...]:
    """Return the slices of generateSplitResourceSlices, or of generateCombinedResourceSlices for
    1.34 and for nodes without MIG.
    """
    capable = any(gpu.mig_mode is not None for gpu in machine.gpus)
    per_gpu = [Slice(tuple(devices)) for devices, _ in collected.per_gpu]
    if options.target.has("counters-apart-from-devices") and (
        capable or not options.has(NAME, "dynamic-mig-checks")
    ):
        return (Slice(counter_sets=tuple(collected.counter_sets)), *per_gpu)
    pairs = zip(per_gpu, (counters for _, counters in collected.per_gpu), strict=True)
    return tuple(
        devices if counters is None else replace(devices, counter_sets=(counters,))
        for devices, counters in pairs
    )
