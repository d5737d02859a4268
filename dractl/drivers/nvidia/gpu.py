"""``gpu.nvidia.com``: NVIDIA's GPU driver: full GPUs, MIG devices, partitions of both, GPUs for
passthrough, shares.

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
from dractl.drivers.profile import Inventory, Known, Options, Slice, one_slice
from dractl.errors import UsageError
from dractl.program import program_name
from dractl.topology.machine import Gpu, Machine

_SKIPPED = ("DGX Display", "NVIDIA DGX Display")  # go-nvlib's default skip list


class _Nvidia(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR for gpu in machine.gpus)

    def found(self, machine: Machine, options: Options) -> Inventory:
        dynamic, passed, managed = (
            options.flag(NAME, name)
            for name in ("dynamicMIG", "passthroughSupport", FABRIC_MANAGER)
        )
        options.flag(NAME, LIST_ATTRIBUTES)
        shares = nvidia_shares.asked(options)
        if dynamic and passed:
            raise UsageError(
                f"{NAME}: dynamicMIG and passthroughSupport cannot be combined; the driver refuses"
                " that"
            )
        why = nvidia_start.why_not(machine, options, passthrough=passed, dynamic=dynamic)
        if why is not None:
            return Inventory(unpublished=f"it does not start: {why}")

        def shared(device: dict[str, Any]) -> dict[str, Any]:
            return device if shares is None else nvidia_shares.shared(device, shares)

        found = _Found()
        for gpu in _gpus(machine, options):
            _add(found, gpu, machine, options, shared, dynamic=dynamic, vfio=passed)
        if passed and options.has(NAME, "vfio-devices"):
            for device, unknown in vfio_devices(machine, options):
                found.others.append(device)
                if unknown:
                    found.comments[device["name"]] = "; ".join(unknown)
        elif passed:
            found.notices.append(
                f"{NAME}: 25.12 has the gate PassthroughSupport, but finds no vfio device with it"
            )
        if found.partial:
            gpus = f"{found.partial} GPU{'s' if found.partial > 1 else ''}"
            found.notices.append(
                f"{NAME}: {gpus} known from PCI alone: model, memory and versions are unknown here,"
                f" and names may differ; a snapshot taken on the node ({program_name()} discover"
                " --save) has them"
            )
        if dynamic and not found.counter_sets:
            off = any(gpu.mig_mode is False and gpu.mig_profiles for gpu in machine.gpus)
            why = (
                "MIG mode is off, and these GPUs need a reset to switch it on (--hardware"
                " SPEC,mig=on describes it)"
            )
            said = why if off else "no GPU can be partitioned"
            found.notices.append(f"{NAME}: dynamicMIG changes nothing here: {said}")
        if managed:
            found.notices.append(
                f"{NAME}: partition1 to partition8 are left out: only Fabric Manager knows them"
            )
        slices = _by_gpu(found, machine, options) if dynamic else one_slice(found.others)
        lacking = _of_nvml(found.others) if found.partial else frozenset()
        return Inventory(
            slices, found.comments, found.left_out, tuple(found.notices), unknown=lacking
        )


PROFILE = _Nvidia(NAME)


def _of_nvml(devices: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """What the driver publishes of a GPU, apart from what is known of these."""
    known = {name for device in devices for name in device["attributes"]}
    rows = facts.driver(NAME)
    published = [row.name for row in rows.attributes] + [row.name for row in rows.capacities]
    names = (name for name in published if name not in known)
    return frozenset(name if "/" in name else f"{NAME}/{name}" for name in names)


class _Found(Struct):
    """Devices collected GPU by GPU. ``per_gpu`` are devices of GPUs as the gate DynamicMIG has
    them, each with the GPU's counter set if it has one; ``others`` are devices that are published
    together.
    """

    per_gpu: list[tuple[list[dict[str, Any]], dict[str, Any] | None]] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    partial: int = 0

    @property
    def counter_sets(self) -> list[dict[str, Any]]:
        return [counters for _, counters in self.per_gpu if counters is not None]


def _gpus(machine: Machine, options: Options) -> list[Gpu]:
    """Return the GPUs in the order of the slices: by address (driver.go), up to 25.12 by minor
    number.
    """
    gpus = [gpu for gpu in machine.gpus if gpu.vendor == VENDOR and gpu.name not in _SKIPPED]
    by_minor = sorted(gpus, key=lambda gpu: (gpu.minor is None, gpu.minor or 0, gpu.bdf or ""))
    dynamic = options.flag(NAME, "dynamicMIG") and options.has(NAME, "dynamic-mig-checks")
    return sorted(by_minor, key=lambda gpu: gpu.bdf or "") if dynamic else by_minor


def _add(
    found: _Found,
    gpu: Gpu,
    machine: Machine,
    options: Options,
    shared: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    dynamic: bool,
    vfio: bool,
) -> None:
    """GetPerGpuAllocatableDevices for one GPU."""
    pci = machine.pci.get(gpu.bdf) if gpu.bdf is not None else None
    counters: dict[str, Any] | None = None
    if gpu.source != "nvml":
        device = _known_to_pci(found, gpu, machine, options, vfio=vfio)
        devices = [] if device is None else [device]
    elif dynamic and is_partitionable(gpu, options):
        devices, counters = partitions(gpu, machine, pci, options, shared)
    elif gpu.mig_mode:
        devices = [shared(static_mig(gpu, mig, machine, pci, options)) for mig in gpu.mig_devices]
        if not devices:
            what = "no more than a vfio device" if vfio else "nothing"
            found.left_out[gpu.bdf or ""] = (
                f"in MIG mode without a MIG device: the driver publishes {what} of this GPU"
            )
    else:
        devices = [shared(full(gpu, machine, pci, options))]
    if dynamic:
        found.per_gpu.append((devices, counters))
    else:
        found.others += devices


def _known_to_pci(
    found: _Found, gpu: Gpu, machine: Machine, options: Options, *, vfio: bool
) -> dict[str, Any] | None:
    """Return a GPU that NVML was not asked about. None where the driver does not see it."""
    if gpu.bdf is None:
        found.notices.append("a GPU without a PCI address is not published: its place is unknown")
        return None
    pci = machine.pci.get(gpu.bdf)
    bound = pci.driver if pci is not None else None
    if bound not in (None, "nvidia"):
        what = (
            "it is published for passthrough only" if vfio else "the driver does not see this GPU"
        )
        found.left_out[gpu.bdf or ""] = f"bound to {bound}, not to nvidia: {what}"
        return None
    if machine.nvidia is not None:
        found.left_out[gpu.bdf or ""] = "NVML does not list this GPU"
        return None
    number = next(n for n in range(len(machine.gpus)) if n not in found.taken)
    found.taken.add(number)
    found.partial += 1
    device = partial(number, gpu, pci, options)
    found.comments[device["name"]] = (
        f"{gpu.bdf}: partial, known from PCI alone. NVML would report its UUID, model, memory and"
        " versions, and its minor number, which the driver names it by; the number here is only"
        " the next free one."
    )
    return device


def _by_gpu(found: _Found, machine: Machine, options: Options) -> tuple[Slice, ...]:
    """generateSplitResourceSlices, and generateCombinedResourceSlices for 1.34 and for nodes
    without MIG.
    """
    capable = any(gpu.mig_mode is not None for gpu in machine.gpus)
    per_gpu = [Slice(tuple(devices)) for devices, _ in found.per_gpu]
    if options.target.has("counters-apart-from-devices") and (
        capable or not options.has(NAME, "dynamic-mig-checks")
    ):
        return (Slice(counter_sets=tuple(found.counter_sets)), *per_gpu)
    pairs = zip(per_gpu, (counters for _, counters in found.per_gpu), strict=True)
    return tuple(
        one if counters is None else replace(one, counter_sets=(counters,))
        for one, counters in pairs
    )
