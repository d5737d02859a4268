"""ResourceSlices and the pools that they form, as written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from dractl.model import ResourceSlice
from dractl.objects.values import Path, items, mapping, number, text

T = TypeVar("T")
PoolName = tuple[str, str]
"""A driver and the name of one of its pools."""
PoolGeneration = tuple[str, str, int]
"""A driver, the name of one of its pools, and a generation of that pool."""


class Device(Struct, frozen=True):
    """A device of a ResourceSlice."""

    name: str
    path: Path
    """The path of ``fields``."""
    fields: Mapping[str, Any]
    """The content: attributes, capacity, taints ..."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The device's attributes by name, each as a map from its type to its value: ``{"string":
        "a100"}``.
        """
        return mapping(self.fields.get("attributes"))

    @property
    def capacity(self) -> Mapping[str, Any]:
        """The capacities by name."""
        return mapping(self.fields.get("capacity"))

    def attribute_text(self, name: str) -> str:
        """Return the value of a string attribute; "" if the device has no such attribute."""
        return text(mapping(self.attributes.get(name)).get("string"))


class Slice(Struct, frozen=True):
    """The ``spec`` of a ResourceSlice, of any version."""

    spec: Mapping[str, Any]

    @property
    def driver(self) -> str:
        return text(self.spec.get("driver"))

    @property
    def pool(self) -> str:
        return text(mapping(self.spec.get("pool")).get("name"))

    @property
    def generation(self) -> int:
        return number(mapping(self.spec.get("pool")).get("generation"))

    @property
    def identity(self) -> PoolGeneration:
        """Driver, pool and generation."""
        return self.driver, self.pool, self.generation

    @property
    def announced(self) -> int:
        """The number of slices in the pool, as this slice states it (resourceSliceCount)."""
        return number(mapping(self.spec.get("pool")).get("resourceSliceCount"))

    @property
    def node(self) -> str:
        """The node to which the slice belongs; empty if the slice has a selector for nodes, or if
        each of its devices has one.
        """
        return text(self.spec.get("nodeName"))

    @property
    def devices(self) -> Iterator[Device]:
        for at, item in enumerate(items(self.spec.get("devices"))):
            device, path = mapping(item), ("spec", "devices", at)
            name = text(device.get("name"))
            if "basic" in device:  # only in v1beta1
                yield Device(name, (*path, "basic"), mapping(device["basic"]))
            else:
                yield Device(name, path, device)


def slice_of(value: Mapping[str, Any]) -> Slice:
    """Return the view of a whole ResourceSlice."""
    return Slice(mapping(value.get("spec")))


def identity(item: ResourceSlice) -> PoolGeneration:
    """Return driver, pool and generation of a decoded slice."""
    return item.spec.driver, item.spec.pool.name, item.spec.pool.generation


def newest(slices: Iterable[T], identity: Callable[[T], PoolGeneration]) -> dict[PoolName, list[T]]:
    """Return the slices of each pool's newest generation, in their order.

    Other generations are obsolete (k8s.io/dynamic-resource-allocation/structured GatherPools).
    ``identity`` returns the driver, the pool and the generation of a slice.
    """
    generations: dict[PoolName, int] = {}
    by_pool: dict[PoolName, list[T]] = {}
    for item in slices:
        driver, pool, generation = identity(item)
        newest_generation = generations.get((driver, pool))
        if newest_generation is None or generation > newest_generation:
            generations[driver, pool] = generation
            by_pool[driver, pool] = [item]
        elif generation == newest_generation:
            by_pool[driver, pool].append(item)
    return by_pool
