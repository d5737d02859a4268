"""``dra.cpu``: CPUs as devices, grouped by NUMA node (the driver's default), socket or machine, or
one by one.

Source: kubernetes-sigs/dra-driver-cpu, pkg/device/builder.go (v0.2: pkg/driver/dra_hooks.go),
pkg/cpuinfo, pkg/pcie.
"""

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from dractl.drivers.profile import Inventory, Known, Options, Slice
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.drivers.values import decimal_quantity, to_attributes
from dractl.errors import UsageError
from dractl.topology import cpulist
from dractl.topology.machine import Core, Machine

NAME = "dra.cpu"
_GROUPS = ("numanode", "socket", "machine")
# pkg/pcie accepts exactly this form, so it skips VMD's pci10000:00
_ROOT = re.compile(r"pci[0-9a-f]{4}:[0-9a-f]{2}\Z")
_DEVICES_PER_SLICE, _DEVICES_PER_SLICE_WITH_LISTS = 128, 64  # Config.DevicesPerResourceSlice
_SKIP_REASON = "/sys does not show their package, core, NUMA node or cache"


class _Cpu(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return machine.cpus.online is not None

    def publish(self, machine: Machine, options: Options) -> Inventory:
        mode = _choice(options, "mode", ("grouped", "individual"))
        group_by = _choice(options, "groupBy", _GROUPS)
        with_roots = options.flag(NAME, "exposePCIeRoots")
        mapped = options.flag(NAME, "publishNodeAllocatableResourceMapping")
        if group_by == "machine" and not options.has(NAME, "machine-groups"):
            first = self.catalogue.changes["machine-groups"].since
            raise UsageError(
                f"{NAME}: groupBy=machine came with {first}",
                hint=f"--driver-version {NAME}={first}",
            )
        unreadable = next(
            (root.name for root in machine.pcie_roots if root.local_cpus is None), None
        )
        if with_roots and _scans_roots(machine) and unreadable is not None:
            bus = unreadable.removeprefix("pci")
            path = f"/sys/devices/{unreadable}/pci_bus/{bus}/cpulistaffinity"
            return Inventory(
                unpublished=f"it does not start: {path} cannot be read, which exposePCIeRoots needs"
            )
        node = _Node(
            machine=machine,
            cpus=_cpus(machine),
            reserved=_parse_reserved_cpus(options),
            roots=_roots(machine) if with_roots else {},
            smt=_smt(machine, clusters=options.has(NAME, "clusters")),
            mapped=mapped,
            clusters=options.has(NAME, "clusters"),
        )
        devices = _cpu_devices(node) if mode == "individual" else _group_devices(node, group_by)
        size = _DEVICES_PER_SLICE_WITH_LISTS if with_roots else _DEVICES_PER_SLICE
        if mode == "grouped" and not options.has(NAME, "split-groups"):
            # Up to 0.2, only individual CPUs are split over several slices
            # (pkg/driver/dra_hooks.go)
            size = max(len(devices), 1)
        slices = tuple(
            Slice(tuple(devices[start : start + size])) for start in range(0, len(devices), size)
        )
        skipped = cpulist.parse(machine.cpus.online or "") - node.cpus.keys()
        notices = (
            [f"{NAME}: CPUs {cpulist.show(skipped)} are not published: {_SKIP_REASON}"]
            if skipped
            else []
        )
        return Inventory(slices, notices=tuple(notices))


PROFILE = _Cpu(NAME)


class _Node(Struct, frozen=True):
    """The facts about a node from which devices are made."""

    machine: Machine
    cpus: dict[int, Core]
    """The CPUs that the driver publishes, each with its core."""
    reserved: frozenset[int]
    roots: dict[str, frozenset[int]]
    """The CPUs near each PCIe root."""
    smt: bool
    mapped: bool
    clusters: bool

    def numa(self, node: int) -> dict[str, Any]:
        return {NUMA_NODE: node, "dra.cpu/numaNodeID": node, "dra.net/numaNode": node}

    def roots_near(self, cpus: Iterable[int]) -> list[str] | None:
        wanted = frozenset(cpus)
        return (
            sorted(name for name, local in self.roots.items() if not local.isdisjoint(wanted))
            or None
        )


def _choice(options: Options, name: str, allowed: tuple[str, ...]) -> str:
    value = options.setting(NAME, name) or allowed[0]
    if value not in allowed:
        raise UsageError(f"{NAME}: {name} must be one of {', '.join(allowed)}, not {value!r}")
    return value


def _parse_reserved_cpus(options: Options) -> frozenset[int]:
    text = options.setting(NAME, "reservedCPUs") or ""
    try:
        return cpulist.parse(text)
    except ValueError:
        raise UsageError(
            f"{NAME}: reservedCPUs must be a list of CPUs such as 0-1,16, not {text!r}"
        ) from None


def _cpus(machine: Machine) -> dict[int, Core]:
    """Return the online CPUs with their cores; the driver skips CPUs with incomplete topology
    (populateTopologyInfo).
    """
    uncached = cpulist.parse(machine.cpus.uncached or "")
    cores = [
        c for c in machine.cpus.cores if c.numa_node is not None and c.package >= 0 and c.id >= 0
    ]
    core_of_cpu = {
        cpu: core for core in cores for cpu in cpulist.parse(core.cpus) if cpu not in uncached
    }
    return dict(sorted(core_of_cpu.items()))


def _smt(machine: Machine, *, clusters: bool) -> bool:
    """Return True if the machine has SMT (IsSMTEnabled). If smt/control cannot be read, or has none
    of the kernel's values, the machine has SMT if it has more CPUs than cores.
    """
    control = (machine.cpus.smt_control or "").lower()
    if control in ("on", "off", "forceoff", "notsupported", "notimplemented"):
        return control == "on"
    if machine.cpus.smt_control is None and machine.cpus.smt is not None:
        return machine.cpus.smt
    cpus = _cpus(machine)
    return len(cpus) > len({_key(core, clusters=clusters) for core in cpus.values()})


_CoreKey = tuple[int, int | None, int]
"""The package, cluster and number of a core."""


def _key(core: Core, *, clusters: bool) -> _CoreKey:
    """Return the driver's key of a core; on some machines several cores share it."""
    return core.package, core.cluster if clusters else None, core.id


def _group_devices(node: _Node, group_by: str) -> list[dict[str, Any]]:
    """Return the devices of BuildGrouped. The machine's group contains all online CPUs, with
    topology or not, and exists even without CPUs.
    """
    groups: dict[int, list[int]] = {}
    if group_by == "machine":
        groups[0] = sorted(cpulist.parse(node.machine.cpus.online or "") - node.reserved)
    else:
        for cpu, core in node.cpus.items():
            if cpu not in node.reserved:
                key = core.package if group_by == "socket" else core.numa_node or 0
                groups.setdefault(key, []).append(cpu)
    devices = []
    for key, members in sorted(groups.items()):
        attributes: dict[str, Any] = {
            "dra.cpu/numCPUs": len(members),
            "dra.cpu/smtEnabled": node.smt,
        }
        name = {
            "numanode": f"cpudevnuma{key:03d}",
            "socket": f"cpudevsocket{key:03d}",
            "machine": "cpudevmachine",
        }
        if group_by == "numanode":
            # The value of an arbitrary CPU of the group (UnsortedList()[0]), which is random if a
            # node spans packages.
            attributes |= {"dra.cpu/socketID": node.cpus[members[0]].package, **node.numa(key)}
        elif group_by == "socket":
            attributes |= {"dra.cpu/socketID": key}
        device = {
            "name": name[group_by],
            "attributes": to_attributes({**attributes, PCIE_ROOT: node.roots_near(members)}),
            "capacity": {"dra.cpu/cpu": {"value": decimal_quantity(len(members))}},
            "allowMultipleAllocations": True,
        }
        if node.mapped:
            mapping = {"capacityKey": "dra.cpu/cpu", "capacityMultiplier": "1"}
            device["nodeAllocatableResources"] = {"cpu": {"mapping": mapping}}
        devices.append(device)
    return devices


def _cpu_devices(node: _Node) -> list[dict[str, Any]]:
    """Return the devices of Build: the two threads of a core are next to each other, and cores are
    sorted by their first CPU, so that devices taken in order fill whole cores. The driver does not
    support cores of more than two threads (populateCpuSiblings).
    """
    threads: dict[tuple[int, int | None, int], list[int]] = {}
    for cpu, core in node.cpus.items():
        threads.setdefault(_key(core, clusters=node.clusters), []).append(cpu)
    order: dict[int, None] = {}
    for cpu, core in node.cpus.items():
        if cpu not in node.reserved:
            siblings = threads[_key(core, clusters=node.clusters)]
            both = len(siblings) == 2 and node.reserved.isdisjoint(siblings)
            order.update(dict.fromkeys([cpu, *(siblings if both else ())]))
    caches = {cpu: group.id for group in node.machine.cpus.l3 for cpu in cpulist.parse(group.cpus)}
    devices = []
    for number, cpu in enumerate(order):
        core = node.cpus[cpu]
        attributes = {
            "dra.cpu/cpuID": cpu,
            "dra.cpu/coreID": core.id,
            "dra.cpu/socketID": core.package,
            "dra.cpu/cacheL3ID": caches.get(cpu, -1),
            "dra.cpu/coreType": core.type,
            "dra.cpu/smtEnabled": node.smt,
            **node.numa(core.numa_node or 0),
            PCIE_ROOT: node.roots_near([cpu]),
        }
        device: dict[str, Any] = {
            "name": f"cpudev{number:03d}",
            "attributes": to_attributes(attributes),
        }
        if node.mapped:
            device["nodeAllocatableResources"] = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
        devices.append(device)
    return devices


def _scans_roots(machine: Machine) -> bool:
    """Return True on amd64, the only architecture on which pkg/pcie looks for roots."""
    return machine.host.architecture in (None, "x86_64", "amd64")


def _roots(machine: Machine) -> dict[str, frozenset[int]]:
    """Return the PCIe roots with the CPUs near them. A described machine has no roots itself, so
    they come from its functions.
    """
    if not _scans_roots(machine):
        return {}
    if machine.pcie_roots:
        return {root.name: cpulist.parse(root.local_cpus or "") for root in machine.pcie_roots}
    cpus_of_root: dict[str, frozenset[int]] = {}
    for pci in machine.pci_devices:
        root = pci.path.partition("/")[0]
        if _ROOT.match(root):
            cpus_of_root[root] = cpus_of_root.get(root, frozenset()) | cpulist.parse(
                pci.local_cpus or ""
            )
    return cpus_of_root
