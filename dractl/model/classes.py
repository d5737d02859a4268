"""DeviceClass."""

from __future__ import annotations

from msgspec import Struct

from dractl.model.claims import DeviceSelector, OpaqueDeviceConfiguration
from dractl.model.meta import ObjectMeta
from dractl.model.reader import Reader


class DeviceClassConfiguration(Struct, frozen=True):
    """Parameters for setting up every device of a class; those of claims come after them."""

    opaque: OpaqueDeviceConfiguration | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceClassConfiguration:
        return cls(r.optional("opaque", OpaqueDeviceConfiguration.read))


class DeviceClassSpec(Struct, frozen=True):
    """A class without selectors matches every device."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None

    @classmethod
    def read(cls, r: Reader) -> DeviceClassSpec:
        return cls(
            r.each("selectors", DeviceSelector.read),
            r.each("config", DeviceClassConfiguration.read),
            r.optional_text("extendedResourceName"),
        )


class DeviceClass(Struct, frozen=True):
    """A named choice of devices that an administrator offers; requests refer to it. Cluster-scoped."""

    metadata: ObjectMeta
    spec: DeviceClassSpec

    @classmethod
    def read(cls, r: Reader) -> DeviceClass:
        return cls(ObjectMeta.read(r.child("metadata")), DeviceClassSpec.read(r.child("spec")))
