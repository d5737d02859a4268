"""The status of a ResourceClaim: the API server's verdict when the scheduler or a driver writes the
status.

At creation the server drops a status, so these rules do not apply to manifests. They apply to
claims in dumps and simulations, which may have a status that no server would accept. The rules
follow validateResourceClaimStatusUpdate of kubernetes/kubernetes
pkg/apis/resource/validation/validation.go for a claim without an earlier status; forbidden changes
of a status cannot be seen in one document.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from functools import partial

from dractl.model.releases import Target
from dractl.validation.causes import (
    count_violation,
    duplicate,
    forbidden,
    invalid,
    length_violation,
    not_supported,
    value_required,
)
from dractl.validation.claims import MAX_CONFIG, references, request_reference, request_references
from dractl.validation.formats import (
    driver_name,
    driver_name_as_declared,
    label,
    label_key,
    length,
    pool_name,
)
from dractl.validation.lists import check_list, check_set, text_of
from dractl.validation.nodes import node_selector
from dractl.validation.opaque import OpaqueRules, configuration, json_object
from dractl.validation.place import Place
from dractl.validation.slices import binding_conditions, skip_operations
from dractl.validation.tolerations import toleration
from dractl.validation.violation import Violation

MAX_RESERVATIONS = 256
MAX_RESERVATIONS_1_32 = 32
MAX_RESULTS = 32
MAX_ALLOCATION_CONFIG = 2 * MAX_CONFIG
MAX_CONDITIONS = 8
MAX_REASON = 1024
MAX_MESSAGE = 32 * 1024
MAX_DATA = 10 * 1024
MAX_INTERFACE_NAME = 256
MAX_HARDWARE_ADDRESS = 128
MAX_ADDRESSES = 16
ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
SOURCES = ("FromClaim", "FromClass")
CONDITION_STATUSES = ("False", "True", "Unknown")

_OPAQUE = OpaqueRules(*(["CS-07"] * 5))
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_NO_TIME = (None, "0001-01-01T00:00:00Z")

Known = dict[str, frozenset[str]]


def claim_status(
    root: Place, namespace: Mapping[str, str] | None, target: Target
) -> Iterator[Violation]:
    """Yield the violations in the status of a claim, with the causes and fields that the server
    names at UpdateStatus.

    ``root`` is the claim, and ``namespace`` has the labels of its namespace; None if they are
    unknown.
    """
    status = root.child("status")
    if not status.set:
        return
    allocation = status.child("allocation")
    yield from _reservations(status.child("reservedFor"), allocated=allocation.set, target=target)
    if allocation.set:
        yield from _allocation(
            allocation, references(root.child("spec", "devices", "requests")), target
        )
        yield from _admin_access(allocation.child("devices", "results"), namespace, target)
    allocated = frozenset(map(_device, allocation.child("devices", "results").items()))
    yield from _devices(status.child("devices"), allocated, target)


def _reservations(places: Place, *, allocated: bool, target: Target) -> Iterator[Violation]:
    def check(place: Place) -> Iterator[Violation]:
        for name in ("resource", "name", "uid"):
            if not place.child(name).text:
                yield value_required("CS-01", place.child(name))

    limit = MAX_RESERVATIONS if target.has("reserved-for-256") else MAX_RESERVATIONS_1_32
    yield from check_set(("CS-01", "CS-01"), places, limit, check, _uid, target, name="uid")
    if places.size and not allocated:
        yield forbidden("CS-02", places, "may not be specified when `allocated` is not set")


def _uid(place: Place) -> str:
    return place.child("uid").text


def _allocation(place: Place, known: Known, target: Target) -> Iterator[Violation]:
    devices = place.child("devices")
    yield from check_list(
        "CS-03", devices.child("results"), MAX_RESULTS, partial(_result, known, target), target
    )
    check = partial(_configuration, known, target)
    yield from check_list("CS-03", devices.child("config"), MAX_ALLOCATION_CONFIG, check, target)
    if place.child("nodeSelector").set:
        yield from node_selector("CS-08", place.child("nodeSelector"))


def _result(known: Known, target: Target, place: Place) -> Iterator[Violation]:
    yield from request_reference("CS-04", place.child("request"), known)
    yield from driver_name_as_declared("CS-05", place.child("driver"), target)
    yield from pool_name("CS-05", place.child("pool"))
    yield from label("CS-05", place.child("device"))
    yield from _share_id("CS-05", place.child("shareID"))
    yield from binding_conditions("CS-06", place, target)
    if target.has("status-tolerations"):
        for item in place.child("tolerations").items():
            yield from toleration("CS-06", item, target)
    yield from skip_operations("CS-06", place.child("skipNodeOperations"))


def _share_id(rule: str, place: Place) -> Iterator[Violation]:
    if place.set and not re.fullmatch(_UUID, place.text):
        detail = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with"
            " lowercase hexadecimal characters"
        )
        yield invalid(rule, place, detail)


def _configuration(known: Known, target: Target, place: Place) -> Iterator[Violation]:
    source = place.child("source")
    if not source.text:
        yield value_required("CS-07", source)
    elif source.text not in SOURCES:
        yield not_supported("CS-07", source, SOURCES)
    yield from request_references(("CS-07", "CS-07"), place.child("requests"), known, target)
    yield from configuration(_OPAQUE, place, target)


def _admin_access(
    places: Place, namespace: Mapping[str, str] | None, target: Target
) -> Iterator[Violation]:
    """Yield the violation of AuthorizedForAdminStatus in pkg/registry/resource/utils.go, at the
    first device that is allocated with admin access.
    """
    if (
        namespace is None
        or namespace.get(ADMIN_ACCESS) == "true"
        or not target.has("admin-access-in-status")
    ):
        return
    for result in places.items():
        if result.child("adminAccess").value is True:
            detail = (
                f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the"
                " containing namespace"
            )
            yield forbidden("CS-09", result.child("adminAccess"), detail)
            return


Device = tuple[str, str, str, str | None]


def _device(place: Place) -> Device:
    """Return the identity of a device, or of a share of one: driver, pool, name and share."""
    driver, pool, device = (place.child(name).text for name in ("driver", "pool", "device"))
    return driver, pool, device, place.child("shareID").value


def _devices(places: Place, allocated: frozenset[Device], target: Target) -> Iterator[Violation]:
    check = partial(_device_status, allocated, target)
    yield from check_set(("CS-10", "CS-10"), places, None, check, _device, target, name="deviceID")


def _device_status(
    allocated: frozenset[Device], target: Target, place: Place
) -> Iterator[Violation]:
    """Yield the violations of validateDeviceStatus."""
    yield from driver_name("CS-10", place.child("driver"), target)
    yield from pool_name("CS-10", place.child("pool"))
    yield from label("CS-10", place.child("device"))
    yield from _share_id("CS-10", place.child("shareID"))
    if _device(place) not in allocated:
        shown = "/".join(part for part in _device(place) if part is not None)
        yield invalid("CS-11", place, "must be an allocated device in the claim", shown)
    yield from _conditions(place.child("conditions"), target)
    if place.child("data").set:
        yield from json_object(("CS-13", "CS-13"), place.child("data"), MAX_DATA)
    yield from _network(place.child("networkData"), target)


def _conditions(places: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of ValidateConditions in
    k8s.io/apimachinery/pkg/apis/meta/v1/validation.
    """
    if places.size > MAX_CONDITIONS:
        yield count_violation("CS-12", places, MAX_CONDITIONS)
    seen: set[str] = set()
    for place in places.items():
        kind = place.child("type")
        if kind.text in seen:
            yield duplicate(
                "CS-12", place if target.has("conditions-declared") else kind, kind.text
            )
        seen.add(kind.text)
        yield from _condition(place, target)


def _condition(place: Place, target: Target) -> Iterator[Violation]:
    kind, status, reason = (place.child(name) for name in ("type", "status", "reason"))
    if not kind.text and target.has("conditions-declared"):
        yield value_required("CS-12", kind, "is required")
    else:
        yield from label_key("CS-12", kind)
    if not status.text and target.has("conditions-declared"):
        yield value_required("CS-12", status)
    elif status.text not in CONDITION_STATUSES:
        yield not_supported("CS-12", status, CONDITION_STATUSES)
    if place.child("observedGeneration").integer < 0:
        yield invalid(
            "CS-12", place.child("observedGeneration"), "must be greater than or equal to zero"
        )
    if place.child("lastTransitionTime").value in _NO_TIME:
        yield value_required("CS-12", place.child("lastTransitionTime"))
    if not reason.text:
        yield value_required("CS-12", reason)
    elif not re.fullmatch(_REASON, reason.text):
        detail = (
            "a condition reason must start with alphabetic character, optionally followed by a"
            " string of alphanumeric characters or '_,:', and must end with an alphanumeric"
            " character or '_'"
        )
        yield invalid("CS-12", reason, detail)
    for name, limit in (("reason", MAX_REASON), ("message", MAX_MESSAGE)):
        if length(place.child(name).text) > limit:
            yield length_violation("CS-12", place.child(name), limit)


def _network(place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations of validateNetworkDeviceData."""
    for name, limit in (
        ("interfaceName", MAX_INTERFACE_NAME),
        ("hardwareAddress", MAX_HARDWARE_ADDRESS),
    ):
        if length(place.child(name).text) > limit:
            yield length_violation("CS-14", place.child(name), limit)
    yield from check_set(
        ("CS-14", "CS-14"), place.child("ips"), MAX_ADDRESSES, _address, text_of, target
    )


def _address(place: Place) -> Iterator[Violation]:
    canonical = canonical_interface_address(place.text)
    if canonical is None:
        yield invalid(
            "CS-14",
            place,
            "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",
            place.text,
        )
    elif canonical != place.text:
        yield invalid(
            "CS-14", place, f'must be in canonical form ("{canonical}")', allowed=(canonical,)
        )


def canonical_interface_address(text: str) -> str | None:
    """Return an address with the length of its network's prefix, as Go would print it; None if it
    is invalid.

    k8s.io/apimachinery/pkg/util/validation IsValidInterfaceAddress, which parses like Go up to
    1.16, so that leading zeros are accepted. An IPv4 address inside an IPv6 address is printed as
    IPv4.
    """
    address, slash, bits = text.partition("/")
    if not slash or not re.fullmatch("[0-9]{1,9}", bits) or "%" in address:
        return None
    if ":" not in address:
        address = re.sub(r"\b0+(?=[0-9])", "", address)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    prefix = int(bits)
    if prefix > parsed.max_prefixlen:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
        prefix -= 96 if prefix > 32 else 0
    return f"{parsed}/{prefix}"
