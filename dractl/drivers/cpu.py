"""``dra.cpu``: CPUs as devices, by NUMA node (the driver's default), socket, machine, or one by one.

Source: kubernetes-sigs/dra-driver-cpu, pkg/device/builder.go (v0.2: pkg/driver/dra_hooks.go), pkg/cpuinfo, pkg/pcie.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    Setting,
    Slice,
    device_class,
    version_index,
)
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.drivers.values import decimal_quantity, typed
from dractl.errors import UsageError
from dractl.topology import cpulist

if TYPE_CHECKING:
    from dractl.topology.machine import Core, Machine

NAME = "dra.cpu"
_GROUPS = ("numanode", "socket", "machine")
_ROOT = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}\Z")  # pkg/pcie: exactly this form, so VMD's pci10000:00 is skipped

_SETTINGS = (
    Setting("mode", "grouped, individual", "one device a group of CPUs, or one a CPU"),
    Setting("groupBy", ", ".join(_GROUPS), "what a group is"),
    Setting("reservedCPUs", "a list such as 0-1,16", "CPUs that are not published"),
    Setting(
        "exposePCIeRoots",
        "false, true",
        "publish the PCIe roots near the CPUs, as a list (needs DRAListTypeAttributes)",
    ),
)
CATALOGUE = Catalogue(
    title="CPUs, exclusively allocated",
    source="kubernetes-sigs/dra-driver-cpu pkg/device",
    versions=("0.1", "0.2", "main"),
    released="0.2",
    attributes=(
        Attribute("dra.cpu/numCPUs", "int", "CPUs of the group", devices=("grouped",)),
        Attribute("dra.cpu/smtEnabled", "bool", "whether SMT is on"),
        Attribute("dra.cpu/socketID", "int", "physical package; not of the machine as a whole"),
        Attribute("dra.cpu/numaNodeID", "int", "NUMA node, the driver's own name for it"),
        Attribute("dra.net/numaNode", "int", "NUMA node, to match it with network devices"),
        Attribute(NUMA_NODE, "int", "NUMA node, standard", "main"),
        Attribute("dra.cpu/cpuID", "int", "the kernel's CPU number", devices=("individual",)),
        Attribute("dra.cpu/coreID", "int", "physical core", devices=("individual",)),
        Attribute("dra.cpu/cacheL3ID", "int", "L3 cache", devices=("individual",)),
        Attribute("dra.cpu/coreType", "string", "standard, p-core or e-core", devices=("individual",)),
        Attribute(PCIE_ROOT, "strings", "PCIe roots near these CPUs", "0.2", when="with exposePCIeRoots, on amd64"),
    ),
    capacities=(Capacity("dra.cpu/cpu", "CPUs of the group that a claim can have a part of", devices=("grouped",)),),
    settings=_SETTINGS,
    notes=(
        "grouped devices have allowMultipleAllocations: a claim that names no amount of dra.cpu/cpu takes all of it",
    ),
)


@dataclass(frozen=True, slots=True)
class _Cpu:
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return bool(machine.cpus.cores)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, 'device.driver == "dra.cpu"'),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        mode = _choice(options, "mode", ("grouped", "individual"))
        group_by = _choice(options, "groupBy", _GROUPS)
        reserved = _reserved(options)
        cpus = _cpus(machine)
        notices = []
        if any(core.numa_node is None for core in machine.cpus.cores):
            notices.append("CPUs whose NUMA node /sys does not show are left out, as the driver leaves them out")
        if mode == "individual":
            devices = _individual(machine, cpus, reserved, options)
        else:
            devices = _grouped(machine, cpus, reserved, group_by, options)
        size = 64 if options.setting(NAME, "exposePCIeRoots") == "true" else 128
        slices = tuple(Slice(tuple(devices[start : start + size])) for start in range(0, len(devices), size))
        return Inventory(slices, notices=tuple(notices))


PROFILE = _Cpu()


def _choice(options: Options, name: str, allowed: tuple[str, ...]) -> str:
    value = options.setting(NAME, name) or allowed[0]
    if value not in allowed:
        raise UsageError(f"{NAME}: {name} is one of {', '.join(allowed)}, not {value!r}")
    return value


def _reserved(options: Options) -> frozenset[int]:
    text = options.setting(NAME, "reservedCPUs") or ""
    try:
        return cpulist.parse(text)
    except ValueError:
        raise UsageError(f"{NAME}: reservedCPUs is a list of CPUs such as 0-1,16, not {text!r}") from None


def _cpus(machine: Machine) -> dict[int, Core]:
    """Online CPUs whose package, core and node are known, as the driver wants them."""
    cores = [core for core in machine.cpus.cores if core.numa_node is not None]
    return dict(sorted((cpu, core) for core in cores for cpu in cpulist.parse(core.cpus)))


def _smt(machine: Machine) -> bool:
    """Where smt/control cannot be read the driver compares the number of CPUs with that of cores."""
    smt = machine.cpus.smt
    return smt if smt is not None else any(len(cpulist.parse(core.cpus)) > 1 for core in machine.cpus.cores)


def _numa(node: int, options: Options) -> dict[str, Any]:
    version = version_index(CATALOGUE, NAME, options.versions.get(NAME))
    standard = {NUMA_NODE: node} if version >= CATALOGUE.versions.index("main") else {}
    return {**standard, "dra.cpu/numaNodeID": node, "dra.net/numaNode": node}


def _grouped(
    machine: Machine, cpus: dict[int, Core], reserved: frozenset[int], group_by: str, options: Options
) -> list[dict[str, Any]]:
    groups: dict[int, list[int]] = {}
    for cpu, core in cpus.items():
        key = core.numa_node if group_by == "numanode" else core.package if group_by == "socket" else 0
        if cpu not in reserved and key is not None:
            groups.setdefault(key, []).append(cpu)
    devices = []
    for key, members in sorted(groups.items()):
        found: dict[str, Any] = {"dra.cpu/numCPUs": len(members), "dra.cpu/smtEnabled": _smt(machine)}
        name = {"numanode": f"cpudevnuma{key:03d}", "socket": f"cpudevsocket{key:03d}", "machine": "cpudevmachine"}
        if group_by == "numanode":
            found |= {"dra.cpu/socketID": cpus[members[0]].package, **_numa(key, options)}
        elif group_by == "socket":
            found |= {"dra.cpu/socketID": key}
        found |= {PCIE_ROOT: _roots(machine, members, options)}
        devices.append(
            {
                "name": name[group_by],
                "attributes": typed(found),
                "capacity": {"dra.cpu/cpu": {"value": decimal_quantity(len(members))}},
                "allowMultipleAllocations": True,
            }
        )
    return devices


def _individual(
    machine: Machine, cpus: dict[int, Core], reserved: frozenset[int], options: Options
) -> list[dict[str, Any]]:
    """Siblings one after another, cores by their first CPU: who takes devices in order fills whole cores."""
    order: dict[int, None] = {}
    for cpu, core in cpus.items():
        if cpu not in reserved:
            siblings = [other for other in sorted(cpulist.parse(core.cpus)) if other not in reserved]
            order.update(dict.fromkeys([cpu, *siblings]))
    caches = {cpu: group.id for group in machine.cpus.l3 for cpu in cpulist.parse(group.cpus)}
    return [
        {
            "name": f"cpudev{number:03d}",
            "attributes": typed(
                {
                    "dra.cpu/cpuID": cpu,
                    "dra.cpu/coreID": cpus[cpu].id,
                    "dra.cpu/socketID": cpus[cpu].package,
                    "dra.cpu/cacheL3ID": caches.get(cpu),
                    "dra.cpu/coreType": cpus[cpu].type,
                    "dra.cpu/smtEnabled": _smt(machine),
                    **_numa(cpus[cpu].numa_node or 0, options),
                    PCIE_ROOT: _roots(machine, [cpu], options),
                }
            ),
        }
        for number, cpu in enumerate(order)
    ]


def _roots(machine: Machine, cpus: list[int], options: Options) -> list[str] | None:
    if _choice(options, "exposePCIeRoots", ("false", "true")) == "false":
        return None
    near = {
        device.pcie_root
        for device in machine.pci_devices
        if device.pcie_root is not None
        and _ROOT.match(device.pcie_root)
        and device.path.startswith(device.pcie_root + "/")
        and device.local_cpus is not None
        and not cpulist.parse(device.local_cpus).isdisjoint(cpus)
    }
    return sorted(root for root in near if root is not None) or None
