"""The Elastic Fabric Adapter next to each Neuron device, and the groups that AWS's drivers derive
from it.

Source: aws-neuron/connected-device-maps-over-efa-for-neuron@2eb56e4 lookup/neuron/*.json,
lookup/config/*.json, lookup/lookup.go; the tables are in the pack. For each family of instance
types, the tables have the adapters of the Neuron devices 0 to 15 as PCI addresses without the
domain ``0000:``. Only one size of each family has adapters.
"""

from hashlib import sha256

from dractl.facts.drivers import driver

SIZES = (1, 4, 8, 16)
PREFIX = "resource.aws.com/devicegroup"


def groups_of_neuron(instance_type: str | None, number: int) -> dict[str, str]:
    """Return the group attributes of a Neuron device; none if the instance type has no adapters."""
    adapters = _adapters(instance_type)
    return _groups(adapters, number) if number < len(adapters) else {}


def groups_of_adapter(instance_type: str | None, bdf: str) -> dict[str, str]:
    """Return the group attributes of an adapter: the attributes of its Neuron devices, of which two
    share an adapter on trn1.
    """
    adapters = _adapters(instance_type)
    numbers = [number for number, adapter in enumerate(adapters) if adapter == bdf]
    return _groups(adapters, numbers[-1]) if numbers else {}


def _adapters(instance_type: str | None) -> tuple[str, ...]:
    neuron = driver("neuron.aws.com")
    family, _, size = (instance_type or "").partition(".")
    if family not in neuron.table("families") or size != neuron.table("sizes").get(
        family, "48xlarge"
    ):
        return ()
    places = neuron.table("adapters").get(neuron.table("families")[family], "")
    return tuple(f"0000:{place}" for place in places.split())


def _groups(adapters: tuple[str, ...], number: int) -> dict[str, str]:
    return {f"{PREFIX}{size}_id": _group(adapters, number, size) for size in SIZES}


def _group(adapters: tuple[str, ...], number: int, size: int) -> str:
    if size == 1:
        return adapters[number]
    first = number // size * size
    return sha256(",".join(sorted(set(adapters[first : first + size]))).encode()).hexdigest()[:16]
