"""Network interfaces: from sysfs in all trees, and on a live host from netlink as well, which is
the only source of link kinds and addresses.
"""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from dractl.probes.enumerate import Enumerator, Scanned
from dractl.probes.netlink import Interface
from dractl.probes.pci import function_of
from dractl.probes.root import SysRoot
from dractl.topology.machine import NetInterface, RdmaDevice

# ARPHRD_* of linux/if_arp.h under the names in Go's netlink library (vishvananda/netlink
# nl/nl_linux.go EncapType).
_ENCAPSULATION = {
    0: "generic", 1: "ether", 2: "eether", 3: "ax25", 4: "pronet", 5: "chaos", 6: "ieee802",
    7: "arcnet", 8: "atalk", 15: "dlci", 19: "atm", 23: "metricom", 24: "ieee1394",
    32: "infiniband", 256: "slip", 257: "cslip", 258: "slip6", 259: "cslip6", 260: "rsrvd",
    264: "adapt", 270: "rose", 271: "x25", 272: "hwx25", 512: "ppp", 513: "hdlc", 516: "lapb",
    517: "ddcmp", 518: "rawhdlc", 768: "ipip", 769: "tunnel6", 770: "frad", 771: "skip",
    772: "loopback", 773: "ltalk", 774: "fddi", 775: "bif", 776: "sit", 777: "ip/ddp", 778: "gre",
    779: "pimreg", 780: "hippi", 781: "ash", 782: "econet", 783: "irda", 784: "fcpp", 785: "fcal",
    786: "fcpl", **{787 + number: f"fcfb{number}" for number in range(13)}, 800: "tr",
    801: "ieee802.11", 802: "ieee802.11/prism", 803: "ieee802.11/radiotap", 804: "ieee802.15.4",
    65534: "none", 65535: "void",
}  # fmt: skip

# Port names of representors (drivers/net, devlink): p0 for the uplink; pf0, pf0vf1 and pf0sf88 for
# functions.
_REPRESENTOR = re.compile(r"^(c\d+)?pf\d+((vf|sf)\d+)?$")

# Kinds whose interfaces sysfs marks with a folder or file of their own.
_MARKS = (("bonding", "bond"), ("bridge", "bridge"), ("tun_flags", "tun"))


def probe(
    root: SysRoot,
    enumerator: Enumerator,
    rdma: Iterable[RdmaDevice],
    links: dict[str, Interface],
    note: Callable[[str, str], None],
) -> list[NetInterface]:
    """Return every interface of this network namespace by name; ``links`` has the interfaces as
    netlink reports them on a live host, and is empty otherwise.
    """
    scanned = [f for f in enumerator.devices("net") if root.is_directory(_base(f))]
    routes = (_ipv4_defaults(root), _ipv6_defaults(root))
    uplinks = _uplinks(routes, {f.name: _master(root, _base(f)) for f in scanned})
    gateways = {route.interface for family in routes for route in family if route.gateway}
    rdma = tuple(rdma)
    if not scanned:
        why = (
            "no network interfaces listed: /sys/class/net only shows those of one network namespace"
        )
        note(
            "net",
            (
                why
                if root.exists("sys/class/net")
                else "there is no /sys/class/net here: interfaces are unknown"
            ),
        )
    elif not root.exists(f"{_proc_net(root)}/route"):
        note(
            "net",
            f"there is no /{_proc_net(root)}/route here: which interface has the default route is"
            " unknown",
        )
    interfaces = [
        _interface(
            root, f, rdma, links.get(f.name), uplink=f.name in uplinks, gateway=f.name in gateways
        )
        for f in scanned
    ]
    unknown = [i.name for i in interfaces if i.kind is None]
    if unknown:
        note(
            "net",
            f"the link kind of {', '.join(unknown[:8])} is unknown: sysfs does not name it, netlink"
            " does on a live node",
        )
    return interfaces


def _base(scanned: Scanned) -> str:
    return f"sys/devices/{scanned.path}" if scanned.path else f"sys/class/net/{scanned.name}"


def _interface(
    root: SysRoot,
    scanned: Scanned,
    rdma: tuple[RdmaDevice, ...],
    link: Interface | None,
    *,
    uplink: bool,
    gateway: bool,
) -> NetInterface:
    base = _base(scanned)
    bdf = function_of(scanned.path)
    virtual = None if scanned.path is None else scanned.path.startswith("virtual/")
    arphrd = root.integer(f"{base}/type")
    driver = root.link(f"{base}/device/driver")
    port = root.text(f"{base}/phys_port_name")
    speed = root.integer(f"{base}/speed")
    alias = root.text(f"{base}/ifalias")
    return NetInterface(
        name=scanned.name,
        bdf=bdf,
        kind=link.kind if link else _kind(root, base, virtual, arphrd),
        virtual=virtual,
        driver=driver.rpartition("/")[2] if driver else None,
        mtu=root.integer(f"{base}/mtu"),
        encapsulation=None if arphrd is None else _ENCAPSULATION.get(arphrd, f"unknown{arphrd}"),
        alias=alias,
        operstate=_state(root.text(f"{base}/operstate")),
        speed_mbps=speed if speed and speed > 0 else None,
        master=_master(root, base),
        port_name=port or None,
        representor=bool(port and _REPRESENTOR.match(port)),
        rdma_device=next(
            (device.name for device in rdma if scanned.name in device.net_interfaces), None
        ),
        sriov_total_vfs=root.integer(f"{base}/device/sriov_totalvfs"),
        sriov_num_vfs=root.integer(f"{base}/device/sriov_numvfs"),
        virtual_function=root.exists(f"{base}/device/physfn"),
        nested=bdf is not None and not str(scanned.path).endswith(f"{bdf}/net/{scanned.name}"),
        uplink=uplink,
        gateway=gateway,
        index=root.integer(f"{base}/ifindex"),
        mac=_mac(root.text(f"{base}/address")),
        addresses=tuple(link.addresses) if link else (),
    )


def _mac(text: str | None) -> str | None:
    """Return the hardware address; empty if all of its bytes are 0, as in libraries for netlink."""
    return "" if text is not None and set(text) <= set("0:") else text


def _kind(root: SysRoot, base: str, virtual: bool | None, arphrd: int | None) -> str | None:
    """Return the kind that sysfs shows: bonds, bridges, VLANs and the like, but not dummies or
    ifbs.
    """
    if arphrd == 772:
        return "device"  # as in netlink: lo has no kind
    devtype = root.fields(f"{base}/uevent").get("DEVTYPE")
    if devtype in (
        "bond",
        "bridge",
        "vlan",
        "vxlan",
        "macvlan",
        "macvtap",
        "ipvlan",
        "wireguard",
        "geneve",
        "gretap",
    ):
        return devtype
    for mark, kind in _MARKS:
        if root.exists(f"{base}/{mark}"):
            return kind
    if arphrd == 32:  # only drivers/infiniband/ulp/ipoib/ipoib_main.c makes this type
        return "ipoib"
    if not virtual:
        return "device"
    index, linked_index = root.integer(f"{base}/ifindex"), root.integer(f"{base}/iflink")
    if (
        index is not None
        and linked_index is not None
        and index != linked_index
        and not any(n.startswith("lower_") for n in root.names(base))
    ):
        return "veth"  # linked to an interface in another namespace, and stacked on none
    return None


def _state(text: str | None) -> str | None:
    # sysfs writes these two states without hyphens; Go's netlink library, and therefore dranet,
    # writes them with hyphens.
    return (
        {"notpresent": "not-present", "lowerlayerdown": "lower-layer-down"}.get(text, text)
        if text
        else None
    )


def _master(root: SysRoot, base: str) -> str | None:
    link = root.link(f"{base}/master")
    return link.rpartition("/")[2] if link else None


class _Route(Struct, frozen=True):
    """A default route."""

    interface: str
    metric: int
    gateway: bool
    """False if the destinations can be reached directly on the link."""


def _uplinks(families: Iterable[list[_Route]], masters: dict[str, str | None]) -> set[str]:
    """Return the interfaces of each family's default routes with the lowest metric, and the
    interfaces enslaved to them.
    """
    uplinks: set[str] = set()
    for routes in families:
        lowest = min((r.metric for r in routes), default=None)
        uplinks |= {r.interface for r in routes if r.metric == lowest}
    for name in masters:
        chain, above = {name}, masters.get(name)
        while above and above not in chain:
            chain.add(above)
            if above in uplinks:
                uplinks.add(name)
                break
            above = masters.get(above)
    return uplinks


def _proc_net(root: SysRoot) -> str:
    """Return the path of the host's routes. If the host's ``/proc`` is mounted in a pod, ``net``
    shows the routes of the pod, and ``net`` of process 1 those of the host.
    """
    return "proc/1/net" if not root.live and root.exists("proc/1/net/route") else "proc/net"


def _ipv4_defaults(root: SysRoot) -> list[_Route]:
    routes = []
    for line in (root.text(f"{_proc_net(root)}/route") or "").splitlines()[1:]:
        parts = line.split()
        if (
            len(parts) >= 8
            and parts[1] == "00000000"
            and parts[7] == "00000000"
            and parts[6].isdecimal()
        ):
            routes.append(_Route(parts[0], int(parts[6]), parts[2] != "00000000"))
    return routes


def _ipv6_defaults(root: SysRoot) -> list[_Route]:
    routes = []
    for line in (root.text(f"{_proc_net(root)}/ipv6_route") or "").splitlines():
        parts = line.split()
        # Every host has on lo a default route marked unreachable, with the flag RTF_REJECT.
        if len(parts) == 10 and set(parts[0]) == {"0"} and parts[1] == "00" and parts[9] != "lo":
            try:
                if not int(parts[8], 16) & 0x0200:
                    routes.append(_Route(parts[9], int(parts[5], 16), set(parts[4]) != {"0"}))
            except ValueError:
                continue
    return routes
