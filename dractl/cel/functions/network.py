"""Addresses and URLs: apiserver/pkg/cel/library/{ip,cidr,urls}.go over Go's netip and net/url."""

import ipaddress
import re
from functools import partial
from typing import Any
from urllib.parse import unquote_to_bytes

from dractl.cel.functions.registry import accepts, overload
from dractl.cel.values import CIDR, IP, URL, CelError, no_overload
from dractl.model.go import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


# -- addresses -------------------------------------------------------------------------------------


def _parse_address(text: str) -> Address:
    """Parse an address like netip.ParseAddr. Raises ValueError with the text of Go's error."""
    plain = text.partition("%")[0] if ":" in text.partition("%")[0] else text
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        message = _address_fault(text)
        raise ValueError(f"ParseAddr({quote(text)}): {message}") from None


def _address_fault(text: str) -> str:
    kind = re.search(r"[.:%]", text)
    if not kind:
        return "unable to parse IP"
    if kind[0] == "%":
        return "missing IPv6 address"
    if kind[0] == ".":
        return _ipv4_fault(text)
    return _ipv6_fault(text.partition("%")[0])


def _ipv6_fault(text: str) -> str:
    """Return the first error of netip.parseIPv6 for a string that is not an IPv6 address."""
    remaining = text.removeprefix("::")
    ellipsis = text.startswith("::")
    fields = 0
    while fields < 8:
        digits = re.match("[0-9a-fA-F]*", remaining, re.ASCII)
        assert digits is not None
        if digits.end() > 4:
            return f"each group must have 4 or less digits (at {quote(remaining)})"
        if not digits.end():
            return (
                f"each colon-separated field must have at least one digit (at {quote(remaining)})"
            )
        after = remaining[digits.end() :]
        if after.startswith("."):
            if not ellipsis and fields != 6:
                return (
                    "embedded IPv4 address must replace the final 2 fields of the address (at"
                    f" {quote(remaining)})"
                )
            return _ipv4_fault(remaining)
        fields += 1
        if not after:
            remaining = ""
            break
        if after[0] != ":":
            return f"unexpected character, want colon (at {quote(after)})"
        if len(after) == 1:
            return f"colon must be followed by more characters (at {quote(after)})"
        remaining = after[1:]
        if remaining[0] == ":":
            if ellipsis:
                return f"multiple :: in address (at {quote(remaining)})"
            ellipsis, remaining = True, remaining[1:]
            if not remaining:
                break
    if remaining:
        return f"trailing garbage after address (at {quote(remaining)})"
    return (
        "the :: must expand to at least one field of zeros"
        if fields == 8
        else "address string too short"
    )


def _ipv4_fault(text: str) -> str:
    value = digits = dots = 0
    for i, c in enumerate(text):
        if "0" <= c <= "9":
            if digits == 1 and value == 0:
                return "IPv4 field has octet with leading zero"
            value = value * 10 + int(c)
            digits += 1
            if value > 255:
                return "IPv4 field has value >255"
        elif c == ".":
            if i == 0 or i == len(text) - 1 or text[i - 1] == ".":
                return f"IPv4 field must have at least one digit (at {quote(text[i:])})"
            if dots == 3:
                return "IPv4 address too long"
            dots += 1
            value = digits = 0
        else:
            return f"unexpected character (at {quote(text[i:])})"
    return "IPv4 address too short"


@overload("string_to_ip", str)
def ip(text: str) -> IP:
    try:
        address = _parse_address(text)
    except ValueError as error:
        raise CelError(
            f"IP Address {quote(text)} parse error during conversion from string: {error}"
        ) from None
    if "%" in text:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return IP(address)


def _is_mapped(address: Address) -> bool:
    return getattr(address, "ipv4_mapped", None) is not None


overload("is_ip", str)(accepts(ip))
overload("ip_is_canonical", str)(lambda text: str(ip(text).address) == text)
overload("ip_to_string", IP)(lambda value: str(value.address))
overload("ip_family", IP)(lambda value: value.address.version)
overload("ip_is_unspecified", IP)(lambda value: value.address.is_unspecified)
overload("ip_is_loopback", IP)(lambda value: value.address.is_loopback)


@overload("ip_is_link_local_multicast", IP)
def is_link_local_multicast(value: IP) -> bool:
    packed = value.address.packed
    return (
        packed[:3] == b"\xe0\x00\x00"
        if len(packed) == 4
        else packed[0] == 0xFF and packed[1] & 0x0F == 2
    )


@overload("ip_is_link_local_unicast", IP)
def is_link_local_unicast(value: IP) -> bool:
    packed = value.address.packed
    return (
        packed[:2] == b"\xa9\xfe"
        if len(packed) == 4
        else packed[0] == 0xFE and packed[1] & 0xC0 == 0x80
    )


@overload("ip_is_global_unicast", IP)
def is_global_unicast(value: IP) -> bool:
    address = value.address
    return not (
        address.is_unspecified
        or address.packed == b"\xff\xff\xff\xff"
        or address.is_loopback
        or address.is_multicast
        or is_link_local_unicast(value)
    )


@overload("string_to_cidr", str)
def cidr(text: str) -> CIDR:
    try:
        return _parse_cidr(text)
    except ValueError as error:
        raise CelError(
            f"network address parse error during conversion from string: {error}"
        ) from None


def _parse_cidr(text: str) -> CIDR:
    host, slash, bits = text.rpartition("/")
    try:
        if not slash:
            raise ValueError("no '/'")
        address = _parse_address(host)
        if "%" in host:
            raise ValueError("IPv6 zones cannot be present in a prefix")
        if not re.fullmatch("0|[1-9][0-9]{0,17}", bits, re.ASCII):
            raise ValueError(f"bad bits after slash: {quote(bits)}")
        if int(bits) > address.max_prefixlen:
            raise ValueError("prefix length out of range")
    except ValueError as error:
        raise ValueError(
            "network address parse error during conversion from string:"
            f" netip.ParsePrefix({quote(text)}): {error}"
        ) from None
    if _is_mapped(address):
        raise ValueError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return CIDR(address, int(bits))


overload("is_cidr", str)(accepts(cidr))
overload("cidr_to_string", CIDR)(lambda value: f"{value.address}/{value.length}")
overload("cidr_ip", CIDR)(lambda value: IP(value.address))
overload("cidr_prefix_length", CIDR)(lambda value: value.length)


@overload("cidr_masked", CIDR)
def mask(value: CIDR) -> CIDR:
    spare = value.address.max_prefixlen - value.length
    return CIDR(type(value.address)(int(value.address) >> spare << spare), value.length)


def _share_prefix(value: CIDR, address: Address, length: int) -> bool:
    """Return True if the first ``length`` bits of both are equal."""
    spare = address.max_prefixlen - length
    return (
        address.version == value.address.version
        and int(address) >> spare == int(value.address) >> spare
    )


@overload("cidr_contains_ip_ip", CIDR, IP)
def contains_ip(value: CIDR, other: IP) -> bool:
    return _share_prefix(value, other.address, value.length)


@overload("cidr_contains_ip_string", CIDR, str)
def contains_ip_text(value: CIDR, text: str) -> bool:
    try:
        return contains_ip(value, ip(text))
    except CelError:  # cidr.go cidrContainsIP does not say what is wrong with the text
        raise no_overload() from None


@overload("cidr_contains_cidr", CIDR, CIDR)
def contains_cidr(value: CIDR, other: CIDR) -> bool:
    return value.length <= other.length and _share_prefix(value, other.address, value.length)


overload("cidr_contains_cidr_string", CIDR, str)(
    lambda value, text: contains_cidr(value, cidr(text))
)


# -- URLs ------------------------------------------------------------------------------------------

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_HOST = _UNRESERVED | frozenset("!$&'()*+,;=:[]<>\"")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_ENCODED_PATH = _PATH | frozenset("!'()*[]%")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def _url(text: str, *, strict: bool) -> URL:
    try:
        _parse_url(text, request=True, strict=strict)
        return _parse_url(text, request=False, strict=strict)
    except ValueError as error:
        raise CelError(
            f"URL parse error during conversion from string: parse {quote(text)}: {error}"
        ) from None


def _is_url(text: str, *, strict: bool) -> bool:
    try:
        _parse_url(text, request=True, strict=strict)
    except ValueError:
        return False
    return True


url = overload("string_to_url", str)(partial(_url, strict=False))
is_url = overload("is_url_string", str)(partial(_is_url, strict=False))
# From Kubernetes 1.36 on (Go 1.26: GODEBUG urlstrictcolons), a host of http contains no colon
# except before the port.
strict_url = partial(_url, strict=True)
is_strict_url = partial(_is_url, strict=True)


def _parse_url(text: str, *, request: bool, strict: bool) -> URL:
    """Parse a URL like net/url.ParseRequestURI or net/url.Parse. Raises ValueError with the text of
    Go's error.
    """
    remaining = text
    if not request:
        remaining, sign, fragment = text.partition("#")
        _check_escapes(fragment)
        text = remaining + sign + fragment if fragment else remaining
    if any(c < " " or c == "\x7f" for c in remaining):
        raise ValueError("net/url: invalid control character in URL")
    if not remaining and request:
        raise ValueError("empty url")
    if remaining == "*":
        return URL(text, "", "", "*", "")
    scheme, remaining = _split_scheme(remaining)
    text = scheme + text[len(scheme) :]
    remaining, _, query = remaining.partition("?")
    host = ""
    if not remaining.startswith("/"):
        if scheme:  # an opaque URL, such as mailto:a@b
            return URL(text, scheme, "", "", query)
        if request:
            raise ValueError("invalid URI for request")
        if ":" in remaining.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    if remaining.startswith("//") and (scheme or not (request or remaining.startswith("///"))):
        authority, slash, remaining = remaining[2:].partition("/")
        remaining = slash + remaining
        host = _parse_host(authority, strict and scheme in ("http", "https"))
    _check_escapes(remaining)
    return URL(text, scheme, host, remaining, query)


def _split_scheme(text: str) -> tuple[str, str]:
    for i, c in enumerate(text):
        if c.isascii() and c.isalpha():
            continue
        if (c.isascii() and c.isdigit()) or c in "+-.":
            if i == 0:
                return "", text
            continue
        if c == ":":
            if i == 0:
                raise ValueError("missing protocol scheme")
            return text[:i].lower(), text[i + 1 :]
        return "", text
    return "", text


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise ValueError(f"invalid URL escape {quote(text[bad.start() : bad.start() + 3])}")


def _parse_host(authority: str, one_colon: bool) -> str:
    user, at, host = authority.rpartition("@")
    opening = host.rfind("[")
    if opening > 0:
        raise ValueError("invalid IP-literal")
    if opening == 0:
        host = _parse_literal_host(host)
    else:
        colon = host.find(":") if one_colon else host.rfind(":")
        if colon >= 0:
            _check_port(host[colon:])
        _check_host(host)
        host = _unescape(host)
    if at and not re.fullmatch(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", user):
        raise ValueError("net/url: invalid userinfo")
    if at:
        _check_escapes(user)
    return host


def _parse_literal_host(host: str) -> str:
    """Return the host of ``[address]:port``; the address may have a zone after ``%25``."""
    end = host.rfind("]")
    if end < 0:
        raise ValueError("missing ']' in host")
    _check_port(host[end + 1 :])
    inside, percent, zone = host[1:end].partition("%25")
    _check_host(inside)
    _check_escapes(percent + zone)
    inside = _unescape(inside) + _unescape(percent + zone)
    try:
        version = _parse_address(inside).version
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if version == 4:
        raise ValueError("invalid IP-literal")
    return f"[{inside}]{host[end + 1 :]}"


def _check_host(host: str) -> None:
    for escape in re.finditer("%(.{0,2})", host, re.DOTALL):
        # Only non-ASCII bytes may be escaped in a host name.
        if not re.fullmatch("[89A-Fa-f][0-9A-Fa-f]", escape[1]):
            raise ValueError(f"invalid URL escape {quote(escape[0])}")
    for c in host:
        if c.isascii() and c != "%" and c not in _HOST:
            raise ValueError(f"invalid character {quote(c)} in host name")


def _check_port(port: str) -> None:
    if port and not re.fullmatch(":[0-9]*", port, re.ASCII):
        raise ValueError(f"invalid port {quote(port)} after host")


def _unescape(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace") if "%" in text else text


overload("url_get_scheme", URL)(lambda value: value.scheme)
overload("url_get_host", URL)(lambda value: value.host)


def _split_host(host: str) -> tuple[str, str]:
    colon = host.rfind(":")
    port = ""
    if colon >= 0 and re.fullmatch(":[0-9]*", host[colon:], re.ASCII):
        host, port = host[:colon], host[colon + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


overload("url_get_hostname", URL)(lambda value: _split_host(value.host)[0])
overload("url_get_port", URL)(lambda value: _split_host(value.host)[1])


@overload("url_get_escaped_path", URL)
def get_escaped_path(value: URL) -> str:
    if all(c in _ENCODED_PATH for c in value.path):
        return value.path
    return "".join(chr(b) if chr(b) in _PATH else f"%{b:02X}" for b in unquote_to_bytes(value.path))


@overload("url_get_query", URL)
def get_query(value: URL) -> dict[Any, Any]:
    values: dict[Any, Any] = {}
    for part in value.query.split("&"):
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        name, _, content = part.replace("+", " ").partition("=")
        values.setdefault(_unescape(name), []).append(_unescape(content))
    return values
