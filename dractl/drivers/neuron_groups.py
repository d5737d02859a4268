"""The Elastic Fabric Adapter next to each Neuron device, and the groups that AWS's drivers derive from it.

Source: aws-neuron/connected-device-maps-over-efa-for-neuron@2eb56e4 lookup/neuron/*.json, lookup/config/*.json,
lookup/lookup.go.
"""

from __future__ import annotations

from hashlib import sha256

SIZES = (1, 4, 8, 16)
PREFIX = "resource.aws.com/devicegroup"

# The adapters of the Neuron devices 0 to 15, without the domain 0000.
_TRN1 = "10:1a.0 10:1a.0 a0:1a.0 a0:1a.0 20:19.0 20:19.0 90:19.0 90:19.0"
_TABLES = {
    "trn1": _TRN1 + " 20:1a.0 20:1a.0 90:1a.0 90:1a.0 10:19.0 10:19.0 a0:19.0 a0:19.0",
    "trn1n": "10:17.0 10:1a.0 a0:17.0 a0:1a.0 20:19.0 20:18.0 90:19.0 90:18.0"
    " 20:17.0 20:1a.0 90:17.0 90:1a.0 10:19.0 10:18.0 a0:19.0 a0:18.0",
    "trn2": "c9:00.0 b4:00.0 b3:00.0 ca:00.0 6c:00.0 57:00.0 56:00.0 6d:00.0"
    " 98:00.0 83:00.0 82:00.0 99:00.0 f5:00.0 e0:00.0 df:00.0 f6:00.0",
    "trn3": "be:00.0 a9:00.0 a8:00.0 bf:00.0 61:00.0 4c:00.0 4b:00.0 62:00.0"
    " 8d:00.0 78:00.0 77:00.0 8e:00.0 ea:00.0 d5:00.0 d4:00.0 eb:00.0",
    "trn3pds": "a9:00.0 a8:00.0 bf:00.0 be:00.0 d5:00.0 d4:00.0 eb:00.0 ea:00.0"
    " 4c:00.0 4b:00.0 62:00.0 61:00.0 78:00.0 77:00.0 8e:00.0 8d:00.0",
}
_FAMILIES = {
    "trn1": "trn1",
    "trn1n": "trn1n",
    "trn2": "trn2",
    "trn2e": "trn2",
    "trn2u": "trn2",
    "trn3": "trn3",
    "trn3p": "trn3",
    "trn3pd98": "trn3",
    "trn3s": "trn3",
    "trn3-dev0": "trn3pds",
    "trn3-dev1": "trn3pds",
}
# Of a family only these sizes have the adapters.
_WITH_ADAPTERS = {"trn1": "32xlarge", "trn1n": "32xlarge"}


def of_neuron(instance_type: str | None, number: int) -> dict[str, str]:
    """The group attributes of a Neuron device; none if the instance type has no adapters."""
    adapters = _adapters(instance_type)
    return _groups(adapters, number) if number < len(adapters) else {}


def of_adapter(instance_type: str | None, bdf: str) -> dict[str, str]:
    """The group attributes of an adapter: those of its Neuron devices, of which two share one on trn1."""
    adapters = _adapters(instance_type)
    numbers = [number for number, adapter in enumerate(adapters) if adapter == bdf]
    return _groups(adapters, numbers[-1]) if numbers else {}


def _adapters(instance_type: str | None) -> tuple[str, ...]:
    family, _, size = (instance_type or "").partition(".")
    if family not in _FAMILIES or size != _WITH_ADAPTERS.get(family, "48xlarge"):
        return ()
    return tuple(f"0000:{place}" for place in _TABLES[_FAMILIES[family]].split())


def _groups(adapters: tuple[str, ...], number: int) -> dict[str, str]:
    return {f"{PREFIX}{size}_id": _group(adapters, number, size) for size in SIZES}


def _group(adapters: tuple[str, ...], number: int, size: int) -> str:
    if size == 1:
        return adapters[number]
    first = number // size * size
    return sha256(",".join(sorted(set(adapters[first : first + size]))).encode()).hexdigest()[:16]
