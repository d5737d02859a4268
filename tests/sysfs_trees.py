"""Makes a node's ``/sys`` and ``/proc`` from a small YAML description (tests/data/machines/*.yaml).

A description has the place of each PCI function (``path``, below ``/sys/devices``) and its product;
the ports above the function are added. The files follow the kernel's documentation
(Documentation/ABI/testing/sysfs-bus-pci, sysfs-class-net ...), not dractl's probes.
"""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import yaml

from dractl.topology import cpulist

DESCRIPTIONS = Path(__file__).parent / "data" / "machines"
NAMES = sorted(p.stem for p in DESCRIPTIONS.glob("*.yaml"))

# The values of `is` in descriptions, each with its class, vendor, device, subsystem and driver.
PRODUCTS: dict[str, dict[str, Any]] = {
    "root-port": {
        "class": "0x060400",
        "vendor": "0x8086",
        "device": "0x352a",
        "driver": "pcieport",
    },
    "h100": {"class": "0x030200", "vendor": "0x10de", "device": "0x2330", "driver": "nvidia"},
    "gh200": {"class": "0x030200", "vendor": "0x10de", "device": "0x2342", "driver": "nvidia"},
    "a100": {"class": "0x030200", "vendor": "0x10de", "device": "0x20b0", "driver": "nvidia"},
    "a100-vf": {"class": "0x030200", "vendor": "0x10de", "device": "0x20b0", "driver": "nvidia"},
    "nvswitch": {
        "class": "0x068000",
        "vendor": "0x10de",
        "device": "0x1af1",
        "driver": "nvidia-nvswitch",
    },
    "cx7": {"class": "0x020000", "vendor": "0x15b3", "device": "0x1021", "driver": "mlx5_core"},
    "cx8": {"class": "0x020000", "vendor": "0x15b3", "device": "0x1023", "driver": "mlx5_core"},
    "cx8-dma": {"class": "0x080101", "vendor": "0x15b3", "device": "0x2100", "driver": "mlx5_core"},
    "gb200": {"class": "0x030200", "vendor": "0x10de", "device": "0x2941", "driver": "nvidia"},
    "cx7-vf": {"class": "0x020000", "vendor": "0x15b3", "device": "0x101e", "driver": "mlx5_core"},
    "cx7-ib": {"class": "0x020700", "vendor": "0x15b3", "device": "0x1021", "driver": "mlx5_core"},
    "e810": {"class": "0x020000", "vendor": "0x8086", "device": "0x1592", "driver": "ice"},
    "nvme": {"class": "0x010802", "vendor": "0x144d", "device": "0xa824", "driver": "nvme"},
    "vmd": {"class": "0x010400", "vendor": "0x8086", "device": "0x28c0", "driver": "vmd"},
    "bmc-vga": {"class": "0x030000", "vendor": "0x1a03", "device": "0x2000", "driver": "ast"},
    "virtio-net": {
        "class": "0x020000",
        "vendor": "0x1af4",
        "device": "0x1041",
        "driver": "virtio-pci",
    },
    "virtio-blk": {
        "class": "0x018000",
        "vendor": "0x1af4",
        "device": "0x1042",
        "driver": "virtio-pci",
    },
    "mana": {"class": "0x020000", "vendor": "0x1414", "device": "0x00ba", "driver": "mana"},
    "tpu-v5e": {"class": "0x088000", "vendor": "0x1ae0", "device": "0x0063", "driver": "vfio-pci"},
    "gaudi3": {"class": "0x120000", "vendor": "0x1da3", "device": "0x1060", "driver": "habanalabs"},
    "mi300x": {"class": "0x120000", "vendor": "0x1002", "device": "0x74a1", "driver": "amdgpu"},
    "efa": {"class": "0x020000", "vendor": "0x1d0f", "device": "0xefa1", "driver": "efa"},
    "cxl-memory": {
        "class": "0x050210",
        "vendor": "0x1344",
        "device": "0x6400",
        "driver": "cxl_pci",
    },
    "uncore": {"class": "0x088000", "vendor": "0x8086", "device": "0x09a2", "driver": ""},
}


def describe(name: str) -> dict[str, Any]:
    """Return the description of a name."""
    value = yaml.safe_load((DESCRIPTIONS / f"{name}.yaml").read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def build(description: dict[str, Any], top: Path) -> Path:
    """Write the tree under ``top``, and return its folder."""
    _Tree(top, description).write()
    return top


def pack(top: Path, archive: Path, *, folder: str = "") -> Path:
    """Pack the tree into ``archive``, in the format of its file name, below ``folder`` if given."""
    prefix = f"{folder}/" if folder else ""
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
            for path in sorted(top.rglob("*")):
                info = zipfile.ZipInfo(
                    prefix + str(path.relative_to(top)) + ("/" if _plain_dir(path) else "")
                )
                info.create_system = 3
                if path.is_symlink():
                    info.external_attr = 0o120777 << 16
                    file.writestr(info, os.readlink(path))
                else:
                    file.writestr(info, b"" if _plain_dir(path) else path.read_bytes())
        return archive
    mode = {"gz": "w:gz", "bz2": "w:bz2", "xz": "w:xz", "tar": "w"}[archive.name.rpartition(".")[2]]
    with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
        tar.add(top, arcname=folder or ".")
    return archive


def vpd(keywords: dict[str, str]) -> bytes:
    """Return Vital Product Data (PCI Local Bus 3.0, appendix I): an identifier, the read-only
    ``keywords``, an end tag.
    """
    fields = b"".join(
        key.encode() + bytes([len(value := str(text).encode())]) + value
        for key, text in keywords.items()
    )
    return b"\x82\x04\x00card" + b"\x90" + len(fields).to_bytes(2, "little") + fields + b"\x78"


def tar_of(members: dict[str, bytes | str], path: Path) -> Path:
    """Write a tar with exactly these members: bytes are a file, a string is the target of a
    link.
    """
    with tarfile.open(path, "w") as tar:
        for name, value in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(value, str):
                info.type, info.linkname = tarfile.SYMTYPE, value
                tar.addfile(info)
            else:
                info.size = len(value)
                tar.addfile(info, io.BytesIO(value))
    return path


def _plain_dir(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


class _Tree:
    def __init__(self, top: Path, description: dict[str, Any]) -> None:
        self.top = top
        self.it = description
        self.numa_of_root: dict[str, int] = description.get("rootNodes", {})

    def write(self) -> None:
        self.cpus()
        self.nodes()
        self.proc()
        if "pci" in self.it:
            (self.top / "sys/bus/pci/devices").mkdir(parents=True)
        for function in self.it.get("pci", []):
            self.function(function)
        for path, text in self.it.get("files", {}).items():
            self.put(path, text.rstrip("\n"))
        for interface in self.it.get("net", []):
            self.interface(interface["path"], interface, None)

    # -- files

    def put(self, path: str, text: str) -> None:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")

    def link(self, path: str, target: str) -> None:
        """Make a relative link from ``path`` to ``target``, both below the top, as the kernel
        does.
        """
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_symlink():
            file.symlink_to(os.path.relpath(self.top / target, file.parent))

    def device(self, path: str, subsystem: str, uevent: str = "") -> None:
        """Write the files that each device has: ``uevent``, and links between it and its
        subsystem.
        """
        where = "bus/pci/devices" if subsystem == "pci" else f"class/{subsystem}"
        self.put(f"{path}/uevent", uevent)
        self.link(
            f"{path}/subsystem", "sys/bus/pci" if subsystem == "pci" else f"sys/class/{subsystem}"
        )
        self.link(f"sys/{where}/{path.rpartition('/')[2]}", path)

    # -- processors and memory

    def cpus(self) -> None:
        cpus = self.it["cpus"]
        base = "sys/devices/system/cpu"
        for key in ("online", "present"):
            self.put(f"{base}/{key}", str(cpus.get(key, cpus["online"])))
        if "smt" in cpus:
            self.put(f"{base}/smt/control", cpus["smt"])
        for core in cpus["cores"]:
            for cpu in _numbers(core["cpus"]):
                topology = f"{base}/cpu{cpu}/topology"
                self.put(f"{topology}/physical_package_id", str(core["package"]))
                self.put(f"{topology}/core_id", str(core["id"]))
                self.put(f"{topology}/core_cpus_list", str(core["cpus"]))
        for cache in cpus.get("l3", []):
            for cpu in _numbers(cache["cpus"]):
                index = f"{base}/cpu{cpu}/cache/index3"
                self.put(f"{index}/level", "3")
                self.put(f"{index}/shared_cpu_list", str(cache["cpus"]))
                self.put(f"{index}/size", cache.get("size", "32768K"))
                if "id" in cache:
                    self.put(f"{index}/id", str(cache["id"]))
        for name, members in cpus.get("types", {}).items():
            self.put(f"sys/devices/{name}/cpus", members)

    def nodes(self) -> None:
        nodes = self.it.get("nodes", [])
        for node in nodes:
            base = f"sys/devices/system/node/node{node['id']}"
            self.put(f"{base}/cpulist", str(node.get("cpus", "")))
            for cpu in cpulist.parse(str(node.get("cpus", ""))):
                self.link(f"sys/devices/system/cpu/cpu{cpu}/node{node['id']}", base)
            self.put(f"{base}/meminfo", f"Node {node['id']} MemTotal:       {node['memoryKiB']} kB")
            self.put(f"{base}/distance", " ".join(str(d) for d in node["distance"]))
            (self.top / base / "hugepages").mkdir(
                parents=True, exist_ok=True
            )  # on each node, with CONFIG_HUGETLBFS
            for size, (total, free) in node.get("hugepages", {}).items():
                self.put(f"{base}/hugepages/hugepages-{size}kB/nr_hugepages", str(total))
                self.put(f"{base}/hugepages/hugepages-{size}kB/free_hugepages", str(free))
        if nodes:
            self.put("sys/devices/system/node/online", ",".join(str(n["id"]) for n in nodes))

    def proc(self) -> None:
        self.put(
            "proc/meminfo",
            f"MemTotal:       {sum(n['memoryKiB'] for n in self.it.get('nodes', [])) or 1024} kB",
        )
        flags = "fpu hypervisor" if self.it.get("virtual") else "fpu"
        self.put(
            "proc/cpuinfo",
            f"processor\t: 0\nmodel name\t: {self.it['cpus']['model']}\nflags\t\t: {flags}",
        )
        self.put("proc/sys/kernel/osrelease", "6.8.0-test")
        self.put("proc/sys/kernel/hostname", "secret-host-name")
        mounts = [f"/dev/{name} /data ext4 rw 0 0" for name in self.it.get("mounted", [])]
        self.put("proc/self/mounts", "\n".join(["sysfs /sys sysfs rw 0 0", *mounts]))
        head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        tail = "00000000\t0\t0\t0"
        routes = [
            f"{r['dev']}\t00000000\t0102A8C0\t0003\t0\t0\t{r['metric']}\t{tail}"
            for r in self.it.get("defaultRoutes", [])
        ]
        self.put("proc/net/route", "\n".join([head, *routes]))

    # -- PCI

    def function(self, function: dict[str, Any]) -> None:
        parts = function["path"].split("/")
        for i, part in enumerate(parts[:-1]):
            above = "/".join(parts[: i + 1])
            if part.count(":") == 2 and not (self.top / "sys/devices" / above / "class").exists():
                self.one(above, {"is": "root-port", **self.it.get("ports", {}).get(part, {})})
        self.one(function["path"], function)

    def one(self, path: str, function: dict[str, Any]) -> None:
        facts = {**PRODUCTS[function["is"]], **function}
        base, bdf = f"sys/devices/{path}", path.rpartition("/")[2]
        self.device(
            base,
            "pci",
            f"DRIVER={facts['driver']}\nPCI_SLOT_NAME={bdf}"
            if facts["driver"]
            else f"PCI_SLOT_NAME={bdf}",
        )
        for key in ("class", "vendor", "device"):
            self.put(f"{base}/{key}", facts[key])
        ids = (int(facts[key], 16) for key in ("vendor", "device"))
        code = int(facts["class"], 16)
        # pci-sysfs.c modalias_show; no function has subsystem ids here
        alias = "pci:v{:08X}d{:08X}sv00000000sd00000000bc{:02X}sc{:02X}i{:02X}"
        self.put(f"{base}/modalias", alias.format(*ids, code >> 16, code >> 8 & 0xFF, code & 0xFF))
        for key in ("subsystem_vendor", "subsystem_device"):
            self.put(f"{base}/{key}", "0x0000")
        root = next(part for part in path.split("/") if part.startswith("pci"))
        self.put(f"{base}/numa_node", str(facts.get("numa", self.numa_of_root.get(root, -1))))
        if facts["driver"]:
            driver = f"sys/bus/pci/drivers/{facts['driver']}"
            (self.top / driver).mkdir(parents=True, exist_ok=True)
            self.link(f"{base}/driver", driver)
        for key, file in (("speed", "current_link_speed"), ("width", "current_link_width")):
            if key in facts:
                self.put(f"{base}/{file}", str(facts[key]))
                self.put(
                    f"{base}/{file.replace('current', 'max')}",
                    str(facts.get(f"max{key.capitalize()}", facts[key])),
                )
        if "iommuGroup" in facts:
            group = f"sys/kernel/iommu_groups/{facts['iommuGroup']}"
            (self.top / group / "devices").mkdir(parents=True, exist_ok=True)
            self.link(f"{base}/iommu_group", group)
        if "resource" in facts:
            self.put(f"{base}/resource", "\n".join(facts["resource"]))
        self.sriov(base, facts)
        for name, net in facts.get("net", {}).items():
            self.interface(
                f"{path}/{net.get('below', '')}/net/{name}".replace("//", "/"),
                {"name": name, **net},
                base,
            )
        for name, rdma in facts.get("rdma", {}).items():
            self.rdma(base, name, rdma or {})
        for name, disk in facts.get("nvme", {}).items():
            self.nvme(base, name, disk or {})
        for name, text in facts.get("files", {}).items():
            self.put(f"{base}/{name}", str(text))
        if "vpd" in facts:
            (self.top / base / "vpd").write_bytes(vpd(facts["vpd"]))
        for name in facts.get("drm", []):
            self.device(f"{base}/drm/{name}", "drm", f"DEVNAME=dri/{name}")
        for name in facts.get("block", []):
            below = facts.get("blockBelow", "")
            self.device(
                f"{base}/{below}/block/{name}".replace("//", "/"),
                "block",
                f"DEVTYPE=disk\nDEVNAME={name}",
            )

    def sriov(self, base: str, facts: dict[str, Any]) -> None:
        if "totalVfs" in facts:
            self.put(f"{base}/sriov_totalvfs", str(facts["totalVfs"]))
            self.put(f"{base}/sriov_numvfs", str(len(facts.get("vfs", []))))
            self.put(f"{base}/sriov_drivers_autoprobe", "1")
        for i, vf in enumerate(facts.get("vfs", [])):
            path = f"{base.rpartition('/')[0]}/{vf['bdf']}"
            self.one(path.removeprefix("sys/devices/"), {k: v for k, v in vf.items() if k != "bdf"})
            self.link(f"{base}/virtfn{i}", path)
            self.link(f"{path}/physfn", base)

    def interface(self, path: str, net: dict[str, Any], owner: str | None) -> None:
        base = f"sys/devices/{path}"
        name = path.rpartition("/")[2]
        devtype = f"DEVTYPE={net['devtype']}\n" if "devtype" in net else ""
        self.device(base, "net", f"{devtype}INTERFACE={name}\nIFINDEX={net.get('ifindex', 2)}")
        files = {
            "type": net.get("type", 1),
            "mtu": net.get("mtu", 1500),
            "address": net.get("mac", "02:00:00:00:00:01"),
            "operstate": net.get("operstate", "up"),
            "ifindex": net.get("ifindex", 2),
            "iflink": net.get("iflink", net.get("ifindex", 2)),
            "ifalias": net.get("alias", ""),
        }
        for file, value in files.items():
            self.put(f"{base}/{file}", str(value))
        if "speed" in net:
            self.put(f"{base}/speed", str(net["speed"]))
        if "port" in net:
            self.put(f"{base}/phys_port_name", net["port"])
        if "master" in net:
            self.link(f"{base}/master", f"sys/devices/virtual/net/{net['master']}")
        if owner is not None:
            self.link(f"{base}/device", f"{owner}/{net['below']}" if net.get("below") else owner)

    def rdma(self, owner: str, name: str, rdma: dict[str, Any]) -> None:
        base = f"{owner}/infiniband/{name}"
        self.device(base, "infiniband", f"NAME={name}")
        self.link(f"{base}/device", owner)
        self.put(f"{base}/ports/1/state", rdma.get("state", "4: ACTIVE"))
        self.put(f"{base}/ports/1/link_layer", rdma.get("linkLayer", "Ethernet"))
        self.put(f"{base}/ports/1/rate", rdma.get("rate", "400 Gb/sec (4X NDR)"))
        if "netdev" in rdma:
            self.put(f"{base}/ports/1/gid_attrs/ndevs/0", rdma["netdev"])

    def nvme(self, owner: str, name: str, disk: dict[str, Any]) -> None:
        base = f"{owner}/nvme/{name}"
        self.device(base, "nvme", f"NVME_TRTYPE={disk.get('transport', 'pcie')}")
        self.link(f"{base}/device", owner)
        self.put(f"{base}/transport", disk.get("transport", "pcie"))
        self.put(f"{base}/model", disk.get("model", "SAMSUNG MZWLR3T8"))
        self.put(f"{base}/serial", disk.get("serial", "S3CR3TSERIAL"))
        self.put(f"{base}/firmware_rev", "MPK9")
        for space in disk.get("namespaces", [f"{name}n1"]):
            if (
                "c" in space
            ):  # native multipath: nvme0c1n1 is a path, the disk is nvme0n1 of the subsystem
                self.put(f"{base}/{space}/uevent", "")
                self.link(f"{base}/{space}/subsystem", "sys/class/block")
                subsystem = f"sys/devices/virtual/nvme-subsystem/{disk['subsystem']}"
                disk_name = space.partition("c")[0] + "n" + space.rpartition("n")[2]
                self.device(subsystem, "nvme-subsystem")
                self.link(f"{subsystem}/{name}", base)
                self.device(f"{subsystem}/{disk_name}", "block", "DEVTYPE=disk")
                self.put(f"{subsystem}/{disk_name}/size", "7501476528")
            else:
                self.device(f"{base}/{space}", "block", f"DEVTYPE=disk\nDEVNAME={space}")
                self.put(f"{base}/{space}/size", "7501476528")
                (self.top / base / space / "holders").mkdir(exist_ok=True)


def _numbers(text: Any) -> list[int]:
    found: list[int] = []
    for part in str(text).split(","):
        low, _, high = part.partition("-")
        found += range(int(low), int(high or low) + 1)
    return found
