"""CPUs: online CPUs, and CPUs that share a core, a socket, an L3 cache."""

from collections.abc import Callable

from dractl.probes.root import SysRoot
from dractl.topology import cpulist
from dractl.topology.machine import CacheGroup, Core, Cpus, Package

_CPU = "sys/devices/system/cpu"
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def probe(root: SysRoot, note: Callable[[str, str], None]) -> Cpus:
    """Return the host's CPUs. Offline CPUs have no topology, so cores, sockets and caches do not
    contain them.
    """
    if not root.exists(_CPU):
        note("cpu", f"there is no /{_CPU}: CPUs are unknown")
        return Cpus(model=_model(root))
    online = _online(root)
    packages: dict[int, set[int]] = {}
    threads: dict[tuple[int, int, frozenset[int]], list[int]] = {}
    without = []
    for cpu in sorted(online):
        topology = f"{_CPU}/cpu{cpu}/topology"
        package, core = (
            root.integer(f"{topology}/physical_package_id"),
            root.integer(f"{topology}/core_id"),
        )
        if package is None or core is None:
            without.append(cpu)
            continue
        packages.setdefault(package, set()).add(cpu)
        siblings = _members_of_list_or_mask(
            root, f"{topology}/core_cpus"
        ) or _members_of_list_or_mask(root, f"{topology}/thread_siblings")
        # The cores of an old AMD module are siblings, each with its own core_id.
        threads.setdefault((package, core, (siblings & online) | {cpu}), []).append(cpu)
    if without:
        note(
            "cpu",
            f"CPUs {cpulist.show(without)} show no topology: their cores and sockets are unknown",
        )
    control = root.text(f"{_CPU}/smt/control")
    return Cpus(
        online=cpulist.show(online) or None,
        present=root.text(f"{_CPU}/present"),
        model=_model(root),
        smt=None if control is None else control == "on",
        smt_control=control,
        packages=tuple(
            Package(number, cpulist.show(members)) for number, members in sorted(packages.items())
        ),
        cores=_cores(root, threads),
        l3=_l3(root, online),
        uncached=cpulist.show(
            cpu for cpu in online if not root.is_directory(f"{_CPU}/cpu{cpu}/cache")
        )
        or None,
    )


def _cores(
    root: SysRoot, threads: dict[tuple[int, int, frozenset[int]], list[int]]
) -> tuple[Core, ...]:
    """Return the cores in the order of their first CPU; ``threads`` are the CPUs of each package,
    core_id and set of siblings.
    """
    listed = _nodes_by_lists(root)
    hybrid = root.exists("sys/devices/cpu_atom/cpus")
    slow = _members(root, "sys/devices/cpu_atom/cpus")

    def type_of(cpu: int) -> str:
        if not hybrid:
            return "standard"
        return "e-core" if cpu in slow else "p-core"

    return tuple(
        Core(
            package=package,
            id=core,
            cpus=cpulist.show(cpus),
            numa_node=_node(root, cpus[0], listed),
            type=type_of(cpus[0]),
            cluster=_cluster(root, f"{_CPU}/cpu{cpus[0]}/topology"),
        )
        for (package, core, _), cpus in sorted(threads.items(), key=lambda item: item[1][0])
    )


def _cluster(root: SysRoot, topology: str) -> int | None:
    """Return the core's cluster. For no cluster, the kernel has -1, which it writes as an unsigned
    16-bit number.
    """
    cluster = root.integer(f"{topology}/cluster_id")
    return None if cluster in (-1, 0xFFFF) else cluster


def _online(root: SysRoot) -> frozenset[int]:
    members = _members(root, f"{_CPU}/online")
    if members:
        return members
    numbers = (
        int(name[3:])
        for name in root.names(_CPU)
        if name.startswith("cpu") and name[3:].isdecimal()
    )
    # cpu0 has no `online` file if it cannot be unplugged.
    return frozenset(
        n for n in numbers if n < cpulist.LIMIT and root.integer(f"{_CPU}/cpu{n}/online") != 0
    )


def _members(root: SysRoot, path: str) -> frozenset[int]:
    try:
        return cpulist.parse(root.text(path) or "")
    except ValueError:
        return frozenset()


def _members_of_list_or_mask(
    root: SysRoot, path: str, *, list_: str = "_list", mask: str = ""
) -> frozenset[int]:
    """Return the members of a list file (``core_cpus_list``), or of the corresponding mask on
    kernels too old for lists.
    """
    members = _members(root, f"{path}{list_}")
    if members:
        return members
    try:
        return cpulist.parse_mask(root.text(f"{path}{mask}") or "")
    except ValueError:
        return frozenset()


def _node(root: SysRoot, cpu: int, listed: dict[int, int]) -> int | None:
    """Return the NUMA node to which a link of the CPU points. In dumps without these links, the
    nodes' lists of CPUs are used.
    """
    links = (name[4:] for name in root.names(f"{_CPU}/cpu{cpu}") if name.startswith("node"))
    return next((int(number) for number in links if number.isdecimal()), listed.get(cpu))


def _nodes_by_lists(root: SysRoot) -> dict[int, int]:
    """Return the NUMA node of each CPU according to the lists of the nodes. If firmware lists a CPU
    in several nodes, the first counts.
    """
    node_of_cpu: dict[int, int] = {}
    base = "sys/devices/system/node"
    ids = sorted(int(n[4:]) for n in root.names(base) if n.startswith("node") and n[4:].isdecimal())
    for node in ids:
        for cpu in _members_of_list_or_mask(
            root, f"{base}/node{node}/cpu", list_="list", mask="map"
        ):
            node_of_cpu.setdefault(cpu, node)
    return node_of_cpu


def _l3(root: SysRoot, online: frozenset[int]) -> tuple[CacheGroup, ...]:
    groups: dict[frozenset[int], CacheGroup] = {}
    for cpu in sorted(online):
        if any(cpu in members for members in groups):
            continue
        base = f"{_CPU}/cpu{cpu}/cache"
        for index in root.names(base):
            if root.text(f"{base}/{index}/level") != "3":
                continue
            members = _members_of_list_or_mask(
                root, f"{base}/{index}/shared_cpu", mask="_map"
            ) & online | {cpu}
            number = root.integer(f"{base}/{index}/id")
            size = _size(root.text(f"{base}/{index}/size"))
            groups.setdefault(
                members,
                CacheGroup(min(members) if number is None else number, cpulist.show(members), size),
            )
    return tuple(groups[m] for m in sorted(groups, key=min))


def _size(text: str | None) -> int | None:
    if not text:
        return None
    number, unit = (text[:-1], _SUFFIXES[text[-1]]) if text[-1] in _SUFFIXES else (text, 1)
    return int(number) * unit if number.isdecimal() else None


def _model(root: SysRoot) -> str | None:
    for line in (root.text("proc/cpuinfo") or "").splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() in ("model name", "cpu", "Hardware"):
            return " ".join(value.split()) or None
    return None
