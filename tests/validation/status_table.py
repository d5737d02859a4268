"""Small statuses of claims, and what kube-apiserver says to each at UpdateStatus.

Written after the sources that the rules name; ``tests/conformance/test_status_live.py`` asks running servers about
every row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.validation.rule_table import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    exact,
    obj,
    opaque,
    sub,
)


class Row(NamedTuple):
    """``causes``: all that the server says, as (rule, type, field)."""

    status: dict[str, Any]
    causes: frozenset[tuple[str, str, str]]
    release: str

    @property
    def document(self) -> dict[str, Any]:
        return with_status(self.status)


def row(status: dict[str, Any], *causes: tuple[str, str, str], release: str = "1.37") -> Row:
    return Row(status, frozenset(causes), release)


def with_status(status: dict[str, Any]) -> dict[str, Any]:
    requests = [exact(), {"name": "b", "firstAvailable": [sub("x"), sub("y")]}]
    return {**obj("ResourceClaim", {"devices": {"requests": requests}}), "status": status}


def result(**fields: Any) -> dict[str, Any]:
    return {
        "request": "a",
        "driver": "gpu.example.com",
        "pool": "node-1",
        "device": "gpu-0",
        **fields,
    }


def allocated(*results: Any, **devices: Any) -> dict[str, Any]:
    return {"allocation": {"devices": {"results": list(results) or [result()], **devices}}}


def consumer(uid: str = "u", **fields: Any) -> dict[str, Any]:
    return {"resource": "pods", "name": "p", "uid": uid, **fields}


def reported(**fields: Any) -> dict[str, Any]:
    """The status of the one device."""
    device = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0", **fields}
    return {**allocated(), "devices": [device]}


def condition(kind: str = "Ready", **fields: Any) -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": "True",
        "reason": "Ok",
        "message": "",
        "lastTransitionTime": when,
        **fields,
    }


def addressed(*addresses: Any) -> dict[str, Any]:
    return reported(networkData={"ips": list(addresses)})


UUID = "3f2b1c9e-6a53-4e7f-8d0a-1b2c3d4e5f60"
LONG = "x" * 64
RESULT = "status.allocation.devices.results[0]"
CONFIG = "status.allocation.devices.config[0]"
DEVICE = "status.devices[0]"
IP = f"{DEVICE}.networkData.ips"

ROWS = [
    row({}),
    row({"allocation": {}}),
    row({**allocated(), "reservedFor": [consumer()]}),
    # -- reservedFor
    row(
        {**allocated(), "reservedFor": [{}]},
        *(
            ("CS-01", REQUIRED, f"status.reservedFor[0].{name}")
            for name in ("resource", "name", "uid")
        ),
    ),
    row(
        {**allocated(), "reservedFor": [consumer(), consumer()]},
        ("CS-01", DUPLICATE, "status.reservedFor[1]"),
    ),
    row(
        {**allocated(), "reservedFor": [consumer(), consumer()]},
        ("CS-01", DUPLICATE, "status.reservedFor[1].uid"),
        release="1.34",
    ),
    row(
        {**allocated(), "reservedFor": [consumer(f"u{i}") for i in range(257)]},
        ("CS-01", TOO_MANY, "status.reservedFor"),
    ),
    row({**allocated(), "reservedFor": [consumer(f"u{i}") for i in range(256)]}),
    row({"reservedFor": [consumer()]}, ("CS-02", FORBIDDEN, "status.reservedFor")),
    row({"reservedFor": []}),
    # -- allocation
    row(
        allocated(*(result(device=f"d{i}") for i in range(33))),
        ("CS-03", TOO_MANY, "status.allocation.devices.results"),
    ),
    row(
        allocated(*(result(device=f"d{i}") for i in range(33)), result(device="A")),
        ("CS-03", TOO_MANY, "status.allocation.devices.results"),
        ("CS-05", INVALID, "status.allocation.devices.results[33].device"),
        release="1.34",
    ),
    row(
        allocated(config=[{"source": "FromClass", **opaque()}] * 65),
        ("CS-03", TOO_MANY, "status.allocation.devices.config"),
    ),
    row(allocated(config=[{"source": "FromClass", **opaque()}] * 64)),
    row(allocated(result(request="c")), ("CS-04", INVALID, f"{RESULT}.request")),
    row(allocated(result(request="b/z")), ("CS-04", INVALID, f"{RESULT}.request")),
    row(allocated(result(request="a/x")), ("CS-04", INVALID, f"{RESULT}.request")),
    row(allocated(result(request="b/x"), result(request="b", device="gpu-1"))),
    row(
        allocated({}),
        ("CS-04", INVALID, f"{RESULT}.request"),
        ("CS-05", REQUIRED, f"{RESULT}.driver"),
        ("CS-05", REQUIRED, f"{RESULT}.pool"),
        ("CS-05", INVALID, f"{RESULT}.device"),
    ),
    row(
        allocated(result(driver="a_b", pool="a//b", device="A.b", shareID="1")),
        ("CS-05", INVALID, f"{RESULT}.driver"),
        ("CS-05", INVALID, f"{RESULT}.pool"),
        ("CS-05", INVALID, f"{RESULT}.device"),
        ("CS-05", INVALID, f"{RESULT}.shareID"),
    ),
    row(allocated(result(driver=LONG)), ("CS-05", TOO_LONG, f"{RESULT}.driver")),
    row(
        allocated(result(pool="x" * 254)),
        ("CS-05", TOO_LONG, f"{RESULT}.pool"),
        ("CS-05", INVALID, f"{RESULT}.pool"),
    ),
    row(allocated(result(shareID=UUID, driver="GPU.example.com"))),
    row(allocated(result(shareID=UUID.upper())), ("CS-05", INVALID, f"{RESULT}.shareID")),
    row(allocated(result(shareID="")), ("CS-05", INVALID, f"{RESULT}.shareID")),
    row(
        allocated(result(bindingConditions=["a", "a", "b c"], bindingFailureConditions=["a"])),
        ("CS-06", DUPLICATE, f"{RESULT}.bindingConditions[1]"),
        ("CS-06", INVALID, f"{RESULT}.bindingConditions[2]"),
        ("CS-06", INVALID, f"{RESULT}.bindingFailureConditions[0]"),
    ),
    row(
        allocated(result(bindingConditions=[*"abcde"])),
        ("CS-06", TOO_MANY, f"{RESULT}.bindingConditions"),
        ("CS-06", INVALID, f"{RESULT}.bindingFailureConditions"),
    ),
    row(
        allocated(result(tolerations=[{"effect": "x"}, {"operator": "Exists", "value": "v"}])),
        ("CS-06", NOT_SUPPORTED, f"{RESULT}.tolerations[0].effect"),
        ("CS-06", INVALID, f"{RESULT}.tolerations[1].value"),
    ),
    row(allocated(result(tolerations=[{"effect": "x"}])), release="1.36"),
    row(
        allocated(result(skipNodeOperations=["NodePrepareResources", "x", "x"])),
        ("CS-06", INVALID, f"{RESULT}.skipNodeOperations"),
        ("CS-06", NOT_SUPPORTED, f"{RESULT}.skipNodeOperations[1]"),
        ("CS-06", NOT_SUPPORTED, f"{RESULT}.skipNodeOperations[2]"),
        ("CS-06", DUPLICATE, f"{RESULT}.skipNodeOperations[2]"),
    ),
    row(
        allocated(config=[{}]),
        ("CS-07", REQUIRED, f"{CONFIG}.source"),
        ("CS-07", REQUIRED, f"{CONFIG}.opaque"),
    ),
    row(
        allocated(
            config=[
                {
                    "source": "x",
                    "requests": ["a", "a", "c"],
                    "opaque": {"driver": "", "parameters": None},
                }
            ]
        ),
        ("CS-07", NOT_SUPPORTED, f"{CONFIG}.source"),
        ("CS-07", DUPLICATE, f"{CONFIG}.requests[1]"),
        ("CS-07", INVALID, f"{CONFIG}.requests[2]"),
        ("CS-07", REQUIRED, f"{CONFIG}.opaque.driver"),
        ("CS-07", REQUIRED, f"{CONFIG}.opaque.parameters"),
    ),
    row(
        allocated(
            config=[{"source": "FromClaim", **opaque(driver=LONG, parameters={"a": "x" * 10233})}]
        ),
        ("CS-07", TOO_LONG, f"{CONFIG}.opaque.driver"),
        ("CS-07", TOO_LONG, f"{CONFIG}.opaque.parameters"),
    ),
    row(
        allocated(config=[{"source": "FromClaim", **opaque(driver="a_b", parameters=[])}]),
        ("CS-07", INVALID, f"{CONFIG}.opaque.driver"),
        ("CS-07", INVALID, f"{CONFIG}.opaque.parameters"),
    ),
    row(
        {"allocation": {"nodeSelector": {"nodeSelectorTerms": []}}},
        ("CS-08", REQUIRED, "status.allocation.nodeSelector.nodeSelectorTerms"),
    ),
    row(
        {
            "allocation": {
                "nodeSelector": {
                    "nodeSelectorTerms": [{"matchFields": [{"key": "a", "operator": "In"}]}]
                }
            }
        },
        (
            "CS-08",
            REQUIRED,
            "status.allocation.nodeSelector.nodeSelectorTerms[0].matchFields[0].values",
        ),
        (
            "CS-08",
            INVALID,
            "status.allocation.nodeSelector.nodeSelectorTerms[0].matchFields[0].key",
        ),
    ),
    row(
        allocated(
            result(),
            result(adminAccess=True, device="gpu-1"),
            result(adminAccess=True, device="gpu-2"),
        ),
        ("CS-09", FORBIDDEN, "status.allocation.devices.results[1].adminAccess"),
    ),
    # -- devices
    row(reported()),
    row(
        reported(driver="a_b", pool="", device=""),
        ("CS-10", INVALID, f"{DEVICE}.driver"),
        ("CS-10", REQUIRED, f"{DEVICE}.pool"),
        ("CS-10", INVALID, f"{DEVICE}.device"),
        ("CS-11", INVALID, DEVICE),
    ),
    row(reported(shareID="x"), ("CS-10", INVALID, f"{DEVICE}.shareID"), ("CS-11", INVALID, DEVICE)),
    row(reported(shareID=UUID), ("CS-11", INVALID, DEVICE)),
    row(
        {**allocated(), "devices": reported()["devices"] * 2},
        ("CS-10", DUPLICATE, "status.devices[1]"),
    ),
    row(
        {**allocated(), "devices": reported()["devices"] * 2},
        ("CS-10", DUPLICATE, "status.devices[1].deviceID"),
        release="1.34",
    ),
    row({"devices": reported()["devices"]}, ("CS-11", INVALID, DEVICE)),
    row(reported(device="gpu-1"), ("CS-11", INVALID, DEVICE)),
    row(
        reported(conditions=[condition(f"c{i}") for i in range(9)]),
        ("CS-12", TOO_MANY, f"{DEVICE}.conditions"),
    ),
    row(
        reported(conditions=[condition(), condition()]),
        ("CS-12", DUPLICATE, f"{DEVICE}.conditions[1]"),
    ),
    row(
        reported(conditions=[condition(), condition()]),
        ("CS-12", DUPLICATE, f"{DEVICE}.conditions[1].type"),
        release="1.36",
    ),
    row(
        reported(conditions=[{}]),
        *(
            ("CS-12", REQUIRED, f"{DEVICE}.conditions[0].{name}")
            for name in ("type", "status", "reason", "lastTransitionTime")
        ),
    ),
    row(
        reported(conditions=[{}]),
        ("CS-12", INVALID, f"{DEVICE}.conditions[0].type"),
        ("CS-12", NOT_SUPPORTED, f"{DEVICE}.conditions[0].status"),
        ("CS-12", REQUIRED, f"{DEVICE}.conditions[0].reason"),
        ("CS-12", REQUIRED, f"{DEVICE}.conditions[0].lastTransitionTime"),
        release="1.36",
    ),
    row(
        reported(
            conditions=[condition("a b", status="true", reason="no-go", observedGeneration=-1)]
        ),
        ("CS-12", INVALID, f"{DEVICE}.conditions[0].type"),
        ("CS-12", NOT_SUPPORTED, f"{DEVICE}.conditions[0].status"),
        ("CS-12", INVALID, f"{DEVICE}.conditions[0].reason"),
        ("CS-12", INVALID, f"{DEVICE}.conditions[0].observedGeneration"),
    ),
    row(
        reported(conditions=[condition(reason="x" * 1025, message="x" * 32769)]),
        ("CS-12", TOO_LONG, f"{DEVICE}.conditions[0].reason"),
        ("CS-12", TOO_LONG, f"{DEVICE}.conditions[0].message"),
    ),
    row(reported(data={})),
    row(reported(data=None)),
    row(reported(data=[]), ("CS-13", INVALID, f"{DEVICE}.data")),
    row(reported(data="x"), ("CS-13", INVALID, f"{DEVICE}.data")),
    row(reported(data={"a": "x" * 10233}), ("CS-13", TOO_LONG, f"{DEVICE}.data")),
    row(reported(data={"a": "x" * 10232})),
    row(
        reported(networkData={"interfaceName": "x" * 257, "hardwareAddress": "x" * 129}),
        ("CS-14", TOO_LONG, f"{DEVICE}.networkData.interfaceName"),
        ("CS-14", TOO_LONG, f"{DEVICE}.networkData.hardwareAddress"),
    ),
    row(reported(networkData={"interfaceName": "é" * 128, "hardwareAddress": "x" * 128})),
    row(
        addressed(
            "10.9.8.7/24", "10.9.8.0/24", "2001:db8::1/64", "::/0", "fe80::1/128", "::102:304/96"
        )
    ),
    row(addressed("10.9.8.7/24", "10.9.8.7/24"), ("CS-14", DUPLICATE, f"{IP}[1]")),
    row(addressed(*(f"10.9.8.{i}/24" for i in range(17))), ("CS-14", TOO_MANY, IP)),
    row(
        addressed(
            "",
            "10.9.8.7",
            "10.9.8.7/33",
            "10.9.8.7/255.255.255.0",
            "10.9.8.7/24 ",
            "fe80::1%eth0/64",
            "10.9.8/24",
            "2001:db8::1/129",
            "::1/-1",
        ),
        *(("CS-14", INVALID, f"{IP}[{i}]") for i in range(9)),
    ),
    row(
        addressed(
            "010.009.8.7/24",
            "10.9.8.7/024",
            "2001:DB8::1/64",
            "2001:db8:0::1/64",
            "::ffff:10.9.8.7/120",
            "::1.2.3.4/96",
            "1::2:0:0:0:0/64",
        ),
        *(("CS-14", INVALID, f"{IP}[{i}]") for i in range(7)),
    ),
]
