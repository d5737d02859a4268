"""Link kinds and addresses of this network namespace, queried from the kernel with rtnetlink
(linux/rtnetlink.h, linux/if_link.h).
"""

import socket
import struct
from collections.abc import Callable, Iterator

from msgspec import Struct, field

_NEWLINK, _GETLINK, _NEWADDR, _GETADDR = 16, 18, 20, 22
_ERROR, _DONE = 2, 3
_REQUEST_DUMP = 0x1 | 0x300
_IFLA_IFNAME, _IFLA_LINKINFO, _IFLA_INFO_KIND = 3, 18, 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_NLMSG = struct.Struct("=LHHLL")


class Interface(Struct):
    """An interface as netlink reports it."""

    kind: str
    """The link kind; ``device`` if it has none."""
    addresses: list[str] = field(default_factory=list)
    """The addresses as CIDRs."""


def links(note: Callable[[str, str], None]) -> dict[str, Interface]:
    """Return every interface by name; empty, with a note, if netlink is not available."""
    if not hasattr(socket, "AF_NETLINK"):
        return {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as connection:
            connection.settimeout(5)
            names: dict[int, str] = {}
            interfaces: dict[str, Interface] = {}
            for body in _dump(connection, _GETLINK, _NEWLINK):
                index = struct.unpack_from("=i", body, 4)[0]
                attributes = dict(_attributes(body[16:]))
                name = attributes.get(_IFLA_IFNAME, b"").rstrip(b"\0").decode("utf-8", "replace")
                info = dict(_attributes(attributes.get(_IFLA_LINKINFO, b"")))
                kind = info.get(_IFLA_INFO_KIND, b"device").rstrip(b"\0").decode("utf-8", "replace")
                names[index] = name
                interfaces[name] = Interface(kind)
            for body in _dump(connection, _GETADDR, _NEWADDR):
                family, prefix, _, _, index = struct.unpack_from("=BBBBi", body)
                attributes = dict(_attributes(body[8:]))
                packed = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
                if (
                    index in names
                    and packed is not None
                    and family in (socket.AF_INET, socket.AF_INET6)
                ):
                    interfaces[names[index]].addresses.append(
                        f"{socket.inet_ntop(family, packed)}/{prefix}"
                    )
            return interfaces
    except (OSError, struct.error, ValueError) as error:
        note(
            "net",
            f"netlink did not answer ({error}): link kinds are those that sysfs shows, and"
            " addresses are unknown",
        )
        return {}


def _dump(connection: socket.socket, request: int, answer: int) -> Iterator[bytes]:
    # The body is an ifinfomsg or ifaddrmsg of family AF_UNSPEC; for a dump, the kernel reads no
    # other fields.
    connection.send(_NLMSG.pack(_NLMSG.size + 16, request, _REQUEST_DUMP, 1, 0) + bytes(16))
    while True:
        data = connection.recv(1 << 18)
        if not data:
            return
        offset = 0
        while offset + _NLMSG.size <= len(data):
            length, kind, _, _, _ = _NLMSG.unpack_from(data, offset)
            if kind == _DONE or length < _NLMSG.size:
                return
            if kind == _ERROR:
                raise OSError("the kernel refused the request")
            if kind == answer:
                yield data[offset + _NLMSG.size : offset + length]
            offset += (length + 3) & ~3


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, offset)
        if length < 4:
            return
        yield kind & 0x3FFF, data[offset + 4 : offset + length]
        offset += (length + 3) & ~3
