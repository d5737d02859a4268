"""``gpu.amd.com``: AMD GPUs, their partitions, and GPUs for virtual machines.

Source: ROCm/k8s-gpu-dra-driver, cmd/gpu-kubeletplugin (deviceinfo.go, discovery.go, driver.go),
pkg/amdgpu/amdgpu.go; the pack of facts has the versions.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from dractl.drivers.amd import partitions as amd_partitions, vfio as amd_vfio
from dractl.drivers.amd.devices import Unit, device, kfd_identities
from dractl.drivers.amd.names import NAME, VENDOR
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.topology.machine import Amdgpu, Gpu, Machine

_DOMAIN_DIGITS = 4  # digits: the driver looks for [0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]:*


class _Amd(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(gpu.vendor == VENDOR and gpu.amd is not None for gpu in machine.gpus)

    def publish(self, machine: Machine, options: Options) -> Inventory:
        automatic, passed = (
            options.flag(NAME, setting) for setting in ("autoPartition", "vfioPassthrough")
        )
        left_out: dict[str, str] = {}
        identities = kfd_identities(machine)
        gpus = [(gpu, gpu.amd) for gpu in _publishable_gpus(machine, left_out, options)]
        devices: list[dict[str, Any]] = []
        counters: list[dict[str, Any]] = []
        numbered = sorted(
            (pair for pair in gpus if pair[1] is not None), key=lambda pair: pair[0].bdf or ""
        )
        for number, (gpu, amd) in enumerate(numbered):
            assert amd is not None
            if automatic and amd.compute_partition is not None:
                devices += amd_partitions.devices(_unit(gpu, amd, machine), number)
                counters.append(amd_partitions.counter_set(number))
            else:
                parts = [] if automatic else list(_partitions(gpu, amd, machine, options))
                units = (_unit(gpu, amd, machine), *parts)
                devices += (device(unit, options, identities[gpu.bdf or ""]) for unit in units)
        if passed:
            devices += amd_vfio.devices(machine)
            for entry in devices:
                left_out.pop(entry["attributes"].get("pciAddr", {}).get("string", ""), None)
        devices.sort(key=lambda entry: entry["name"])
        slices = amd_partitions.slices(devices, counters) if counters else single_slice(devices)
        return Inventory(slices, left_out=left_out, notices=_notices(devices, options))


PROFILE = _Amd(NAME)


def _notices(devices: Sequence[dict[str, Any]], options: Options) -> tuple[str, ...]:
    if options.has(NAME, "rewritten"):
        return ()
    unknown = [device["name"] for device in devices if "family" not in device["attributes"]]
    text = (
        f"{NAME}: family of {', '.join(unknown)} is omitted: the driver asks libdrm, and KFD does"
        " not show it here"
    )
    return (text,) if unknown else ()


def _publishable_gpus(
    machine: Machine, left_out: dict[str, str], options: Options
) -> Iterator[Gpu]:
    """Yield the GPUs for which the driver makes devices (discoverAMDGPUs): GPUs of amdgpu with a
    card and a render node.
    """
    for gpu in machine.gpus:
        if gpu.vendor != VENDOR or gpu.bdf is None:
            continue
        amd = gpu.amd
        if amd is None or amd.card_index is None or amd.render_minor is None:
            left_out[gpu.bdf] = "the amdgpu driver shows no card of this GPU"
        elif not machine.numa_nodes:  # numa_node exists only in kernels with CONFIG_NUMA
            left_out[gpu.bdf] = (
                "the kernel knows no NUMA nodes, and the driver needs the NUMA node of each GPU"
            )
        elif len(gpu.bdf.partition(":")[0]) != _DOMAIN_DIGITS:
            left_out[gpu.bdf] = "its PCI domain has more than four digits"
        elif amd.compute_partition is None and not options.has(NAME, "rewritten"):
            left_out[gpu.bdf] = (
                "it has no partition files; the driver leaves such GPUs out up to 0.1"
            )
        elif options.has(NAME, "rewritten") and (amd.compute_partition is None) != (
            amd.memory_partition is None
        ):
            left_out[gpu.bdf] = "only one of its two partition files is there"
        elif (
            options.has(NAME, "rewritten")
            and amd.compute_partition not in (None, "spx")
            and gpu.source != "kfd"
        ):
            left_out[gpu.bdf] = (
                f"it is partitioned ({amd.compute_partition}) and KFD does not list it"
            )
        else:
            yield gpu


def _unit(gpu: Gpu, amd: Amdgpu, machine: Machine) -> Unit:
    """Return the GPU's own PCI function: the whole GPU, or its first partition."""
    assert amd.card_index is not None
    assert amd.render_minor is not None
    in_kfd = gpu.source == "kfd"
    return Unit(
        gpu=gpu,
        amd=amd,
        pci=machine.pci.get(gpu.bdf) if gpu.bdf is not None else None,
        card_index=amd.card_index,
        render_minor=amd.render_minor,
        memory_bytes=gpu.memory_bytes if in_kfd and amd.memory_bank is not False else None,
        simd_count=amd.simd_count if in_kfd else None,
        simd_per_cu=amd.simd_per_cu if in_kfd else None,
    )


def _partitions(gpu: Gpu, amd: Amdgpu, machine: Machine, options: Options) -> Iterator[Unit]:
    """Yield the partitions that are platform devices. The driver publishes partitions of GPUs with
    a NUMA node. 0.1 publishes only partitions that have the KFD id of their GPU, and only if the
    GPU has both partition files.
    """
    whole = _unit(gpu, amd, machine)
    if whole.pci is None or whole.pci.numa_node is None:
        return
    for part in amd.partitions:
        if options.has(NAME, "rewritten") or (
            part.kfd_id == amd.kfd_id and amd.memory_partition is not None
        ):
            yield replace(
                whole,
                card_index=part.card_index,
                render_minor=part.render_minor,
                memory_bytes=part.memory_bytes,
                simd_count=part.simd_count,
                simd_per_cu=part.simd_per_cu,
            )
