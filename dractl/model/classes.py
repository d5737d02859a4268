"""DeviceClass."""

from dractl.model.apitype import APIType
from dractl.model.claims import DeviceSelector, OpaqueDeviceConfiguration
from dractl.model.meta import ObjectMeta


class DeviceClassConfiguration(APIType, frozen=True):
    """Parameters for setting up every device of a class; parameters of claims come after them."""

    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClassSpec(APIType, frozen=True):
    """A class without selectors matches every device."""

    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceClassConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(APIType, frozen=True):
    """A named choice of devices that an administrator offers; requests refer to it.
    Cluster-scoped.
    """

    metadata: ObjectMeta
    spec: DeviceClassSpec
